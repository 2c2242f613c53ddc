// /inbox: what was received and sent, newest first. New transfers appear by themselves.

import { Ask, Avatar, Button, Icon, Lines, Notice, Problem, announce, html, show, useAction, useEffect, useRef, useState } from "./ui.js";
import { F, N, T, bytes, exactly, list, when } from "./words.js";
import { own, signInFirst, signedIn, transfer } from "./api.js";
import { follow } from "./events.js";
import { Contents } from "./contents.js";
import { downloadOwn } from "./downloads.js";
import "./shell.js";

const page = 25;

if (signedIn()) show(Inbox);
else signInFirst();

function Inbox() {
  const [location_, setLocation] = useState("received");
  const [search, setSearch] = useState("");
  const [open, setOpen] = useState("");
  const [found, setFound] = useState(/** @type {any} */ (null)); // {transfers, next}
  const [news, setNews] = useState(0);
  const asked = useRef(0);

  const load = useAction(async (cursor) => {
    const turn = ++asked.current;
    const query = new URLSearchParams({ location: location_, limit: String(page), ...(search ? { search } : {}), ...(cursor ? { cursor } : {}) });
    const { body } = await own("GET", `${transfer}/transfers?${query}`);
    if (turn === asked.current) setFound((before) => (cursor ? { transfers: [...before.transfers, ...body.transfers], next: body.next } : body));
  });
  useEffect(() => {
    const wait = setTimeout(() => load.run(), search ? 300 : 0);
    return () => clearTimeout(wait);
  }, [location_, search, news]);
  useEffect(() => {
    follow((event) => {
      if (!event.kind.startsWith("TRANSFER_")) return;
      if (event.kind === "TRANSFER_RECEIVED") announce(T("A new transfer has arrived."));
      setNews((n) => n + 1);
    });
  }, []);
  const turn = (name) => {
    setFound(null);
    setOpen("");
    setLocation(name);
  };
  const arrow = (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = location_ === "sent" ? "received" : "sent";
    turn(other);
    document.getElementById(`tab-${other}`)?.focus();
  };
  const tab = (name, label) => html`<button type="button" role="tab" id=${`tab-${name}`} aria-selected=${String(location_ === name)} aria-controls="transfers"
    tabindex=${location_ === name ? 0 : -1} onKeyDown=${arrow} onClick=${() => turn(name)}>${label}</button>`;
  const change = (uid, next) => setFound((before) => ({ ...before, transfers: before.transfers.flatMap((t) => (t.uid === uid ? next ? [next] : [] : [t])) }));
  return html`
    <div class="row between head"><h1>${T("Transfers")}</h1><a class="button primary" href="/send"><${Icon} name="upload" />${T("Send files")}</a></div>
    <div class="row between bar">
      <div class="tabs" role="tablist" aria-label=${T("Transfers")}>${tab("received", T("Received"))}${tab("sent", T("Sent"))}</div>
      <label class="search"><span class="hidden">${T("Search")}</span><${Icon} name="search" /><input type="search" placeholder=${T("Search")} value=${search} onInput=${(e) => setSearch(e.target.value)} /></label>
    </div>
    <${Problem} error=${load.error} />
    <div id="transfers" role="tabpanel" aria-labelledby=${`tab-${location_}`} aria-busy=${String(load.busy)}>
      ${found === null ? !load.error && html`<p class="loading">${T("One moment…")}</p>` : found.transfers.length === 0 ? html`<${Nothing} search=${search} sent=${location_ === "sent"} />` : html`
      <ul class="list transfers">${found.transfers.map((t) => html`<${Entry} key=${t.uid} transfer=${t} sent=${location_ === "sent"} open=${open === t.uid}
        onOpen=${() => setOpen(open === t.uid ? "" : t.uid)} onChange=${(next) => change(t.uid, next)} />`)}</ul>
      ${found.next && html`<p class="row center"><${Button} busy=${load.busy} onClick=${() => load.run(found.next)}>${T("Show more")}<//></p>`}`}
    </div>`;
}

function Nothing({ search, sent }) {
  if (search) return html`<p class="empty">${T("Nothing matches.")}</p>`;
  return html`<div class="empty"><span class="halo"><${Icon} name=${sent ? "upload" : "download"} /></span>
    <p>${sent ? T("You have not sent anything yet.") : T("Nothing has arrived yet. Give others the link of your mailbox.")}</p>
    <a class="button" href=${sent ? "/send" : "/mailbox"}>${sent ? T("Send files") : T("Your mailbox")}</a></div>`;
}

