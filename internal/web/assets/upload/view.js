// The components around the files of an upload: notices, and the foot with the progress and the button that delivers.

import { Button, Notice, html, sentence, useAction, useEffect, useRef, useState } from "../ui.js";
import { F, N, T, bytes, duration, percent } from "../i18n.js";
import { mayAsk } from "./told.js";

/** @typedef {import("./engine.js").Upload} Upload */
/** @typedef {ReturnType<typeof import("./hook.js").useUpload>} UploadHook */

/**
 * Notices above the files: the upload could not begin, was begun in an earlier visit, or has expired.
 * @param {{upload: UploadHook}} props
 */
export function UploadNotices({ upload }) {
  const { problem, phase, upload: files } = upload;
  return html`
    ${problem && html`<${Notice} kind="bad">
      <p>${typeof problem === "string" ? problem : sentence(problem)}</p>
      ${upload.left > 0 && html`<div><${Button} onClick=${() => upload.add([])}>${T("Try again")}<//></div>`}
    <//>`}
    ${phase === "found" && html`<${Unfinished} upload=${upload} />`}
    ${phase === "returned" && html`<${Returned} upload=${upload} />`}
    ${phase === "ready" && !files && !problem && location.hash === "#unfinished"
      && html`<${Notice} kind="info" title=${T("Your upload is not in this browser")}>
      ${T("Open this link in the browser where you chose the files, or start again here.")}<//>`}
    ${files?.broken && html`<${Notice} kind="warn">${files.broken}<//>`}
    ${files?.stopped && html`<${Notice} kind="bad">${files.stopped}<//>`}
    ${files?.over && html`<${Notice} kind="bad" title=${T("This upload can’t be finished anymore.")}>
      <p>${T("Unfinished uploads are kept for 48 hours. Please choose the files again.")}</p>
      <div><${Button} onClick=${upload.discard}>${T("Start over")}<//></div>
    <//>`}`;
}

/** The files of an earlier visit are partly missing. @param {{upload: UploadHook}} props */
function Unfinished({ upload }) {
  const files = /** @type {Upload} */ (upload.upload);
  const t = files.totals();
  const ask = files.items.some((item) => item.state === "missing" && item.handle);
  const arrived = N("%d file, %s of %s have arrived.", "%d files, %s of %s have arrived.", t.files, bytes(t.sent), bytes(t.bytes));
  return html`<${Notice} kind="info" title=${T("You have an upload here that is not finished.")}>
    <p>${arrived} ${ask
      ? T("Your browser will ask again whether this page may read the files.")
      : T("Choose the same files again. What has arrived isn’t sent twice.")}</p>
    <div class="row">
      ${ask && html`<${Button} kind="primary" icon="play" onClick=${upload.reopenAll}>${T("Go on")}<//>`}
      <${Button} onClick=${upload.discard}>${T("Start over")}<//>
    </div>
  <//>`;
}

/** All files of an earlier visit have arrived, and wait for the button. @param {{upload: UploadHook}} props */
function Returned({ upload }) {
  const t = /** @type {Upload} */ (upload.upload).totals();
  const goOn = (/** @type {any} */ event) => {
    const form = event.currentTarget.closest("form");
    upload.goOn();
    (form?.querySelector(":invalid:not(fieldset)") ?? form?.querySelector("[type=submit]"))?.focus();
  };
  return html`<${Notice} kind="warn" title=${T("Your files are here, one step is missing")}>
    <p>${N("%d file, %s.", "%d files, %s.", t.files, bytes(t.bytes))} ${T("They are uploaded, but nobody has received them yet.")}</p>
    <div class="row">
      <${Button} onClick=${goOn}>${T("Go on")}<//>
      <${Button} kind="quiet" onClick=${upload.discard}>${T("Start over")}<//>
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

/** The sentence for the progress of the whole upload. @param {Upload} upload @param {ReturnType<Upload["totals"]>} t */
function status(upload, t) {
  if (upload.complete()) return T("Uploaded, not delivered yet");
  if (upload.broken || upload.stopped || t.open === 0 || (t.sent && !t.speed)) return F("%s of %s", bytes(t.sent), bytes(t.bytes));
  if (!t.speed) return T("Starting…");
  return F("%s of %s, %s per second, %s left", bytes(t.sent), bytes(t.bytes), bytes(t.speed), duration(t.left, "short"));
}

/**
 * The foot of the form beside an upload, always in view: the progress of all files, the button, and why the delivery waits.
 * @param {{of: ReturnType<typeof useDelivery>, upload: Upload | null, label: string, disabled: boolean, hint: string}} props
 */
export function Deliver({ of, upload, label, disabled, hint }) {
  const t = upload?.totals();
  const share = t?.bytes ? t.sent / t.bytes : 1;
  const waits = of.wished && !of.ready;
  return html`
    ${Boolean(t?.failed) && html`<${Notice} kind="warn">
      ${N("%d file was refused and will not be delivered.", "%d files were refused and will not be delivered.", t?.failed ?? 0)}<//>`}
    ${waits && t && t.open === 0 && html`<${Notice} kind="warn">${T("Some files are paused or missing. Resume or remove them.")}<//>`}
    <div class="sum">
      ${upload && t && t.files > 0 && html`
        <progress max="1" value=${share} aria-label=${T("All files")}></progress>
        <div class="figures">
          <strong class="percent">${percent(Math.floor(share * 100) / 100)}</strong>
          <span class="status">${status(upload, t)}</span>
        </div>`}
      <div class="row deliver">
        <${Button} type="submit" kind="primary wide" busy=${of.busy || (waits && Boolean(t?.open))}
          disabled=${disabled || Boolean(upload?.stopped)}>
          ${of.wished ? T("Delivering…") : label}<//>
        ${of.wished && !of.busy && html`<${Button} kind="quiet" onClick=${of.unwish}>${T("Not yet")}<//>`}
      </div>
      ${waits && t && t.open > 0 ? html`<p class="hint">
        ${T("Delivered as soon as everything has arrived. Keep this page open.")} <${NotifyMe} /></p>`
        : hint && html`<p class="hint">${hint}</p>`}
    </div>`;
}

/** Offers a notification at the end. */
function NotifyMe() {
  const [asked, setAsked] = useState(!mayAsk());
  return !asked && html`<button type="button" class="textual" onClick=${() => Notification.requestPermission().then(() => setAsked(true))}>
    ${T("Notify me")}</button>`;
}
