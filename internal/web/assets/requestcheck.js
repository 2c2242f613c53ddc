// One document of a request, as high as the window: accept it, send it back, and go on to the next one, by keyboard.

import { Button, Form, Icon, Notice, Problem, Tool, announce, html, useAction, useEffect, useListeners, useModal, useRef,
  useState } from "./ui.js";
import { F, N, T, bytes, when } from "./i18n.js";
import { own, transfer } from "./api.js";
import { downloadOwn, readOwn } from "./downloads.js";
import { Stage } from "./previews.js";
import { documents } from "./requestmatrix.js";
import { called, reasons } from "./requestparts.js";
import { lettersWork } from "./shortcuts.js";

/**
 * @param {{request: TransferAPI["DocumentRequest"], cell: string, waiting: boolean, onChange: (r: TransferAPI["DocumentRequest"]) => void,
 *   onOpen: (cell: string) => void}} props `cell`: uids of party and item; `waiting`: the arrows lead to what was not decided only
 */
export function Check({ request, cell, waiting, onChange, onOpen }) {
  const dialog = useModal();
  const [nth, setNth] = useState(0), [returning, setReturning] = useState(false);
  useEffect(() => { setNth(0); setReturning(false); }, [cell]);
  const [partyUid, itemUid] = cell.split(".");
  const party = request.parties.find((p) => p.uid === partyUid), item = request.items.find((i) => i.uid === itemUid);
  const of = party?.items.find((i) => i.item === itemUid), files = of?.files ?? [], file = files[nth] ?? files[0];
  // in the order in which the page was opened: what is decided stays where it was
  const order = useRef(/** @type {string[]} */ ([])).current;
  for (const one of documents(request, waiting)) if (!order.includes(one)) order.push(one);
  const here = order.indexOf(cell);
  const go = (/** @type {string | undefined} */ to) => { if (to) onOpen(to); };
  const decide = useAction(async (/** @type {{state: string, reason?: string}} */ json) => {
    const { body } = await own("PATCH", `${transfer}/requests/${request.uid}/parties/${partyUid}/items/${itemUid}`,
      { json, headers: { "If-Match": `"${party?.version}"` } });
    onChange(body);
    const left = documents(body, true), next = left.find((c) => order.indexOf(c) > here) ?? left[0];
    announce(`${json.state === "accepted" ? T("Accepted") : T("Sent back")}. ${
      N("%d document is left.", "%d documents are left.", left.length)}`);
    setReturning(false);
    if (next) onOpen(next);
    else dialog.current?.close(); // gives the focus back
  });
  const accept = () => { if (of && of.state !== "accepted") decide.run({ state: "accepted" }); };
  const keys = (/** @type {any} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(VIDEO|AUDIO|TEXTAREA)$/.test(event.target.tagName)) return;
    const letters = lettersWork() && !returning && !decide.busy;
    if (event.key === "ArrowLeft" && !returning) go(order[here - 1]);
    else if (event.key === "ArrowRight" && !returning) go(order[here + 1]);
    else if (letters && event.key.toLowerCase() === "a") accept();
    else if (letters && event.key.toLowerCase() === "r") setReturning(true);
    else return;
    event.preventDefault();
  };
  useListeners({ keydown: keys }); // of the window: what had the focus may be gone
  if (!party || !item || !of || !file?.transfer) return null;
  const state = { uploaded: T("to be checked"), accepted: T("accepted"), returned: T("sent back") }[of.state] ?? "";
  const infected = file.malwareStatus === "infected";
  return html`<dialog ref=${dialog} class="checking" onClose=${() => onOpen("")}
    aria-label=${`${called(party)}, ${item.name}`}>
    <header class="row between nowrap">
      <div class="clipped"><h2 tabindex="-1" autofocus>${item.name}</h2> <span class="dim">${called(party)}</span></div>
      <span class="row tight nowrap"><span class="dim">${F("%s of %s", here + 1, order.length)}</span>
        <${Tool} icon="close" label=${T("Close")} onClick=${() => dialog.current?.close()} /></span>
    </header>
    ${files.length > 1 && html`<div class="row tight papers">${files.map((f, i) => html`<${Button} key=${f.uid} kind="quiet"
      aria-pressed=${String(f === file)} onClick=${() => setNth(i)}><span class="clipped">${f.name}</span><//>`)}</div>`}
    ${infected ? html`<div class="stage"><${Notice} kind="bad">${T("Malware was found")}<//></div>`
      : html`<${Stage} key=${file.uid} object=${/** @type {any} */ (file)} read=${readOwn(file.transfer)} />`}
    ${returning && html`<${Return} infected=${infected} refused=${decide.error} busy=${decide.busy} onBack=${() => setReturning(false)}
      onSend=${(/** @type {string} */ reason) => decide.run({ state: "returned", reason })} />`}
    ${!returning && html`<${Problem} error=${decide.error} />
      <footer class="row between">
        <span class="row tight nowrap"><${Tool} icon="left" label=${T("Document before")} disabled=${here <= 0}
            onClick=${() => go(order[here - 1])} />
          <${Tool} icon="right" label=${T("Following document")} disabled=${here < 0 || here >= order.length - 1}
            onClick=${() => go(order[here + 1])} />
          ${!infected && html`<${Tool} icon="download" label=${F("Download %s", file.name)}
            onClick=${() => file.transfer && downloadOwn(file.transfer, file.uid)} />`}</span>
        <span class="said"><span class="clipped">${file.name} <span class="dim size">${bytes(file.contentLength)}</span></span>
          <span class="hint clipped">${state}${of.reason ? `: ${of.reason}` : ""} · ${when(of.changedAt)}</span></span>
        <span class="row tight nowrap"><${Button} aria-keyshortcuts="R" onClick=${() => setReturning(true)}>${T("Send back…")}
            <kbd aria-hidden="true">R</kbd><//>
          <${Button} kind="primary" icon="check" aria-keyshortcuts="A" busy=${decide.busy}
            disabled=${of.state === "accepted"} onClick=${accept}>
            ${T("Accept")} <kbd aria-hidden="true">A</kbd><//></span>
      </footer>`}
  </dialog>`;
}

