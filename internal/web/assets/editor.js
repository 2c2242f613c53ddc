// An editor for the structured fields of a mailbox, which makes their JSON schemas.

import { Button, Check, Field, Tool, html, useRefusal, useState } from "./ui.js";
import { members } from "./errors.js";
import { F, T } from "./i18n.js";
import { Fields, choices, fieldsOf } from "./fields.js";

/** Returns the fields of a mailbox as the editor needs them. @param {any} mailbox */
export const editable = (mailbox) => ({
  title: mailbox.fieldsSchema?.title ?? "",
  fields: fieldsOf(mailbox.fieldsSchema ?? {}, mailbox.uiSchema).map((f) => ({ ...f, lines: choices(f).map((c) => c.label).join("\n") })),
});

const linesOf = (field) => field.lines.split("\n").map((line) => line.trim()).filter(Boolean);

/** Returns the JSON Schema of a field. Rules that the editor does not know are kept. */
function ruleOf(field) {
  const { enum: _, enumNames, pattern, format, ...rest } = field.rule;
  const kept = { ...rest, type: "string" };
  switch (field.widget) {
    case "select": return { ...kept, enum: linesOf(field) };
    case "updown": return { ...kept, pattern: "^-?[0-9]+$" };
    case "email": case "date": return { ...kept, format: field.widget };
    case "time": return { ...kept, pattern: "^[0-2][0-9]:[0-5][0-9]$" };
    default: return { ...kept, ...(pattern ? { pattern } : {}) };
  }
}

/** Returns the uiSchema of a field. */
const lookOf = (field) => ({
  "ui:widget": field.widget, "ui:title": field.title,
  ...(field.description ? { "ui:description": field.description } : {}),
  ...(field.placeholder ? { "ui:placeholder": field.placeholder } : {}),
  "ui:options": field.widget === "select" ? { enumOptions: linesOf(field).map((value) => ({ value, label: value })) } : field.options ?? {},
});

/**
 * Returns fieldsSchema and uiSchema for the API, or {} when there are no fields.
 * @param {{title: string, fields: any[]}} value @returns {{fieldsSchema?: any, uiSchema?: any}}
 */
export function schemas({ title, fields }) {
  if (fields.length === 0) return {};
  const byName = (make) => Object.fromEntries(fields.map((f) => [f.name, make(f)]));
  return {
    fieldsSchema: { type: "object", title: title || T("Details"), properties: byName(ruleOf),
      required: fields.filter((f) => f.required).map((f) => f.name) },
    uiSchema: { "ui:order": fields.map((f) => f.name), ...byName(lookOf) },
  };
}

/** Returns a new field with an unused name. */
function newField(fields) {
  let n = fields.length + 1;
  while (fields.some((f) => f.name === `field${n}`)) n++;
  return { name: `field${n}`, title: F("Field %s", n), widget: "text", required: false, description: "", placeholder: "", options: {},
    rule: {}, lines: "" };
}

/**
 * The editor. `error`: of the refused request; `preview`: whether the questions are shown beside it.
 * @param {{value: ReturnType<typeof editable>, onValue: (value: any) => void, error?: any, preview?: boolean}} props
 */
export function FieldsEditor({ value, onValue, error = null, preview = true }) {
  const { title, fields } = value;
  const refused = [useRefusal("fieldsSchema"), useRefusal("uiSchema")].find(Boolean);
  const detail = Object.entries(members(error)).find(([name]) => /^(fieldsSchema|uiSchema)/.test(name))?.[1] ?? "";
  const culprit = refused && (fields.find((f) => detail.includes(JSON.stringify(f.name))) ?? fields[0]);
  const change = (next) => onValue({ title, fields: next });
  const move = (i, by) => {
    const next = [...fields];
    [next[i], next[i + by]] = [next[i + by], next[i]];
    change(next);
  };
  return html`<div class="columns editor">
    <div class="stack">
      ${fields.length > 0 && html`<${Field} label=${T("Heading of the questions")} value=${title} maxlength="200"
        onInput=${(e) => onValue({ title: e.target.value, fields })} />`}
      ${fields.map((f, i) => html`<${Question} key=${f.name} field=${f} wrong=${f === culprit ? refused : ""} first=${i === 0}
        last=${i === fields.length - 1}
        onMove=${(by) => move(i, by)} onRemove=${() => change(fields.filter((other) => other !== f))}
        onChange=${(part) => change(fields.map((other) => (other === f ? { ...f, ...part } : other)))} />`)}
      <div><${Button} icon="plus" onClick=${() => change([...fields, newField(fields)])}>${T("Add a question")}<//></div>
    </div>
    ${preview && fields.length > 0 && html`<${Preview} value=${value} />`}
  </div>`;
}

function Question({ field: f, wrong, first, last, onMove, onRemove, onChange }) {
  const widgets = [["text", T("Text")], ["email", T("Email address")], ["select", T("Selection")], ["date", T("Date")], ["time", T("Time")],
    ["updown", T("Number")]];
  const tool = (icon, label, onClick, disabled = false) => html`<${Tool} icon=${icon} label=${label} disabled=${disabled}
    onClick=${onClick} />`;
  const bind = (name) => ({ value: f[name], onInput: (e) => onChange({ [name]: e.target.value }) });
  return html`<div class="card field-card">
    <div class="row between"><strong class="break">${f.title || f.name}</strong>
      <div class="row tight">
        ${tool("up", F("Move %s up", f.title), () => onMove(-1), first)}
        ${tool("down", F("Move %s down", f.title), () => onMove(1), last)}
        ${tool("trash", F("Remove %s", f.title), onRemove)}
      </div>
    </div>
    <div class="pair">
      <${Field} label=${T("Question")} required maxlength="200" error=${wrong} ...${bind("title")} />
      <${Field} label=${T("Kind of answer")} as="select" onChange=${(e) => onChange({ widget: e.target.value })}>
        ${widgets.map(([widget, name]) => html`<option value=${widget} selected=${f.widget === widget}>${name}</option>`)}<//>
    </div>
    ${f.widget === "select" && html`<${Field} label=${T("Choices, one per line")} as="textarea" rows="3" required ...${bind("lines")} />`}
    <div class="pair">
      <${Field} label=${T("Explanation")} optional maxlength="500" ...${bind("description")} />
      <${Field} label=${T("Example")} optional maxlength="200" ...${bind("placeholder")} />
    </div>
    <${Check} label=${T("An answer is required")} checked=${f.required} onChange=${(e) => onChange({ required: e.target.checked })} />
  </div>`;
}

/** The questions as senders see them. They are outside the form, so that a required question does not block saving the mailbox. */
function Preview({ value }) {
  const [sample, setSample] = useState(/** @type {Record<string, string>} */ ({}));
  const { fieldsSchema, uiSchema } = schemas(value);
  return html`<div class="card preview" aria-label=${T("Preview")} role="group">
    <p class="kicker">${T("Preview")}</p>
    <fieldset class="plain"><legend>${fieldsSchema?.title}</legend>
      <${Fields} form="preview" schema=${fieldsSchema} ui=${uiSchema} values=${sample}
        onValue=${(name, text) => setSample({ ...sample, [name]: text })} />
    </fieldset>
  </div>`;
}
