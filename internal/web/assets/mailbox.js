// /mailbox: the settings of the person's mailbox, its link, and open reservations on it.

import {
  Ask, Button, Check, Field, Form, Notice, Problem, Save, Unloaded, Waiting, html, showOwn, useAction, useLoaded, useSaving, useState,
} from "./ui.js";
import { F, N, T, bytes, when } from "./i18n.js";
import { identity, own, transfer } from "./api.js";
import { families, familiesOf, filterOf, inWords } from "./filetypes.js";
import { FieldsEditor, editable, schemas } from "./editor.js";
import { Backdrop } from "./backdrop.js";
import { MailboxPolicy } from "./malware.js";
import { LinkBuilder } from "./linkbuilder.js";
import { MailboxLink } from "./mailboxlink.js";
import { PagePreview } from "./mailboxpreview.js";
import { readMailbox } from "./newmailbox.js";
import "./shell.js";

showOwn(() => {
  const { value, error, reload } = useLoaded(async () => {
    const [mailbox, profile] = await Promise.all([readMailbox(), own("GET", `${identity}/profile`)]);
    return { mailbox, profile: profile.body };
  });
  if (error) return html`<${Unloaded} title=${T("Your mailbox")} error=${error} />`;
  return value ? html`<${Mailbox} key=${value.mailbox?.uid ?? ""} ...${value} onGone=${reload} />` : html`<${Waiting} />`;
});

const split = (text) => text.split(/[\s,;]+/).filter(Boolean);

/** Returns a mailbox as values of the form. */
const asForm = (mailbox, profile) => ({
  secure: false, verifySender: false, prefillLocked: false, absent: false, slogan: "", absenceMessage: "", vanityLink: "",
    name: profile.name ?? "", email: "",
  ...mailbox, families: familiesOf(mailbox?.mimeTypeFilter ?? []).chosen,
    filter: familiesOf(mailbox?.mimeTypeFilter ?? []).further.join(", "),
    house: (mailbox?.ownNetworks ?? []).join(", "),
});

/** Returns the values of the form as the API takes them. Empty values reset a member to its default. */
function asSent(m, fields) {
  const filled = ["name", "email", "vanityLink", "slogan", "absenceMessage"].filter((name) => m[name]).map((name) => [name, m[name]]);
  const numbers = ["maxFiles", "maxFileSizeMb"].filter((name) => m[name]).map((name) => [name, Number(m[name])]);
  const mimeTypeFilter = filterOf(m.families, split(m.filter)), ownNetworks = split(m.house);
  return {
    secure: m.secure, verifySender: m.verifySender, prefillLocked: m.prefillLocked, absent: m.absent,
      ...Object.fromEntries([...filled, ...numbers]),
    ...(mimeTypeFilter.length ? { mimeTypeFilter } : {}), ...(m.inspection ? { inspection: m.inspection } : {}),
    ...(ownNetworks.length ? { ownNetworks } : {}), ...schemas(fields),
  };
}

