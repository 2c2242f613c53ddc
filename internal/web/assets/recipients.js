// The input for the recipients of a transfer, each as To, Cc or Bcc.

import { Icon, html, useId, useRef, useState } from "./ui.js";
import { F, T, list } from "./i18n.js";
import { usable } from "./address.js";

/** @typedef {{email: string, destinationType: string}} Recipient destinationType: to, cc or bcc */

/** The input. @param {{value: Recipient[], onValue: (recipients: Recipient[]) => void}} props */
export function Recipients({ value, onValue }) {
  const [text, setText] = useState("");
  const [kind, setKind] = useState("to");
  const [wrong, setWrong] = useState("");
  const id = useId();
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  /** Shows an error and blocks the form, so that no recipient is lost. "" clears it. @param {string} message */
  const judge = (message) => {
    setWrong(message);
    input.current?.setCustomValidity(message);
  };
  /** Adds the addresses in a text. Words that are no address stay in the input. @param {string} written */
  const take = (written) => {
    const parts = written.split(/[\s,;]+/).map((p) => p.replace(/^.*<|>$/g, "")).filter(Boolean);
    const bad = parts.filter((p) => !usable(p));
    const good = parts.filter((p) => usable(p) && !value.some((r) => r.email.toLowerCase() === p.toLowerCase()));
    if (good.length) onValue([...value, ...good.map((email) => ({ email, destinationType: kind }))]);
    setText(bad.join(" "));
    judge(bad.length ? F("This is not an email address: %s", list(bad)) : "");
  };
  const typed = ({ target }) => {
    if (/[,;\s]$/.test(target.value)) return take(target.value);
    setText(target.value);
    return judge("");
  };
  const enter = (event) => {
    if (event.key !== "Enter" || !text) return;
    event.preventDefault();
    take(text);
  };
  return html`<div class="field">
    <label for=${id}>${T("Recipients")}</label>
    ${value.length > 0 && html`<ul class="chips" aria-label=${T("Recipients")}>${value.map((r) => html`<li key=${r.email}>
      ${r.destinationType !== "to" && html`<span class="dim">${r.destinationType === "cc" ? T("Cc") : T("Bcc")}</span>`} ${r.email}
      <button type="button" aria-label=${F("Remove %s", r.email)} onClick=${() => onValue(value.filter((other) => other !== r))}>
        <${Icon} name="close" /></button>
    </li>`)}</ul>`}
    <div class="joined">
      <select aria-label=${T("Kind of recipient")} value=${kind} onChange=${(e) => setKind(e.target.value)}>
        <option value="to">${T("To")}</option><option value="cc">${T("Cc")}</option><option value="bcc">${T("Bcc")}</option>
      </select>
      <input ref=${input} id=${id} type="text" inputmode="email" autocomplete="email" placeholder=${T("name@example.com")} value=${text}
        aria-invalid=${wrong ? "true" : undefined} aria-describedby=${`${id}h`} onInput=${typed} onBlur=${() => text && take(text)}
          onKeyDown=${enter} />
    </div>
    <p class=${wrong ? "wrong" : "hint"} id=${`${id}h`}>${wrong || T("Separate several addresses with a comma or a space.")}</p>
  </div>`;
}
