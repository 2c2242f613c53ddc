// The organization page: profile, logo and colours, leaving and deleting.

import { Ask, Button, Field, Form, Problem, Save, Waiting, html, useAction, useLoaded, useSaving, useState } from "./ui.js";
import { T } from "./i18n.js";
import { own } from "./api.js";
import { Picture } from "./avatar.js";
import { Hostname } from "./organization-hostname.js";
import { Place } from "./places.js";
import { useStepUp } from "./stepup.js";

/** Returns the labels of the text members of a profile. @returns {Record<string, string>} */
export const labels = () => ({
  name: T("Name"), addressLine1: T("Address"), addressLine2: T("Address, second line"), postCode: T("Postal code"), city: T("City"),
  state: T("State or province"), country: T("Country"), phoneNumber: T("Telephone"), hostname: T("Hostname"),
  legalNoticeUrl: T("Legal notice (link)"), privacyPolicyUrl: T("Privacy policy (link)"),
});

/** The rows of the form. */
export const lines = [
  ["name"], ["addressLine1", "addressLine2"], ["postCode", "city"], ["state", "country"], ["phoneNumber"],
    ["legalNoticeUrl", "privacyPolicyUrl"],
];

/**
 * Shows the profile, and lets administrators edit it.
 * @param {{at: OrganizationPath, admin: boolean, free: boolean}} props `at`: URL of the organization
 */
export function Profile({ at, admin, free }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", at)).body, [at]);
  if (!value) return html`<${Waiting} error=${error} />`;
  return html`
    ${admin ? html`<${Edit} at=${at} value=${value} /><${Hostname} at=${at} onChange=${reload} /><${Theme} at=${at} />`
      : html`<${Facts} profile=${value.profile} />`}
    ${!free && html`<${Leave} at=${at} admin=${admin} />`}`;
}

/** @param {{profile: IdentityAPI["OrganizationProfile"]}} props */
function Facts({ profile }) {
  const told = Object.entries(labels()).filter(([name]) => profile[name]);
  return html`<section class="card stack"><h2>${T("Profile")}</h2>
    <dl class="facts">${told.map(([name, label]) => html`<dt>${label}</dt><dd>${profile[name]}</dd>`)}</dl></section>`;
}

/** @param {{at: OrganizationPath, value: IdentityAPI["Organization"]}} props */
function Edit({ at, value }) {
  const profile = value.profile, label = labels();
  const save = useSaving(async (input) => {
    const emptied = Object.fromEntries(Object.keys(label).filter((name) => name !== "hostname").map((name) => [name, undefined]));
    const filled = Object.fromEntries(Object.entries(input).filter(([name, text]) => text !== "" || name === "name"));
    const { hostname: _, ...rest } = profile; // it is changed beside, and what is left out stays
    const { inactiveHostnames } = (await own("GET", `${at}/profile`)).body;
    await own("PUT", `${at}/profile`, { json: { ...rest, ...emptied, ...filled, inactiveHostnames } });
  });
  const field = (name) => html`<${Field} key=${name} label=${label[name]} name=${name} defaultValue=${profile[name] ?? ""} maxlength="250"
    type=${name.endsWith("Url") ? "url" : "text"} />`;
  return html`<section class="card stack"><h2>${T("Profile")}</h2>
    <${Picture} url=${`${at}/avatar`} name=${profile.name ?? ""} has=${value.hasAvatar}
      label=${T("The logo, shown at the top of every page.")} />
    <${Form} onSend=${save.run} refused=${save.error} onInput=${save.touch}>
      ${lines.map((names) => html`<div class="pair">${names.map(field)}</div>`)}
      <${Place} locale=${profile.locale} timeZone=${profile.timeZone} />
      <${Field} label=${T("Signature under messages")} optional name="globalSignature" as="textarea" rows="3"
        defaultValue=${profile.globalSignature ?? ""} />
      <${Save} of=${save} />
    <//>
  </section>`;
}

/** @param {{at: OrganizationPath}} props */
function Theme({ at }) {
  const root = document.documentElement;
  const now = (name, usual) => getComputedStyle(root).getPropertyValue(name).trim().match(/^#[0-9a-f]{6}$/i)?.[0] ?? usual;
  const save = useSaving(async ({ primaryColor, backgroundColor }) => {
    await own("PUT", `${at}/theme`, { json: { primaryColor, backgroundColor } });
    root.style.setProperty("--brand", primaryColor);
    root.style.setProperty("--backdrop", backgroundColor);
  });
  const reset = useAction(async () => {
    await own("DELETE", `${at}/theme`);
    location.reload();
  });
  const colour = (label, name, property, usual) => html`<${Field} label=${label} name=${name} type="color" value=${now(property, usual)}
    onInput=${(e) => root.style.setProperty(property, e.target.value)} />`;
  return html`<section class="card stack"><h2>${T("Colors")}</h2>
    <p class="hint">${T("Lightness is adjusted so that everything stays readable.")}</p>
    <${Form} onSend=${save.run} onInput=${save.touch}>
      <div class="pair">${colour(T("Accent"), "primaryColor", "--brand", "#0d6e62")}${colour(T("Background"), "backgroundColor",
        "--backdrop", "#f6f7f6")}</div>
      <${Problem} error=${reset.error} />
      <${Save} of=${save}><${Button} kind="quiet" busy=${reset.busy} onClick=${() => reset.run()}>${T("Reset to default colors")}<//><//>
    <//>
  </section>`;
}

/** @param {{at: OrganizationPath, admin: boolean}} props */
function Leave({ at, admin }) {
  const [asking, setAsking] = useState(/** @type {"" | "leave" | "delete"} */ (""));
  const { stepUp, dialog } = useStepUp();
  const act = useAction(async (what) => {
    await (what === "delete" ? stepUp("DELETE", at) : stepUp("POST", `${at}/leave`));
    location.assign("/account");
  });
  const questions = {
    leave: T("Leave the organization? You lose the permissions it has given you."),
    delete: T("Delete the organization with its groups and settings? Its members keep their mailboxes."),
  };
  const names = { leave: T("Leave the organization"), delete: T("Delete organization") };
  return html`<section class="card stack"><h2>${T("Leave")}</h2>
    <${Problem} error=${act.error} />
    <div class="row">
      <${Button} kind="danger" busy=${act.busy} onClick=${() => setAsking("leave")}>${names.leave}<//>
      ${admin && html`<${Button} kind="danger" icon="trash" busy=${act.busy} onClick=${() => setAsking("delete")}>${names.delete}<//>`}
    </div>
    ${asking && html`<${Ask} question=${questions[asking]} yes=${names[asking]} onYes=${() => act.run(asking)}
      onClose=${() => setAsking("")} />`}
    ${dialog}
  </section>`;
}
