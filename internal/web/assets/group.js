// /g/{key}: the mailboxes of a group, to choose one for delivery.

import { Avatar, Icon, Unloaded, Waiting, html, show, useEffect, useLoaded, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { T } from "./i18n.js";
import { call, transfer } from "./api.js";
import "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);

const nameOf = (mailbox) => mailbox.name || mailbox.email;

show(() => {
  const { value: group, error } = useLoaded(async () =>
    (await call("GET", `${transfer}/public/mailboxgroup/${encodeURIComponent(key)}`)).body);
  useEffect(() => { if (group) document.title = `${group.name} · ${document.documentElement.dataset.product}`; }, [group]);
  if (error) return html`<${Unknown} error=${error} />`;
  return group ? html`<${Group} group=${group} />` : html`<${Waiting} />`;
});

function Unknown({ error }) {
  if (error.status !== 404 && error.status !== 400) return html`<${Unloaded} title=${T("Something went wrong.")} error=${error} />`;
  return html`<div class="narrow center">
    <h1>${T("This group doesn’t exist")}</h1>
    <${Empty} drawing="link" sentence=${T("The link may be mistyped, or the group was removed. Ask the person who gave it to you.")}>
      <a class="button" href="/">${T("Go to the start page")}</a><//>
  </div>`;
}

function Group({ group }) {
  const [search, setSearch] = useState("");
  const found = group.mailboxes.filter((m) => `${nameOf(m)} ${m.slogan ?? ""}`.toLowerCase().includes(search.toLowerCase()));
  return html`<h1><span class="kicker">${T("Files for")}</span> ${group.name}</h1>
    ${group.description && html`<p class="lead">${group.description}</p>`}
    <h2>${T("Who are the files for?")}</h2>
    ${group.mailboxes.length > 8 && html`<p class="search"><${Icon} name="search" />
      <input type="search" aria-label=${T("Search")} placeholder=${T("Search")} value=${search}
        onInput=${(e) => setSearch(e.target.value)} /></p>`}
    <ul class="people">${found.map((m) => html`<li key=${m.uid}><${Person} mailbox=${m} /></li>`)}</ul>
    ${found.length === 0 && html`<${Empty} drawing="search" sentence=${T("Nothing matches.")} />`}`;
}

function Person({ mailbox: m }) {
  const closed = m.available ? "" : m.unavailableReason === "absent" ? T("Away") : T("Not accepting files");
  return html`<a href=${`/m/${m.vanityLink || m.uid}`} class="card">
    <${Avatar} src=${m.hasAvatar ? `${transfer}/public/mailbox/${m.uid}/avatar?height=80` : ""} name=${nameOf(m)} />
    <span><b>${nameOf(m)}</b>${m.slogan && html`<span class="dim">${m.slogan}</span>`}
      ${closed && html`<span class="badge plain">${closed}</span>`}</span>
  </a>`;
}
