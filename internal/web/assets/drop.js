// The drop page, /m/{key}: anybody hands files to the owner of a mailbox.

import { Avatar, Button, Field, Form, Icon, Lines, Notice, Problem, html, sentence, show, useAction, useEffect, useLoaded, useState } from "./ui.js";
import { F, N, T, bytes } from "./words.js";
import { bearer, call, claims, idToken, identity, own, signedIn, transfer } from "./api.js";
import { members } from "./refusals.js";
import { Chooser, FileList, useUpload } from "./uploader.js";
import { Fields, fieldsOf, given } from "./fields.js";
import { Receipt } from "./receipt.js";
import "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);
const at = `${transfer}/public/mailbox/${encodeURIComponent(key)}`;

show(() => {
  const { value: mailbox, error } = useLoaded(async () => (await call("GET", at)).body);
  useEffect(() => { if (mailbox) document.title = `${F("Files for %s", nameOf(mailbox))} · ${document.documentElement.dataset.product}`; }, [mailbox]);
  if (error) return html`<${Unknown} error=${error} />`;
  if (!mailbox) return html`<p class="loading" role="status">${T("One moment…")}</p>`;
  return html`<${Drop} mailbox=${mailbox} />`;
});

const nameOf = (mailbox) => mailbox.name || mailbox.email;

