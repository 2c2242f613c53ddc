// The component in which a person chooses files.

import { Button, Icon, Notice, html, useListeners, useRef, useState } from "../ui.js";
import { F, T, list } from "../i18n.js";
import { fromDataTransfer, fromInput, fromPaste, fromPicker, hasPicker } from "../files.js";

/**
 * Names of unreadable files of the last choice. The component is replaced when the first files are there, so its state is not enough.
 * @type {string[]}
 */
let unreadable = [];

/**
 * Takes files from the file dialog, from drag and drop anywhere on the page, and from the clipboard.
 * @param {{onFiles: (files: import("../files.js").Chosen[]) => void, busy?: boolean, small?: boolean, plain?: boolean, disabled?: boolean}}
 *  props `plain`: the page has another
 *   primary button
 */
export function Chooser({ onFiles, busy = false, small = false, plain = false, disabled = false }) {
  const files = useRef(/** @type {HTMLInputElement | null} */ (null)), folder = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [over, setOver] = useState(false);
  const [lost, setLost] = useState(unreadable);
  /** @param {(lost: string[]) => Promise<import("../files.js").Chosen[]>} read */
  const take = async (read) => {
    /** @type {string[]} */
    const unread = [];
    const files = await read(unread);
    unreadable = unread;
    setLost(unread);
    onFiles(files);
  };
  const depth = useRef(0); // of the elements that the files are dragged over
  const carries = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files");
  useListeners({
    dragenter: (e) => { if (carries(e)) { depth.current++; setOver(true); e.preventDefault(); } },
    dragover: (e) => { if (carries(e)) { e.dataTransfer.dropEffect = "copy"; e.preventDefault(); } },
    dragleave: (e) => { if (carries(e) && --depth.current <= 0) { depth.current = 0; setOver(false); } },
    drop: (e) => { if (carries(e)) { depth.current = 0; setOver(false); e.preventDefault(); take((unread) => fromDataTransfer(
      e.dataTransfer, unread)); } },
    paste: (e) => { const pasted = fromPaste(e); if (pasted.length) { e.preventDefault(); onFiles(pasted); } },
  }, !disabled);
  const picked = (/** @type {any} */ event) => {
    onFiles(fromInput(event.target.files));
    event.target.value = "";
  };
  const choose = () => (hasPicker ? take(fromPicker) : files.current?.click());
  return html`<div class=${`chooser${over ? " over" : ""}${small ? " small" : ""}`}>
    ${!small && html`<span class="halo"><${Icon} name="upload" /></span>
    <p class="big">${over ? T("Drop to add the files") : T("Drop files or folders here")}</p>`}
    <div class="row center">
      <${Button} kind=${small ? "quiet small" : plain ? "plain" : "primary"} icon=${small ? "plus" : ""} busy=${busy} disabled=${disabled}
        onClick=${choose} data-test="choose">
        ${small ? T("Add files") : T("Choose files")}<//>
      <${Button} kind=${small ? "quiet small" : "quiet"} icon="folder" disabled=${disabled} onClick=${() => folder.current?.click()}>
        ${T("Choose a folder")}<//>
    </div>
    <input ref=${files} type="file" multiple hidden onChange=${picked} data-test="files" />
    <input ref=${folder} type="file" multiple webkitdirectory hidden onChange=${picked} data-test="folder" />
    ${lost.length > 0 && html`<${Notice} kind="bad">
      ${F("This could not be read: %s", list(lost.length > 10 ? [...lost.slice(0, 10), "…"] : lost))}<//>`}
  </div>`;
}
