// /m/{key}: a visitor delivers files to the owner of a mailbox.

import {
  Avatar, Button, Field, Form, Icon, Lines, Notice, Problem, Unloaded, html, show, useAction, useEffect, useRef, useState,
} from "./ui.js";
import { Empty } from "./drawings.js";
import { F, N, T, bytes, day } from "./i18n.js";
import { asAnybody, bearer, call, identity, own, transfer } from "./api.js";
import { person, signedIn } from "./session.js";
import { TransferCode, members } from "./errors.js";
import { useUpload } from "./upload/hook.js";
import { Chooser } from "./upload/chooser.js";
import { FileList } from "./upload/rows.js";
import { Deliver, UploadNotices, useDelivery } from "./upload/view.js";
import { useTold } from "./upload/told.js";
import { usable } from "./address.js";
import { inWords } from "./filetypes.js";
import { Fields, choices, fieldsOf, given } from "./fields.js";
import { Receipt } from "./receipt.js";
import "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);
const at = /** @type {const} */ (`${transfer}/public/mailbox/${encodeURIComponent(key)}`);
const product = document.documentElement.dataset.product;

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

/** Shows the picture of the mailbox behind the panel once it has loaded. */
function showPicture() {
  const image = Object.assign(new Image(), { src: `${at}/picture` });
  image.addEventListener("load", () => {
    document.body.style.setProperty("--picture", `url("${image.src}")`);
    document.body.classList.add("pictured");
  });
}

/** Who receives the files: large before files are chosen, then small. */
const Owner = ({ mailbox, small = false, heading = undefined }) => html`<header class=${small ? "owner small" : "owner"}>
  <${Avatar} src=${`${at}/avatar?height=160`} name=${nameOf(mailbox)} />
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
    volume: [T("This mailbox is full for this month."), T("It accepts files again next month, or when the owner gets more volume.")],
    storage: [T("This mailbox is full."), T("It accepts files again when the owner has removed older ones.")],
  }[mailbox.unavailableReason] ?? [T("This mailbox doesn’t accept files right now."), T("Please ask the owner for another way.")];
  return html`<${Empty} drawing="full" title=${title} sentence=${sentence}>${write}<//>`;
}

function Delivery({ mailbox }) {
  const upload = useUpload(`mailbox:${mailbox.uid}`, reserve);
  const { receipt, upload: files } = upload;
  useEffect(() => { if (mailbox.hasPicture) showPicture(); }, []);
  useTold(files, receipt, `${F("Files for %s", nameOf(mailbox))} · ${product}`);
  if (receipt) {
    return html`<${Receipt} receipt=${receipt} to=${nameOf(mailbox)} answers=${answers(mailbox, receipt.fields)} onMore=${upload.discard}>
      ${receipt.sender?.email && html`<p>${F("A confirmation is on its way to %s.", receipt.sender.email)}</p>`}
    <//>`;
  }
  if (!mailbox.available) return html`<div class="sheet"><${Owner} mailbox=${mailbox} /><${Closed} mailbox=${mailbox} /></div>`;
  const chooser = (small) => html`<${Chooser} small=${small} busy=${upload.phase === "opening"}
    disabled=${upload.phase === "looking" || Boolean(files?.stopped)} onFiles=${upload.add} />`;
  if (files && !files.over) return html`<${Details} mailbox=${mailbox} upload=${upload} chooser=${chooser(true)} />`;
  return html`<div class="sheet">
    <${Owner} mailbox=${mailbox} />
    <${UploadNotices} upload=${upload} />
    ${chooser(false)}
    <${Limits} mailbox=${mailbox} />
    <${Promises} />
  </div>`;
}

/** The owner's questions with the answers of a delivery. @returns {[string, string][]} */
const answers = (mailbox, fields) => fieldsOf(mailbox.fieldsSchema, mailbox.uiSchema)
  .filter(({ name }) => fields?.[name]).map((field) => {
    const value = String(fields[field.name]);
    const shown = field.rule.format === "date" && /^\d{4}-\d\d-\d\d$/.test(value) ? day(value) : value;
    return [field.title, choices(field).find((choice) => choice.value === value)?.label ?? shown];
  });

