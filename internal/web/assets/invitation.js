// /invitation/{key}: shows who invites and to what, before the sign-in; a button accepts. A member of another organization leaves it with
// the same button.

import { Avatar, Button, Icon, Notice, Problem, StepHeading, Waiting, html, show, useAction, useEffect, useLoaded,
  useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, T, when } from "./i18n.js";
import { call, endSession, identity, own } from "./api.js";
import { onSession, person, signedIn } from "./session.js";
import { SignIn } from "./signin.js";
import { useStepUp } from "./stepup.js";
import { Sent, SignUp } from "./signup-form.js";
import { roleName } from "./roles.js";

const key = location.pathname.split("/")[2];
const at = /** @type {const} */ (`${identity}/public/invitations/${key}`);

show(() => {
  const { value: invitation, error } = useLoaded(async () => (await call("GET", at)).body);
  const [inside, setInside] = useState(signedIn());
  useEffect(() => onSession(() => { if (signedIn()) setInside(true); }), []); // signed in in another tab
  if (error) {
    return html`<div class="narrow card"><h1>${T("Join an organization")}</h1>
      ${error.status !== 404 && html`<${Problem} error=${error} />`}
      <${Empty} drawing="letter" sentence=${error.status === 404
        ? T("This invitation is unknown, was already used, or has expired. Ask for a new one.") : ""}>
        <a class="button primary" href=${inside ? "/inbox" : "/login"}>${inside ? T("Transfers") : T("Sign in")}</a><//></div>`;
  }
  if (!invitation) return html`<${Waiting} />`;
  return html`<div class="narrow card">
    ${inside ? html`<${Accept} invitation=${invitation} onOther=${() => endSession().then(() => setInside(false))} />`
      : html`<${Enter} invitation=${invitation} onDone=${() => setInside(true)} />`}
  </div>`;
});

/** Says who invites, to which organization and with which permissions. */
function Offer({ invitation }) {
  const { organization, inviter, roles, expiresAt } = invitation;
  const { name, logo } = organization;
  const host = name || inviter;
  return html`${logo && html`<p class="row"><${Avatar} src=${`${at}/logo?height=160`} name=${name ?? ""} /></p>`}
    <h1>${host ? F("%s invites you", host) : T("Join an organization")}</h1>
    ${name && inviter && html`<p>${F("%s invited you to join %s.", inviter, name)}</p>`}
    ${roles.length > 0 && html`<p>${T("As a member you can:")}</p><ul>${roles.map((role) => html`<li>${roleName(role)}</li>`)}</ul>`}
    ${expiresAt && html`<p class="dim">${F("The invitation is valid until %s.", when(expiresAt))}</p>`}`;
}

/** Signs in or up. For an invited address that has an account it begins with the sign-in. */
function Enter({ invitation, onDone }) {
  const { address } = invitation;
  const { value: known, error } = useLoaded(async () => {
    if (!address) return true;
    return call("POST", `${identity}/auth/exists`, { json: { address } }).then(() => true, (failure) => failure.status !== 404);
  });
  const [chosen, setChosen] = useState("");
  if (known === undefined && !error) return html`<${Waiting} />`;
  const turn = (to, label) => html`<p class="row center links"><${Button} kind="quiet" onClick=${() => setChosen(to)}>${label}<//></p>`;
  if ((chosen || (known ? "in" : "up")) === "up") {
    return html`<${SignUp} title=${html`<${Offer} invitation=${invitation} />`} lead=${html`<h2>${T("Create an account")}</h2>`}
      address=${address ?? ""} next=${location.pathname} />
      ${turn("in", T("I have an account"))}`;
  }
  return html`<${Offer} invitation=${invitation} />
    <h2>${T("Sign in")}</h2>
    ${address && html`<p>${T("Sign in to accept the invitation, with the address it was sent to.")}</p>`}
    <${SignIn} email=${address ?? ""} onDone=${onDone} />
    ${turn("up", T("Create an account"))}`;
}

/** Accepts the invitation for the signed-in person. */
function Accept({ invitation, onOther }) {
  const { organization, address } = invitation;
  const { value: profile, error } = useLoaded(async () => (await own("GET", `${identity}/profile`)).body);
  const [done, setDone] = useState(false);
  const { stepUp, dialog } = useStepUp(); // for an administrator who leaves another organization
  const accept = useAction(async (leave) => {
    await stepUp("POST", `${identity}/invitations/${key}/accept`, leave ? { leave } : {});
    setDone(true);
  });
  const email = person()?.email ?? "";
  const name = organization.name || new URL(organization.url).host;
  if (!profile) return html`<${Waiting} error=${error} />`;
  const present = profile.membership?.organization;
  if (done || present?.uid === organization.uid) return html`<${Joined} name=${name} url=${organization.url} />`;
  if (!profile.emails.some((e) => e.verified)) return html`<${Sent} address=${email} next=${location.pathname} />`;
  const foreign = address && !profile.emails.some((e) => e.verified && e.address === address);
  const other = html`<${Button} kind="quiet" onClick=${onOther}>${T("Use another account")}<//>`;
  const before = present?.name || present?.hostname || "";
  const button = (label) => html`<div class="row"><${Button} kind="primary" busy=${accept.busy}
    onClick=${() => accept.run(Boolean(present))}>${label}<//>${other}</div>`;
  return html`<${Offer} invitation=${invitation} />
    <p>${F("You are signed in as %s.", email)}</p>
    <${Problem} error=${accept.error} />
    ${foreign ? html`<${Notice} kind="bad">${F("The invitation is for %s. Sign in with the account that has this address.", address)}<//>
      <div class="row">${other}</div>`
      : present ? html`<p>${F("You are a member of %s. With one click you leave it and join %s. Your mailbox and your transfers stay yours.", before, name)}</p>
        ${button(F("Leave %s and join %s", before, name))}`
      : button(T("Accept the invitation"))}${dialog}`;
}

/** The last step. The organization may have a host of its own. */
function Joined({ name, url }) {
  const home = new URL(url);
  const here = home.host === location.host;
  return html`<div class="center"><div class="seal"><${Icon} name="check" /></div>
    <${StepHeading}>${F("You are a member of %s", name)}<//>
    <a class="button primary" href=${here ? "/inbox" : new URL("/login", home).href}>
      ${here ? T("Continue") : F("Continue at %s", home.host)}</a></div>`;
}
