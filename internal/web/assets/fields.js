// The structured fields of a mailbox, as its uiSchema presents them and its fieldsSchema limits them.

import { Field, html } from "./ui.js";
import { T } from "./i18n.js";

/** The fields in order: name, how to show it, what it may hold, whether it is required. @param {any} schema @param {any} ui */
export function fieldsOf(schema, ui) {
  const properties = schema?.properties ?? {};
  const order = (ui?.["ui:order"] ?? []).filter((name) => name in properties);
  const rest = Object.keys(properties).filter((name) => !order.includes(name));
  return [...order, ...rest].map((name) => {
    const look = ui?.[name] ?? {};
    return {
      name, rule: properties[name] ?? {}, required: schema.required?.includes(name) ?? false,
      widget: look["ui:widget"] ?? "text", title: look["ui:title"] || properties[name]?.title || name,
      description: look["ui:description"] ?? "", placeholder: look["ui:placeholder"] ?? "", options: look["ui:options"] ?? {},
    };
  });
}

/** What can be chosen: ui:options.enumOptions ([{value, label}]), or the schema's enum with its enumNames. */
export function choices({ options, rule }) {
  const listed = options.enumOptions ?? options.options ?? rule.enum ?? [];
  const names = options.enumNames ?? rule.enumNames ?? [];
  return listed.map((entry, i) => {
    const { value, label } = typeof entry === "object" && entry !== null ? entry : { value: entry, label: names[i] };
    return { value: String(value), label: String(label ?? value) };
  });
}

/**
 * Inputs for all fields. `form`: the id of the form they belong to, if not the one around them.
 * @param {{schema: any, ui: any, values: Record<string, string>, onValue: (name: string, value: string) => void,
 *   wrong?: Record<string, string>, form?: string}} properties
 */
export function Fields({ schema, ui, values, onValue, wrong = {}, form = undefined }) {
  return fieldsOf(schema, ui).map((field) => {
    const { name, widget, rule } = field;
    const shared = {
      key: name, name: `field.${name}`, label: field.title, hint: field.description, required: field.required, optional: !field.required,
      error: wrong[name], value: values[name] ?? "", form,
    };
    const onInput = (event) => onValue(name, event.target.value);
    if (widget === "select") {
      return html`<${Field} ...${shared} as="select" onChange=${onInput}>
        <option value="">${field.placeholder || T("Please choose")}</option>
        ${choices(field).map(({ value, label }) => html`<option value=${value} selected=${values[name] === value}>${label}</option>`)}
      <//>`;
    }
    const type = { email: "email", date: "date", time: "time", updown: "number" }[widget] ?? "text";
    return html`<${Field} ...${shared} type=${type} placeholder=${field.placeholder || undefined} onInput=${onInput}
      minlength=${rule.minLength} maxlength=${rule.maxLength} pattern=${rule.pattern}
      min=${field.options.min ?? rule.minimum} max=${field.options.max ?? rule.maximum} step=${widget === "updown" ? field.options.step ?? 1 : undefined} />`;
  });
}

/** The values that were given: empty ones are left out. @param {Record<string, string>} values */
export const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
