// The files of a transfer, with a download for each, for some and for all, and previews.

import { Ask, Button, Icon, Problem, html, useAction, useState } from "./ui.js";
import { F, N, T, bytes, count } from "./i18n.js";
import { Checked, isTakeable } from "./malware.js";
import { Preview, Thumbnails, kindOf } from "./previews.js";

const shown = 100; // rows before "Show all"
const selectable = 200; // files of one archive; the server takes no more

/** @type {Record<string, string>} */
const icons = { image: "image", video: "play", audio: "play", pdf: "file", text: "file" };

const sum = (/** @type {TransferAPI["DeliveredObject"][]} */ objects) => objects.reduce((all, o) => all + o.contentLength, 0);

/**
 * Lists files. `download` gets the uids of one or more files; without, it downloads all as an archive. `read` reads a file for a
 * preview. `of` is their transfer, whose limits are shown. `counts`: the reader is the sender, who sees how often each was downloaded.
 * Recipients of a transfer with limits get no previews, which would be downloads. `anyway` downloads a held file; without, nobody may.
 * @param {{objects: TransferAPI["DeliveredObject"][], of: TransferAPI["Transfer"] | TransferAPI["PublicTransfer"], total?: number,
 *  download: (...uids: string[]) => Promise<void>, read: import("./previews.js").Read, counts?: boolean,
 *   anyway?: (uid: string) => Promise<void>}} props
 */
