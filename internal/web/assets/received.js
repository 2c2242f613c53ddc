// What a recipient can do with a received transfer beside downloading: forward it, keep it, note something, mark it as unread.

import { Button, Field, Form, Lines, Notice, Problem, Waiting, announce, html, useAction, useLoaded, useState } from "./ui.js";
import { F, T, list } from "./i18n.js";
import { own, transfer } from "./api.js";
import { Actions } from "./actions.js";
import { members } from "./errors.js";
import { Recipients } from "./recipients.js";
import { Options, stronger, terms, usualTerms } from "./terms.js";

/** The path of a transfer in the API. @param {TransferAPI["Transfer"]} t */
const pathOf = (t) => /** @type {const} */ (`${transfer}/transfers/${t.uid}`);

/** Reports whether a recipient can forward a transfer. Limits of downloads forbid it. @param {TransferAPI["Transfer"]} t */
const forwardable = (t) => t.forwarding && !t.locked && (t.objectCount ?? 0) > 0 && !t.maxDownloads && !t.maxTotalDownloads
  && !t.deleteAfterDownload;

/**
 * What can be done with a received transfer. `onChange` receives the transfer after a change. `further`: actions after these.
 * @param {{transfer: TransferAPI["Transfer"], over: boolean, onChange: (changed: TransferAPI["Transfer"]) => void, further:
 *  import("./actions.js").Command[]}} props
 */
export function Received({ transfer: t, over, onChange, further }) {
  const patch = useAction(async (json, said) => {
    onChange((await own("PATCH", pathOf(t), { json })).body);
    announce(said);
  });
  /**
   * @param {string} name @param {string} icon @param {string} label @param {any} json @param {string} said
   * @returns {import("./actions.js").Command}
   */
  const set = (name, icon, label, json, said) => ({ name, icon, label, busy: patch.busy, run: () => patch.run(json, said) });
  const commands = [
    !over && forwardable(t) && { name: "forward", icon: "forward", label: T("Forward"), form: () => html`<${Forward} transfer=${t} />` },
    t.type === "mailbox" && !over && (t.pinned ? set("keep", "pin", T("Don’t keep"), { pinned: false }, T("This transfer expires again."))
      : set("keep", "pin", T("Keep"), { pinned: true }, T("This transfer is kept."))),
    { name: "notes", icon: "text", label: T("Notes"),
      form: (/** @type {() => void} */ done) => html`<${Notes} transfer=${t} onChange=${onChange} onDone=${done} />` },
    t.read && set("unread", "mail", T("Mark as unread"), { read: false }, T("Marked as unread")),
    ...further,
  ].filter(Boolean);
  return html`
    ${t.notes && html`<div class="card notes" aria-label=${T("Your notes")}><${Lines} text=${t.notes} /></div>`}
    <${Actions} commands=${commands} />
    <${Problem} error=${patch.error} />`;
}

/** The form that passes a transfer on. @param {{transfer: TransferAPI["Transfer"]}} props */
function Forward({ transfer: t }) {
  const { value: environment, error } = useLoaded(async () => (await own("GET", `${transfer}/environment`)).body);
  if (!environment) return html`<${Waiting} error=${error} />`;
  return html`<${ForwardForm} transfer=${t} environment=${environment} />`;
}

/** @param {{transfer: TransferAPI["Transfer"], environment: TransferAPI["Environment"]}} props */
function ForwardForm({ transfer: t, environment }) {
  const least = stronger(environment.protectionLevel, t.protection ?? "none");
  const [people, setPeople] = useState(/** @type {import("./recipients.js").Recipient[]} */ ([]));
  const [values, setValues] = useState(() => usualTerms(environment, least));
  const [said, setSaid] = useState("");
  const send = useAction(async ({ subject, message }) => {
    const json = { recipients: people, ...terms(values, true), ...(subject ? { subject } : {}), ...(message ? { message } : {}) };
    await own("POST", `${pathOf(t)}/forward`, { json });
    const sentence = F("Forwarded to %s", list(people.map((p) => p.email)));
    setSaid(sentence);
    announce(sentence);
  });
  if (said) return html`<${Notice} kind="good">${said}<//>`;
  return html`<${Form} onSend=${send.run} refused=${send.error}>
    <${Recipients} value=${people} onValue=${setPeople} />
    <${Field} label=${T("Message")} as="textarea" name="message" rows="3" maxlength="20000" optional />
    <${Options} values=${values} change=${(part) => setValues({ ...values, ...part })} environment=${environment} least=${least}
      people=${true} wrong=${members(send.error)}>
      <${Field} label=${T("Subject")} name="subject" maxlength="120" optional defaultValue=${t.subject ?? ""} />
    <//>
    <p class="hint">${T("The files go on as a transfer of your own. It stays when the original ends.")}</p>
    <${Problem} error=${send.error} />
    <${Button} type="submit" kind="primary" icon="forward" disabled=${people.length === 0} busy=${send.busy}>${T("Forward")}<//>
  <//>`;
}

/** @param {{transfer: TransferAPI["Transfer"], onChange: (changed: TransferAPI["Transfer"]) => void, onDone: () => void}} props */
function Notes({ transfer: t, onChange, onDone }) {
  const save = useAction(async ({ notes }) => {
    onChange((await own("PATCH", pathOf(t), { json: { notes } })).body);
    announce(T("Saved"));
    onDone();
  });
  return html`<${Form} onSend=${save.run}>
    <${Field} label=${T("Your notes")} hint=${T("Only you see them. The search finds them.")} as="textarea" name="notes" rows="3"
      maxlength="4000" defaultValue=${t.notes ?? ""} optional />
    <${Problem} error=${save.error} />
    <${Button} type="submit" kind="primary" busy=${save.busy}>${T("Save")}<//>
  <//>`;
}
