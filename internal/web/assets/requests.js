// /requests: what the person has asked others for. /requests/{uid} is one of them.

import { Button, Icon, Unloaded, Waiting, html, showOwn, useEffect, useLoaded, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, N, T, when } from "./i18n.js";
import { own, transfer } from "./api.js";
import { follow } from "./events.js";
import { Listed, useList } from "./lists.js";
import { usePlace } from "./place.js";
import { Parties, standingOf } from "./requestparts.js";
import { Matrix } from "./requestmatrix.js";
import { now } from "./session.js";
import { Tabs } from "./tabs.js";
import "./shell.js";

const uid = location.pathname.split("/")[2];

showOwn(uid ? Single : List);

/** Calls back when something has happened to a request. @param {() => void} again @param {string} [of] its uid */
function useNews(again, of) {
  useEffect(() => {
    follow((event) => { if (event.kind.startsWith("REQUEST_") && (!of || event.subject === of)) again(); }, again);
  }, []);
}

function List() {
  const [{ state }, go] = usePlace("/requests", { state: "open" });
  const list = useList(own, /** @type {const} */ (`${transfer}/requests?state=${state}`), "requests");
  useNews(list.reload);
  return html`<div class="row between head"><h1>${T("Requests")}</h1><a class="button primary" href="/requests/new">
      <${Icon} name="plus" />${T("New request")}</a></div>
    <div class="bar"><${Tabs} label=${T("Requests")} tabs=${[["open", T("Current")], ["closed", T("Closed")], ["template", T("Templates")]]}
      value=${state} panel="requests" onTurn=${(/** @type {string} */ name) => go({ state: name })} /></div>
    <div id="requests" role="tabpanel" aria-labelledby=${`tab-${state}`}>
      ${!list.items ? html`<${Waiting} error=${list.error} />` : list.items.length === 0 ? html`<${None} state=${state} />`
        : html`<ul class="list">${list.items.map((r) => html`<${Entry} key=${r.uid} request=${r} />`)}</ul>`}
      <${Listed} of=${list} />
    </div>`;
}

/** @param {{state: string}} props */
const None = ({ state }) => (state === "open" ? html`<section class="card first"><${Empty} drawing="people" title=${T("Ask for documents")}
    sentence=${T("Say what you need and by when. Everybody gets a link of their own, is reminded, and you check what comes in.")}>
    <a class="button primary" href="/requests/new">${T("New request")}</a><//></section>`
  : html`<${Empty} drawing="search" sentence=${state === "closed" ? T("No request is closed.")
    : T("There is no template yet. Save a request as a template to use it again.")} />`);

/** @param {{request: TransferAPI["DocumentRequestSummary"]}} props */
function Entry({ request: r }) {
  const passed = Boolean(r.due && Date.parse(r.due) < now());
  const mark = r.completedAt ? ["good", T("Complete")] : r.waiting ? ["", N("%d to check", "%d to check", r.waiting)]
    : r.state === "closed" ? ["plain", T("Closed")] : passed ? ["warn", T("overdue")] : null;
  return html`<li class="entry"><a class="head inquiry" href=${r.template ? `/requests/new?from=${r.uid}` : `/requests/${r.uid}`}>
    <span class="what"><span class="name">${r.title}</span><span class="dim">${r.template || r.partyCount === 0 ? ""
      : `${N("%d person", "%d people", r.partyCount)} · `}${N("%d document", "%d documents", r.itemCount)}</span></span>
    ${r.template ? html`<span></span>` : html`<${Parties} of=${standingOf(r)} />`}
    <span class="when"><span>${r.due ? when(r.due) : when(r.createdAt)}</span><span class="dim">${r.due ? T("due date") : T("made")}</span></span>
    ${mark ? html`<span class=${`badge ${mark[0]}`}>${mark[1]}</span>` : html`<span></span>`}
  </a></li>`;
}

function Single() {
  const { value, error, reload, set } = useLoaded(async () => (await own("GET", `${transfer}/requests/${encodeURIComponent(uid)}`)).body);
  const [gone, setGone] = useState(false);
  useNews(reload, uid);
  useEffect(() => { if (value) document.title = `${value.title} · ${document.documentElement.dataset.product}`; }, [value?.title]);
  if (gone || error?.status === 404) {
    return html`<${Empty} drawing="search" head=${html`<h1>${T("This request doesn’t exist")}</h1>`}
      sentence=${T("You may have deleted it, or it belongs to another account.")}><a class="button" href="/requests">${T("Requests")}</a><//>`;
  }
  if (!value) return error ? html`<${Unloaded} title=${T("Requests")} error=${error} />` : html`<${Waiting} />`;
  return html`<p class="kicker"><a href="/requests">${T("Requests")}</a></p>
    <${Matrix} request=${value} onChange=${set} onReload=${reload} onGone=${() => setGone(true)} />`;
}
