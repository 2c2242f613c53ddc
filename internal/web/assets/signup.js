// /signup: creates an account and says that the confirmation mail was sent.

import { Waiting, html, show } from "./ui.js";
import { T } from "./i18n.js";
import { nextPath, withNext } from "./api.js";
import { SignUp, useInvited } from "./signup-form.js";

show(() => {
  const address = useInvited(nextPath());
  if (address === undefined) return html`<${Waiting} />`;
  return html`<div class="narrow card">
    <${SignUp} title=${html`<h1>${T("Create an account")}</h1>`} address=${address} next=${nextPath()}
      end=${html`<p class="links"><a href=${withNext("/login", nextPath())}>${T("I have an account")}</a></p>`} />
  </div>`;
});
