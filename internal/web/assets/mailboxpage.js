// /m/{key}: a visitor delivers files to the owner of a mailbox.

import { Unloaded, html, show, useEffect, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, T, duration } from "./i18n.js";
import { asAnybody, bearer, call, transfer } from "./api.js";
import { useUpload } from "./upload/hook.js";
import { Chooser } from "./upload/chooser.js";
import { UploadNotices } from "./upload/view.js";
import { useTold } from "./upload/told.js";
import { Closed, Invites, Owner, nameOf } from "./mailboxview.js";
import { showPicture } from "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);
const at = /** @type {const} */ (`${transfer}/public/mailbox/${encodeURIComponent(key)}`);
const product = document.documentElement.dataset.product;

/** The page is a kiosk's: the device keeps nothing of an upload, and the page starts over after the receipt. */
const shared = new URLSearchParams(location.search).has("shared");
const afterReceipt = 60; // seconds

/** What is shown from the first file on. @type {typeof import("./mailboxform.js") | null} */
let form = null;
const loadForm = async () => { form = await import("./mailboxform.js"); };
for (const sign of ["pointerdown", "keydown", "dragenter"]) addEventListener(sign, () => loadForm().catch(() => {}), { once: true });

// The page keeps what the server sent until the mailbox is known: less flickers.
call("GET", at).then(({ body }) => show(() => html`<${Delivery} mailbox=${body} />`),
  (error) => show(() => html`<${Unknown} error=${error} />`));

function Unknown({ error }) {
  if (error.status !== 404 && error.status !== 400) return html`<${Unloaded} title=${T("Something went wrong.")} error=${error} />`;
  return html`<div class="sheet"><${Empty} drawing="search" head=${html`<h1>${T("This mailbox doesn’t exist")}</h1>`}
    sentence=${T("The link may be mistyped, or the mailbox was removed. Ask the person who gave it to you.")}>
    <a class="button" href="/">${T("Go to the start page")}</a><//></div>`;
}

/** @param {any} props of Owner */
const Head = (props) => html`<${Owner} at=${at} ...${props} />`;

function Delivery({ mailbox }) {
  const upload = useUpload(`mailbox:${mailbox.uid}`, reserve, { keeps: !shared });
  const { receipt, upload: files } = upload;
  useEffect(() => { if (mailbox.hasPicture) showPicture(`${at}/picture`); }, []);
  useTold(files, receipt, `${F("Files for %s", nameOf(mailbox))} · ${product}`);
  const [, redraw] = useState(0);
  const wanted = Boolean(receipt || files);
  useEffect(() => { if (wanted && !form) loadForm().then(() => redraw(1), () => location.reload()); }, [wanted]);
  if (receipt && form) {
    return html`<${form.Receipt} receipt=${receipt} to=${nameOf(mailbox)} answers=${form.answers(mailbox, receipt.fields)}
      onMore=${shared ? startOver : upload.discard} onDone=${shared && startOver}>
      ${receipt.sender?.email && html`<p>${F("A confirmation is on its way to %s.", receipt.sender.email)}</p>`}
      ${shared && html`<${Ends} />`}
    <//>`;
  }
  if (!mailbox.available) return html`<div class="sheet"><${Owner} mailbox=${mailbox} at=${at} /><${Closed} mailbox=${mailbox} /></div>`;
  const chooser = (small) => html`<${Chooser} small=${small} busy=${upload.phase === "opening"}
    disabled=${upload.phase === "looking" || wanted && !form || Boolean(files?.stopped)} onFiles=${upload.add} />`;
  if (files && !files.over && form) {
    return html`<${form.Details} mailbox=${mailbox} upload=${upload} chooser=${chooser(true)} Owner=${Head} kept=${!shared} />`;
  }
  return html`<${Invites} mailbox=${mailbox} at=${at}>
    <${UploadNotices} upload=${upload} />
    ${!upload.found?.sealed && chooser(false)}<//>`;
}

/** Creates a reservation on the mailbox. A signed-in person becomes its sender; with an expired session the visitor is anonymous. */
async function reserve() {
  const [{ body, headers }] = await Promise.all([asAnybody("POST", at), loadForm()]);
  return { uid: body.uid, token: bearer(headers), maxFiles: body.maxFiles, maxFileSizeMb: body.maxFileSizeMb };
}

/** Makes the page of a kiosk a new visitor's. */
const startOver = () => location.reload();

/** Counts down to the next visitor. */
function Ends() {
  const [left, setLeft] = useState(afterReceipt);
  useEffect(() => {
    const timer = setInterval(() => setLeft((n) => n - 1), 1000);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => { if (left <= 0) startOver(); }, [left]);
  return html`<p class="hint center screen">${F("For the next visitor, this page starts over in %s.", duration(left))}</p>`;
}
