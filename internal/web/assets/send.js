// /send: sends files to people, or makes a link to them.

import { Field, Form, Problem, Unloaded, Waiting, html, showOwn, useAction, useEffect, useLoaded, useState } from "./ui.js";
import { N, T, list } from "./i18n.js";
import { bearer, call, own, transfer } from "./api.js";
import { members } from "./errors.js";
import { useUpload } from "./upload/hook.js";
import { Chooser } from "./upload/chooser.js";
import { FileList } from "./upload/rows.js";
import { Deliver, useDelivery } from "./upload/delivery.js";
import { UploadNotices } from "./upload/view.js";
import { useTold } from "./upload/told.js";
import { Recipients } from "./recipients.js";
import { Receipt } from "./receipt.js";
import { TransferLink } from "./transferlink.js";
import { Options, stronger, terms, usualTerms } from "./terms.js";

showOwn(() => {
  const { value, error } = useLoaded(async () => (await own("GET", `${transfer}/environment`)).body);
  if (error) return html`<${Unloaded} title=${T("Send files")} error=${error} />`;
  return value ? html`<${Send} environment=${value} />` : html`<${Waiting} />`;
});

function Send({ environment }) {
  const upload = useUpload("send", reserve, { find: async (uid) => (await own("GET", `${transfer}/transfers/${uid}`)).body });
  const [values, setValues] = useState(() => ({
    mode: "people", recipients: /** @type {import("./recipients.js").Recipient[]} */ ([]), subject: "", message: "",
    ...usualTerms(environment),
  }));
  useEffect(() => {
    if (upload.phase !== "looking" && upload.form.mode) setValues((now) => ({ ...now, ...upload.form }));
  }, [upload.phase]);

  const reply = useReply((email) => {
    const recipients = [{ email, destinationType: "to" }];
    setValues((now) => ({ ...now, recipients }));
    upload.write({ recipients });
  }, upload.phase === "ready" && !upload.form.mode && !upload.receipt);

  /** Creates the reservation with the first file. What else is entered is sent with the delivery. */
  async function reserve() {
    const { body, headers } = await own("POST", `${transfer}/reservations`, { json: {} });
    return { uid: body.uid, token: bearer(headers), maxFiles: body.maxFiles, maxFileSizeMb: body.maxFileSizeMb };
  }
  const change = (part) => {
    const next = { ...values, ...part };
    setValues(next);
    const { password, ...kept } = next; // passwords are not stored
    upload.write(kept);
  };
  const known = values.mode === "link" || values.recipients.length > 0;
  const delivery = useDelivery(upload, () => ({
    ...terms(values, values.mode === "people"), subject: values.subject, message: values.message,
    recipients: values.mode === "people" ? values.recipients : [],
  }));

  useTold(upload.upload, upload.receipt, `${T("Send files")} · ${document.documentElement.dataset.product}`);

  if (upload.receipt) return html`<${Sent} upload=${upload} />`;
  const files = upload.upload;
  const begun = Boolean(files?.items.length);
  return html`<${Form} class="sheet details" onSend=${delivery.wish}>
    <h1>${T("Send files")}</h1>
    <${UploadNotices} upload=${upload} />
    <${Problem} error=${reply.error} />
    ${begun && html`<${FileList} upload=${files} onClear=${upload.discard} />`}
    <${Chooser} plain small=${begun} busy=${upload.phase === "opening"} disabled=${upload.phase === "looking"}
      onFiles=${upload.add} />
    <${Terms} values=${values} change=${change} environment=${environment} wrong=${members(delivery.error)} />
    <${Problem} error=${delivery.error} />
    <${Deliver} of=${delivery} upload=${files} label=${values.mode === "link" ? T("Make the link") : T("Send")}
      disabled=${!begun || !known || files?.over} hint=${!known ? T("Enter who the files are for.")
        : !begun ? T("Choose at least one file.") : ""} />
  <//>`;
}

/**
 * Finds the sender of the transfer that the page was opened to reply to, if the address was checked.
 * @param {(email: string) => void} onSender @param {boolean} ready whether the form is new
 */
function useReply(onSender, ready) {
  const [key] = useState(() => new URLSearchParams(location.search).get("reply"));
  const find = useAction(async () => {
    const { sender } = (await call("GET", `${transfer}/public/transfers/${encodeURIComponent(key ?? "")}`)).body;
    if (sender.verified && sender.email) onSender(sender.email);
  });
  useEffect(() => { if (key && ready) find.run(); }, [ready]);
  return find;
}

/** The form: recipients and subject; folded the message, lifetime, priority and protection. */
function Terms({ values, change, environment, wrong }) {
  const bind = (name) => ({ value: values[name], onInput: (e) => change({ [name]: e.target.value }),
    error: wrong[name] && T("Please check this.") });
  const [worded] = useState(Boolean(values.message)); // at first
  const people = values.mode === "people";
  const turn = (mode) => change(mode === "link" && values.protection === "recipientAuthentication"
    ? { mode, protection: stronger(environment.protectionLevel, "password") } : { mode }); // a link has nobody to send a code to
  return html`
    <${Mode} value=${values.mode} onValue=${turn} />
    ${people && html`<${Recipients} value=${values.recipients} onValue=${(recipients) => change({ recipients })} />`}
    <${Field} label=${T("Subject")} optional maxlength="120" ...${bind("subject")} />
    <details class="more" open=${worded || Boolean(wrong.message)}>
      <summary>${T("Add a message")}</summary>
      <${Field} label=${T("Message")} optional as="textarea" rows="3" maxlength="5000" ...${bind("message")} />
    </details>
    ${values.mode === "link" && html`<p class="hint">${guarded(values)}</p>`}
    <${Options} values=${values} change=${change} environment=${environment} least=${environment.protectionLevel} people=${people}
      wrong=${wrong} />`;
}

/** What opens the files of a link. Mails to people say it themselves. */
const guarded = ({ mode, protection }) => (mode !== "link" ? ""
  : protection === "password" ? T("Only people with the link and the password can open the files.")
  : T("Anyone with the link can open the files, without a password."));

/** The choice between recipients and a link. */
function Mode({ value, onValue }) {
  const modes = [["people", T("To people"), T("Each gets an email with the link.")], ["link", T("As a link"), T("You share it yourself.")]];
  return html`<fieldset class="plain">
    <legend class="hidden">${T("How to send")}</legend>
    <div class="choices">${modes.map(([mode, name, hint]) => html`<label class=${value === mode ? "on" : ""}>
      <input type="radio" name="mode" value=${mode} checked=${value === mode} onChange=${() => onValue(mode)} />
      <span><b>${name}</b><span class="dim">${hint}</span></span>
    </label>`)}</div>
  </fieldset>`;
}

function Sent({ upload }) {
  const { receipt } = upload;
  const names = (receipt.recipients ?? []).map((r) => r.name || r.email);
  const to = names.length > 3 ? N("%d recipient", "%d recipients", names.length) : list(names);
  const made = names.length === 0; // the link is the only way to the files
  return html`<${Receipt} receipt=${receipt} to=${to} title=${made ? T("Your link is ready") : ""} onMore=${upload.discard}>
    ${receipt.link && html`<${TransferLink} transfer=${receipt} primary=${made} />
      <p class="hint">${guarded({ mode: "link", protection: receipt.protection })}</p>`}
  <//>`;
}
