// The files of a transfer, with a download for each and one for all.

import { Button, Icon, Problem, html, useAction, useState } from "./ui.js";
import { F, N, T, bytes, count } from "./i18n.js";

const shown = 100; // rows before "Show all"

/**
 * Lists files. `download` without uid downloads all as an archive. `counts`: whether to show how often each was downloaded.
 * @param {{objects: any[], total?: number, download: (objectUid?: string) => Promise<void>, counts?: boolean}} props
 */
export function Contents({ objects, total, download, counts = false }) {
  const [busy, setBusy] = useState("");
  const [all, setAll] = useState(false);
  const get = useAction(async (uid) => {
    setBusy(uid);
    try {
      await download(uid === "all" ? undefined : uid);
    } finally {
      setBusy("");
    }
  });
  const size = total ?? objects.reduce((sum, o) => sum + o.contentLength, 0);
  return html`<div class="contents">
    <div class="row between">
      <strong>${N("%d file, %s", "%d files, %s", objects.length, bytes(size))}</strong>
      ${objects.length > 1 && html`<${Button} kind="primary" icon="download" busy=${busy === "all"} onClick=${() => get.run("all")}>
        ${T("Download all as ZIP")}<//>`}
    </div>
    <${Problem} error=${get.error} />
    <ul class="list">${(all ? objects : objects.slice(0, shown)).map((o) => html`<li class="item" key=${o.uid}>
      <${Icon} name="file" />
      <div class="what">
        <div class="name">${o.name} <span class="dim size">${bytes(o.contentLength)}</span></div>
        ${o.sha256 && html`<details class="sha"><summary>SHA-256</summary><code>${o.sha256}</code></details>`}
        ${counts && o.downloads > 0 && html`<div class="state">${N("Downloaded %d time", "Downloaded %d times", o.downloads)}</div>`}
      </div>
      <${Button} kind=${objects.length === 1 ? "primary" : "plain"} icon="download" busy=${busy === o.uid} onClick=${() => get.run(o.uid)}
        aria-label=${F("Download %s", o.name)}><span class="wide-only">${T("Download")}</span><//>
    </li>`)}</ul>
    ${!all && objects.length > shown && html`<${Button} kind="quiet" onClick=${() => setAll(true)}>${F("Show all %s files", count(objects.length))}<//>`}
  </div>`;
}
