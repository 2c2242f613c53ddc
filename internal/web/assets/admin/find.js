// What the console's pages of people, transfers, mailboxes and organizations share: the search, the list that it finds, facts.

import { Button, Field, Problem, Waiting, html } from "../ui.js";
import { T } from "../i18n.js";
import { Listed, Nothing, Table, useList } from "./console.js";

/** The query of the page. */
export const query = new URLSearchParams(location.search);

/**
 * A search whose terms are in the URL of the page. `children`: more fields.
 * @param {{page: string, choices: [string, string][], label: string, children?: any}} props
 */
export function Find({ page, choices, label, children = null }) {
  return html`<form class="filters" role="search" method="get" action=${`/admin/${page}`}>
    <${Field} as="select" label=${T("Search by")} name="by">
      ${choices.map(([by, name]) => html`<option value=${by} selected=${by === query.get("by")}>${name}</option>`)}<//>
    <${Field} label=${label} name="search" type="search" maxlength="255" spellcheck="false" defaultValue=${query.get("search") ?? ""} />
    ${children}
    <${Button} type="submit" kind="primary">${T("Search")}<//>
  </form>`;
}

/**
 * The list at `path` as a table. `row` makes one of an item. `none` is said of an empty list.
 * @param {{path: string, member: string, caption: string, head: string[], row: (item: any) => any, none: string}} props
 */
export function Found({ path, member, caption, head, row, none }) {
  const list = useList(path, member);
  if (!list.items) return html`<${Waiting} error=${list.error} />`;
  return html`<${Problem} error=${list.error} />
    ${list.items.length === 0 ? html`<${Nothing} sentence=${list.hasMore ? T("None of the newest ones matches.") : none} />`
    : html`<${Table} caption=${caption} head=${head}>${list.items.map(row)}<//>`}
    <${Listed} of=${list} />`;
}

/** Names and values, without those that have no value. @param {{of: [string, any][]}} props */
export const Facts = ({ of }) => html`<dl class="facts">
  ${of.filter(([, text]) => text || text === 0).map(([name, text]) => html`<dt>${name}</dt><dd class="break">${text}</dd>`)}</dl>`;
