// The files of an upload: rows with a ring that fills, folders as a tree.

import { Button, Icon, Tool, announce, html, useEffect, useRef, useState } from "../ui.js";
import { F, N, T, bytes, count, percent } from "../i18n.js";

/** @typedef {import("./engine.js").Upload} Upload */
/** @typedef {import("./engine.js").Item} Item */
/** A folder, or the whole list. @typedef {{name: string, path: string, folders: Map<string, Folder>, items: Item[], all: Item[]}} Folder */

const shown = 100; // rows of a folder before "Show all"

/** Builds the tree of the folders in the names. @param {Item[]} items @returns {Folder} */
function tree(items) {
  const folder = (/** @type {string} */ name, /** @type {string} */
    path) => ({ name, path, folders: new Map(), items: /** @type {Item[]} */ ([]), all: /** @type {Item[]} */ ([]) });
  const root = folder("", "");
  for (const item of items) {
    let at = root;
    at.all.push(item);
    for (const part of item.name.split("/").slice(0, -1)) {
      if (!at.folders.has(part)) at.folders.set(part, folder(part, `${at.path}${part}/`));
      at = at.folders.get(part);
      at.all.push(item);
    }
    at.items.push(item);
  }
  return root;
}

const kinds = [["image", /\.(?:jpe?g|png|gif|webp|avif|heic|svg|tiff?|bmp|psd)$/i], ["film", /\.(?:mp4|mov|webm|mkv|avi|m4v)$/i],
  ["sound", /\.(?:mp3|wav|flac|m4a|ogg|aac)$/i], ["zip", /\.(?:zip|7z|rar|t?gz|tar|xz|bz2|iso)$/i], ["table", /\.(?:xlsx?|ods|csv|tsv)$/i],
  ["text", /\.(?:pdf|docx?|odt|rtf|txt|md|pptx?|odp|pages)$/i]];

/** Returns the icon for a file name. @param {string} name */
export const iconOf = (name) => String(kinds.find(([, pattern]) => /** @type {RegExp} */ (pattern).test(name))?.[0] ?? "file");

/** Moves the focus from a row that will be removed to the next one, else to the button that adds files. @param {HTMLElement} row */
function focusNext(row) {
  row.dataset.gone = "yes"; // it disappears with the next rendering
  const rows = [...row.parentElement?.children ?? []], at = rows.indexOf(row);
  const left = [...rows.slice(at), ...rows.slice(0, at).reverse()].find((other) => !(/** @type {HTMLElement} */ (other).dataset.gone));
  const next = left ?? row.parentElement?.closest("li");
  /** @type {HTMLElement | null} */ (next?.querySelector("[data-remove]") ?? document.querySelector(".chooser button"))?.focus();
}

