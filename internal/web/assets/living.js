// What the sender can still change of a delivered transfer: expiry, password, recipients, reminders.

import { Ask, Button, Check, Field, Form, Icon, Notice, Problem, Tool, Waiting, announce, html, useAction, useEffect, useLoaded,
  useState } from "./ui.js";
import { F, N, T, exactly, list, when } from "./i18n.js";
import { own, transfer } from "./api.js";
import { Actions } from "./actions.js";
import { Activity } from "./activity.js";
import { Password } from "./signin.js";
import { Recipients } from "./recipients.js";

/** The path of a transfer in the API. @param {TransferAPI["Transfer"]} t */
const pathOf = (t) => /** @type {const} */ (`${transfer}/transfers/${t.uid}`);

/** Reports whether the sender can still extend an expired transfer. @param {TransferAPI["Transfer"]} t */
export const isExtendable = (t) => t.state === "expired" && Boolean(t.extendableUntil);

/**
 * What can be done with a transfer that the signed-in person sent. `onChange` receives the transfer after a change. `further`: actions
 * after these.
 * @param {{transfer: TransferAPI["Transfer"], onChange: (changed: TransferAPI["Transfer"]) => void, further:
 *  import("./actions.js").Command[]}} props
 */
export function Living({ transfer: t, onChange, further }) {
  const expired = isExtendable(t);
  const over = t.state === "revoked" || (t.state === "expired" && !expired);
  const changed = (/** @type {TransferAPI["Transfer"]} */ next) => { announce(T("Saved")); onChange(next); };
  /** @param {string} name @param {string} icon @param {string} label @param {any} Part @returns {import("./actions.js").Command} */
  const part = (name, icon, label, Part) => ({ name, icon, label,
    form: (done) => html`<${Part} transfer=${t} onChange=${changed} onDone=${done} />` });
  const commands = [
    !over && part("extend", "clock", T("Extend"), Extend),
    part("activity", "info", T("Activity"), Activity),
    !over && !expired && part("recipients", "plus", T("Add recipients"), Add),
    !over && !expired && part("password", "lock", T("Password"), Protect),
    !over && !expired && part("limits", "download", T("Limits"), Limit),
    ...further,
  ].filter((c) => c !== false);
  return html`
    ${expired && html`<${Notice} kind="warn">${F("Expired. You can extend it until %s; then its files are deleted.",
      exactly(t.extendableUntil))}<//>`}
    <${Actions} commands=${commands} />`;
}

/**
 * The choice of another life of a transfer, from now.
 * @param {{transfer: TransferAPI["Transfer"], onChange: (changed: TransferAPI["Transfer"]) => void, onDone?: () => void}} props
 */
export function Extend({ transfer: t, onChange, onDone = () => {} }) {
  const { value: environment, error } = useLoaded(async () => (await own("GET", `${transfer}/environment`)).body);
  const save = useAction(async ({ ttl }) => {
    onChange((await own("PATCH", pathOf(t), { json: { ttl: Number(ttl) } })).body);
    onDone();
  });
  if (!environment) return html`<${Waiting} error=${error} />`;
  return html`<${Form} onSend=${save.run}>
    <${Field} label=${T("Available for")} hint=${T("Counted from now.")} as="select" name="ttl">
      ${environment.availableTtl.map((days) => html`<option value=${String(days)} selected=${days === environment.defaultTtl}>
        ${N("%d day", "%d days", days)}</option>`)}<//>
    <${Problem} error=${save.error} />
    <${Button} type="submit" kind="primary" icon="clock" busy=${save.busy}>${T("Extend")}<//>
  <//>`;
}

/** @param {{transfer: TransferAPI["Transfer"], onChange: (changed: TransferAPI["Transfer"]) => void, onDone: () => void}} props */
function Protect({ transfer: t, onChange, onDone }) {
  const save = useAction(async ({ password }) => {
    onChange((await own("PATCH", pathOf(t), { json: { protection: "password", password } })).body);
    onDone();
  });
  return html`<${Form} onSend=${save.run}>
    <${Password} name="password" autocomplete="new-password" label=${T("Password for the recipients")}
      hint=${T("Who has opened the transfer before must enter the new one.")} />
    <${Problem} error=${save.error} />
    <${Button} type="submit" kind="primary" icon="lock" busy=${save.busy}>
      ${t.protection === "password" ? T("Change password") : T("Protect with a password")}<//>
  <//>`;
}

/** Limits of downloads. */
/** @param {{transfer: TransferAPI["Transfer"], onChange: (changed: TransferAPI["Transfer"]) => void, onDone: () => void}} props */
function Limit({ transfer: t, onChange, onDone }) {
  const save = useAction(async ({ each, all, once, forwarding }) => {
    const json = { maxDownloads: Number(each), maxTotalDownloads: Number(all), deleteAfterDownload: once === "on",
      forwarding: forwarding === "on" };
    onChange((await own("PATCH", pathOf(t), { json })).body);
    onDone();
  });
  return html`<${Form} onSend=${save.run}>
    <${Field} label=${T("Downloads by each recipient")} hint=${T("Of each file. Downloads that were made count.")} optional type="number"
      min="1" max="1000000" name="each" defaultValue=${t.maxDownloads} />
    <${Field} label=${T("Downloads by all recipients together")} optional type="number" min="1" max="1000000" name="all"
      defaultValue=${t.maxTotalDownloads} />
    <${Check} label=${T("Delete the files when a recipient has downloaded all of them")} name="once"
      defaultChecked=${t.deleteAfterDownload} />
    <${Check} label=${T("Recipients may forward the files")} hint=${T("Not while downloads are limited.")} name="forwarding"
      defaultChecked=${t.forwarding} />
    <${Problem} error=${save.error} />
    <${Button} type="submit" kind="primary" busy=${save.busy}>${T("Save")}<//>
  <//>`;
}