/** Creates a reservation on the mailbox. A signed-in person becomes its sender; with an expired session the visitor is anonymous. */
async function reserve() {
  const { body, headers } = await asAnybody("POST", at);
  return { uid: body.uid, token: bearer(headers), maxFiles: body.maxFiles, maxFileSizeMb: body.maxFileSizeMb };
}

/** Values of the form that the link brings: ?subject=…&field.order=4711. Visitors may change them, unless the mailbox locks them. */
function prefilled(mailbox) {
  const query = new URLSearchParams(location.search);
  const fields = Object.fromEntries(fieldsOf(mailbox.fieldsSchema,
    mailbox.uiSchema).map(({ name }) => [name, (query.get(`field.${name}`) ?? "").slice(0, 1000)]));
  return { subject: (query.get("subject") ?? "").slice(0, 120), fields: given(fields) };
}

/** The form while the files are uploaded: the files, the owner's questions, the sender, and a message. */
function Details({ mailbox, upload, chooser }) {
  const files = /** @type {import("./upload/engine.js").Upload} */ (upload.upload);
  const ownEmail = person()?.email ?? "";
  const brought = prefilled(mailbox), fixed = mailbox.prefillLocked ? brought : { subject: "", fields: {} };
  const [values, setValues] = useState({ anonSender: "", anonEmail: ownEmail, message: "", ...brought, ...upload.form });
  const set = (name, value) => {
    setValues((now) => ({ ...now, [name]: value })); // other inputs may have changed since this render
    upload.write({ [name]: value });
  };
  useEffect(() => {
    if (!signedIn() || values.anonSender) return;
    own("GET", `${identity}/profile`).then(({ body }) => body.name && !upload.form.anonSender && set("anonSender", body.name))
      .catch(() => {});
  }, []);
  const [address, setAddress] = useState(values.anonEmail); // when it was last complete: the server reminds it of an unfinished upload
  useEffect(() => {
    if (usable(address)) call("PATCH", `${transfer}/reservations/${files.uid}`,
      { token: files.token, json: { anonEmail: address } }).catch(() => {});
  }, [files.uid, address]);
  const delivery = useDelivery(upload, () => {
    const { fields, ...rest } = values;
    return { ...rest, ...(mailbox.fieldsSchema ? { fields: given(fields) } : {}) };
  });
  const t = files.totals();
  const wrong = wrongFields(delivery.error, mailbox);
  useEffect(() => { if (delivery.error) /** @type {HTMLElement | null} */ (document.querySelector(".details [aria-invalid]"))?.focus(); },
    [delivery.error]);
  const input = (name) => ({ name, value: values[name], error: wrong[name], onInput: (event) => set(name, event.target.value) });
  const asked = mailbox.fieldsSchema && fieldsOf(mailbox.fieldsSchema, mailbox.uiSchema).length > 0;
  const bound = fixed.subject && fixed.subject === values.subject && !wrong.subject ? { readonly: true, hint: T("Filled in by the link") }
    : {};
  const proof = useProof(files, delivery, values.anonEmail);
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  // the button with the focus is gone
  useEffect(() => { if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true }); }, []);
  const [worded] = useState(Boolean(values.subject || values.message)); // shown at first
  return html`<${Form} class="sheet details" onSend=${proof.sent ? proof.enter : delivery.wish}>
    <${Owner} mailbox=${mailbox} small heading=${heading} />
    <${UploadNotices} upload=${upload} />
    ${files.items.length > 0 && html`<${FileList} upload=${files} onClear=${upload.discard} />`}
    ${chooser}
    ${asked && html`<fieldset>
      <legend>${mailbox.fieldsSchema.title || T("Questions from the recipient")}</legend>
      <${Fields} schema=${mailbox.fieldsSchema} ui=${mailbox.uiSchema} values=${values.fields} wrong=${wrong} fixed=${fixed.fields}
        onValue=${(name, value) => set("fields", { ...values.fields, [name]: value })} />
    </fieldset>`}
    <fieldset>
      <legend>${T("From you")}</legend>
      <${Field} label=${T("Your name")} required maxlength="120" autocomplete="name" ...${input("anonSender")} />
      <${Field} label=${T("Your email address")} type="email" required maxlength="254" autocomplete="email"
        onChange=${(event) => setAddress(event.target.value)}
        hint=${T("For your confirmation, and a reminder in case you don’t finish.")} ...${input("anonEmail")} />
      <details class="more" open=${worded}>
        <summary>${T("Add a message")}</summary>
        <${Field} label=${T("Subject")} optional maxlength="120" ...${input("subject")} ...${bound} />
        <${Field} label=${T("Message")} optional as="textarea" rows="4" maxlength="5000" ...${input("message")} />
      </details>
    </fieldset>
    ${proof.needed ? html`<${Proof} of=${proof} address=${values.anonEmail} />` : html`<${Problem} error=${delivery.error} />`}
    <${Deliver} of=${delivery} upload=${files} label=${F("Deliver to %s", nameOf(mailbox))} disabled=${t.files === 0}
      hint=${t.files === 0 ? T("Choose at least one file.") : ""} />
  <//>`;
}

