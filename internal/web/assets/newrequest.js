// /requests/new: what is asked for, by when and of whom, with the page that the people will see beside it.

import {
  Button, Check, Field, Form, Problem, Tool, Unloaded, Waiting, announce, html, showOwn, useAction, useLoaded, useRef, useState, useUnsaved,
} from "./ui.js";
import { F, N, T, localTime } from "./i18n.js";
import { identity, own, transfer } from "./api.js";
import { FieldsEditor, editable, schemas } from "./editor.js";
import { People, readPeople } from "./people.js";
import { Head, Row, Tally, standing } from "./requestview.js";
import { now, person } from "./session.js";
import "./shell.js";

/** @typedef {{uid?: string, name: string, hint: string, required: boolean}} Item */

const from = new URLSearchParams(location.search).get("from") ?? "";
const mostItems = 100;

/** What is often asked for: a name, and the items, if they are others. @returns {[string, string[]?][]} */
const presets = () => [
  [T("Identity card, both sides"), [T("Identity card, front"), T("Identity card, back")]],
  [T("Pay slips of three months"), [T("Pay slip of the last month"), T("Pay slip of two months ago"), T("Pay slip of three months ago")]],
  [T("Bank statements")], [T("Lease")], [T("Tax assessment")], [T("Certificate of registration")],
];

showOwn(() => {
  const { value, error } = useLoaded(async () => {
    const [{ body: profile }, origin] = await Promise.all([own("GET", `${identity}/profile`),
      from ? own("GET", `${transfer}/requests/${encodeURIComponent(from)}`).then(({ body }) => body) : null]);
    return { name: profile.name || person()?.email || "", origin };
  });
  if (error) return html`<${Unloaded} title=${T("New request")} error=${error} />`;
  return value ? html`<${New} ...${value} />` : html`<${Waiting} />`;
});

/** @param {{name: string, origin: TransferAPI["DocumentRequest"] | null}} props `origin`: what the form begins with */
function New({ name, origin }) {
  const template = origin?.template ? origin.uid : "";
  const [values, setValues] = useState({ title: origin?.title ?? "", message: origin?.message ?? "", due: "", late: origin?.late ?? "mark",
    people: "", publicLink: false });
  const [items, setItems] = useState(/** @type {Item[]} */ (origin?.items.map((i) => ({ uid: template ? i.uid : undefined, name: i.name,
    hint: i.hint ?? "", required: i.required })) ?? []));
  const [fields, setFields] = useState(() => editable(origin ?? {}));
  const mark = useUnsaved();
  const change = (/** @type {Partial<typeof values>} */ part) => { mark(true); setValues((before) => ({ ...before, ...part })); };
  const put = (/** @type {Item[]} */ next) => { mark(true); setItems(next.slice(0, mostItems)); };
  const bind = (/** @type {"title" | "message" | "due"} */ member) => ({ name: member, value: values[member],
    onInput: (/** @type {any} */ event) => change({ [member]: event.target.value }) });
  const asked = items.filter((i) => i.name.trim()), { people, wrong } = readPeople(values.people);
  const body = () => ({ title: values.title, message: values.message, late: values.late, ...schemas(fields),
    items: asked.map(({ uid, ...item }) => {
      const { uid: _, ...known } = origin?.items.find((i) => i.name === item.name) ?? {}; // limits and types that this page does not show
      return { ...known, ...item, ...(uid ? { uid } : {}) };
    }) });
  const ask = useAction(async () => {
    const json = { ...body(), items: body().items.map(({ uid, ...item }) => item), publicLink: values.publicLink, parties: people,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, ...(values.due ? { due: new Date(values.due).toISOString() } : {}) };
    const { body: made } = await own("POST", `${transfer}/requests`, { json });
    mark(false);
    location.assign(`/requests/${made.uid}`);
  });
  const keep = useAction(async () => {
    if (template) await own("PATCH", `${transfer}/requests/${template}`, { json: body() });
    else await own("POST", `${transfer}/requests`, { json: { ...body(), template: true } });
    mark(false);
    announce(T("Saved"));
    location.assign("/requests?state=template");
  });
  const remove = useAction(async () => {
    await own("DELETE", `${transfer}/requests/${template}`);
    mark(false);
    location.assign("/requests?state=template");
  });
  const ready = values.title.trim() && asked.length > 0, whom = people.length > 0 || values.publicLink;
  return html`<p class="kicker"><a href="/requests">${T("Requests")}</a></p><h1>${template ? origin?.title : T("New request")}</h1>
    <div class="beside"><${Form} class="card stack" onSend=${() => ask.run()} refused=${ask.error ?? keep.error}>
      <${Field} label=${T("What is it about?")} required maxlength="120" ...${bind("title")}
        placeholder=${T("Documents for your tax return")} />
      <${Field} label=${T("Message")} optional as="textarea" rows="3" maxlength="5000" ...${bind("message")} />
      <${Items} items=${items} onItems=${put} />
      <${Field} label=${T("Due date")} optional type="datetime-local" min=${localTime(new Date(now()))} ...${bind("due")} />
      ${values.due && html`<${Check} label=${T("Take nothing after it")} hint=${T("Otherwise what is late is marked as late.")}
        checked=${values.late === "refuse"}
          onChange=${(/** @type {any} */ e) => change({ late: e.target.checked ? "refuse" : "mark" })} />`}
      <${People} value=${values.people} onValue=${(/** @type {string} */ text) => change({ people: text })} />
      <details class="more" open=${fields.fields.length > 0}><summary>${T("More")}</summary>
        <${Check} label=${T("A public link, too")} hint=${T("Anybody who has it can hand in, after proving an email address.")}
          checked=${values.publicLink} onChange=${(/** @type {any} */ e) => change({ publicLink: e.target.checked })} />
        <h2>${T("Questions")}</h2>
        <${FieldsEditor} value=${fields} error=${ask.error ?? keep.error}
          onValue=${(/** @type {any} */ next) => { mark(true); setFields(next); }} />
      </details>
      <${Problem} error=${ask.error ?? keep.error ?? remove.error} />
      <div class="row"><${Button} kind="primary" type="submit" busy=${ask.busy} disabled=${!ready || !whom || wrong.length > 0}>
          ${people.length ? N("Ask %d person", "Ask %d people", people.length) : T("Make the request")}<//>
        <${Button} kind="quiet" busy=${keep.busy} disabled=${!ready} onClick=${() => keep.run()}>${template ? T("Save the template")
          : T("Save as a template")}<//>
        ${template && html`<${Button} kind="danger" icon="trash" busy=${remove.busy} onClick=${() => remove.run()}>${T("Delete")}<//>`}</div>
    <//><${Look} name=${name} values=${values} items=${asked} first=${people[0]} fields=${fields} /></div>`;
}