/** The files of an upload with their progress. @param {{upload: Upload, onClear: () => Promise<void>}} props `onClear` removes all */
export function FileList({ upload, onClear }) {
  const told = useRef({ quarter: 0, failed: 0 }).current;
  const t = upload.totals();
  const share = t.bytes ? t.sent / t.bytes : 1;
  useEffect(() => { // announced at each quarter
    const quarter = Math.floor(share * 4);
    if (t.bytes && quarter > told.quarter) announce(upload.complete() ? T("Uploaded, not delivered yet")
      : F("%s sent", percent(quarter / 4)));
    told.quarter = quarter;
  }, [Math.floor(share * 4), t.files]);
  useEffect(() => {
    if (t.failed > told.failed) {
      const last = upload.items.findLast((item) => item.state === "failed");
      announce(`${last?.name}: ${last?.problem} ${t.failed > 1
        ? N("%d file was refused and will not be delivered.", "%d files were refused and will not be delivered.", t.failed) : ""}`);
    }
    told.failed = t.failed;
  }, [t.failed]);
  /** @param {"pause" | "resume"} what */
  const forEach = (what) => [...upload.items].forEach((item) => upload[what](item));
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const clear = async () => {
    const list = root.current;
    await onClear();
    // The list is replaced in a later frame. A button that has the focus before that loses it again.
    const focusChooser = (/** @type {number} */ frames) => requestAnimationFrame(() => {
      if (list?.isConnected && frames > 0) focusChooser(frames - 1);
      else /** @type {HTMLElement | null} */ (document.querySelector(".chooser button"))?.focus();
    });
    focusChooser(60);
  };
  return html`<section ref=${root} class="files" aria-label=${T("Files")}>
    <div class="row between">
      <strong>${N("%d file, %s", "%d files, %s", t.files, bytes(t.bytes))}</strong>
      <div class="row tight">
        ${t.open > 1 && html`<${Button} kind="quiet small" onClick=${() => forEach("pause")}>${T("Pause all")}<//>`}
        ${t.paused > 1 && html`<${Button} kind="quiet small" onClick=${() => forEach("resume")}>${T("Resume all")}<//>`}
        ${upload.items.length > 1 && html`<${Button} kind="quiet small" onClick=${clear}>${T("Remove all")}<//>`}
      </div>
    </div>
    <${Level} folder=${tree(upload.items)} upload=${upload} />
  </section>`;
}

/** The folders and files of one folder. @param {{folder: Folder, upload: Upload}} props */
function Level({ folder, upload }) {
  const [all, setAll] = useState(false);
  const rows = all ? folder.items : folder.items.slice(0, shown);
  return html`<ul class="list">
      ${[...folder.folders.values()].map((inner) => html`<${FolderRow} key=${inner.path} folder=${inner} upload=${upload} />`)}
      ${rows.map((item) => html`<${Row} key=${item.clientId} item=${item} upload=${upload} />`)}
    </ul>
    ${!all && folder.items.length > shown && html`<${Button} kind="quiet" onClick=${() => setAll(true)}>
      ${F("Show all %s files", count(folder.items.length))}<//>`}`;
}

const troubled = ["failed", "missing", "paused"];

/** @param {{folder: Folder, upload: Upload}} props */
function FolderRow({ folder, upload }) {
  const { name, all } = folder;
  const wrong = all.some((item) => troubled.includes(item.state));
  const [open, setOpen] = useState(all.length <= 3);
  useEffect(() => { if (wrong) setOpen(true); }, [wrong]);
  const size = all.reduce((sum, item) => sum + item.size, 0), held = all.reduce((sum, item) => sum + item.held + item.flying, 0);
  const done = all.every((item) => item.state === "done");
  const remove = (/** @type {any} */ event) => {
    focusNext(event.currentTarget.closest("li"));
    for (const item of [...all]) upload.remove(item);
  };
  return html`<li class=${`folder${done ? " done" : ""}`}>
    <div class="item">
      <${Icon} name="folder" />
      <button type="button" class="what fold" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>
        <span class="name" title=${name}>${name} <${Icon} name=${open ? "down" : "right"} /></span>
        <span class="state">${N("%d file, %s", "%d files, %s", all.length, bytes(size))}</span>
      </button>
      <${Ring} share=${size ? held / size : Number(done)} name=${name} icon=${done ? "check" : ""} />
      <${Tool} icon="close" title=${T("Remove")} label=${F("Remove %s", name)} data-remove onClick=${remove} />
    </div>
    ${open && html`<${Level} folder=${folder} upload=${upload} />`}
  </li>`;
}

/** A circle that fills, with an icon or a button in it. @param {{share: number, name: string, icon?: string, children?: any}} props */
const Ring = ({ share, name, icon = "", children = null }) => html`<span class="ring">
  ${icon ? html`<${Icon} name=${icon} />` : html`<svg viewBox="0 0 36 36" role="progressbar" aria-label=${name}
    aria-valuenow=${Math.floor(share * 100)}>
    <circle cx="18" cy="18" r="15" /><circle class="arc" cx="18" cy="18" r="15" pathLength="100"
      stroke-dasharray=${`${share * 100} 100`} /></svg>`}
  ${children}</span>`;

/** The sentence for the state of a file. @param {Item} item */
function stateOf(item) {
  const sent = item.held + item.flying;
  switch (item.state) {
    case "retrying": return F("Interrupted at %s, trying again", bytes(sent));
    case "paused": return item.problem || F("Paused at %s of %s", bytes(sent), bytes(item.size));
    case "missing": return F("Choose this file again to continue: %s of %s have arrived.", bytes(item.held), bytes(item.size));
    case "failed": return item.problem;
    default: return item.problem || bytes(item.size);
  }
}

/** @type {Record<string, string>} */
const stateIcons = { done: "check", failed: "alert", missing: "alert" };

/** @param {{item: Item, upload: Upload}} props */
function Row({ item, upload }) {
  const { name, state } = item;
  const own = name.slice(name.lastIndexOf("/") + 1);
  const running = item.size > 0 && ["waiting", "sending", "retrying"].includes(state);
  const remove = (/** @type {any} */ event) => {
    focusNext(event.currentTarget.closest("li"));
    upload.remove(item);
  };
  return html`<li class=${`item ${state}`}>
    <${Icon} name=${iconOf(name)} />
    <div class="what">
      <span class="name" title=${own}>${own}</span>
      <span class="state">${stateOf(item)}${state === "done" && html`<span class="hidden">${T("Arrived")}</span>`}</span>
    </div>
    <${Ring} share=${item.size ? (item.held + item.flying) / item.size : 0} name=${name} icon=${stateIcons[state]}>
      ${running && html`<${Tool} icon="pause" title=${T("Pause")} label=${F("Pause %s", name)} onClick=${() => upload.pause(item)} />`}
      ${state === "paused" && html`<${Tool} icon="play" title=${T("Resume")} label=${F("Resume %s", name)}
        onClick=${() => upload.resume(item)} />`}
    <//>
    <${Tool} icon="close" title=${T("Remove")} label=${F("Remove %s", name)} data-remove onClick=${remove} />
  </li>`;
}