function Unknown({ error }) {
  const nothing = error.status === 404 || error.status === 400;
  return html`<h1>${nothing ? T("There is no such mailbox") : T("This did not work.")}</h1>
    ${nothing ? html`<p class="lead">${T("The link may be mistyped, or the mailbox was removed. Ask the person who gave it to you.")}</p>` : html`<${Problem} error=${error} />
    <${Button} onClick=${() => location.reload()}>${T("Try again")}<//>`}`;
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

/** What may be sent, told before anything is chosen. */
function Limits({ mailbox }) {
  return html`<ul class="limits">
    <li><${Icon} name="file" />${N("Up to %d file", "Up to %d files", mailbox.maxFiles)}</li>
    <li><${Icon} name="info" />${F("%s each", bytes(mailbox.maxFileSizeMb * 1e6))}</li>
    ${mailbox.mimeTypeFilterEnabled && html`<li><${Icon} name="check" />${F("Only these types: %s", mailbox.mimeTypeFilterDescription ?? "")}</li>`}
    ${mailbox.secure && html`<li><${Icon} name="lock" />${T("The owner opens it with a code")}</li>`}
  </ul>`;
}

function Drop({ mailbox }) {
  const upload = useUpload(`mailbox:${mailbox.uid}`, reserve);
  const [started, setStarted] = useState(false);
  if (upload.receipt) {
    return html`<${Receipt} receipt=${upload.receipt} to=${nameOf(mailbox)} onMore=${upload.discard}>
      ${upload.receipt.sender?.email && html`<p>${F("A confirmation is on its way to %s.", upload.receipt.sender.email)}</p>`}
    <//>`;
  }
  const refusal = mailbox.absent ? "absent" : mailbox.volumeLimitExceeded ? "full" : "";
  const going = upload.upload && (upload.upload.items.length > 0 || started);
  return html`<${Owner} mailbox=${mailbox} />
    ${refusal === "absent" && html`<${Notice} kind="warn" title=${F("%s is absent and takes no files at the moment.", nameOf(mailbox))}>
      ${mailbox.absenceMessage && html`<${Lines} text=${mailbox.absenceMessage} />`}<//>`}
    ${refusal === "full" && html`<${Notice} kind="warn" title=${T("This mailbox is full for this month.")}>${T("It takes files again when the next month begins, or when the owner has been given more volume.")}<//>`}
    ${!refusal && html`
      <${Limits} mailbox=${mailbox} />
      ${upload.problem && html`<${Notice} kind="bad">${typeof upload.problem === "string" ? upload.problem : sentence(upload.problem)}<//>`}
      ${upload.phase === "found" && html`<${Unfinished} upload=${upload} />`}
      ${upload.upload?.over && html`<${Notice} kind="bad" title=${T("This upload can no longer be finished.")}>${T("An upload is kept for 48 hours. Please choose the files again.")}
        <p><${Button} onClick=${upload.discard}>${T("Start over")}<//></p><//>`}
      <div class=${going ? "columns" : ""}>
        <div>
          <${Chooser} small=${Boolean(going)} busy=${upload.phase === "opening"} disabled=${upload.phase === "looking" || Boolean(upload.upload?.stopped)} onFiles=${(files) => { setStarted(true); upload.add(files); }} />
          ${going && upload.upload.items.length > 0 && html`<${FileList} upload=${upload.upload} />`}
        </div>
        ${going && !upload.upload.over && html`<${Details} mailbox=${mailbox} upload=${upload} />`}
      </div>`}`;
}

/** Opens a reservation on the mailbox. Somebody who is signed in is named as the sender. */
async function reserve() {
  const { body, headers } = await (signedIn() ? own("POST", at) : call("POST", at));
  return { uid: body.uid, token: bearer(headers), maxFiles: body.maxFiles, maxFileSizeMb: body.maxFileSizeMb };
}

function Unfinished({ upload }) {
  const t = upload.upload.totals();
  const ask = upload.upload.items.some((item) => item.state === "missing" && item.handle);
  return html`<${Notice} kind="info" title=${T("You have an upload here that is not finished.")}>
    <p>${N("%d file, %s of %s have arrived.", "%d files, %s of %s have arrived.", t.files, bytes(t.sent), bytes(t.bytes))} ${ask
      ? T("The browser asks you once more whether this page may read the files.")
      : T("Choose the same files again; what has arrived is not sent twice.")}</p>
    <div class="row">
      ${ask && html`<${Button} kind="primary" icon="play" onClick=${upload.reopenAll}>${T("Go on")}<//>`}
      <${Button} onClick=${upload.discard}>${T("Start over")}<//>
    </div>
  <//>`;
}

/** Who sends it, and what the owner wants to know. */
function Details({ mailbox, upload }) {
  const said = signedIn() ? claims(idToken()) : {};
  const [values, setValues] = useState({ anonSender: "", anonEmail: said.email ?? "", subject: "", message: "", fields: {}, ...upload.form });
  const [wish, setWish] = useState(false);
  const files = upload.upload, t = files.totals();
  const set = (name, value) => change({ ...values, [name]: value });
  const change = (next) => {
    setValues(next);
    upload.write(next);
  };
  useEffect(() => {
    if (!signedIn() || values.anonSender) return;
    own("GET", `${identity}/profile`).then(({ body }) => body.name && set("anonSender", body.name)).catch(() => {});
  }, []);
  const hand = useAction(async () => {
    try {
      const { fields, ...rest } = values;
      await upload.deliver({ ...rest, ...(mailbox.fieldsSchema ? { fields: given(fields) } : {}) });
    } finally {
      setWish(false);
    }
  });
  const ready = files.complete();
  useEffect(() => { if (wish && ready && !hand.busy) hand.run(); }, [wish, ready]);
  const wrong = wrongFields(hand.error, mailbox);
  const input = (name) => ({ name, value: values[name], error: wrong[name], onInput: (event) => set(name, event.target.value) });
  return html`<${Form} class="details card" onSend=${() => setWish(true)}>
    <h2>${T("From you")}</h2>
    <${Field} label=${T("Your name")} required maxlength="120" autocomplete="name" ...${input("anonSender")} />
    <${Field} label=${T("Your email address")} type="email" required maxlength="254" autocomplete="email" hint=${T("The confirmation goes there.")} ...${input("anonEmail")} />
    ${mailbox.fieldsSchema && fieldsOf(mailbox.fieldsSchema, mailbox.uiSchema).length > 0 && html`<fieldset>
      ${mailbox.fieldsSchema.title && html`<legend>${mailbox.fieldsSchema.title}</legend>`}
      <${Fields} schema=${mailbox.fieldsSchema} ui=${mailbox.uiSchema} values=${values.fields} wrong=${wrong}
        onValue=${(name, value) => set("fields", { ...values.fields, [name]: value })} />
    </fieldset>`}
    <${Field} label=${T("Subject")} optional maxlength="120" ...${input("subject")} />
    <${Field} label=${T("Message")} optional as="textarea" rows="4" maxlength="5000" ...${input("message")} />
    <${Problem} error=${hand.error} />
    ${wrong.other.length > 0 && html`<ul class="wrong">${wrong.other.map((line) => html`<li>${line}</li>`)}</ul>`}
    ${t.failed > 0 && html`<${Notice} kind="warn">${N("%d file was refused and will not be delivered.", "%d files were refused and will not be delivered.", t.failed)}<//>`}
    ${wish && !ready && html`<${Notice}>${T("Delivered as soon as everything has arrived. Leave this page open.")}<//>`}
    <div class="row">
      <${Button} type="submit" kind="primary wide" busy=${hand.busy || (wish && !ready && t.open > 0)} disabled=${t.files === 0 || Boolean(files.stopped)}>${
        wish ? T("Delivering…") : F("Deliver to %s", nameOf(mailbox))}<//>
      ${wish && !hand.busy && html`<${Button} kind="quiet" onClick=${() => setWish(false)}>${T("Not yet")}<//>`}
    </div>
    <p class="hint">${t.files === 0 ? T("Choose at least one file.") : T("Nothing is delivered before you press the button.")}</p>
  <//>`;
}

/** Puts the details of a refusal beside the inputs they are about. */
function wrongFields(error, mailbox) {
  const wrong = { other: [] };
  const named = members(error);
  for (const [name, what] of Object.entries(named)) {
    const bare = name.replace(/^fields\.?/, "");
    if (["anonSender", "subject", "message"].includes(name)) wrong[name] = T("Please check this.");
    else if (name === "anonEmail") wrong[name] = T("This is not an email address that can be used.");
    else if (bare in (mailbox.fieldsSchema?.properties ?? {})) wrong[bare] = T("Please check this.");
    else if (name.startsWith("fields")) wrong.other.push(what);
  }
  return wrong;
}
