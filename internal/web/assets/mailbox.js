// /mailbox: one's own mailbox, its link and its rules, and what strangers have begun on it.

import { Ask, Button, Check, Copy, Field, Form, Notice, Problem, announce, html, show, useAction, useLoaded, useState } from "./ui.js";
import { N, T, bytes, when } from "./words.js";
import { Failure, identity, own, signInFirst, signedIn, transfer } from "./api.js";
import { members } from "./refusals.js";
import { FieldsEditor, editable, schemas } from "./editor.js";
import "./shell.js";

if (signedIn()) {
  show(() => {
    const { value, error, reload } = useLoaded(async () => {
      const none = (refused) => { if (refused instanceof Failure && refused.status === 404) return { body: null }; throw refused; };
      const [mailbox, profile] = await Promise.all([own("GET", `${transfer}/mailbox`).catch(none), own("GET", `${identity}/profile`)]);
      return { mailbox: mailbox.body, profile: profile.body };
    });
    if (error) return html`<h1>${T("Your mailbox")}</h1><${Problem} error=${error} />`;
    if (!value) return html`<p class="loading" role="status">${T("One moment…")}</p>`;
    return html`<${Mailbox} key=${value.mailbox?.uid ?? ""} ...${value} onGone=${reload} />`;
  });
} else signInFirst();

const split = (text) => text.split(/[\s,;]+/).filter(Boolean);

