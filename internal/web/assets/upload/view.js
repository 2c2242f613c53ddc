// The notices above the files of an upload.

import { Button, Field, Form, Notice, html, sentence, useAction, useEffect, useState } from "../ui.js";
import { F, N, T, bytes, duration, timeOf } from "../i18n.js";

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
      ${upload.left > 0 && html`<${Again} key=${problem.tried ??= {}} upload=${upload} wait=${problem.wait ?? 0} />`}
    <//>`}
    ${phase === "asked" && html`<${Claim} upload=${upload} />`}
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

/** Tries again, by itself when the server has said how long to wait. @param {{upload: UploadHook, wait: number}} props in seconds */
function Again({ upload, wait }) {
  const [left, setLeft] = useState(Math.min(wait, 600));
  useEffect(() => {
    if (left <= 0) return undefined;
    const timer = setTimeout(() => (left > 1 ? setLeft(left - 1) : upload.add([])), 1000);
    return () => clearTimeout(timer);
  }, [left]);
  return html`${left > 0 && html`<p role="timer">${F("This page tries again by itself in %s.", duration(left))}</p>`}
    <div><${Button} onClick=${() => upload.add([])}>${T("Try again")}<//></div>`;
}

/**
 * An earlier visit without an account has left an upload. It may be another person's, so nothing of it is shown before the address that
 * was typed then, or one of its files.
 * @param {{upload: UploadHook}} props
 */
function Claim({ upload }) {
  const { since, count, items, sealed } = upload.found;
  const [wrong, setWrong] = useState(false);
  const claim = useAction(async ({ claimed }) => setWrong(!await upload.claim(claimed)));
  const asked = N("An upload of %2$s on this device, %1$d file. Is it yours?", "An upload of %2$s on this device, %1$d files. Is it yours?",
    count ?? items.length, timeOf(since));
  return html`<${Notice} kind="info" title=${asked}>
    ${sealed ? html`<${Form} onSend=${claim.run}>
      <${Field} label=${T("The email address that you entered then")} name="claimed" type="email" required maxlength="254"
        autocomplete="off" error=${wrong && T("Another address was entered then.")} />
      <div class="row"><${Button} type="submit" kind="primary" busy=${claim.busy}>${T("Yes, go on")}<//>
        <${Button} onClick=${upload.discard}>${T("No, start over")}<//></div>
    <//>` : html`<p>${T("If it is, choose the same files again. What has arrived isn’t sent twice.")}</p>
      <div class="row"><${Button} onClick=${upload.discard}>${T("No, start over")}<//></div>`}
  <//>`;
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
