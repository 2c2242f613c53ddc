// The account page: the person's organization, and leaving it.

import { Ask, Button, Problem, html, useAction, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { identity } from "./api.js";
import { useStepUp } from "./stepup.js";

/** Shows the membership with a button to leave. @param {{profile: IdentityAPI["Person"], onChange: () => void}} props */
export function Membership({ profile, onChange }) {
  const organization = profile.membership?.organization;
  const [asking, setAsking] = useState(false);
  const { stepUp, dialog } = useStepUp();
  const leave = useAction(async () => {
    await stepUp("POST", `${identity}/organizations/${organization?.uid}/leave`);
    onChange();
  });
  const name = organization?.name || organization?.hostname || "";
  const member = organization && !organization.selfSignup;
  return html`<section class="card stack"><h2>${T("Organization")}</h2>
    <p class="dim">${name ? F("You are a member of %s", name) : T("An organization has its own members, groups, limits and look.")}</p>
    <${Problem} error=${leave.error} />
    <div class="row"><a class="button" href="/organization">${member ? T("Your organization") : T("Create an organization")}</a>
      ${name && html`<${Button} kind="danger" busy=${leave.busy} onClick=${() => setAsking(true)}>${T("Leave the organization")}<//>`}</div>
    ${asking && html`<${Ask} question=${F("Leave %s? You lose its permissions. To come back you need an invitation.", name)}
      yes=${T("Leave the organization")}
      onYes=${() => leave.run()} onClose=${() => setAsking(false)} />`}
    ${dialog}
  </section>`;
}