/**
 * Why a document goes back: one or more reasons, and what else is to be said.
 * @param {{infected: boolean, busy: boolean, refused: any, onSend: (reason: string) => void, onBack: () => void}} props
 */
function Return({ infected, busy, refused, onSend, onBack }) {
  const all = reasons(infected), [chosen, setChosen] = useState(infected ? [all[0]] : []), [more, setMore] = useState("");
  const form = useRef(/** @type {any} */ (null));
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const escape = (/** @type {any} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // the dialog stays
    onBack();
  };
  const reason = [...chosen, more.trim()].filter(Boolean).join(" ");
  const flip = (/** @type {string} */ r) => setChosen(chosen.includes(r) ? chosen.filter((o) => o !== r) : [...chosen, r]);
  return html`<div ref=${form} onKeyDown=${escape}><${Form} class="return" onSend=${() => reason && onSend(reason)}>
    <fieldset class="plain"><legend>${T("Why do you send it back?")}</legend>
      <div class="toggles">${all.map((r) => html`<label class=${chosen.includes(r) ? "on" : ""}><input type="checkbox"
        checked=${chosen.includes(r)} onChange=${() => flip(r)} />${r}</label>`)}</div></fieldset>
    <textarea rows="2" maxlength="900" aria-label=${T("Further words")} placeholder=${T("Further words")} value=${more}
      onInput=${(/** @type {any} */ event) => setMore(event.target.value)}></textarea>
    <${Problem} error=${refused} />
    <div class="row end"><${Button} kind="quiet" onClick=${onBack}>${T("Cancel")}<//>
      <${Button} kind="primary" type="submit" busy=${busy} disabled=${!reason}>${T("Send back")}<//></div>
  <//></div>`;
}
