// Keyboard shortcuts of signed-in people. They do nothing while somebody types, and can be switched off (WCAG 2.1.4).

import { Button, html, useListeners, useModal, useRef, useState } from "./ui.js";
import { T } from "./i18n.js";
import { device } from "./session.js";

/** Pages by the second key after g. @type {Record<string, string>} */
const pages = { i: "/inbox", r: "/requests", m: "/mailbox", a: "/account" };
const stored = "consign.shortcuts"; // in the browser's storage: "off"
const pause = 1500; // milliseconds in which the second key must follow

const typing = (/** @type {any} */ target) => target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
  || document.querySelector("dialog[open]");

/** Whether the person has left the keys of single letters on. */
export const lettersWork = () => device.getItem(stored) !== "off";

/** Focuses the search field of the page. Returns whether there is one. */
function search() {
  const field = /** @type {HTMLInputElement | null} */ (document.querySelector("main input[type=search]"));
  field?.focus();
  return !!field;
}

/** Focuses a row of the page's list, that many further; returns whether there is one. @param {number} step */
function move(step) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main .entry > .head")]);
  const at = rows.findIndex((row) => row.parentElement?.contains(document.activeElement));
  const row = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))];
  row?.focus();
  row?.scrollIntoView({ block: "nearest" });
  return !!row;
}

/** Opens the row that has the focus, or closes it. Returns whether there is one. */
function openRow() {
  const row = /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest("main .entry")?.querySelector(".head"));
  row?.click();
  return !!row;
}

/** What a key does with a list: returns whether it did something. @type {Record<string, () => boolean>} */
const inLists = { j: () => move(1), k: () => move(-1), o: openRow, "/": search };

/** The link that shows the list, and the keys themselves. */
export function Shortcuts() {
  const [shown, setShown] = useState(false);
  const [off, setOff] = useState(!lettersWork());
  const went = useRef(0); // when g was pressed
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
    const after = Date.now() - went.current < pause;
    went.current = 0;
    if (after && pages[event.key]) location.assign(pages[event.key]);
    else if (event.key === "g") went.current = Date.now();
    else if (event.key === "n") location.assign("/send");
    else if (event.key === "?") setShown(true);
    else if (!inLists[event.key]?.()) return;
    event.preventDefault();
  };
  useListeners({ keydown: press }, !off);
  const turn = (/** @type {any} */ event) => {
    setOff(!event.target.checked);
    if (event.target.checked) device.removeItem(stored);
    else device.setItem(stored, "off");
  };
  return html`<${Button} kind="quiet" onClick=${() => setShown(true)}>${T("Keyboard shortcuts")}<//>
    ${shown && html`<${List} on=${!off} onTurn=${turn} onClose=${() => setShown(false)} />`}`;
}

/**
 * The dialog with the keys. Its checkbox is in its label: useId repeats the ids of <main>, which is another root.
 * @param {{on: boolean, onTurn: (event: any) => void, onClose: () => void}} props
 */
function List({ on, onTurn, onClose }) {
  const dialog = useModal();
  const key = (/** @type {string[]} */ keys, /** @type {string} */
    what) => html`<dt>${keys.map((k) => html`<kbd>${k}</kbd>`)}</dt><dd>${what}</dd>`;
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="keys">
    <h2 id="keys">${T("Keyboard shortcuts")}</h2>
    <dl class="keys">
      ${key(["n"], T("Send files"))}${key(["/"], T("Search"))}${key(["j", "k"], T("Next and previous"))}
      ${key(["o"], T("Open"))}${key(["g", "i"], T("Transfers"))}
      ${key(["g", "r"], T("Requests"))}${key(["g", "m"], T("Your mailbox"))}
      ${key(["g", "a"], T("Your account"))}${key(["?"], T("This list"))}
    </dl>
    <label class="check"><input type="checkbox" checked=${on} onChange=${onTurn} /> ${T("Use keyboard shortcuts")}</label>
    <div class="row end"><${Button} onClick=${() => dialog.current?.close()}>${T("Close")}<//></div>
  </dialog>`;
}
