// /account and /organization: webhooks and export targets: making one (the secret of a webhook is shown once), testing, pausing and
// deleting it, and the log of its deliveries.

import { Ask, Button, Check, Copy, Field, Form, Notice, Problem, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { F, T, since, when } from "./i18n.js";
import { identity, own } from "./api.js";
import { now } from "./session.js";
import { useStepUp } from "./stepup.js";

/** What can happen: kind of event, sentence. @returns {[string, string][]} */
const kinds = () => [
  ["TRANSFER_RECEIVED", T("A transfer arrived")],
  ["TRANSFER_ACCESSED", T("A recipient opened a transfer")],
  ["TRANSFER_UPDATED", T("A transfer was changed")],
  ["TRANSFER_INSPECTED", T("The check of a transfer for malware has a new result")],
  ["TRANSFER_EXTENSION_ASKED", T("A recipient asks for more time")],
  ["TRANSFER_REVOKED", T("A transfer was revoked")],
  ["REQUEST_OPENED", T("Somebody opened a request")],
  ["REQUEST_HANDED_IN", T("Documents were handed in")],
  ["REQUEST_ITEM", T("A document was accepted")],
  ["REQUEST_RETURNED", T("A document was sent back")],
  ["REQUEST_COMPLETED", T("A request is complete")],
  ["REQUEST_OVERDUE", T("A request is overdue")],
  ["PRIVILEGES_UPDATED", T("Membership or permissions changed")],
  ["ORGANIZATION_PROFILE_UPDATED", T("The organization’s profile changed")],
  ["ORGANIZATION_AVATAR_UPDATED", T("The organization’s logo changed")],
  ["PROFILE_AVATAR_UPDATED", T("A profile picture changed")],
];

/** The kinds of export targets: kind, name, an address of one. @returns {[string, string, string][]} */
const targets = () => [
  ["webdav", T("WebDAV folder"), "https://cloud.example.com/remote.php/dav/files/ann/Inbox"],
  ["s3", T("S3 bucket"), "https://s3.example.com/bucket/folder?region=eu-central-1"],
];

/** The states of a delivery. @returns {Record<string, string>} */
const states = () => ({ pending: T("waiting"), delivered: T("delivered"), dead: T("given up") });

const sentenceOf = (/** @type {string} */ kind) => kinds().find(([name]) => name === kind)?.[1] ?? T("Test");

/** Shows the webhooks of the person, or of an organization. @param {{organization?: string}} props uid; none: the person's */
export function Webhooks({ organization = "" }) {
  const { value, error, reload } = useLoaded(async () =>
    (await own("GET", `${identity}/webhooks?${new URLSearchParams(organization ? { organization } : {})}`)).body.webhooks);
  const [secret, setSecret] = useState("");
  const [making, setMaking] = useState(""); // "hook", "target"
  const done = (/** @type {IdentityAPI["WebhookSecret"] | undefined} */ made) => {
    if (made?.secret) setSecret(made.secret);
    setMaking("");
    reload();
  };
  return html`<section class="card stack" id="webhooks"><h2>${T("Webhooks")}</h2>
    <p class="dim">${T("What happens is posted to an address of yours, signed with a secret.")}</p>
    ${secret && html`<${Notice} kind="good" title=${T("Copy the secret now. It isn’t shown again.")}>
      <p><code class="sum break">${secret}</code></p>
      <${Copy} text=${secret} label=${T("Copy the secret")} /><//>`}
    ${!value && html`<${Waiting} error=${error} />`}
    ${value && value.length > 0 && html`<ul class="list rows">
      ${value.map((w) => html`<${Row} key=${w.uid} hook=${w} onDone=${done} />`)}</ul>`}
    ${making === "hook" && html`<${Make} organization=${organization} onDone=${done} onCancel=${() => setMaking("")} />`}
    ${making === "target" && html`<${MakeTarget} organization=${organization} onDone=${done} onCancel=${() => setMaking("")} />`}
    ${!making && html`<div class="row"><${Button} onClick=${() => { setSecret(""); setMaking("hook"); }}>${T("Create a webhook")}<//>
      <${Button} onClick=${() => { setSecret(""); setMaking("target"); }}>${T("Create an export target")}<//></div>`}
  </section>`;
}

/** Says why a webhook does not work. @param {IdentityAPI["Webhook"]} hook */
function trouble(hook) {
  if (hook.disabledReason === "FAILING") return T("turned off: it failed for three days");
  if (hook.disabledReason === "GONE") return T("turned off: the receiver wants no more messages");
  if (hook.disabledReason === "SECURITY") return T("turned off for your security");
  if (hook.disabledReason === "MAKER") return T("turned off: its maker is no longer an administrator");
  if (!hook.active) return T("paused");
  return hook.failingSinceTimestamp ? F("failing since %s", when(hook.failingSinceTimestamp)) : "";
}

/** @param {{hook: IdentityAPI["Webhook"], onDone: (made?: IdentityAPI["WebhookSecret"]) => void}} props */
function Row({ hook, onDone }) {
  const url = /** @type {const} */ (`${identity}/webhooks/${hook.uid}`);
  const [log, setLog] = useState(/** @type {IdentityAPI["WebhookDelivery"][] | null} */ (null));
  const [asking, setAsking] = useState(false);
  const act = useAction(async (/** @type {() => Promise<any>} */ work) => work());
  const load = async () => setLog((await own("GET", `${url}/deliveries`)).body.deliveries);
  const test = async () => {
    await own("POST", `${url}/ping`);
    await load();
  };
  const turn = async () => {
    await own("PUT", url, { json: { url: hook.url, user: hook.user, events: hook.events, active: !hook.active } });
    onDone();
  };
  const renew = async () => onDone((await own("POST", `${url}/rotate`)).body);
  const remove = async () => {
    await own("DELETE", url);
    onDone();
  };
  const wrong = trouble(hook);
  const target = targets().find(([kind]) => kind === hook.kind)?.[1];
  const address = target ? hook.url.replace(/^\w+\+/, "") : hook.url;
  const name = target ? F("Delete the export target %s", address) : F("Delete the webhook to %s", address);
  const question = target ? F("Stop copying to %s and forget its password?", address) : F("Delete the webhook to %s?", address);
  return html`<li class="stack">
    <span><b class="break">${address}</b>
      <span class="hint block">${target ? `${target} · ${hook.user}` : hook.events.map(sentenceOf).join(" · ")}</span>
      ${wrong && html`<span class="hint block"><span class="badge warn">${wrong}</span></span>`}</span>
    <div class="row">
      <${Button} busy=${act.busy} onClick=${() => act.run(test)}>${T("Send a test")}<//>
      <${Button} busy=${act.busy} onClick=${() => (log ? setLog(null) : act.run(load))} aria-expanded=${log !== null}>${T("Deliveries")}<//>
      <${Button} busy=${act.busy} onClick=${() => act.run(turn)}>${hook.active ? T("Pause") : T("Resume")}<//>
      ${!target && html`<${Button} busy=${act.busy} onClick=${() => act.run(renew)}>${T("Replace the secret")}<//>`}
      <${Button} busy=${act.busy} onClick=${() => setAsking(true)} aria-label=${name}>${T("Delete")}<//>
    </div>
    <${Problem} error=${act.error} />
    ${log && html`<${Log} url=${url} log=${log} onChange=${load} />`}
    ${asking && html`<${Ask} question=${question} yes=${T("Delete")} onYes=${() => act.run(remove)} onClose=${() => setAsking(false)} />`}
  </li>`;
}

/** @param {{url: `/id/v3/webhooks/${string}`, log: IdentityAPI["WebhookDelivery"][], onChange: () => Promise<void>}} props */
function Log({ url, log, onChange }) {
  const again = useAction(async (uid) => {
    await own("POST", `${url}/deliveries/${uid}/send`);
    await onChange();
  });
  const reload = useAction(onChange);
  return html`<div class="stack deliveries">
    ${log.length === 0 && html`<p class="dim">${T("Nothing was sent yet.")}</p>`}
    <ul class="list rows">${log.map((d) => html`<li key=${d.uid} class="row between">
      <span>${sentenceOf(d.kind)}
        <span class="hint block">${states()[d.state]}${d.status !== null && ` · HTTP ${d.status}`}${d.status === null && d.reason
          && ` · ${d.reason}`}${d.duration !== null && ` · ${d.duration} ms`} · ${since(d.createdTimestamp, now())}</span>
        ${d.answer && html`<code class="hint block break">${d.answer}</code>`}</span>
      ${d.state !== "pending" && html`<${Button} busy=${again.busy} onClick=${() => again.run(d.uid)}>${T("Send again")}<//>`}
    </li>`)}</ul>
    <${Problem} error=${again.error ?? reload.error} />
    <div><${Button} busy=${reload.busy} onClick=${() => reload.run()}>${T("Refresh")}<//></div>
  </div>`;
}

function Make({ organization, onDone, onCancel }) {
  const [chosen, choose] = useState(["TRANSFER_RECEIVED"]);
  const make = useAction(async ({ url }) => {
    onDone((await own("POST", `${identity}/webhooks`,
      { json: { url: url.trim(), events: chosen, ...(organization ? { organization } : {}) } })).body);
  });
  const turn = (/** @type {string} */ kind, /** @type {boolean} */ on) => choose(on ? [...chosen, kind] : chosen.filter((k) => k !== kind));
  return html`<${Form} onSend=${make.run} refused=${make.error}>
    <${Field} label=${T("Address")} hint="https://example.com/…" name="url" type="url" required maxlength="500" focus />
    <fieldset class="stack"><legend>${T("Post when")}</legend>
      ${kinds().map(([kind, sentence]) => html`<${Check} key=${kind} label=${sentence} checked=${chosen.includes(kind)}
        onChange=${(/** @type {any} */ e) => turn(kind, e.target.checked)} />`)}</fieldset>
    <${Problem} error=${make.error} />
    <div class="row"><${Button} type="submit" kind="primary" busy=${make.busy} disabled=${chosen.length === 0}>
      ${T("Create the webhook")}<//>
      <${Button} onClick=${onCancel}>${T("Cancel")}<//></div>
  <//>`;
}

function MakeTarget({ organization, onDone, onCancel }) {
  const [kind, choose] = useState("webdav");
  const { stepUp, dialog } = useStepUp();
  const make = useAction(async ({ url, user, password }) => {
    onDone((await stepUp("POST", `${identity}/webhooks`, {
      url: `${kind}+${url.trim()}`, user: user.trim(), password, events: ["TRANSFER_RECEIVED"], ...(organization ? { organization } : {}),
    })).body);
  });
  return html`<${Form} onSend=${make.run} refused=${make.error}>
    <p class="dim">${organization
    ? T("What arrives at the mailboxes of members is copied to this place. Transfers with a password or a download limit aren’t.")
    : T("Each transfer that arrives is copied to a place of yours. Transfers with a password or a download limit aren’t.")}</p>
    <${Field} label=${T("Copy to")} as="select" onChange=${(/** @type {any} */ e) => choose(e.target.value)} focus>
      ${targets().map(([value, name]) => html`<option value=${value} selected=${value === kind}>${name}</option>`)}<//>
    <${Field} label=${T("Address")} hint=${targets().find(([value]) => value === kind)?.[2]} name="url" type="url" required
      maxlength="500" />
    <${Field} label=${kind === "s3" ? T("Access key") : T("User name")} name="user" autocomplete="off" required maxlength="200" />
    <${Field} label=${kind === "s3" ? T("Secret key") : T("Password")} name="password" type="password" autocomplete="off" required
      maxlength="200" />
    <${Problem} error=${make.error} />
    <div class="row"><${Button} type="submit" kind="primary" busy=${make.busy}>${T("Create the export target")}<//>
      <${Button} onClick=${onCancel}>${T("Cancel")}<//></div>
  <//>${dialog}`;
}