/** The list of items. A pasted list becomes items. @param {{items: Item[], onItems: (items: Item[]) => void}} props */
function Items({ items, onItems }) {
  const root = useRef(/** @type {any} */ (null));
  const made = (/** @type {string} */ name) => ({ name, hint: "", required: true });
  const set = (/** @type {number} */ n, /** @type {Partial<Item>} */ part) => onItems(items.length > n ? items.map((item, i) => (i === n
    ? { ...item, ...part } : item)) : [...items, { ...made(""), ...part }]);
  const add = (/** @type {string[]} */ list) => onItems([...items.filter((item) => item.name),
    ...list.filter((l) => !items.some((item) => item.name === l)).map(made)]);
  const to = (/** @type {number} */ n) => requestAnimationFrame(() => root.current?.querySelectorAll("[data-item]")[n]?.focus());
  const paste = (/** @type {number} */ n) => (/** @type {any} */ event) => {
    const bare = (/** @type {string} */ line) => line.replace(/^\s*(?:[-*•–]|\d+[.)])\s*/, "").trim();
    const lines = event.clipboardData.getData("text/plain").split(/\r?\n/).map(bare).filter(Boolean);
    if (lines.length < 2) return;
    event.preventDefault();
    const before = items.slice(0, n), here = items[n]?.name ? [items[n]] : [];
    onItems([...before, ...here, ...lines.map(made), ...items.slice(n + 1)]);
    to(n + here.length + lines.length);
  };
  const enter = (/** @type {number} */ n) => (/** @type {any} */ event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    to(n + 1);
  };
  return html`<fieldset class="plain items" ref=${root}><legend>${T("Documents")}</legend>
    <ul>${[...items, made("")].map((item, n) => html`<li key=${n}>
      <input data-item maxlength="120" value=${item.name} aria-label=${F("Document %s", n + 1)}
        placeholder=${n === 0 ? T("Name, or paste a list") : T("Another one")}
        onInput=${(/** @type {any} */ e) => set(n, { name: e.target.value })} onPaste=${paste(n)} onKeyDown=${enter(n)} />
      ${n < items.length && html`<${Tool} icon="trash" label=${F("Remove %s", item.name || F("Document %s", n + 1))}
        onClick=${() => onItems(items.filter((_, i) => i !== n))} />
        <input class="note" maxlength="500" value=${item.hint} aria-label=${F("Note about %s", item.name)}
          placeholder=${T("Note for the people")}
          onInput=${(/** @type {any} */ e) => set(n, { hint: e.target.value })} />
        <label class="need"><input type="checkbox" checked=${item.required}
          onChange=${(/** @type {any} */ e) => set(n, { required: e.target.checked })} /> ${T("required")}</label>`}</li>`)}</ul>
    <div class="presets">${presets().map(([name, list = [name]]) => html`<button key=${name} type="button" class="button plain"
      onClick=${() => add(list)}>+ ${name}</button>`)}</div></fieldset>`;
}

/**
 * What the people will see.
 * @param {{name: string, values: any, items: Item[], first?: import("./people.js").Person, fields: any}} props `first`: of the people
 */
function Look({ name, values, items, first, fields }) {
  const due = values.due ? new Date(values.due) : null;
  const view = /** @type {any} */ ({ title: values.title || T("What is it about?"), message: values.message, late: values.late,
    due: due && !Number.isNaN(due.getTime()) ? due.toISOString() : undefined, now: new Date(now()).toISOString(),
    owner: { name, email: "" }, states: [],
    items: items.map((item, i) => ({ ...item, uid: String(i), mimeTypes: [], maxFiles: 10, maxFileSizeMb: 1 })) });
  const questions = fields.fields.length;
  return html`<aside class="look" aria-label=${T("What people will see")}><p class="kicker">${first
    ? F("What %s will see", first.name || first.email) : T("What people will see")}</p>
    <div class="sheet" inert><${Head} view=${view} sample /><${Tally} there=${0} all=${items.length || 1} />
      <ul class="asked">${view.items.map((/** @type {any} */ item) => html`<${Row} key=${item.uid}
        state=${{ ...standing(view, item), item }} disabled />`)}</ul>
      ${questions > 0 && html`<p class="hint">${N("%d question", "%d questions", questions)}</p>`}</div></aside>`;
}