function Mailbox({ mailbox: first, profile, onGone }) {
  const [mailbox, setMailbox] = useState(first);
  const [m, setM] = useState(() => asForm(first, profile));
  const [fields, setFields] = useState(() => editable(first ?? {}));
  const [asking, setAsking] = useState(false);
  const save = useSaving(async () => {
    const { body } = await own("PUT", `${transfer}/mailbox`, { json: asSent(m, fields) });
    setMailbox(body);
    setM((now) => ({ ...now, ...body })); // families and filter stay as they are shown
  });
  const remove = useAction(async () => {
    await own("DELETE", `${transfer}/mailbox`);
    onGone();
  });
  const set = (part) => {
    save.touch();
    setM({ ...m, ...part });
  };
  const bind = (name) => ({ name, value: m[name] ?? "", onInput: (e) => set({ [name]: e.target.value }) });
  const tick = (name) => ({ checked: m[name], onChange: (e) => set({ [name]: e.target.checked }) });
  return html`<div class="beside"><div><h1>${T("Your mailbox")}</h1>
    ${mailbox ? html`<${MailboxLink} mailbox=${mailbox} />`
      : html`<${Notice}>${T("You have no mailbox yet. Save this page to get one. Anyone who has its link can send you files.")}<//>`}
    ${mailbox?.unavailableReason && html`<${Closed} reason=${mailbox.unavailableReason} />`}
    <${Form} class="stack sections" onSend=${save.run} refused=${save.error}>
      <${Appearance} m=${m} mailbox=${mailbox} profile=${profile} set=${set} bind=${bind} />
      <section class="card stack"><h2>${T("Absence")}</h2>
        <${Check} label=${T("I’m away: don’t accept files")} ...${tick("absent")} />
        <${Field} label=${T("Message while you’re away")} optional as="textarea" rows="3" ...${bind("absenceMessage")} />
      </section>
      <${Rules} m=${m} set=${set} bind=${bind} tick=${tick} />
      <section class="card stack wide"><h2>${T("Questions for senders")}</h2>
        <p class="hint">${T("Senders answer these when they send files.")}</p>
        <${FieldsEditor} value=${fields} error=${save.error} preview=${false} onValue=${(next) => { save.touch(); setFields(next); }} />
        <${Check} label=${T("Lock what a link fills in")} ...${tick("prefillLocked")}
          hint=${T("Locked, senders can’t change them on the page. That is no proof: anyone can edit a link.")} />
      </section>
      <div class="saving"><${Save} of=${save} /></div>
    <//>
    </div><${PagePreview} mailbox=${mailbox} values=${m} filter=${filterOf(m.families, split(m.filter))} fields=${schemas(fields)} /></div>
    ${mailbox && html`<div class="stack sections"><${LinkBuilder} mailbox=${mailbox} /><${Open} /></div>
      <${Problem} error=${remove.error} />
      <p class="row end"><${Button} kind="danger" icon="trash" busy=${remove.busy} onClick=${() => setAsking(true)}>
        ${T("Remove the mailbox")}<//></p>`}
    ${asking && html`<${Ask} question=${T("Remove the mailbox? Its link stops working. What was delivered stays.")} yes=${T("Remove")}
      onYes=${remove.run} onClose=${() => setAsking(false)} />`}`;
}

/** Tells the owner why the mailbox takes no files, and who can change it. */
function Closed({ reason }) {
  const sentences = {
    notAvailable: T("The operator of this service has suspended it."),
    serviceDisabled: T("The service is switched off for your organization. Ask your administrator."),
    roleMissing: T("You lack the permission to receive files. Ask your administrator."),
    absent: T("You’ve said that you’re away."),
    volume: T("This month’s volume is used up."),
    storage: T("The storage is full. Remove transfers, or ask for more."),
  };
  return html`<${Notice} kind="warn" title=${T("Your mailbox doesn’t accept files right now.")}>${sentences[reason] ?? ""}<//>`;
}

function Appearance({ m, mailbox, profile, set, bind }) {
  const addresses = profile.emails.filter((e) => e.verified);
  return html`<section class="card stack"><h2>${T("What others see")}</h2>
    <${Field} label=${T("Name")} maxlength="120" ...${bind("name")} />
    <${Field} label=${T("Slogan")} optional maxlength="250" ...${bind("slogan")} />
    <${Field} label=${T("Name in the link")} optional pattern="[A-Za-z0-9][A-Za-z0-9._\\-]{1,62}[A-Za-z0-9]" autocapitalize="none"
      spellcheck="false" hint=${`${location.host}/m/…`} ...${bind("vanityLink")} />
    <${Field} label=${T("Send notifications to")} as="select" name="email" onChange=${(e) => set({ email: e.target.value })}>
      ${addresses.map((e) => html`<option value=${e.address} selected=${m.email === e.address || (!m.email && e.primary)}>
        ${e.address}</option>`)}<//>
    ${mailbox && html`<${Backdrop} mailbox=${mailbox} />`}
  </section>`;
}

