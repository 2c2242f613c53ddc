// A simple editor of a mailbox's structured fields, and the schemas that come of it.

import { Button, Check, Field, Icon, html, useState } from "./ui.js";
import { F, T } from "./words.js";
import { Fields, choices, fieldsOf } from "./fields.js";

/** The fields of a mailbox as the editor holds them. @param {any} mailbox */
export const editable = (mailbox) => ({
  title: mailbox.fieldsSchema?.title ?? "",
  fields: fieldsOf(mailbox.fieldsSchema ?? {}, mailbox.uiSchema).map((f) => ({ ...f, lines: choices(f).map((c) => c.label).join("\n") })),
});

/** What the API takes: both schemas, or neither when there is no field. */
export function schemas({ title, fields }) {
  if (fields.length === 0) return {};
  const lines = (f) => f.lines.split("\n").map((line) => line.trim()).filter(Boolean);
  const rule = (f) => {
    const { enum: _, enumNames, pattern, format, ...rest } = f.rule;
    const kept = { ...rest, type: "string" };
    if (f.widget === "select") return { ...kept, enum: lines(f) };
    if (f.widget === "updown") return { ...kept, pattern: "^-?[0-9]+$" };
    if (["email", "date"].includes(f.widget)) return { ...kept, format: f.widget };
    if (f.widget === "time") return { ...kept, pattern: "^[0-2][0-9]:[0-5][0-9]$" };
    return { ...kept, ...(pattern ? { pattern } : {}) };
  };
  return {
    fieldsSchema: { type: "object", title: title || T("Details"), properties: Object.fromEntries(fields.map((f) => [f.name, rule(f)])), required: fields.filter((f) => f.required).map((f) => f.name) },
    uiSchema: {
      "ui:order": fields.map((f) => f.name),
      ...Object.fromEntries(fields.map((f) => [f.name, {
        "ui:widget": f.widget, "ui:title": f.title, ...(f.description ? { "ui:description": f.description } : {}), ...(f.placeholder ? { "ui:placeholder": f.placeholder } : {}),
        "ui:options": f.widget === "select" ? { enumOptions: lines(f).map((value) => ({ value, label: value })) } : f.options ?? {},
      }])),
    },
  };
}

/** @param {{value: any, onValue: (value: any) => void}} properties */
export function FieldsEditor({ value, onValue }) {
  const [sample, setSample] = useState({});
  const { title, fields } = value;
  const set = (i, part) => onValue({ title, fields: fields.map((f, j) => (j === i ? { ...f, ...part } : f)) });
  const move = (i, by) => {
    const next = [...fields];
    [next[i], next[i + by]] = [next[i + by], next[i]];
    onValue({ title, fields: next });
  };
  const add = () => {
    let n = fields.length + 1;
    while (fields.some((f) => f.name === `field${n}`)) n++;
    onValue({ title, fields: [...fields, { name: `field${n}`, title: F("Field %s", n), widget: "text", required: false, description: "", placeholder: "", options: {}, rule: {}, lines: "" }] });
  };
  const widgets = [["text", T("Text")], ["email", T("Email address")], ["select", T("Selection")], ["date", T("Date")], ["time", T("Time")], ["updown", T("Number")]];
  const made = schemas(value);
  return html`<div class="columns editor">
    <div class="stack">
      ${fields.length > 0 && html`<${Field} label=${T("Heading of the questions")} value=${title} maxlength="200" onInput=${(e) => onValue({ title: e.target.value, fields })} />`}
      ${fields.map((f, i) => html`<div class="card field-card" key=${f.name}>
        <div class="row between"><strong>${f.title || f.name}</strong><div class="row tight">
          <button type="button" class="button icon-only" disabled=${i === 0} aria-label=${F("Move %s up", f.title)} onClick=${() => move(i, -1)}><${Icon} name="up" /></button>
          <button type="button" class="button icon-only" disabled=${i === fields.length - 1} aria-label=${F("Move %s down", f.title)} onClick=${() => move(i, 1)}><${Icon} name="down" /></button>
          <button type="button" class="button icon-only" aria-label=${F("Remove %s", f.title)} onClick=${() => onValue({ title, fields: fields.filter((o) => o !== f) })}><${Icon} name="trash" /></button>
        </div></div>
        <div class="pair">
          <${Field} label=${T("Question")} value=${f.title} required maxlength="200" onInput=${(e) => set(i, { title: e.target.value })} />
          <${Field} label=${T("Kind of answer")} as="select" onChange=${(e) => set(i, { widget: e.target.value })}>${widgets.map(([w, name]) => html`<option value=${w} selected=${f.widget === w}>${name}</option>`)}<//>
        </div>
        ${f.widget === "select" && html`<${Field} label=${T("Choices, one per line")} as="textarea" rows="3" value=${f.lines} required onInput=${(e) => set(i, { lines: e.target.value })} />`}
        <div class="pair">
          <${Field} label=${T("Explanation")} optional value=${f.description} maxlength="500" onInput=${(e) => set(i, { description: e.target.value })} />
          <${Field} label=${T("Example")} optional value=${f.placeholder} maxlength="200" onInput=${(e) => set(i, { placeholder: e.target.value })} />
        </div>
        <${Check} label=${T("An answer is required")} checked=${f.required} onChange=${(e) => set(i, { required: e.target.checked })} />
      </div>`)}
      <div><${Button} icon="plus" onClick=${add}>${T("Add a question")}<//></div>
    </div>
    ${fields.length > 0 && html`<div class="card preview" aria-label=${T("Preview")} role="group"><p class="kicker">${T("Preview")}</p>
      <fieldset class="plain"><legend>${made.fieldsSchema.title}</legend>
      <${Fields} schema=${made.fieldsSchema} ui=${made.uiSchema} values=${sample} onValue=${(name, v) => setSample({ ...sample, [name]: v })} /></fieldset></div>`}
  </div>`;
}
