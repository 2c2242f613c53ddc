// A list of people in one field: pasted addresses, or a table from a file, checked while it is typed.

import { Button, Field, html, useRef } from "./ui.js";
import { F, N, T, list } from "./i18n.js";
import { usable } from "./address.js";

/** @typedef {{email: string, name: string}} Person */

const shown = 5; // lines that are no person

/**
 * Reads people: one on each line, with the name before or after the address, or several addresses on a line. A first line without an
 * address is a heading.
 * @param {string} text @returns {{people: Person[], wrong: string[]}}
 */
export function readPeople(text) {
  /** @type {Map<string, Person>} */
  const found = new Map();
  /** @type {string[]} */
  const wrong = [];
  for (const [n, line] of text.split(/\r?\n/).entries()) {
    const words = line.replace(/["<>]/g, (c) => (c === '"' ? "" : " ")).split(/[\s,;]+/).filter(Boolean);
    const addresses = words.filter((w) => w.includes("@"));
    if (addresses.length === 0 && words.length && (n > 0 || !/[,;\t]/.test(line))) wrong.push(line.trim());
    for (const email of addresses) {
      if (!usable(email)) wrong.push(email);
      else if (!found.has(email.toLowerCase())) {
        found.set(email.toLowerCase(), { email, name: addresses.length > 1 ? named(line, email)
          : words.filter((w) => w !== email).join(" ") });
      }
    }
  }
  return { people: [...found.values()], wrong };
}

/** The name before an address in a line with several. @param {string} line @param {string} email */
const named = (line, email) =>
  (line.split(/[,;]/).find((part) => part.includes(email)) ?? "").replace(email, "").replace(/[<>"]/g, "").trim();

/** The field. @param {{value: string, onValue: (text: string) => void, optional?: boolean}} props */
export function People({ value, onValue, optional = false }) {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { people, wrong } = readPeople(value);
  const said = wrong.length ? F("This is not an email address: %s",
    list([...wrong.slice(0, shown), ...(wrong.length > shown ? ["…"] : [])])) : "";
  const read = async (/** @type {any} */ event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) onValue([value.trimEnd(), await file.text()].filter(Boolean).join("\n"));
  };
  return html`<${Field} label=${T("People")} as="textarea" rows="4" optional=${optional} spellcheck="false" value=${value} error=${said}
      hint=${T("One on each line: the address, and the name if you like. You can paste a table.")}
      placeholder=${T("Bob Builder, bob@example.org")} onInput=${(/** @type {any} */ event) => onValue(event.target.value)} />
    <div class="row between"><span class="dim" role="status">${people.length > 0 && N("%d person", "%d people", people.length)}</span>
      <${Button} kind="quiet" icon="table" onClick=${() => input.current?.click()}>${T("From a table (CSV)")}<//></div>
    <input ref=${input} type="file" hidden accept=".csv,.tsv,.txt,text/csv,text/plain" data-test="people" onChange=${read} />`;
}
