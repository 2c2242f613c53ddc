// Lists of the console and of the organization page: loading page by page, tables that scroll sideways, choices, facts.

import { Button, Field, Form, Problem, Waiting, html, useAction, useEffect, useLoaded, useRef, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { T } from "./i18n.js";
import { now } from "./session.js";

/**
 * A list that is loaded page by page.
 * @template I @typedef {{items?: I[], error: any, hasMore: boolean, next: import("./ui.js").Action, reload: () => void}} List
 */

/**
 * Loads a list page by page. The answer of `path` has its items in `member`, and in `next` the key of the page after it.
 * @template {string} U @template {import("../calls").ListName<U>} K
 * @param {(method: "GET", url: any) => Promise<any>} send @param {U} path with a query @param {K} member
 * @returns {List<import("../calls").Item<U, K>>}
 */
export function useList(send, path, member) {
  const [more, setMore] = useState(/** @type {{items: import("../calls").Item<U, K>[], next: string}} */ ({ items: [], next: "" }));
  const { value, error, reload } = useLoaded(async () => {
    const { body } = await send("GET", path);
    setMore({ items: [], next: body.next ?? "" });
    return body[member];
  }, [path]);
  const next = useAction(async () => {
    const { body } = await send("GET", `${path}${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(more.next)}`);
    setMore({ items: [...more.items, ...body[member]], next: body.next ?? "" });
  });
  return { items: value && [...value, ...more.items], error: error ?? next.error, hasMore: more.next !== "", next, reload };
}

/**
 * A table that scrolls sideways where it is too wide. `head`: labels of the columns; `children`: rows.
 * @param {{caption: string, head: string[], children?: any}} props
 */
export const Table = ({ caption, head, children }) => html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
  <table><caption class="hidden">${caption}</caption><thead><tr>${head.map((label) => html`<th scope="col">${label}</th>`)}</tr></thead>
  <tbody>${children}</tbody></table></div>`;

/** What a list shows when it is empty. @param {{sentence: string}} props */
export const Nothing = ({ sentence }) => html`<${Empty} drawing="search" sentence=${sentence} />`;

/** The end of a list of `useList`. @param {{of: List<unknown>}} props */
export const Listed = ({ of }) => (of.hasMore ? html`<div><${Button} busy=${of.next.busy} onClick=${() => of.next.run()}>
  ${T("Show more")}<//></div>` : null);

/** A choice from a list. @param {{label: string, value: string, choices: [string, string][], onChange: (value: string) => void}} props */
export const Choice = ({ label, value, choices, onChange }) => html`<${Field} label=${label} as="select"
  onChange=${(/** @type {any} */ e) => onChange(e.target.value)}>
  ${choices.map(([key, name]) => html`<option value=${key} selected=${key === value}>${name}</option>`)}<//>`;

/**
 * A list of `useList` as a table. `row` makes one of an item. `none` is said of an empty list, `elsewhere` of an empty page that has a next
 * one.
 * @template I @param {{list: List<I>, caption: string, head: string[], row: (item: I) => any, none: string, elsewhere?: string}} props
 */
export function Listing({ list, caption, head, row, none, elsewhere = T("None of the newest ones matches.") }) {
  if (!list.items) return html`<${Waiting} error=${list.error} />`;
  return html`<${Problem} error=${list.error} />
    ${list.items.length === 0 ? html`<${Nothing} sentence=${list.hasMore ? elsewhere : none} />`
    : html`<${Table} caption=${caption} head=${head}>${list.items.map(row)}<//>`}
    <${Listed} of=${list} />`;
}

/**
 * Fields that search when they are sent. `values`: what is searched for, by the names of the fields; they show it after Back, too.
 * @param {{values: Record<string, string>, onSearch: (values: any) => void, refused?: any, children: any}} props
 */
export function Filters({ values, onSearch, refused = null, children }) {
  const mark = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    for (const [name, text] of Object.entries(values)) {
      const field = /** @type {HTMLInputElement} */ (mark.current?.closest("form")?.elements.namedItem(name));
      if (field.value !== text) field.value = text;
    }
  }, Object.values(values));
  return html`<${Form} class="filters" role="search" refused=${refused} onSend=${(/** @type {any} */ typed) =>
    onSearch(Object.fromEntries(Object.keys(values).map((name) => [name, typed[name].trim()])))}>
    ${children}<${Button} type="submit" icon="search">${T("Search")}<//><span hidden ref=${mark}></span>
  <//>`;
}

/**
 * One such field.
 * @param {{label: string, value: string, onSearch: (value: string) => void, refused: any, children?: any}} props
 */
export const Search = ({ label, value, onSearch, refused, children = null }) => html`<${Filters} values=${{ search: value }}
  refused=${refused} onSearch=${(/** @type {any} */ { search }) => onSearch(search)}>
  <${Field} label=${label} name="search" type="search" maxlength="255" spellcheck="false" defaultValue=${value} />${children}<//>`;

/** Names and values, without those that have no value. @param {{of: [string, any][]}} props */
export const Facts = ({ of }) => html`<dl class="facts">
  ${of.filter(([, text]) => text || text === 0).map(([name, text]) => html`<dt>${name}</dt><dd class="break">${text}</dd>`)}</dl>`;

/** Periods of the audit until now, in seconds. @type {() => [string, string][]} */
export const periods = () => [["", T("Any time")], ["3600", T("Last hour")], ["86400", T("Last 24 hours")], ["2592000", T("Last 30 days")]];

/** The time at which a period began when it was chosen, for the API, or "". @param {string} period one of `periods` */
export function useSince(period) {
  const kept = useRef({ period: "", at: "" });
  if (kept.current.period !== period) {
    kept.current = { period, at: Number(period) ? new Date(now() - Number(period) * 1000).toISOString() : "" };
  }
  return kept.current.at;
}