const personName = (p) => p?.name || p?.email || T("Somebody");

/** What has become of a transfer. */
export const states = () => ({ delivered: T("Delivered"), accessed: T("Opened"), expired: T("Expired"), revoked: T("Revoked") });

function Entry({ transfer: t, sent, open, onOpen, onChange }) {
  const who = sent ? list(t.recipients.map(personName)) || T("Link") : personName(t.sender);
  const over = t.state === "expired" || t.state === "revoked";
  const panel = `t-${t.uid}`;
  return html`<li class=${`entry${open ? " open" : ""}${over ? " over" : ""}${!sent && t.state === "delivered" ? " new" : ""}`}>
    <button type="button" class="head" aria-expanded=${String(open)} aria-controls=${panel} onClick=${onOpen}>
      <${Avatar} name=${who} />
      <span class="what"><span class="name">${who}</span>
        <span class="dim">${t.locked ? html`<${Icon} name="lock" /> ${T("Protected")}` : t.subject || T("No subject")}</span></span>
      <span class="when"><span>${when(t.createdAt)}</span><span class="dim">${t.objectCount ? N("%d file, %s", "%d files, %s", t.objectCount, bytes(t.totalBytes ?? 0)) : ""}</span></span>
      <span class=${`badge ${t.state}`}>${states()[t.state]}</span>
    </button>
    ${open && html`<div id=${panel} class="panel"><${Detail} summary=${t} sent=${sent} onChange=${onChange} /></div>`}
  </li>`;
}

function Detail({ summary, sent, onChange }) {
  const [full, setFull] = useState(summary.objects ? summary : null);
  const [asking, setAsking] = useState(false);
  const load = useAction(async () => setFull((await own("GET", `${transfer}/transfers/${summary.uid}`)).body));
  useEffect(() => { load.run(); }, [summary.state]);
  const remove = useAction(async () => {
    await own("DELETE", `${transfer}/transfers/${summary.uid}`);
    announce(sent ? T("Revoked") : T("Deleted"));
    onChange(sent ? { ...summary, state: "revoked", objects: undefined, subject: undefined } : undefined);
  });
  const t = full ?? summary;
  const over = t.state === "expired" || t.state === "revoked";
  return html`
    ${t.message && html`<${Lines} text=${t.message} />`}
    ${t.undelivered?.length > 0 && html`<${Notice} kind="warn">${F("This address could not be reached: %s", list(t.undelivered))}<//>`}
    ${t.locked && !over && html`<${Notice} kind="info">${T("This transfer has a password. Open it with the link in the message you received.")}<//>`}
    ${over ? html`<p class="dim">${T("The files are no longer there.")}</p>` : t.objects && html`<${Contents} objects=${t.objects} total=${t.totalBytes} counts=${sent} download=${(uid) => downloadOwn(t.uid, uid)} />`}
    <dl class="facts">
      ${t.fields && Object.entries(t.fields).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
      <dt>${T("From")}</dt><dd>${[t.sender?.name, t.sender?.email].filter(Boolean).join(", ")}</dd>
      ${t.recipients.length > 0 && html`<dt>${T("To")}</dt><dd>${list(t.recipients.map((r) => r.name ? `${r.name} (${r.email})` : r.email))}</dd>`}
      <dt>${T("Delivered")}</dt><dd>${exactly(t.createdAt)}</dd>
      ${t.accessedAt && html`<dt>${T("Opened")}</dt><dd>${exactly(t.accessedAt)}</dd>`}
      <dt>${over ? T("Expired") : T("Available until")}</dt><dd>${exactly(t.expiresAt)}</dd>
    </dl>
    <${Problem} error=${load.error ?? remove.error} />
    ${(!over || !sent) && html`<div class="row end"><${Button} kind="danger" icon="trash" busy=${remove.busy} onClick=${() => setAsking(true)}>${sent ? T("Revoke") : T("Delete")}<//></div>`}
    ${asking && html`<${Ask} question=${sent ? T("Revoke this transfer? Nobody can open it any more, and its files are erased.") : T("Delete this transfer from your list?")}
      yes=${sent ? T("Revoke") : T("Delete")} onYes=${remove.run} onClose=${() => setAsking(false)} />`}`;
}