function Rules({ m, set, bind, tick }) {
  return html`<section class="card stack"><h2>${T("Protection and limits")}</h2>
    <${Check} label=${T("Require a code to open")} ...${tick("secure")}
      hint=${T("Files can only be opened with a code sent to your address, or signed in.")} />
    <${Check} label=${T("Senders confirm their address")} ...${tick("verifySender")}
      hint=${T("A sender gets a code by email and enters it before the delivery.")} />
    <div class="pair">
      <${Field} label=${T("Maximum files")} optional type="number" min="1" ...${bind("maxFiles")} />
      <${Field} label=${T("Maximum file size, in MB")} optional type="number" min="1" ...${bind("maxFileSizeMb")} />
    </div>
    ${m.organizationInspection && html`<${MailboxPolicy} value=${m.inspection ?? ""} organization=${m.organizationInspection}
      set=${(inspection) => set({ inspection })} />`}
    <${Types} m=${m} set=${set} />
    <details class="house" open=${Boolean(m.house)}><summary>${T("Networks of your house")}</summary>
      <${Field} label=${T("Addresses and networks, separated by commas")} optional spellcheck="false" autocapitalize="none"
        placeholder="198.51.100.7, 2001:db8:1::/48" name="ownNetworks" value=${m.house} onInput=${(e) => set({ house: e.target.value })}
        hint=${T("Many senders behind one address, as in a clinic or a school, then don’t wait for each other.")} />
    </details>
  </section>`;
}

/** The file types that the mailbox takes: by families, others by their media types. */
function Types({ m, set }) {
  const flip = (name) => set({ families: m.families.includes(name) ? m.families.filter((other) => other !== name)
    : [...m.families, name] });
  const filter = filterOf(m.families, split(m.filter));
  return html`<fieldset class="plain tight types"><legend>${T("File types")}</legend>
    <p class="hint" aria-live="polite">${filter.length ? F("Senders can leave only these: %s.", inWords(filter))
      : T("Senders can leave files of all types. Choose some to take only these.")}</p>
    <div class="toggles">${Object.entries(families()).map(([name,
      label]) => html`<label key=${name} class=${m.families.includes(name) ? "on" : ""}>
      <input type="checkbox" checked=${m.families.includes(name)} onChange=${() => flip(name)} />${label}</label>`)}</div>
    <details open=${Boolean(m.filter)}><summary>${T("Further types")}</summary>
      <${Field} label=${T("Media types, separated by commas")} optional spellcheck="false" autocapitalize="none"
        placeholder="model/stl, application/acad"
        name="mimeTypeFilter" value=${m.filter} onInput=${(e) => set({ filter: e.target.value })} />
    </details>
  </fieldset>`;
}

/** Open reservations of senders. */
function Open() {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${transfer}/mailbox/reservations`)).body.reservations ?? []);
  const end = useAction(async (uid) => {
    await own("DELETE", `${transfer}/mailbox/reservations/${uid}`);
    reload();
  });
  if (error?.status === 404 || !value?.length) return null;
  return html`<section class="card stack wide"><h2>${T("Uploads in progress")}</h2>
    <p class="hint">${N("%d upload has not been delivered yet.", "%d uploads have not been delivered yet.", value.length)}</p>
    <${Problem} error=${end.error} />
    <table>
      <thead><tr>
        <th scope="col">${T("From")}</th><th scope="col">${T("Begun")}</th><th scope="col" class="right">${T("Size")}</th>
        <th scope="col"><span class="hidden">${T("Actions")}</span></th>
      </tr></thead>
      <tbody>${value.map((r) => html`<tr key=${r.uid}>
        <td class="break">${r.anonEmail || "–"}</td><td>${when(r.createdAt)}</td><td class="right">${bytes(r.bytes)}</td>
        <td class="right"><${Button} busy=${end.busy} onClick=${() => end.run(r.uid)}
          aria-label=${F("Cancel the upload %s", [r.anonEmail, when(r.createdAt)].filter(Boolean).join(", "))}>${T("Cancel")}<//></td>
      </tr>`)}</tbody>
    </table>
  </section>`;
}
