// /inbox: which transfers the list shows, in which order, and what is done with several of them.

import { Ask, Button, Notice, Problem, announce, html, useAction, useState } from "./ui.js";
import { F, N, T } from "./i18n.js";
import { own, transfer } from "./api.js";
import { downloadOwn } from "./downloads.js";

const mostDownloads = 10; // archives at once: as many one-time keys a person has at a time

/** Names of the filters, in their order. @param {boolean} sent @returns {[string, string][]} */
function filters(sent) {
  /** @type {[string, string][]} */
  const all = [["", T("All")], ["new", T("New")], ["open", T("Available")], ["expired", T("Expired")], ["pinned", T("Kept")]];
  return all.filter(([name]) => !sent || (name !== "new" && name !== "pinned"));
}

/** @param {{label: string, value: string, options: [string, string][], onValue: (value: string) => void}} props */
const Choice = ({ label, value, options, onValue }) => html`<select aria-label=${label} value=${value}
  onChange=${(e) => onValue(e.target.value)}>${options.map(([name,
    text]) => html`<option value=${name} selected=${name === value}>${text}</option>`)}</select>`;

/**
 * The choice of a filter and an order, and the button that begins the choice of several transfers.
 * @param {{sent: boolean, filter: string, order: string, choosing: boolean, onFilter: (filter: string) => void, onOrder: (order: string) =>
 *  void, onChoose: () => void}} props
 */
export const Narrow = ({ sent, filter, order, choosing, onFilter, onOrder, onChoose }) => html`<div class="row narrow">
  <${Choice} label=${T("Show")} value=${filter} options=${filters(sent)} onValue=${onFilter} />
  <${Choice} label=${T("Order")} value=${order} options=${[["newest", T("Newest first")], ["oldest", T("Oldest first")]]}
    onValue=${onOrder} />
  <${Button} kind="quiet" icon="check" aria-pressed=${String(choosing)} onClick=${onChoose}>
    <span class="wide-only">${T("Select")}</span><//>
</div>`;

/**
 * What can be done with the chosen ones of all shown transfers. `onGone` receives the uid of each that was deleted or revoked, `onRead`
 * that of each that was marked as read, with the transfer after it. `onChosen` takes null to end the choice.
 * @param {{sent: boolean, all: TransferAPI["Transfer"][], chosen: string[], onChosen: (chosen: string[] | null) => void,
 *  onGone: (uid: string) => void, onRead: (uid: string, next: TransferAPI["Transfer"]) => void}} props
 */
export function Chosen({ sent, all, chosen: uids, onChosen, onGone, onRead }) {
  const [asking, setAsking] = useState(false);
  const chosen = all.filter((t) => uids.includes(t.uid)), unread = chosen.filter((t) => !sent && t.read === false);
  const here = chosen.filter((t) => t.state !== "expired" && t.state !== "revoked" && !t.locked && (t.objectCount ?? 0) > 0);
  const onDone = () => onChosen(null);
  const download = useAction(async () => {
    for (const t of here) await downloadOwn(t.uid);
    onDone();
  });
  const read = useAction(async () => {
    for (const t of unread) {
      await own("PATCH", `${transfer}/transfers/${t.uid}`, { json: { read: true } });
      onRead(t.uid, { ...t, read: true });
    }
    announce(T("Marked as read"));
    onDone();
  });
  const remove = useAction(async () => {
    for (const t of chosen) {
      await own("DELETE", `${transfer}/transfers/${t.uid}`);
      onGone(t.uid);
    }
    announce(sent ? T("Revoked") : T("Deleted"));
    onDone();
  });
  const verb = sent ? T("Revoke") : T("Delete");
  const question = sent ? N("Revoke %d transfer? Nobody can open it any more.", "Revoke %d transfers? Nobody can open them any more.", chosen.length)
    : N("Delete %d transfer from your list?", "Delete %d transfers from your list?", chosen.length);
  const everything = all.length > 0 && chosen.length === all.length;
  return html`<div class="row chosen" role="group" aria-label=${T("Selected transfers")}>
    <label class="check"><input type="checkbox" checked=${everything} indeterminate=${chosen.length > 0 && !everything}
      onChange=${() => onChosen(everything ? [] : all.map((t) => t.uid))} /> ${T("Select all")}</label>
    <span aria-live="polite">${N("%d selected", "%d selected", chosen.length)}</span>
    <${Button} icon="download" disabled=${here.length === 0 || here.length > mostDownloads} busy=${download.busy}
      onClick=${() => download.run()}><span class="wide-only">${T("Download")}</span><//>
    ${!sent && html`<${Button} icon="mail" disabled=${unread.length === 0} busy=${read.busy} onClick=${() => read.run()}>
      <span class="wide-only">${T("Mark as read")}</span><//>`}
    <${Button} kind="danger" icon="trash" disabled=${chosen.length === 0} busy=${remove.busy} onClick=${() => setAsking(true)}>
      <span class="wide-only">${verb}</span><//>
    <${Button} kind="quiet" onClick=${onDone}>${T("Cancel")}<//>
  </div>
  ${here.length > mostDownloads && html`<${Notice}>${F("At most %s transfers can be downloaded at once.", mostDownloads)}<//>`}
  <${Problem} error=${download.error ?? read.error ?? remove.error} />
  ${asking && html`<${Ask} question=${question} yes=${verb} onYes=${remove.run} onClose=${() => setAsking(false)} />`}`;
}