function Mailbox({ mailbox: first, profile, onGone }) {
  const [mailbox, setMailbox] = useState(first);
  const [m, setM] = useState({ secure: false, absent: false, slogan: "", absenceMessage: "", vanityLink: "", name: profile.name ?? "", email: "", ...first, filter: (first?.mimeTypeFilter ?? []).join(", ") });
  const [fields, setFields] = useState(() => editable(first ?? {}));
  const [saved, setSaved] = useState(false);
  const [asking, setAsking] = useState(false);
  const set = (part) => { setSaved(false); setM({ ...m, ...part }); };
  const save = useAction(async () => {
    const text = (name) => (m[name] ? { [name]: m[name] } : {});
    const number = (name) => (m[name] ? { [name]: Number(m[name]) } : {});
    const json = { secure: m.secure, absent: m.absent, ...text("name"), ...text("email"), ...text("vanityLink"), ...text("slogan"), ...text("absenceMessage"), ...number("maxFiles"), ...number("maxFileSizeMb"),
      ...(split(m.filter).length ? { mimeTypeFilter: split(m.filter) } : {}), ...schemas(fields) };
    const { body } = await own("PUT", `${transfer}/mailbox`, { json });
    setMailbox(body);
    setM((now) => ({ ...now, ...body }));
    setSaved(true);
    announce(T("Saved"));
  });
  const remove = useAction(async () => {
    await own("DELETE", `${transfer}/mailbox`);
    onGone();
  });
  const wrong = members(save.error);
  const bind = (name) => ({ value: m[name] ?? "", onInput: (e) => set({ [name]: e.target.value }), error: wrong[name] && T("Please check this.") });
  const tick = (name) => ({ checked: m[name], onChange: (e) => set({ [name]: e.target.checked }) });
  const link = mailbox && `${location.origin}/m/${mailbox.vanityLink || mailbox.uid}`;
  return html`<h1>${T("Your mailbox")}</h1>
    ${mailbox ? html`<div class="link-box"><a href=${link}>${link}</a><${Copy} text=${link} label=${T("Copy the link")} /></div>`
      : html`<${Notice}>${T("You have no mailbox yet. Save this page, and whoever has its link can leave files for you.")}<//>`}
    <${Form} class="stack sections" onSend=${save.run}>
      <section class="card stack"><h2>${T("What others see")}</h2>
        <div class="pair"><${Field} label=${T("Name")} maxlength="120" ...${bind("name")} />
        <${Field} label=${T("Messages go to")} as="select" onChange=${(e) => set({ email: e.target.value })} error=${wrong.email && T("Please check this.")}>
          ${profile.emails.filter((e) => e.verified).map((e) => html`<option value=${e.address} selected=${m.email === e.address || (!m.email && e.primary)}>${e.address}</option>`)}<//></div>
        <${Field} label=${T("Name in the link")} optional pattern="[A-Za-z0-9][A-Za-z0-9._\\-]{1,62}[A-Za-z0-9]" autocapitalize="none" spellcheck="false" hint=${`${location.host}/m/…`} ...${bind("vanityLink")} />
        <${Field} label=${T("Slogan")} optional maxlength="250" ...${bind("slogan")} />
      </section>
      <section class="card stack"><h2>${T("Absence")}</h2>
        <${Check} label=${T("I am absent: take no files")} ...${tick("absent")} />
        <${Field} label=${T("What to tell people meanwhile")} optional as="textarea" rows="3" ...${bind("absenceMessage")} />
      </section>
      <section class="card stack"><h2>${T("Protection and limits")}</h2>
        <${Check} label=${T("Opening needs a code")} hint=${T("What arrives can be opened only with a code sent to your address, or signed in.")} ...${tick("secure")} />
        <div class="pair">
          <${Field} label=${T("Files at once")} optional type="number" min="1" ...${bind("maxFiles")} />
          <${Field} label=${T("Largest file, in MB")} optional type="number" min="1" ...${bind("maxFileSizeMb")} />
        </div>
        <${Field} label=${T("Only these file types")} optional spellcheck="false" placeholder="application/pdf, image/*" hint=${T("Media types, separated by commas. Empty: all.")} ...${bind("filter")} error=${wrong.mimeTypeFilter && T("Please check this.")} />
      </section>
      <section class="card stack"><h2>${T("Questions to the sender")}</h2>
        <${FieldsEditor} value=${fields} onValue=${(next) => { setSaved(false); setFields(next); }} />
        ${(wrong.fieldsSchema || wrong.uiSchema) && html`<p class="wrong">${T("Please check this.")}</p>`}
      </section>
      <div class="sticky"><${Problem} error=${save.error ?? remove.error} />
        <div class="row between"><div class="row"><${Button} type="submit" kind="primary" busy=${save.busy}>${T("Save")}<//>${saved && html`<span class="saved" role="status">${T("Saved")}</span>`}</div>
        ${mailbox && html`<${Button} kind="danger" icon="trash" busy=${remove.busy} onClick=${() => setAsking(true)}>${T("Remove the mailbox")}<//>`}</div></div>
    <//>
    ${mailbox && html`<${Open} />`}
    ${asking && html`<${Ask} question=${T("Remove the mailbox? Its link stops working. What was delivered stays.")} yes=${T("Remove")} onYes=${remove.run} onClose=${() => setAsking(false)} />`}`;
}

/** Uploads that others have not finished. */
function Open() {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${transfer}/mailbox/reservations`)).body.reservations ?? []);
  const end = useAction(async (uid) => {
    await own("DELETE", `${transfer}/mailbox/reservations/${uid}`);
    reload();
  });
  if (error?.status === 404 || !value?.length) return null;
  return html`<section class="card stack"><h2>${T("Uploads that are under way")}</h2>
    <p class="hint">${N("%d upload has not been delivered yet.", "%d uploads have not been delivered yet.", value.length)}</p>
    <${Problem} error=${end.error} />
    <table><thead><tr><th scope="col">${T("From")}</th><th scope="col">${T("Begun")}</th><th scope="col" class="right">${T("Size")}</th><th><span class="hidden">${T("Actions")}</span></th></tr></thead>
      <tbody>${value.map((r) => html`<tr key=${r.uid}><td>${r.anonEmail || "–"}</td><td>${when(r.createdAt)}</td><td class="right">${bytes(r.bytes)}</td><td class="right"><${Button} busy=${end.busy} onClick=${() => end.run(r.uid)}>${T("End")}<//></td></tr>`)}</tbody></table>
  </section>`;
}
