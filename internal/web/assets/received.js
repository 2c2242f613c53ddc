// What a recipient can do with a received transfer beside downloading: forward it, keep it, note something, mark it as unread.

import { Button, Field, Form, Lines, Notice, Problem, announce, html, useAction, useState } from "./ui.js";
import { F, T, list } from "./i18n.js";
import { own, transfer } from "./api.js";
import { Recipients } from "./recipients.js";

/** The path of a transfer in the API. @param {any} t */
const pathOf = (t) => `${transfer}/transfers/${t.uid}`;

/** Reports whether a recipient can forward a transfer. Limits of downloads forbid it. @param {any} t */
const forwardable = (t) => t.forwarding && !t.locked && t.objectCount > 0 && !t.maxDownloads && !t.maxTotalDownloads && !t.deleteAfterDownload;

/**
 * The buttons for a received transfer, with the forms of some. `onChange` receives the transfer after a change.
 * @param {{transfer: any, over: boolean, onChange: (changed: any) => void}} props
 */
export function Received({ transfer: t, over, onChange }) {
  const [part, setPart] = useState("");
  const patch = useAction(async (json, said) => {
    onChange((await own("PATCH", pathOf(t), { json })).body);
    announce(said);
  });
  const open = (name) => () => setPart(part === name ? "" : name);
  const mailbox = t.type === "mailbox" && !over;
  return html`
    ${t.notes && part !== "notes" && html`<div class="card notes" aria-label=${T("Your notes")}><${Lines} text=${t.notes} /></div>`}
    <div class="row living">
      ${!over && forwardable(t) && html`<${Button} icon="right" aria-expanded=${String(part === "forward")} onClick=${open("forward")}>${T("Forward")}<//>`}
      <${Button} icon="text" aria-expanded=${String(part === "notes")} onClick=${open("notes")}>${T("Notes")}<//>
      ${mailbox && html`<${Button} icon="lock" busy=${patch.busy} aria-pressed=${String(t.pinned)}
        onClick=${() => patch.run({ pinned: !t.pinned }, t.pinned ? T("This transfer expires again.") : T("This transfer is kept."))}>${t.pinned ? T("Don’t keep") : T("Keep")}<//>`}
      ${t.read && html`<${Button} icon="mail" busy=${patch.busy} onClick=${() => patch.run({ read: false }, T("Marked as unread"))}>${T("Mark as unread")}<//>`}
    </div>
    <${Problem} error=${patch.error} />
    ${part === "forward" && html`<div class="card"><${Forward} transfer=${t} /></div>`}
    ${part === "notes" && html`<div class="card"><${Notes} transfer=${t} onChange=${onChange} onDone=${() => setPart("")} /></div>`}`;
}

/** The form that passes a transfer on. @param {{transfer: any}} props */
function Forward({ transfer: t }) {
  const [people, setPeople] = useState(/** @type {import("./recipients.js").Recipient[]} */ ([]));
  const [said, setSaid] = useState("");
  const send = useAction(async ({ message }) => {
    await own("POST", `${pathOf(t)}/forward`, { json: { recipients: people, ...(message ? { message } : {}) } });
    const sentence = F("Forwarded to %s", list(people.map((p) => p.email)));
    setSaid(sentence);
    announce(sentence);
    setPeople([]);
  });
  if (said) return html`<${Notice} kind="good">${said}<//>`;
  return html`<${Form} onSend=${send.run}>
    <${Recipients} value=${people} onValue=${setPeople} />
    <${Field} label=${T("Message")} as="textarea" name="message" rows="3" maxlength="20000" optional />
    <p class="dim">${T("The files go on as a transfer of your own. It stays when the original ends.")}</p>
    <${Problem} error=${send.error} />
    <${Button} type="submit" kind="primary" icon="right" disabled=${people.length === 0} busy=${send.busy}>${T("Forward")}<//>
  <//>`;
}

/** @param {{transfer: any, onChange: (changed: any) => void, onDone: () => void}} props */
function Notes({ transfer: t, onChange, onDone }) {
  const save = useAction(async ({ notes }) => {
    onChange((await own("PATCH", pathOf(t), { json: { notes } })).body);
    announce(T("Saved"));
    onDone();
  });
  return html`<${Form} onSend=${save.run}>
    <${Field} label=${T("Your notes")} hint=${T("Only you see them. The search finds them.")} as="textarea" name="notes" rows="3" maxlength="4000" defaultValue=${t.notes ?? ""} optional />
    <${Problem} error=${save.error} />
    <${Button} type="submit" kind="primary" busy=${save.busy}>${T("Save")}<//>
  <//>`;
}
