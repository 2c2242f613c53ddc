// What the console's pages of people, transfers, mailboxes and organizations share: the search, the list that it finds.

import { Button, Field, html } from "../ui.js";
import { T } from "../i18n.js";
import { Listing } from "../lists.js";
import { useList } from "./console.js";

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
 * The list at `path` as a table, with the properties of `Listing`.
 * @param {{path: string, member: string, caption: string, head: string[], row: (item: any) => any, none: string}} props
 */
export const Found = ({ path, member, ...rest }) => html`<${Listing} list=${useList(path, member)} ...${rest} />`;
