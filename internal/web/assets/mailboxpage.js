// /m/{key}: a visitor delivers files to the owner of a mailbox.

import { Avatar, Icon, Lines, Unloaded, html, show, useEffect, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, N, T, bytes, duration } from "./i18n.js";
import { asAnybody, bearer, call, transfer } from "./api.js";
import { useUpload } from "./upload/hook.js";
import { Chooser } from "./upload/chooser.js";
import { UploadNotices } from "./upload/view.js";
import { useTold } from "./upload/told.js";
import { inWords } from "./filetypes.js";
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

const nameOf = (mailbox) => mailbox.name || mailbox.email;

// The page keeps what the server sent until the mailbox is known: less flickers.
call("GET", at).then(({ body }) => show(() => html`<${Delivery} mailbox=${body} />`),
  (error) => show(() => html`<${Unknown} error=${error} />`));

function Unknown({ error }) {
  if (error.status !== 404 && error.status !== 400) return html`<${Unloaded} title=${T("Something went wrong.")} error=${error} />`;
  return html`<div class="sheet"><${Empty} drawing="search" head=${html`<h1>${T("This mailbox doesn’t exist")}</h1>`}
    sentence=${T("The link may be mistyped, or the mailbox was removed. Ask the person who gave it to you.")}>
    <a class="button" href="/">${T("Go to the start page")}</a><//></div>`;
}

/** Who receives the files: large before files are chosen, then small. */
const Owner = ({ mailbox, small = false, heading = undefined }) => html`<header class=${small ? "owner small" : "owner"}>
  <${Avatar} src=${mailbox.hasAvatar ? `${at}/avatar?height=160` : ""} name=${nameOf(mailbox)} />
  <div>
    <h1 ref=${heading} tabindex=${heading && "-1"}><span class="kicker">${T("Files for")}</span> ${nameOf(mailbox)}</h1>
    ${!small && mailbox.slogan && html`<p class="slogan">${mailbox.slogan}</p>`}
  </div>
</header>`;

const many = 50, large = 1000; // files and MB from which a limit does not matter to people

/** The limits that may matter, as a sentence, and what happens on the way. */
function Limits({ mailbox }) {
  const types = mailbox.mimeTypeFilterEnabled ? inWords((mailbox.mimeTypeFilterDescription ?? "").split(/,\s*/)) : "";
  const size = mailbox.maxFileSizeMb <= large || types ? bytes(mailbox.maxFileSizeMb * 1e6) : "";
  const files = mailbox.maxFiles < many && N("Up to %d file", "Up to %d files", mailbox.maxFiles);
  const sentence = [files, types ? F("Only %s, up to %s each", types, size) : size && F("Up to %s each", size)].filter(Boolean).join(" · ");
  return html`${sentence && html`<p class="limits">${sentence}</p>`}
    ${mailbox.secure && html`<p class="limits"><${Icon} name="lock" /> ${T("The recipient opens it with a code")}</p>`}
    ${mailbox.verifySender && html`<p class="limits"><${Icon} name="mail" /> ${T("You confirm your email address with a code")}</p>`}`;
}

/** What a visitor may rely on. */
const Promises = () => html`<ul class="promises">
  <li><${Icon} name="check" />${T("No account needed")}</li>
  <li><${Icon} name="retry" />${T("Resumes after interruptions")}</li>
  <li><${Icon} name="shield" />${T("You get proof of delivery")}</li>
</ul>`;

/** Says why the mailbox takes no files at the moment, and how to reach the owner. */
function Closed({ mailbox }) {
  const write = mailbox.email && html`<a class="button" href=${`mailto:${encodeURIComponent(mailbox.email).replace("%40", "@")}`}><${Icon}
    name="mail" />${F("Write to %s", nameOf(mailbox))}</a>`;
  if (mailbox.unavailableReason === "absent") {
    return html`<${Empty} drawing="away" title=${F("%s is away and doesn’t accept files right now.", nameOf(mailbox))}
      sentence=${mailbox.absenceMessage && html`<${Lines} text=${mailbox.absenceMessage} />`}>${write}<//>`;
  }
  const [title, sentence] = {
    notAvailable: [T("This mailbox is not available."), T("Please ask the owner for another way.")],
    volume: [T("This mailbox is full for this month."), T("It accepts files again next month, or when the owner gets more volume.")],
    storage: [T("This mailbox is full."), T("It accepts files again when the owner has removed older ones.")],
  }[mailbox.unavailableReason] ?? [T("This mailbox doesn’t accept files right now."), T("Please ask the owner for another way.")];
  return html`<${Empty} drawing="full" title=${title} sentence=${sentence}>${write}<//>`;
}

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
  if (!mailbox.available) return html`<div class="sheet"><${Owner} mailbox=${mailbox} /><${Closed} mailbox=${mailbox} /></div>`;
  const chooser = (small) => html`<${Chooser} small=${small} busy=${upload.phase === "opening"}
    disabled=${upload.phase === "looking" || wanted && !form || Boolean(files?.stopped)} onFiles=${upload.add} />`;
  if (files && !files.over && form) {
    return html`<${form.Details} mailbox=${mailbox} upload=${upload} chooser=${chooser(true)} Owner=${Owner} kept=${!shared} />`;
  }
  return html`<div class="sheet">
    <${Owner} mailbox=${mailbox} />
    <${UploadNotices} upload=${upload} />
    ${!upload.found?.sealed && chooser(false)}
    <${Limits} mailbox=${mailbox} />
    <${Promises} />
  </div>`;
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
