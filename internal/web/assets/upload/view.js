// The components that show an upload: the files with their progress, notices, and the button that delivers.

import { Button, Icon, Notice, Tool, announce, html, sentence, useAction, useEffect, useRef, useState } from "../ui.js";
import { F, N, T, bytes, count, duration, list, percent } from "../i18n.js";

/** @typedef {import("./engine.js").Upload} Upload */
/** @typedef {import("./engine.js").Item} Item */
/** @typedef {ReturnType<typeof import("./hook.js").useUpload>} UploadHook */

const shown = 100; // rows before "Show all"

/** The files of an upload with their progress. @param {{upload: Upload}} props */
export function FileList({ upload }) {
  const [all, setAll] = useState(false);
  const told = useRef(0);
  const t = upload.totals();
  const share = t.bytes ? t.sent / t.bytes : 1;
  useEffect(() => { // announced at each quarter
    const quarter = Math.floor(share * 4);
    if (t.bytes && quarter > told.current) announce(upload.complete() ? T("All files have arrived.") : F("%s sent", percent(quarter / 4)));
    told.current = quarter;
  }, [Math.floor(share * 4), t.files]);
  /** @param {"pause" | "resume"} what */
  const forEach = (what) => [...upload.items].forEach((item) => upload[what](item));
  const rows = all ? upload.items : upload.items.slice(0, shown);
  return html`<section class="files" aria-label=${T("Files")}>
    <div class="sum">
      <div>
        <strong>${N("%d file, %s", "%d files, %s", t.files, bytes(t.bytes))}</strong>
        <span class="dim">${status(upload, t)}</span>
      </div>
      <div class="row">
        ${t.open > 1 && html`<${Button} kind="quiet" icon="pause" onClick=${() => forEach("pause")}>${T("Pause all")}<//>`}
        ${t.paused > 1 && html`<${Button} kind="quiet" icon="play" onClick=${() => forEach("resume")}>${T("Resume all")}<//>`}
      </div>
      <progress max="1" value=${share} aria-label=${T("All files")}></progress>
    </div>
    ${upload.broken && html`<${Notice} kind="warn">${upload.broken}<//>`}
    ${upload.stopped && html`<${Notice} kind="bad">${upload.stopped}<//>`}
    <ul class="list">${rows.map((item) => html`<${Row} key=${item.clientId} item=${item} upload=${upload} />`)}</ul>
    ${!all && upload.items.length > shown && html`<${Button} kind="quiet" onClick=${() => setAll(true)}>
      ${F("Show all %s files", count(upload.items.length))}<//>`}
  </section>`;
}

/** The sentence for the progress of the whole upload. @param {Upload} upload @param {ReturnType<Upload["totals"]>} t */
function status(upload, t) {
  if (upload.complete()) return T("All files have arrived.");
  if (upload.broken || upload.stopped || t.open === 0) return F("%s of %s", bytes(t.sent), bytes(t.bytes));
  if (!t.speed) return T("Starting…");
  return F("%s of %s, %s per second, %s left", bytes(t.sent), bytes(t.bytes), bytes(t.speed), duration(t.left, "short"));
}

/** The sentence for the state of a file. @param {Item} item */
function stateOf(item) {
  const sent = item.held + item.flying;
  const share = F("%s of %s", bytes(sent), bytes(item.size));
  switch (item.state) {
    case "waiting": return item.held ? share : T("Waiting");
    case "sending":
      if (item.speed === 0 || sent === item.size) return share;
      return F("%s of %s, %s per second, %s left", bytes(sent), bytes(item.size), bytes(item.speed), duration((item.size - sent) / item.speed, "short"));
    case "retrying": return F("Interrupted at %s, trying again", bytes(sent));
    case "paused": return item.problem || F("Paused at %s of %s", bytes(sent), bytes(item.size));
    case "missing": return F("Choose this file again to go on: %s of %s have arrived.", bytes(item.held), bytes(item.size));
    case "done": return T("Arrived");
    default: return item.problem;
  }
}

/** @type {Record<string, string>} */
const stateIcons = { done: "check", failed: "alert" };

/** @param {{item: Item, upload: Upload}} props */
function Row({ item, upload }) {
  const { name, state } = item;
  const at = name.lastIndexOf("/") + 1;
  const running = ["waiting", "sending", "retrying"].includes(state);
  return html`<li class=${`item ${state}`}>
    <${Icon} name=${stateIcons[state] ?? "file"} />
    <div class="what">
      <div class="name">${at > 0 && html`<span class="dim">${name.slice(0, at)}</span>`}${name.slice(at)}
        <span class="dim size"> ${bytes(item.size)}</span></div>
      <div class="state">${stateOf(item)}</div>
      ${state !== "done" && state !== "failed" && html`<progress max=${item.size || 1} value=${item.held + item.flying} aria-label=${name}></progress>`}
    </div>
    <div class="row tight">
      ${running && item.size > 0 && html`<${Tool} icon="pause" title=${T("Pause")} label=${F("Pause %s", name)} onClick=${() => upload.pause(item)} />`}
      ${state === "paused" && html`<${Tool} icon="play" title=${T("Resume")} label=${F("Resume %s", name)} onClick=${() => upload.resume(item)} />`}
      <${Tool} icon="close" title=${T("Remove")} label=${F("Remove %s", name)} onClick=${() => upload.remove(item)} />
    </div>
  </li>`;
}

/** Notices above the files: the upload could not begin, is unfinished from an earlier visit, or has expired. @param {{upload: UploadHook}} props */
export function UploadNotices({ upload }) {
  const { problem, phase, upload: files } = upload;
  return html`
    ${problem && html`<${Notice} kind="bad">
      <p>${typeof problem === "string" ? problem : sentence(problem)}</p>
      ${upload.left > 0 && html`<div><${Button} onClick=${() => upload.add([])}>${T("Try again")}<//></div>`}
    <//>`}
    ${phase === "found" && html`<${Unfinished} upload=${upload} />`}
    ${files?.over && html`<${Notice} kind="bad" title=${T("This upload can no longer be finished.")}>
      <p>${T("An upload is kept for 48 hours. Please choose the files again.")}</p>
      <div><${Button} onClick=${upload.discard}>${T("Start over")}<//></div>
    <//>`}`;
}

/** @param {{upload: UploadHook}} props */
function Unfinished({ upload }) {
  const files = /** @type {Upload} */ (upload.upload);
  const t = files.totals();
  const ask = files.items.some((item) => item.state === "missing" && item.handle);
  const arrived = N("%d file, %s of %s have arrived.", "%d files, %s of %s have arrived.", t.files, bytes(t.sent), bytes(t.bytes));
  return html`<${Notice} kind="info" title=${T("You have an upload here that is not finished.")}>
    <p>${arrived} ${ask
      ? T("The browser asks you once more whether this page may read the files.")
      : T("Choose the same files again; what has arrived is not sent twice.")}</p>
    <div class="row">
      ${ask && html`<${Button} kind="primary" icon="play" onClick=${upload.reopenAll}>${T("Go on")}<//>`}
      <${Button} onClick=${upload.discard}>${T("Start over")}<//>
    </div>
  <//>`;
}

// ---- delivery

/**
 * Delivers an upload when the person wishes it and all files have arrived. When another file fails meanwhile, the wish is withdrawn.
 * @param {UploadHook} upload @param {() => Record<string, any>} metadata returns the members to set on the reservation
 */
export function useDelivery(upload, metadata) {
  const [wished, setWished] = useState(false);
  const action = useAction(async () => {
    try {
      await upload.deliver(metadata());
    } finally {
      setWished(false);
    }
  });
  const ready = Boolean(upload.upload?.complete());
  const failed = upload.upload?.totals().failed ?? 0;
  const accepted = useRef(0); // failed files at the time of the wish
  useEffect(() => { if (wished && !action.busy && failed > accepted.current) setWished(false); }, [wished, failed]);
  useEffect(() => { if (wished && ready && !action.busy && failed <= accepted.current) action.run(); }, [wished, ready]);
  const wish = () => {
    accepted.current = failed;
    setWished(true);
  };
  return { ...action, ready, wished, wish, unwish: () => setWished(false) };
}

/**
 * The end of the form beside an upload: the button, and why the delivery waits.
 * @param {{of: ReturnType<typeof useDelivery>, upload: Upload | null, label: string, disabled: boolean, hint: string}} props
 */
export function Deliver({ of, upload, label, disabled, hint }) {
  const t = upload?.totals() ?? { open: 0, failed: 0 };
  const waits = of.wished && !of.ready;
  return html`
    ${t.failed > 0 && html`<${Notice} kind="warn">
      ${N("%d file was refused and will not be delivered.", "%d files were refused and will not be delivered.", t.failed)}<//>`}
    ${waits && (t.open > 0 ? html`<${Notice}>${T("Delivered as soon as everything has arrived. Leave this page open.")}<//>`
      : html`<${Notice} kind="warn">${T("Some files are paused or missing. Go on with them, or remove them.")}<//>`)}
    <div class="row">
      <${Button} type="submit" kind="primary wide" busy=${of.busy || (waits && t.open > 0)} disabled=${disabled || Boolean(upload?.stopped)}>
        ${of.wished ? T("Delivering…") : label}<//>
      ${of.wished && !of.busy && html`<${Button} kind="quiet" onClick=${of.unwish}>${T("Not yet")}<//>`}
    </div>
    ${hint && html`<p class="hint">${hint}</p>`}`;
}
