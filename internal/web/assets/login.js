// /login: signs in and continues at the page that redirected here.

import { Notice, Waiting, html, show, useEffect } from "./ui.js";
import { T } from "./i18n.js";
import { afterSignIn, nextPath, withNext } from "./api.js";
import { onSession, person, signedIn } from "./session.js";
import { SignIn } from "./signin.js";
import { useInvited } from "./signup-form.js";

const typed = new URLSearchParams(location.hash.slice(1)).get("email") ?? ""; // at another host, which redirected here

show(() => {
  useEffect(() => onSession(() => { if (signedIn()) location.assign(afterSignIn()); }), []); // signed in in another tab
  const invited = useInvited(nextPath());
  if (invited === undefined) return html`<${Waiting} />`;
  return html`<div class="narrow card">
    <h1>${T("Sign in")}</h1>
    ${signedIn() && html`<${Notice}>${T("You are signed in.")} <a href="/inbox">${person()?.email}</a><//>`}
    <${SignIn} email=${typed || invited} autofill onDone=${() => location.assign(afterSignIn())} />
    <div class="row between links"><a href="/reset">${T("Forgot your password?")}</a><a href=${withNext("/signup", nextPath())}>
      ${T("Create an account")}</a></div>
  </div>`;
});
