// The organization page: the rule of the second factor, and who did what.

import { Button, Field, Notice, Problem, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { T, when } from "./i18n.js";
import { accessClaims, identity, own } from "./api.js";
import { saveBody } from "./downloads.js";
import { useStepUp } from "./stepup.js";

/** Shows the rule of the second factor and the audit. @param {{at: string}} props URL of the organization */
export function Security({ at }) {
  return html`<${Factor} at=${at} /><${Audit} at=${at} />`;
}

function Factor({ at }) {
  const { value, error, reload } = useLoaded(async () => {
    const [profile, said, listed] = await Promise.all([own("GET", `${identity}/profile`), accessClaims(), own("GET", `${identity}/profile/authenticators`)]);
    // A person of an external provider has no password here: the provider asks for the second factor.
    const external = !listed.body.authenticators.some((/** @type {any} */ a) => a.type === "bcrypt");
    return { required: profile.body.membership?.organization?.mfaRequired ?? false, ready: external || said.authLevel >= 2 };
  });
  const { stepUp, dialog } = useStepUp();
  const put = useAction(async (mfaRequired) => {
    await stepUp("PUT", `${at}/security`, { mfaRequired });
    reload();
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const { required, ready } = value;
  return html`<section class="card stack"><h2>${T("Second factor")}</h2>
    <p>${required ? T("Members need a second factor. Without one they can only set it up or leave.") : T("Members can sign in with just their password.")}</p>
    ${!required && html`<p class="hint">${T("If you require it, every member gets an email, and sessions without a second factor lose access.")}</p>`}
    ${!required && !ready && html`<${Notice}>${T("Set up a second factor for yourself first, then sign in with it.")} <a href="/account">${T("Account")}</a><//>`}
    <${Problem} error=${put.error} />
    <div><${Button} kind=${required ? "plain" : "primary"} busy=${put.busy} disabled=${!required && !ready} onClick=${() => put.run(!required)}>
      ${required ? T("No longer require it") : T("Require a second factor")}<//></div>
    ${dialog}
  </section>`;
}

const pageSize = 50;

function Audit({ at }) {
  const [action, setAction] = useState("");
  const [pages, setPages] = useState(/** @type {any[]} */ ([])); // the entries after the first page
  const [more, setMore] = useState(true);
  const query = (before = 0) => `${at}/audit?limit=${pageSize}${action ? `&action=${action}` : ""}${before ? `&before=${before}` : ""}`;
  const { value, error } = useLoaded(async () => {
    const { body } = await own("GET", query());
    setPages([]);
    setMore(body.entries.length === pageSize);
    return body.entries;
  }, [at, action]);
  const next = useAction(async () => {
    const shown = [...value, ...pages];
    const { body } = await own("GET", query(shown[shown.length - 1].id));
    setPages([...pages, ...body.entries]);
    setMore(body.entries.length === pageSize);
  });
  const table = useAction(async () => {
    const { response } = await own("GET", `${at}/audit?format=csv${action ? `&action=${action}` : ""}`, { accept: "text/csv" });
    await saveBody(response, "audit.csv");
  });
  const kinds = [["", T("Everything")], ["member.", T("Members")], ["invitation.", T("Invitations")], ["organization.", T("Organization")],
    ["session.", T("Sessions")], ["mailbox.", T("Mailboxes")], ["mailboxgroup.", T("Groups of mailboxes")], ["adminunit.", T("Rules for transfers")],
    ["token.", T("API tokens")], ["webhook.", T("Webhooks")]];
  const person = (p) => (p ? p.name || p.email || p.uid : "–");
  return html`<section class="card stack wide"><h2>${T("Activity")}</h2>
    <${Field} label=${T("Show")} as="select" onChange=${(e) => setAction(e.target.value)}>
      ${kinds.map(([prefix, name]) => html`<option value=${prefix} selected=${prefix === action}>${name}</option>`)}<//>
    <${Problem} error=${error ?? next.error ?? table.error} />
    ${value && value.length === 0 && html`<${Empty} drawing="search" sentence=${T("Nothing matches.")} />`}
    ${value && html`<ul class="list rows">${[...value, ...pages].map((e) => html`<li key=${e.id}>
      <div class="row between"><code>${e.action}</code><span class="hint">${when(e.at)}</span></div>
      <span class="hint block break">${person(e.actor)}${e.target && e.target.uid !== e.actor?.uid ? ` → ${person(e.target)}` : ""}</span>
      ${Object.keys(e.details ?? {}).length > 0 && html`<code class="sum">${Object.entries(e.details).map(([name, text]) => `${name}: ${text}`).join(" · ")}</code>`}
    </li>`)}</ul>`}
    <div class="row">
      ${more && value?.length > 0 && html`<${Button} busy=${next.busy} onClick=${() => next.run()}>${T("Show more")}<//>`}
      <${Button} icon="download" busy=${table.busy} onClick=${() => table.run()}>${T("Download as a table (CSV)")}<//>
    </div>
  </section>`;
}