/**
 * The recipients of a transfer that the signed-in person sent: what each has done, and what can be changed for each.
 * @param {{transfer: TransferAPI["Transfer"], onChange: (changed: TransferAPI["Transfer"]) => void}} props
 */
export function Receivers({ transfer: t, onChange }) {
  const [asking, setAsking] = useState(/** @type {TransferAPI["Receiver"] | null} */ (null));
  const [said, setSaid] = useState("");
  const reload = async () => onChange((await own("GET", pathOf(t))).body);
  const say = (sentence) => { setSaid(sentence); announce(sentence); };
  const remove = useAction(async (r) => {
    await own("DELETE", `${pathOf(t)}/recipients/${r.delivery}`);
    await reload();
  });
  const resend = useAction(async (r) => {
    await own("POST", `${pathOf(t)}/recipients/${r.delivery}/resend`);
    say(F("The link was sent to %s again.", r.email));
  });
  const remind = useAction(async () => {
    const { body } = await own("POST", `${pathOf(t)}/remind`);
    say(body.reminded ? N("%d recipient was reminded.", "%d recipients were reminded.", body.reminded)
      : T("Nobody was reminded: all have downloaded the files, or were reminded today."));
    await reload();
  });
  const living = t.state !== "revoked" && t.state !== "expired";
  const person = (/** @type {TransferAPI["Receiver"]} */ r) => html`<li key=${r.delivery ?? r.email} class="row between">
    <span class="who"><span class="break">${r.name ? `${r.name} (${r.email})` : r.email}</span>
      <span class=${r.downloads ? "good" : "dim"}>
        ${(r.downloads ?? 0) > 0 && html`<${Icon} name="check" /> `}${done(r, t.undelivered ?? [])}</span></span>
    ${living && r.delivery && html`<span class="row tight"><${Tool} icon="mail" label=${F("Send the link to %s again", r.email)}
      onClick=${() => resend.run(r)} />
      <${Tool} icon="close" label=${F("Remove %s", r.email)} onClick=${() => setAsking(r)} /></span>`}
  </li>`;
  return html`<section class="receivers">
    <div class="row between"><h3>${T("Recipients")}</h3>
      ${living && html`<${Button} kind="quiet" icon="clock" busy=${remind.busy} onClick=${() => remind.run()}>${T("Remind")}<//>`}</div>
    <ul class="list" aria-label=${T("Recipients")}>${t.recipients.map(person)}</ul>
    ${said && html`<${Notice} kind="good">${said}<//>`}
    <${Problem} error=${remove.error ?? resend.error ?? remind.error} />
    ${asking && html`<${Ask} question=${F("Take the files back from %s? The link stops working at once.", asking.email)}
      yes=${T("Take back")}
      onYes=${() => remove.run(asking)} onClose=${() => setAsking(null)} />`}
  </section>`;
}

/** What a recipient has done, and when. @param {TransferAPI["Receiver"]} r @param {string[]} undelivered */
function done(r, undelivered) {
  if (undelivered.includes(r.email)) return T("Could not be reached");
  if (r.downloads) return N("Downloaded %d time, last on %s", "Downloaded %d times, last on %s", r.downloads, when(r.downloadedAt));
  return r.accessedAt ? F("Opened on %s", when(r.accessedAt)) : T("Not opened yet");
}

/** @param {{transfer: TransferAPI["Transfer"], onChange: (changed: TransferAPI["Transfer"]) => void, onDone: () => void}} props */
function Add({ transfer: t, onChange, onDone }) {
  const [added, setAdded] = useState(/** @type {import("./recipients.js").Recipient[]} */ ([]));
  const add = useAction(async () => {
    onChange((await own("POST", `${pathOf(t)}/recipients`, { json: { recipients: added } })).body);
    onDone();
  });
  return html`<${Form} onSend=${() => add.run()}>
    <${Recipients} value=${added} onValue=${setAdded} />
    <${Problem} error=${add.error} />
    <${Button} type="submit" kind="primary" icon="plus" disabled=${added.length === 0} busy=${add.busy}>${T("Add recipients")}<//>
  <//>`;
}

const asked = new URLSearchParams(location.search).get("extend") ?? "";

/** What a recipient's request leads to: /inbox?extend=UID shows the transfer with the form that extends it. */
export function ExtendAsked() {
  const [t, setT] = useState(/** @type {TransferAPI["Transfer"] | null} */ (null));
  const [done, setDone] = useState(false);
  const load = useAction(async () => setT((await own("GET", `${transfer}/transfers/${encodeURIComponent(asked)}`)).body));
  useEffect(() => { if (asked) load.run(); }, []);
  if (!asked) return null;
  if (!t) return html`<${Problem} error=${load.error} />`;
  if (done) return html`<${Notice} kind="good">${F("Available until %s", exactly(t.expiresAt))}<//>`;
  if (!isExtendable(t)) return t.state === "expired" || t.state === "revoked" ? html`<${Notice}>${T("The files are no longer there.")}<//>`
    : null;
  const names = list(t.recipients.map((r) => r.name || r.email));
  return html`<section class="card asked">
    <h2>${t.subject || T("No subject")}</h2>
    <p>${T("A recipient asks you to make these files available again.")} ${names && html`<span class="dim">${names}</span>`}</p>
    <${Extend} transfer=${t} onChange=${(changed) => { setT(changed); setDone(true); }} />
  </section>`;
}