/**
 * The proof of the sender's address, which some mailboxes want: the server refuses to deliver, mails a code and checks it.
 * @param {import("./upload/engine.js").Upload} files @param {ReturnType<typeof useDelivery>} delivery @param {string} address
 */
function useProof(files, delivery, address) {
  const [sentTo, setSentTo] = useState("");
  const [code, setCode] = useState("");
  const at = /** @type {const} */ (`${transfer}/reservations/${files.uid}`), { token } = files;
  const needed = Boolean(members(delivery.error).code);
  const ask = useAction(async () => {
    await call("PATCH", at, { token, json: { anonEmail: address } }); // it may have been changed since the delivery was tried
    await call("POST", `${at}/code`, { token });
    setSentTo(address);
    setCode("");
  });
  const check = useAction(async () => {
    await call("POST", `${at}/verify`, { token, json: { code: code.replace(/\s/g, "") } });
    delivery.wish();
  });
  return { needed, sent: needed && sentTo === address, ask, check, enter: check.run, code, setCode };
}

function Proof({ of, address }) {
  const wrong = of.check.error?.code === TransferCode.SENDER_CODE;
  return html`
    ${of.sent ? html`<${Notice} kind="good">${T("The code is on its way. It works for 10 minutes.")}<//>
      <${Field} label=${T("6-digit code")} name="code" required focus inputmode="numeric" pattern="[0-9 ]{6,8}" autocomplete="one-time-code"
        class="code"
        value=${of.code} onInput=${(event) => of.setCode(event.target.value)}
          error=${wrong && T("This code is not right, or no longer valid.")} />`
    : html`<${Notice} kind="info">${F("This mailbox only accepts files from confirmed addresses. We’ll send a code to %s.", address)}<//>`}
    ${!wrong && html`<${Problem} error=${of.check.error} />`}
    <${Problem} error=${of.ask.error} />
    <div><${Button} kind=${of.sent ? "quiet" : "primary"} busy=${of.ask.busy} onClick=${() => of.ask.run()}>
      ${of.sent ? T("Send another code") : T("Send me the code")}<//></div>`;
}

/** Returns the error for each input from the details of a failed request. */
function wrongFields(error, mailbox) {
  /** @type {Record<string, string>} */
  const wrong = {};
  for (const name of Object.keys(members(error))) {
    const bare = name.replace(/^fields\.?/, "");
    if (name === "anonEmail") wrong[name] = T("This is not an email address that can be used.");
    else if (["anonSender", "subject", "message"].includes(name)) wrong[name] = T("Please check this.");
    else if (bare in (mailbox.fieldsSchema?.properties ?? {})) wrong[bare] = T("Please check this.");
  }
  return wrong;
}
