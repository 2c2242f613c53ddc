// /account and /organization: webhooks: making one, whose secret is shown once, testing, pausing and deleting it, and the log of its deliveries.

import { Ask, Button, Check, Copy, Field, Form, Notice, Problem, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { F, T, since, when } from "./i18n.js";
import { identity, own } from "./api.js";
import { now } from "./session.js";

/** What can happen: kind of event, sentence. @returns {[string, string][]} */
const kinds = () => [
  ["TRANSFER_RECEIVED", T("A transfer arrived")],
  ["TRANSFER_ACCESSED", T("A recipient opened a transfer")],
  ["TRANSFER_UPDATED", T("A transfer was changed")],
  ["TRANSFER_EXTENSION_ASKED", T("A recipient asks for more time")],
  ["TRANSFER_REVOKED", T("A transfer was revoked")],
  ["PRIVILEGES_UPDATED", T("Membership or permissions changed")],
  ["ORGANIZATION_PROFILE_UPDATED", T("The organization’s profile changed")],
  ["ORGANIZATION_AVATAR_UPDATED", T("The organization’s logo changed")],
  ["PROFILE_AVATAR_UPDATED", T("A profile picture changed")],
];

/** The states of a delivery. @returns {Record<string, string>} */
const states = () => ({ pending: T("waiting"), delivered: T("delivered"), dead: T("given up") });

const sentenceOf = (/** @type {string} */ kind) => kinds().find(([name]) => name === kind)?.[1] ?? T("Test");

/** Shows the webhooks of the person, or of an organization. @param {{organization?: string}} props uid; none: the person's */
export function Webhooks({ organization = "" }) {
  const { value, error, reload } = useLoaded(async () =>
    (await own("GET", `${identity}/webhooks${organization ? `?organization=${organization}` : ""}`)).body.webhooks);
  const [secret, setSecret] = useState("");
  const [making, setMaking] = useState(false);
  const done = (/** @type {any} */ made) => {
    if (made?.secret) setSecret(made.secret);
    setMaking(false);
    reload();
  };
  return html`<section class="card stack" id="webhooks"><h2>${T("Webhooks")}</h2>
    <p class="dim">${T("What happens is posted to an address of yours, signed with a secret.")}</p>
    ${secret && html`<${Notice} kind="good" title=${T("Copy the secret now. It isn’t shown again.")}>
      <p><code class="sum break">${secret}</code></p>
      <${Copy} text=${secret} label=${T("Copy the secret")} /><//>`}
    ${!value && html`<${Waiting} error=${error} />`}
    ${value?.length > 0 && html`<ul class="list rows">${value.map((/** @type {any} */ w) => html`<${Row} key=${w.uid} hook=${w} onDone=${done} />`)}</ul>`}
    ${making
    ? html`<${Make} organization=${organization} onDone=${done} onCancel=${() => setMaking(false)} />`
    : html`<div><${Button} onClick=${() => { setSecret(""); setMaking(true); }}>${T("Create a webhook")}<//></div>`}
  </section>`;
}

/** Says why a webhook does not work. @param {any} hook */
function trouble(hook) {
  if (hook.disabledReason === "FAILING") return T("turned off: it failed for three days");
  if (hook.disabledReason === "GONE") return T("turned off: the receiver wants no more messages");
  if (!hook.active) return T("paused");
  return hook.failingSinceTimestamp ? F("failing since %s", when(hook.failingSinceTimestamp)) : "";
}

function Row({ hook, onDone }) {
  const url = `${identity}/webhooks/${hook.uid}`;
  const [log, setLog] = useState(/** @type {any[] | null} */ (null));
  const [asking, setAsking] = useState(false);
  const act = useAction(async (/** @type {() => Promise<any>} */ work) => work());
  const load = async () => setLog((await own("GET", `${url}/deliveries`)).body.deliveries);
  const test = async () => {
    await own("POST", `${url}/ping`);
    await load();
  };
  const turn = async () => {
    await own("PUT", url, { json: { url: hook.url, events: hook.events, active: !hook.active } });
    onDone();
  };
  const renew = async () => onDone((await own("POST", `${url}/rotate`)).body);
  const remove = async () => {
    await own("DELETE", url);
    onDone();
  };
  const wrong = trouble(hook);
  return html`<li class="stack">
    <span><b class="break">${hook.url}</b>
      <span class="hint block">${hook.events.map(sentenceOf).join(" · ")}</span>
      ${wrong && html`<span class="hint block"><span class="badge warn">${wrong}</span></span>`}</span>
    <div class="row">
      <${Button} busy=${act.busy} onClick=${() => act.run(test)}>${T("Send a test")}<//>
      <${Button} busy=${act.busy} onClick=${() => (log ? setLog(null) : act.run(load))} aria-expanded=${log !== null}>${T("Deliveries")}<//>
      <${Button} busy=${act.busy} onClick=${() => act.run(turn)}>${hook.active ? T("Pause") : T("Resume")}<//>
      <${Button} busy=${act.busy} onClick=${() => act.run(renew)}>${T("Replace the secret")}<//>
      <${Button} busy=${act.busy} onClick=${() => setAsking(true)} aria-label=${F("Delete the webhook to %s", hook.url)}>${T("Delete")}<//>
    </div>
    <${Problem} error=${act.error} />
    ${log && html`<${Log} url=${url} log=${log} onChange=${load} />`}
    ${asking && html`<${Ask} question=${F("Delete the webhook to %s?", hook.url)} yes=${T("Delete")} onYes=${() => act.run(remove)} onClose=${() => setAsking(false)} />`}
  </li>`;
}

function Log({ url, log, onChange }) {
  const again = useAction(async (uid) => {
    await own("POST", `${url}/deliveries/${uid}/send`);
    await onChange();
  });
  const reload = useAction(onChange);
  return html`<div class="stack deliveries">
    ${log.length === 0 && html`<p class="dim">${T("Nothing was sent yet.")}</p>`}
    <ul class="list rows">${log.map((/** @type {any} */ d) => html`<li key=${d.uid} class="row between">
      <span>${sentenceOf(d.kind)}
        <span class="hint block">${states()[d.state]}${d.status !== null && ` · HTTP ${d.status}`}${d.status === null && d.reason && ` · ${d.reason}`}${d.duration !== null && ` · ${d.duration} ms`} · ${since(d.createdTimestamp, now())}</span>
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
    onDone((await own("POST", `${identity}/webhooks`, { json: { url: url.trim(), events: chosen, ...(organization ? { organization } : {}) } })).body);
  });
  const turn = (/** @type {string} */ kind, /** @type {boolean} */ on) => choose(on ? [...chosen, kind] : chosen.filter((k) => k !== kind));
  return html`<${Form} onSend=${make.run} refused=${make.error}>
    <${Field} label=${T("Address")} hint="https://example.com/…" name="url" type="url" required maxlength="500" focus />
    <fieldset class="stack"><legend>${T("Post when")}</legend>
      ${kinds().map(([kind, sentence]) => html`<${Check} key=${kind} label=${sentence} checked=${chosen.includes(kind)}
        onChange=${(/** @type {any} */ e) => turn(kind, e.target.checked)} />`)}</fieldset>
    <${Problem} error=${make.error} />
    <div class="row"><${Button} type="submit" kind="primary" busy=${make.busy} disabled=${chosen.length === 0}>${T("Create the webhook")}<//>
      <${Button} onClick=${onCancel}>${T("Cancel")}<//></div>
  <//>`;
}
