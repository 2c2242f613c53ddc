// /g/{key}: the people of a group, to choose whom the files are for.

import { Avatar, Button, Problem, html, show, useLoaded, useState } from "./ui.js";
import { T } from "./words.js";
import { call, transfer } from "./api.js";
import "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);

show(() => {
  const { value, error } = useLoaded(async () => (await call("GET", `${transfer}/public/mailboxgroup/${encodeURIComponent(key)}`)).body);
  const [search, setSearch] = useState("");
  if (error) {
    const nothing = error.status === 404 || error.status === 400;
    return html`<h1>${nothing ? T("There is no such group") : T("This did not work.")}</h1>
      ${nothing ? html`<p class="lead">${T("The link may be mistyped, or the group was removed. Ask the person who gave it to you.")}</p>` : html`<${Problem} error=${error} /><${Button} onClick=${() => location.reload()}>${T("Try again")}<//>`}`;
  }
  if (!value) return html`<p class="loading" role="status">${T("One moment…")}</p>`;
  document.title = `${value.name} · ${document.documentElement.dataset.product}`;
  const name = (m) => m.name || m.email;
  const found = value.mailboxes.filter((m) => `${name(m)} ${m.slogan ?? ""}`.toLowerCase().includes(search.toLowerCase()));
  return html`<h1><span class="kicker">${T("Files for")}</span> ${value.name}</h1>
    ${value.description && html`<p class="lead">${value.description}</p>`}
    <h2>${T("Who are the files for?")}</h2>
    ${value.mailboxes.length > 8 && html`<p class="search"><input type="search" aria-label=${T("Search")} placeholder=${T("Search")} value=${search} onInput=${(e) => setSearch(e.target.value)} /></p>`}
    <ul class="people">${found.map((m) => html`<li key=${m.uid}><a href=${`/m/${m.vanityLink || m.uid}`} class="card">
      <${Avatar} src=${`${transfer}/public/mailbox/${m.uid}/avatar?height=80`} name=${name(m)} />
      <span><b>${name(m)}</b>${m.slogan && html`<span class="dim">${m.slogan}</span>`}
      ${(m.absent || m.volumeLimitExceeded) && html`<span class="badge plain">${m.absent ? T("Absent") : T("Takes no files")}</span>`}</span>
    </a></li>`)}</ul>
    ${found.length === 0 && html`<p class="empty">${T("Nothing matches.")}</p>`}`;
});
