// /m/{key}: a visitor delivers files to the owner of a mailbox.

import {
  Avatar, Button, Field, Form, Icon, Lines, Notice, Problem, Unloaded, Waiting, html, show, useAction, useEffect, useLoaded, useState,
} from "./ui.js";
import { F, N, T, bytes } from "./i18n.js";
import { asAnybody, bearer, call, identity, own, transfer } from "./api.js";
import { person, signedIn } from "./session.js";
import { TransferCode, members } from "./errors.js";
import { useUpload } from "./upload/hook.js";
import { Chooser } from "./upload/chooser.js";
import { Deliver, FileList, UploadNotices, useDelivery } from "./upload/view.js";
import { Fields, fieldsOf, given } from "./fields.js";
import { Receipt } from "./receipt.js";
import "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);
const at = `${transfer}/public/mailbox/${encodeURIComponent(key)}`;
const product = document.documentElement.dataset.product;

const nameOf = (mailbox) => mailbox.name || mailbox.email;

show(() => {
  const { value: mailbox, error } = useLoaded(async () => (await call("GET", at)).body);
  useEffect(() => { if (mailbox) document.title = `${F("Files for %s", nameOf(mailbox))} · ${product}`; }, [mailbox]);
  if (error) return html`<${Unknown} error=${error} />`;
  return mailbox ? html`<${Delivery} mailbox=${mailbox} />` : html`<${Waiting} />`;
});

function Unknown({ error }) {
  if (error.status !== 404 && error.status !== 400) return html`<${Unloaded} title=${T("This did not work.")} error=${error} />`;
  return html`<div class="narrow center">
    <span class="halo"><${Icon} name="search" /></span>
    <h1>${T("There is no such mailbox")}</h1>
    <p class="lead">${T("The link may be mistyped, or the mailbox was removed. Ask the person who gave it to you.")}</p>
  </div>`;
}

function Owner({ mailbox }) {
  return html`<div class="owner">
    <${Avatar} src=${`${at}/avatar?height=160`} name=${nameOf(mailbox)} />
    <div>
      <h1><span class="kicker">${T("Files for")}</span> ${nameOf(mailbox)}</h1>
      ${mailbox.slogan && html`<p class="slogan">${mailbox.slogan}</p>`}
    </div>
  </div>`;
}

/** The limits of the mailbox. */
function Limits({ mailbox }) {
  const types = mailbox.mimeTypeFilterDescription ?? "";
  return html`<ul class="limits">
    <li><${Icon} name="file" />${N("Up to %d file", "Up to %d files", mailbox.maxFiles)}</li>
    <li><${Icon} name="info" />${F("%s each", bytes(mailbox.maxFileSizeMb * 1e6))}</li>
    ${mailbox.mimeTypeFilterEnabled && html`<li><${Icon} name="check" />${F("Only these types: %s", types)}</li>`}
    ${mailbox.secure && html`<li><${Icon} name="lock" />${T("The owner opens it with a code")}</li>`}
    ${mailbox.verifySender && html`<li><${Icon} name="mail" />${T("Your email address is checked with a code")}</li>`}
  </ul>`;
}

/** Says why the mailbox takes no files at the moment. */
function Closed({ mailbox }) {
  if (mailbox.unavailableReason === "absent") {
    return html`<${Notice} kind="warn" title=${F("%s is absent and takes no files at the moment.", nameOf(mailbox))}>
      ${mailbox.absenceMessage && html`<${Lines} text=${mailbox.absenceMessage} />`}<//>`;
  }
  if (mailbox.unavailableReason === "volume") {
    return html`<${Notice} kind="warn" title=${T("This mailbox is full for this month.")}>
      ${T("It takes files again when the next month begins, or when the owner has been given more volume.")}<//>`;
  }
  const storage = mailbox.unavailableReason === "storage";
  return html`<${Notice} kind="warn" title=${storage ? T("This mailbox is full.") : T("This mailbox takes no files at the moment.")}>
    ${storage ? T("It takes files again when older ones have been removed. Ask the owner about it.")
      : T("The owner may not use the service at the moment. Ask the owner about it.")}<//>`;
}