export function Contents({ objects, of, total, download, read, counts = false, anyway }) {
  const free = objects.filter((o) => !o.held);
  const held = free.length < objects.length;
  const limits = limitsOf(of);
  const previews = counts || limits.length === 0;
  const [busy, setBusy] = useState("");
  const [all, setAll] = useState(false);
  const [chosen, setChosen] = useState(/** @type {string[]} */ ([]));
  const [open, setOpen] = useState(/** @type {TransferAPI["DeliveredObject"] | null} */ (null));
  const [asking, setAsking] = useState(/** @type {TransferAPI["DeliveredObject"] | null} */ (null));
  const take = useAction(async (uid) => anyway?.(uid));
  const get = useAction(async (what, ...uids) => {
    setBusy(what);
    try {
      await download(...uids);
    } finally {
      setBusy("");
    }
  });
  const flip = (uid) => setChosen(chosen.includes(uid) ? chosen.filter((other) => other !== uid) : [...chosen, uid]);
  const single = free.length === 1 ? free[0] : null;
  const some = chosen.length > 0 && chosen.length < objects.length;
  const size = bytes(held ? sum(free) : total ?? sum(objects));
  const row = (/** @type {TransferAPI["DeliveredObject"]} */ o) => html`<${Row} key=${o.uid} object=${o} single=${objects.length === 1}
    counts=${counts} previews=${previews} busy=${busy === o.uid}
    choose=${objects.length > 2 && !o.held ? () => flip(o.uid) : null} chosen=${chosen.includes(o.uid)} onGet=${() => get.run(o.uid, o.uid)}
      onOpen=${() => setOpen(o)}
    onAnyway=${anyway && isTakeable(o) ? () => setAsking(o) : null} />`;
  return html`<div class="contents">
    ${free.length > 0 && html`<${Button} kind=${counts ? "plain" : "primary"} class=${counts ? "" : "big"} icon="download"
      busy=${busy === "all"} aria-label=${single ? `${F("Download (%s)", size)} ${single.name ?? ""}` : undefined}
      disabled=${held && free.length > selectable}
      onClick=${() => (single ? get.run("all", single.uid) : held ? get.run("all", ...free.map((o) => o.uid)) : get.run("all"))}>
        ${single ? F("Download (%s)", size) : F("Download all (%s)", size)}<//>`}
    <${Problem} error=${get.error ?? take.error} />
    ${limits.map((limit) => html`<p class="hint" key=${limit}>${limit}</p>`)}
    ${limits.length === 0 && html`<${Thumbnails} objects=${free} read=${read} onOpen=${setOpen} />`}
    <div class="row between">
      <span class="dim">${N("%d file, %s", "%d files, %s", objects.length, bytes(total ?? sum(objects)))}</span>
      ${some && html`<${Button} icon="download" busy=${busy === "some"} disabled=${chosen.length > selectable}
        onClick=${() => get.run("some", ...chosen)}>
        ${N("Download %d file (%s)", "Download %d files (%s)", chosen.length, bytes(sum(objects.filter((o) => chosen.includes(o.uid)))))}
          <//>`}
    </div>
    ${some && chosen.length > selectable && html`<p class="hint">${F("Choose up to %s files, or download all.", count(selectable))}</p>`}
    <ul class="list files-list">${(all ? objects : objects.slice(0, shown)).map(row)}</ul>
    ${!all && objects.length > shown && html`<${Button} kind="quiet" onClick=${() => setAll(true)}>
      ${F("Show all %s files", count(objects.length))}<//>`}
    ${open && html`<${Preview} object=${open} objects=${free} read=${read} onOpen=${setOpen} onClose=${() => setOpen(null)}
      onDownload=${(uid) => get.run(uid, uid)} />`}
    ${asking && html`<${Ask} question=${F("“%s” may be harmful. Download it anyway?", asking.name ?? "")} yes=${T("Download anyway")}
      onYes=${() => take.run(asking.uid)} onClose=${() => setAsking(null)} />`}
  </div>`;
}

/** What limits the downloads of a transfer, in sentences. */
const limitsOf = (/** @type {TransferAPI["Transfer"] | TransferAPI["PublicTransfer"]} */ t) => [
  t.maxDownloads && N("Each recipient can download each file %d time.", "Each recipient can download each file %d times.", t.maxDownloads),
  t.maxTotalDownloads && N("All recipients together can download each file %d time.", "All recipients together can download each file %d times.", t.maxTotalDownloads),
  t.deleteAfterDownload && T("The files are deleted when a recipient has downloaded all of them."),
].filter(Boolean);

/**
 * @param {{object: TransferAPI["DeliveredObject"], single: boolean, counts: boolean, previews: boolean, busy: boolean, choose: (() => void)
 *  | null, chosen: boolean,
 *   onGet: () => void, onOpen: () => void, onAnyway: (() => void) | null}} props
 */
function Row({ object: o, single, counts, previews, busy, choose, chosen, onGet, onOpen, onAnyway }) {
  const kind = previews && !o.held ? kindOf(o) : undefined;
  return html`<li class=${`item ${chosen ? "chosen" : ""}`}>
    ${choose ? html`<input type="checkbox" aria-label=${F("Choose %s", o.name ?? "")} checked=${chosen} onChange=${choose} />`
      : html`<${Icon} name=${icons[kind ?? ""] ?? "file"} />`}
    <div class="what">
      <div class="name">${o.name} <span class="dim size">${bytes(o.contentLength)}</span></div>
      ${o.sha256 && html`<details class="sha"><summary>SHA-256</summary><code>${o.sha256}</code></details>`}
      <${Checked} of=${o} />
      ${counts && o.downloads > 0 && html`<div class="state">${N("Downloaded %d time", "Downloaded %d times", o.downloads)}</div>`}
    </div>
    <span class="row tight">
      ${kind && html`<${Button} kind="quiet" icon="eye" onClick=${onOpen} aria-label=${F("Show %s", o.name ?? "")}><span class="wide-only">
        ${T("Show")}</span><//>`}
      ${!single && !o.held && html`<${Button} icon="download" busy=${busy} onClick=${onGet} aria-label=${F("Download %s", o.name ?? "")}>
        <span class="wide-only">${T("Download")}</span><//>`}
      ${onAnyway && html`<${Button} kind="quiet" onClick=${onAnyway} aria-label=${`${T("Download anyway")} ${o.name ?? ""}`}>
        ${T("Download anyway")}<//>`}
    </span>
  </li>`;
}
