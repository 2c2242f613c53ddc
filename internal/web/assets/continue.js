// /continue: a sign-in with another service began in another browser or program. The person continues or ends it (contract 3.14).

import { Button, Icon, Notice, Problem, StepHeading, Waiting, html, show, useAction, useLoaded, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { call, identity } from "./api.js";
import "./shell.js";

const at = /** @type {const} */ (`${identity}/oidc/auth/confirmation`);

show(() => {
  const { value, error } = useLoaded(async () => (await call("GET", at)).body);
  const [refused, setRefused] = useState(false);
  const go = useAction(async () => location.assign((await call("POST", at)).body.redirectUrl));
  const refuse = useAction(async () => {
    await call("DELETE", at);
    setRefused(true);
  });
  if (refused) {
    return html`<div class="narrow card center"><span class="halo"><${Icon} name="close" /></span>
      <${StepHeading}>${T("Nobody was signed in")}<//>
      <p>${T("If somebody sent you a link to sign in, don’t open it again.")}</p></div>`;
  }
  if (error) return html`<div class="narrow card"><h1>${T("Continue to sign in?")}</h1><${Problem} error=${error} /></div>`;
  if (!value) return html`<div class="narrow card"><${Waiting} /></div>`;
  return html`<div class="narrow card">
    <${StepHeading}>${T("Continue to sign in?")}<//>
    <div class="asking">${value.name && html`<b class="break">${value.name}</b>`}<span class="break">${value.address}</span>
      <span class="dim break">${value.organization ? F("Signs in at %s, %s", value.host, value.organization)
        : F("Signs in at %s", value.host)}</span></div>
    <${Notice} kind="warn">${T("This sign-in began a moment ago in another browser or program. Continue only if you began it yourself.")}
      <//>
    <${Problem} error=${go.error ?? refuse.error} />
    <div class="row">
      <${Button} kind="primary" busy=${go.busy} onClick=${() => go.run()}>${T("Continue")}<//>
      <${Button} busy=${refuse.busy} onClick=${() => refuse.run()}>${T("This wasn’t me")}<//>
    </div>
  </div>`;
});
