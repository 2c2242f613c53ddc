// The form of a mailbox's page, and its receipt: what a visitor sees from the first file on. Loaded then.

import { Button, Field, Form, Notice, Problem, html, useAction, useEffect, useRef, useState } from "./ui.js";
import { F, T, day } from "./i18n.js";
import { call, identity, own, transfer } from "./api.js";
import { person, signedIn } from "./session.js";
import { TransferCode, members } from "./errors.js";
import { FileList } from "./upload/rows.js";
import { Deliver, useDelivery } from "./upload/delivery.js";
import { UploadNotices } from "./upload/view.js";
import { meant, usable } from "./address.js";
import { Fields, choices, fieldsOf, given } from "./fields.js";

export { Receipt } from "./receipt.js";

/** The owner's questions with the answers of a delivery. @param {any} mailbox @param {any} fields @returns {[string, string][]} */
export const answers = (mailbox, fields) => fieldsOf(mailbox.fieldsSchema, mailbox.uiSchema)
  .filter(({ name }) => fields?.[name]).map((field) => {
    const value = String(fields[field.name]);
    const shown = field.rule.format === "date" && /^\d{4}-\d\d-\d\d$/.test(value) ? day(value) : value;
    return [field.title, choices(field).find((choice) => choice.value === value)?.label ?? shown];
  });

/** Values of the form that the link brings: ?subject=…&field.order=4711. Visitors may change them, unless the mailbox locks them. */
function prefilled(mailbox) {
  const query = new URLSearchParams(location.search);
  const fields = Object.fromEntries(fieldsOf(mailbox.fieldsSchema,
    mailbox.uiSchema).map(({ name }) => [name, (query.get(`field.${name}`) ?? "").slice(0, 1000)]));
  return { subject: (query.get("subject") ?? "").slice(0, 120), fields: given(fields) };
}

/**
 * The form while the files are uploaded: the files, the owner's questions, the sender, and a message.
 * @param {any} props `Owner`: the head of the page; `kept`: whether the browser may offer what was typed on other visits
 */
export function Details({ mailbox, upload, chooser, Owner, kept }) {
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
  const input = (name) => ({ name, value: values[name], error: wrong[name], onInput: (event) => set(name, event.target.value) });
  const asked = mailbox.fieldsSchema && fieldsOf(mailbox.fieldsSchema, mailbox.uiSchema).length > 0;
  const bound = fixed.subject && fixed.subject === values.subject && !wrong.subject ? { readonly: true, hint: T("Filled in by the link") }
    : {};
  const proof = useProof(files, delivery, values.anonEmail);
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  // the button with the focus is gone
  useEffect(() => { if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true }); }, []);
  const [worded] = useState(Boolean(values.subject || values.message)); // shown at first
  return html`<${Form} class="sheet details" failed=${delivery.error} onSend=${proof.sent ? proof.enter : delivery.wish}>
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
      <${Field} label=${T("Your name")} required maxlength="120" autocomplete=${kept ? "name" : "off"} ...${input("anonSender")} />
      <${Field} label=${T("Your email address")} type="email" required maxlength="254" autocomplete=${kept ? "email" : "off"}
        onChange=${(event) => setAddress(event.target.value)}
        hint=${T("For your confirmation, and a reminder in case you don’t finish.")} ...${input("anonEmail")} />
      ${meant(address) && address === values.anonEmail && html`<p class="hint">${T("Did you mean")} <button type="button" class="textual"
        onClick=${() => { set("anonEmail", meant(address)); setAddress(meant(address)); }}>${meant(address)}</button>?</p>`}
      <details class="more" open=${worded}>
        <summary>${T("Add a message")}</summary>
        <${Field} label=${T("Subject")} optional maxlength="120" ...${input("subject")} ...${bound} />
        <${Field} label=${T("Message")} optional as="textarea" rows="4" maxlength="5000" ...${input("message")} />
      </details>
    </fieldset>
    ${proof.needed ? html`<${Proof} of=${proof} address=${values.anonEmail} />` : html`<${Problem} error=${delivery.error} />`}
    <${Deliver} of=${delivery} upload=${files} label=${F("Deliver to %s", mailbox.name || mailbox.email)} disabled=${t.files === 0}
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
