// The structured fields of a mailbox: fieldsSchema (JSON Schema) says what they accept, uiSchema how they look.

import { Field, html } from "./ui.js";
import { T } from "./i18n.js";

/** Returns the fields in the order of ui:order, then the rest. @param {any} schema fieldsSchema @param {any} ui uiSchema */
export function fieldsOf(schema, ui) {
  const properties = schema?.properties ?? {};
  const order = (ui?.["ui:order"] ?? []).filter((/** @type {string} */ name) => name in properties);
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

/**
 * Returns the choices of a select field: ui:options.enumOptions ([{value, label}]), or the schema's enum with its enumNames.
 * @param {{options: any, rule: any}} field @returns {{value: string, label: string}[]}
 */
export function choices({ options, rule }) {
  const listed = options.enumOptions ?? options.options ?? rule.enum ?? [];
  const names = options.enumNames ?? rule.enumNames ?? [];
  return listed.map((entry, i) => {
    const { value, label } = typeof entry === "object" && entry !== null ? entry : { value: entry, label: names[i] };
    return { value: String(value), label: String(label ?? value) };
  });
}

/** @type {Record<string, string>} */
const inputTypes = { email: "email", date: "date", time: "time", updown: "number" };

/**
 * Inputs for all fields. `form`: the id of their form when it is not the parent element.
 * @param {{schema: any, ui: any, values: Record<string, string>, onValue: (name: string, value: string) => void,
 *   wrong?: Record<string, string>, form?: string, fixed?: Record<string, string>}} props `fixed`: values that are shown locked
 */
export function Fields({ schema, ui, values, onValue, wrong = {}, form = undefined, fixed = {} }) {
  return fieldsOf(schema, ui).map((field) => {
    const { name, widget, rule } = field;
    const locked = Boolean(fixed[name]) && fixed[name] === values[name] && !wrong[name]; // a refused value can be changed
    const shared = {
      key: name, name: `field.${name}`, label: field.title, hint: locked ? T("Filled in by the link") : field.description,
        required: field.required, optional: !field.required,
      error: wrong[name], value: values[name] ?? "", form,
    };
    const onInput = (event) => onValue(name, event.target.value);
    if (widget === "select") {
      return html`<${Field} ...${shared} as="select" disabled=${locked && choices(field).some(({ value }) => value === values[name])}
        onChange=${onInput}>
        <option value="">${field.placeholder || T("Please choose")}</option>
        ${choices(field).map(({ value, label }) => html`<option value=${value} selected=${values[name] === value}>${label}</option>`)}
      <//>`;
    }
    const type = inputTypes[widget] ?? "text";
    return html`<${Field} ...${shared} type=${type} readonly=${locked} placeholder=${field.placeholder || undefined} onInput=${onInput}
      minlength=${rule.minLength} maxlength=${rule.maxLength} pattern=${rule.pattern}
      min=${field.options.min ?? rule.minimum} max=${field.options.max ?? rule.maximum}
        step=${widget === "updown" ? field.options.step ?? 1 : undefined} />`;
  });
}

/** Returns the values that are not empty. @param {Record<string, string>} values */
export const given = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
