// The foot of the form beside an upload: its progress, and the button that delivers.

import { Button, Notice, html, useAction, useEffect, useRef, useState } from "../ui.js";
import { F, N, T, bytes, duration, percent } from "../i18n.js";
import { mayAsk } from "./told.js";

/** @typedef {import("./engine.js").Upload} Upload */
/** @typedef {ReturnType<typeof import("./hook.js").useUpload>} UploadHook */

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
