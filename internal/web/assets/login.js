// /login: signs in and continues at the page that redirected here.

import { Notice, html, show } from "./ui.js";
import { T } from "./i18n.js";
import { afterSignIn, claims, idToken, signedIn } from "./api.js";
import { SignIn } from "./signin.js";

show(() => html`<div class="narrow card">
  <h1>${T("Sign in")}</h1>
  ${signedIn() && html`<${Notice}>${T("You are signed in.")} <a href="/inbox">${claims(idToken()).email}</a><//>`}
  <${SignIn} onDone=${() => location.assign(afterSignIn())} />
  <div class="row between links"><a href="/reset">${T("Forgot your password?")}</a><a href="/signup">${T("Create an account")}</a></div>
</div>`);
