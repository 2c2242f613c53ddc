// /send: files to people, or as a link for whoever gets it.

import { Button, Check, Copy, Field, Form, Icon, Notice, Problem, html, sentence, show, useAction, useEffect, useId, useLoaded, useState } from "./ui.js";
import { F, N, T, list } from "./words.js";
import { bearer, call, own, signInFirst, signedIn, transfer } from "./api.js";
import { members } from "./refusals.js";
import { Chooser, FileList, useUpload } from "./uploader.js";
import { Receipt } from "./receipt.js";
import { Password } from "./signin.js";

const strength = ["none", "password", "recipientAuthentication"];
const looksLikeAddress = /^[^\s@,;<>"]+@[^\s@,;<>"]+\.[^\s@,;<>"]+$/;

if (signedIn()) {
  show(() => {
    const { value, error } = useLoaded(async () => (await call("GET", `${transfer}/environment`)).body);
    if (error) return html`<h1>${T("Send files")}</h1><${Problem} error=${error} />`;
    return value ? html`<${Send} environment=${value} />` : html`<p class="loading" role="status">${T("One moment…")}</p>`;
  });
} else signInFirst();

function Send({ environment }) {
  const upload = useUpload("send", reserve);
  const [values, setValues] = useState(() => ({ mode: "people", recipients: [], subject: "", message: "", ttl: environment.defaultTtl, priority: 3,
    protection: environment.protectionLevel, password: "", deliveryNotification: true }));
  const [held, setHeld] = useState(/** @type {any[]} */ ([])); // files that wait until it is known what kind of transfer it is
  const [wish, setWish] = useState(false);
  useEffect(() => { if (upload.phase !== "looking" && upload.form.mode) setValues((now) => ({ ...now, ...upload.form })); }, [upload.phase]);

  /** A reservation with recipients goes to people; one without is a link. */
  async function reserve() {
    const json = { recipients: values.mode === "people" ? values.recipients : [], ...terms(values) };
    const { body, headers } = await own("POST", `${transfer}/reservations`, { json });
    return { uid: body.uid, token: bearer(headers), maxFiles: body.maxFiles, maxFileSizeMb: body.maxFileSizeMb };
  }
  const change = (part) => {
    const next = { ...values, ...part };
    setValues(next);
    const { password, ...kept } = next;
    upload.write(kept);
  };
  const known = values.mode === "link" || values.recipients.length > 0;
  const add = (files) => (known || upload.upload ? upload.add(files) : setHeld((before) => [...before, ...files]));
  useEffect(() => {
    if (!known || held.length === 0) return;
    setHeld([]);
    upload.add(held);
  }, [known, held]);

  const files = upload.upload;
  const hand = useAction(async () => {
    try {
      await upload.deliver({ ...terms(values), subject: values.subject, message: values.message, ...(values.mode === "people" ? { recipients: values.recipients } : {}) });
    } finally {
      setWish(false);
    }
  });
  const ready = Boolean(files?.complete());
  useEffect(() => { if (wish && ready && !hand.busy) hand.run(); }, [wish, ready]);

  if (upload.receipt) return html`<${Sent} upload=${upload} />`;
  const begun = Boolean(files?.items.length);
  const t = files?.totals() ?? { files: 0, open: 0 };
  const wrong = members(hand.error);
  const bind = (name) => ({ value: values[name], onInput: (e) => change({ [name]: e.target.value }), error: wrong[name] && T("Please check this.") });
  return html`<h1>${T("Send files")}</h1>
    ${upload.problem && html`<${Notice} kind="bad">${typeof upload.problem === "string" ? upload.problem : sentence(upload.problem)}<//>`}
    ${upload.phase === "found" && html`<${Notice} title=${T("You have an upload here that is not finished.")}>
      <p>${T("Choose the same files again; what has arrived is not sent twice.")}</p>
      <div class="row">
        ${files.items.some((i) => i.handle) && html`<${Button} kind="primary" icon="play" onClick=${upload.reopenAll}>${T("Go on")}<//>`}
        <${Button} onClick=${upload.discard}>${T("Start over")}<//></div><//>`}
    ${files?.over && html`<${Notice} kind="bad" title=${T("This upload can no longer be finished.")}>${T("An upload is kept for 48 hours. Please choose the files again.")}
      <p><${Button} onClick=${upload.discard}>${T("Start over")}<//></p><//>`}
    <div class="columns">
      <div>
        <${Chooser} small=${begun || held.length > 0} busy=${upload.phase === "opening"} disabled=${upload.phase === "looking"} onFiles=${add} />
        ${held.length > 0 && html`<${Notice}>${N("%d file waits: say first who is to get it.", "%d files wait: say first who is to get them.", held.length)}<//>`}
        ${begun && html`<${FileList} upload=${files} />`}
      </div>
      <${Form} class="card details" onSend=${() => setWish(true)}>
        <fieldset class="plain" disabled=${begun}><legend class="hidden">${T("How to send")}</legend>
          <div class="choices">
            ${[["people", T("To people"), T("Each gets a message with the link.")], ["link", T("As a link"), T("You pass it on yourself.")]].map(([mode, name, hint]) => html`
            <label class=${values.mode === mode ? "on" : ""}><input type="radio" name="mode" value=${mode} checked=${values.mode === mode} onChange=${() => change({ mode })} /><span><b>${name}</b><span class="dim">${hint}</span></span></label>`)}
          </div>
        </fieldset>
        ${values.mode === "people" && html`<${Recipients} value=${values.recipients} onValue=${(recipients) => change({ recipients })} />`}
        <${Field} label=${T("Subject")} optional maxlength="120" ...${bind("subject")} />
        <${Field} label=${T("Message")} optional as="textarea" rows="3" maxlength="5000" ...${bind("message")} />
        <div class="pair">
          <${Field} label=${T("Available for")} as="select" value=${String(values.ttl)} onChange=${(e) => change({ ttl: Number(e.target.value) })}>
            ${environment.availableTtl.map((days) => html`<option value=${String(days)} selected=${values.ttl === days}>${N("%d day", "%d days", days)}</option>`)}<//>
          ${environment.priorityEnabled && html`<${Field} label=${T("Priority")} as="select" onChange=${(e) => change({ priority: Number(e.target.value) })}>
            ${[[1, T("Highest")], [2, T("High")], [3, T("Normal")], [4, T("Low")], [5, T("Lowest")]].map(([n, name]) => html`<option value=${String(n)} selected=${values.priority === n}>${name}</option>`)}<//>`}
        </div>
        <${Field} label=${T("Protection")} as="select" onChange=${(e) => change({ protection: e.target.value })}>
          ${strength.slice(strength.indexOf(environment.protectionLevel)).filter((level) => level !== "recipientAuthentication" || values.mode === "people").map((level) => html`<option value=${level} selected=${values.protection === level}>${{
            none: T("The link is enough"), password: T("Password"), recipientAuthentication: T("A code sent to each recipient") }[level]}</option>`)}<//>
        ${values.protection === "password" && html`<${Password} label=${T("Password for the recipients")} autocomplete="new-password" hint=${T("Tell them by another way, not by email.")} value=${values.password} onInput=${(e) => change({ password: e.target.value })} />`}
        ${values.mode === "people" && html`<${Check} label=${T("Tell me when it is opened")} checked=${values.deliveryNotification} onChange=${(e) => change({ deliveryNotification: e.target.checked })} />`}
        <${Problem} error=${hand.error} />
        ${wish && !ready && html`<${Notice}>${T("Delivered as soon as everything has arrived. Leave this page open.")}<//>`}
        <div class="row">
          <${Button} type="submit" kind="primary wide" busy=${hand.busy || (wish && !ready && t.open > 0)} disabled=${!begun || !known || Boolean(files?.stopped) || files?.over}>${wish ? T("Delivering…") : values.mode === "link" ? T("Make the link") : T("Send")}<//>
          ${wish && !hand.busy && html`<${Button} kind="quiet" onClick=${() => setWish(false)}>${T("Not yet")}<//>`}
        </div>
      <//>
    </div>`;
}

/** What holds for the transfer, as the API takes it. */
const terms = ({ ttl, priority, protection, password, deliveryNotification, mode }) => ({
  ttl, protection, ...(priority !== 3 ? { priority } : {}), ...(protection === "password" && password ? { password } : {}), ...(mode === "people" ? { deliveryNotification } : {}),
});

/** Addresses, each as To, Cc or Bcc. */
function Recipients({ value, onValue }) {
  const [text, setText] = useState("");
  const [kind, setKind] = useState("to");
  const [wrong, setWrong] = useState("");
  const id = useId();
  const take = (input) => {
    const parts = input.split(/[\s,;]+/).map((p) => p.replace(/^.*<|>$/g, "")).filter(Boolean);
    const bad = parts.filter((p) => !looksLikeAddress.test(p));
    const good = parts.filter((p) => looksLikeAddress.test(p) && !value.some((r) => r.email.toLowerCase() === p.toLowerCase()));
    if (good.length) onValue([...value, ...good.map((email) => ({ email, destinationType: kind }))]);
    setText(bad.join(" "));
    setWrong(bad.length ? F("This is not an email address: %s", list(bad)) : "");
  };
  return html`<div class="field">
    <label for=${id}>${T("Recipients")}</label>
    ${value.length > 0 && html`<ul class="chips" aria-label=${T("Recipients")}>${value.map((r) => html`<li key=${r.email}>
      ${r.destinationType !== "to" && html`<span class="dim">${r.destinationType === "cc" ? T("Cc") : T("Bcc")}</span>`} ${r.email}
      <button type="button" aria-label=${F("Remove %s", r.email)} onClick=${() => onValue(value.filter((o) => o !== r))}><${Icon} name="close" /></button></li>`)}</ul>`}
    <div class="joined">
      <select aria-label=${T("Kind of recipient")} value=${kind} onChange=${(e) => setKind(e.target.value)}><option value="to">${T("To")}</option><option value="cc">${T("Cc")}</option><option value="bcc">${T("Bcc")}</option></select>
      <input id=${id} type="text" inputmode="email" autocomplete="email" placeholder=${T("name@example.com")} value=${text} aria-invalid=${wrong ? "true" : undefined} aria-describedby=${`${id}h`}
        onInput=${(e) => (/[,;\s]$/.test(e.target.value) ? take(e.target.value) : setText(e.target.value))} onBlur=${() => text && take(text)}
        onKeyDown=${(e) => { if (e.key === "Enter" && text) { e.preventDefault(); take(text); } }} />
    </div>
    <p class=${wrong ? "wrong" : "hint"} id=${`${id}h`}>${wrong || T("Separate several addresses with a comma or a space.")}</p>
  </div>`;
}

function Sent({ upload }) {
  const { receipt } = upload;
  const names = (receipt.recipients ?? []).map((r) => r.name || r.email);
  return html`<${Receipt} receipt=${receipt} to=${names.length > 3 ? N("%d recipient", "%d recipients", names.length) : list(names)} onMore=${upload.discard}>
    ${receipt.link && html`<div class="link-box"><code>${receipt.link}</code><${Copy} text=${receipt.link} label=${T("Copy the link")} /></div>`}
    <p class="screen"><a href="/inbox">${T("Transfers")}</a></p>
  <//>`;
}