function Delivery({ mailbox }) {
  const upload = useUpload(`mailbox:${mailbox.uid}`, reserve);
  const [started, setStarted] = useState(false);
  const { receipt, upload: files } = upload;
  if (receipt) {
    return html`<${Receipt} receipt=${receipt} to=${nameOf(mailbox)} onMore=${upload.discard}>
      ${receipt.sender?.email && html`<p>${F("A confirmation is on its way to %s.", receipt.sender.email)}</p>`}
    <//>`;
  }
  if (!mailbox.available) return html`<${Owner} mailbox=${mailbox} /><${Closed} mailbox=${mailbox} />`;
  const going = files && (files.items.length > 0 || started);
  const add = (chosen) => {
    setStarted(true);
    upload.add(chosen);
  };
  return html`<${Owner} mailbox=${mailbox} />
    <${Limits} mailbox=${mailbox} />
    <${UploadNotices} upload=${upload} />
    <div class=${going ? "columns" : ""}>
      <div>
        <${Chooser} small=${going} busy=${upload.phase === "opening"} disabled=${upload.phase === "looking" || Boolean(files?.stopped)} onFiles=${add} />
        ${going && files.items.length > 0 && html`<${FileList} upload=${files} />`}
      </div>
      ${going && !files.over && html`<${Details} mailbox=${mailbox} upload=${upload} />`}
    </div>`;
}

/** Creates a reservation on the mailbox. A signed-in person becomes its sender; with an expired session the visitor is anonymous. */
async function reserve() {
  const { body, headers } = await asAnybody("POST", at);
  return { uid: body.uid, token: bearer(headers), maxFiles: body.maxFiles, maxFileSizeMb: body.maxFileSizeMb };
}

/** The form: sender, the owner's questions, subject and message. */
function Details({ mailbox, upload }) {
  const ownEmail = person()?.email ?? "";
  const [values, setValues] = useState({ anonSender: "", anonEmail: ownEmail, subject: "", message: "", fields: {}, ...upload.form });
  const set = (name, value) => {
    setValues((now) => ({ ...now, [name]: value })); // other inputs may have changed since this render
    upload.write({ [name]: value });
  };
  useEffect(() => {
    if (!signedIn() || values.anonSender) return;
    own("GET", `${identity}/profile`).then(({ body }) => body.name && !upload.form.anonSender && set("anonSender", body.name)).catch(() => {});
  }, []);
  const delivery = useDelivery(upload, () => {
    const { fields, ...rest } = values;
    return { ...rest, ...(mailbox.fieldsSchema ? { fields: given(fields) } : {}) };
  });
  const t = upload.upload.totals();
  const wrong = wrongFields(delivery.error, mailbox);
  const input = (name) => ({ name, value: values[name], error: wrong[name], onInput: (event) => set(name, event.target.value) });
  const asked = mailbox.fieldsSchema && fieldsOf(mailbox.fieldsSchema, mailbox.uiSchema).length > 0;
  const proof = useProof(upload.upload, delivery, values.anonEmail);
  return html`<${Form} class="details card" onSend=${proof.sent ? proof.enter : delivery.wish}>
    <h2>${T("From you")}</h2>
    <${Field} label=${T("Your name")} required maxlength="120" autocomplete="name" ...${input("anonSender")} />
    <${Field} label=${T("Your email address")} type="email" required maxlength="254" autocomplete="email"
      hint=${T("The confirmation goes there.")} ...${input("anonEmail")} />
    ${asked && html`<fieldset>
      ${mailbox.fieldsSchema.title && html`<legend>${mailbox.fieldsSchema.title}</legend>`}
      <${Fields} schema=${mailbox.fieldsSchema} ui=${mailbox.uiSchema} values=${values.fields} wrong=${wrong}
        onValue=${(name, value) => set("fields", { ...values.fields, [name]: value })} />
    </fieldset>`}
    <${Field} label=${T("Subject")} optional maxlength="120" ...${input("subject")} />
    <${Field} label=${T("Message")} optional as="textarea" rows="4" maxlength="5000" ...${input("message")} />
    ${proof.needed ? html`<${Proof} of=${proof} address=${values.anonEmail} />` : html`<${Problem} error=${delivery.error} />`}
    <${Deliver} of=${delivery} upload=${upload.upload} label=${F("Deliver to %s", nameOf(mailbox))} disabled=${t.files === 0}
      hint=${t.files === 0 ? T("Choose at least one file.") : T("Nothing is delivered before you press the button.")} />
  <//>`;
}

/**
 * The proof of the sender's address, which some mailboxes want: the server refuses to deliver, mails a code and checks it.
 * @param {import("./upload/engine.js").Upload} files @param {ReturnType<typeof useDelivery>} delivery @param {string} address
 */
function useProof(files, delivery, address) {
  const [sentTo, setSentTo] = useState("");
  const [code, setCode] = useState("");
  const at = `${transfer}/reservations/${files.uid}`, { token } = files;
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
      <${Field} label=${T("Code of 6 digits")} name="code" required focus inputmode="numeric" pattern="[0-9 ]{6,8}" autocomplete="one-time-code" class="code"
        value=${of.code} onInput=${(event) => of.setCode(event.target.value)} error=${wrong && T("This code is not right, or no longer valid.")} />`
    : html`<${Notice} kind="info">${F("This mailbox takes files from checked addresses only. We send a code to %s.", address)}<//>`}
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
