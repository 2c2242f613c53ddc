// /inbox: received and sent transfers, newest first. New ones appear without a reload.

import {
  Ask, Avatar, Button, Icon, Lines, Notice, Problem, Unchecked, Waiting, announce, html, showOwn, useAction, useEffect, useListeners,
  useRef, useState,
} from "./ui.js";
import { F, N, T, bytes, exactly, list, recent } from "./i18n.js";
import { own, transfer } from "./api.js";
import { now } from "./session.js";
import { follow } from "./events.js";
import { Answers } from "./answers.js";
import { Contents } from "./contents.js";
import { downloadAnyway, downloadOwn, readOwn, saveBody } from "./downloads.js";
import { Empty } from "./drawings.js";
import { FirstMailbox } from "./mailboxlink.js";
import { Invitations } from "./invitations.js";
import { useReceipt } from "./signedreceipt.js";
import { Chosen, Narrow } from "./inbox-tools.js";
import { TransferLink } from "./transferlink.js";
import { ExtendAsked, Living, Receivers, isExtendable } from "./living.js";
import { usePlace } from "./place.js";
import { Tabs } from "./tabs.js";
import { Received } from "./received.js";
import "./shell.js";

const pageSize = 50, maxPage = 200; // transfers; the server returns at most 200 at once
const searchCalls = 10; // requests of one search; in each, the server looks at some thousand transfers

showOwn(Inbox);

/**
 * The list of transfers. `load` loads the page that `after` names. Without it, it reloads from the start as many transfers as are shown.
 * @param {string} where received or sent @param {string} search @param {string} filter @param {string} order
 */
function useTransfers(where, search, filter, order) {
  const [found, setFound] = useState(/** @type {{transfers: TransferAPI["Transfer"][], next?: string} | null} */ (null));
  const asked = useRef(0);
  const seen = useRef(0);
  seen.current = found?.transfers.length ?? 0;
  const load = useAction(async (after) => {
    const turn = ++asked.current;
    let left = after ? pageSize : Math.min(maxPage, Math.max(pageSize, seen.current));
    for (let call = 0; call < searchCalls && left > 0; call++) {
      const query = new URLSearchParams({ location: where, limit: String(left), order, ...(filter ? { filter } : {}),
        ...(search ? { search } : {}), ...(after ? { after } : {}) });
      const { body } = await own("GET", `${transfer}/transfers?${query}`);
      if (turn !== asked.current) return; // a newer request has started
      const continues = after;
      setFound((before) => (continues && before ? { transfers: [...before.transfers, ...body.transfers], next: body.next } : body));
      after = body.next;
      if (!after) return;
      left -= body.transfers.length;
    }
  });
  return { found, setFound, load };
}

/**
 * The transfer that the page was opened for, when the list does not have it: it is older, or of the other box.
 * @param {string} uid @param {{transfers: TransferAPI["Transfer"][]} | null} found
 */
function useLinked(uid, found) {
  const [first] = useState(uid);
  const wanted = Boolean(uid && uid === first && found && !found.transfers.some((t) => t.uid === uid));
  const [known, setKnown] = useState(/** @type {TransferAPI["Transfer"] | null} */ (null));
  const load = useAction(async () => setKnown((await own("GET", `${transfer}/transfers/${encodeURIComponent(uid)}`)).body));
  useEffect(() => { if (wanted && known?.uid !== uid) load.run(); }, [wanted, uid]);
  return { transfer: wanted && known?.uid === uid ? known : null, error: wanted ? load.error : null };
}

function Inbox() {
  const [{ open, box: where, q: search, filter, order }, go] = usePlace("/inbox", { box: "received", q: "", filter: "", order: "newest" });
  const [news, setNews] = useState(0);
  const [chosen, setChosen] = useState(/** @type {string[] | null} */ (null));
  const { found, setFound, load } = useTransfers(where, search, filter, order);
  useEffect(() => {
    const wait = setTimeout(() => load.run(), search ? 300 : 0);
    return () => clearTimeout(wait);
  }, [where, search, filter, order, news]);
  const again = () => setNews((n) => n + 1);
  useListeners({ online: again });
  useEffect(() => {
    follow((event) => {
      if (!event.kind.startsWith("TRANSFER_")) return;
      if (event.kind === "TRANSFER_RECEIVED") announce(T("A new transfer has arrived."));
      again();
    }, again);
  }, []);
  const shown = useRef(`${where} ${filter} ${order}`);
  useEffect(() => { // also by Back
    if (shown.current === `${where} ${filter} ${order}`) return;
    shown.current = `${where} ${filter} ${order}`;
    setFound(null);
    setChosen(null);
  }, [where, filter, order]);
  const turn = (name) => go({ box: name, open: "", filter: "" });
  const narrow = (name) => (value) => go({ [name]: value });
  const linked = useLinked(open, found);
  const toggle = (uid) => setChosen((before) => (before ?? []).includes(uid) ? (before ?? []).filter((u) => u !== uid)
    : [...before ?? [], uid]);
  const change = (uid, next) => setFound((before) => before
    && ({ ...before, transfers: before.transfers.flatMap((t) => (t.uid !== uid ? [t] : next ? [next] : [])) }));
  const sent = where === "sent";
  const some = useRef(false); // there was something to narrow
  if (found?.transfers.length || found?.next) some.current = true;
  const row = (t) => html`<${Entry} key=${t.uid} transfer=${t} sent=${sent} open=${open === t.uid}
    picked=${chosen?.includes(t.uid)} onPick=${chosen && (() => toggle(t.uid))} onOpen=${() => go({ open: open === t.uid ? "" : t.uid })}
      onChange=${(next) => change(t.uid, next)} />`;
  return html`
    <div class="row between head"><h1>${T("Transfers")}</h1><a class="button primary" href="/send"><${Icon} name="upload" />
      ${T("Send files")}</a></div>
    <${ExtendAsked} />
    <${Invitations} />
    <div class="row between bar">
      <${Tabs} label=${T("Transfers")} tabs=${[["received", T("Received")], ["sent", T("Sent")]]} value=${where} panel="transfers"
        onTurn=${turn} />
      <div class="search"><${Icon} name="search" />
        <input type="search" aria-label=${T("Search")} placeholder=${T("Search")} value=${search}
          onInput=${(e) => go({ q: e.target.value }, true)} /></div>
    </div>
    ${some.current && html`<${Narrow} sent=${sent} filter=${filter} order=${order} choosing=${chosen !== null} onFilter=${narrow("filter")}
      onOrder=${narrow("order")}
      onChoose=${() => setChosen(chosen ? null : [])} />`}
    ${chosen && html`<${Chosen} sent=${sent} all=${found?.transfers ?? []} chosen=${chosen} onChosen=${setChosen} onRead=${change}
      onGone=${(uid) => { const t = found?.transfers.find((x) => x.uid === uid); change(uid,
        sent && t && !isOver(t) ? { ...t, state: "revoked", objects: undefined } : undefined); }} />`}
    <${Problem} error=${load.error ?? linked.error} />
    ${linked.transfer && html`<ul class="list transfers">${row(linked.transfer)}</ul>`}
    <div key=${String(some.current)} id="transfers" role="tabpanel" aria-labelledby=${`tab-${where}`} aria-busy=${String(load.busy)}>
      ${!found && !load.error && html`<${Waiting} />`}
      ${found?.transfers.length === 0 && !(found.next && load.busy)
        && html`<${Nothing} search=${search || filter} sent=${sent} further=${found.next} />`}
      ${found && found.transfers.length > 0 && html`<ul class="list transfers">${found.transfers.map(row)}</ul>`}
      ${found?.next && html`<p class="row center more"><${Button} busy=${load.busy} onClick=${() => load.run(found.next)}>
        ${search || filter ? T("Keep searching") : T("Show more")}<//></p>`}
      ${!sent && !search && !filter && found && found.transfers.length > 0 && html`<${Table} />`}
    </div>`;
}

/** Downloads what reached the mailbox, with the answers to its questions, as a table. */
function Table() {
  const get = useAction(async () => {
    const { response } = await own("GET", `${transfer}/mailbox/transfers`, { accept: "text/csv" });
    await saveBody(response, "transfers.csv");
  });
  return html`<p class="row end more"><${Button} kind="quiet" icon="download" busy=${get.busy} onClick=${() => get.run()}>
    ${T("Download as a table (CSV)")}<//></p>
    ${get.error?.status !== 404 && html`<${Problem} error=${get.error} />`}`;
}

function Nothing({ search, sent, further }) {
  if (further) return html`<p class="empty">${T("Nothing found so far.")}</p>`;
  if (search) return html`<p class="empty">${T("Nothing matches.")}</p>`;
  if (!sent) return html`<${FirstMailbox} />`;
  return html`<${Empty} drawing="letter" sentence=${T("You haven’t sent anything yet.")}><a class="button" href="/send">
    ${T("Send files")}</a><//>`;
}

const personName = (p) => p?.name || p?.email || T("Somebody");

/** Names of the states of a transfer. @returns {Record<string, string>} */
const states = () => ({ delivered: T("Delivered"), accessed: T("Opened"), expired: T("Expired"), revoked: T("Revoked") });

const isOver = (/** @type {TransferAPI["Transfer"]} */ t) => t.state === "expired" || t.state === "revoked";

/** The subjects that this page has shown, by uid: the server erases that of a revoked transfer. @type {Map<string, string | undefined>} */
const known = new Map();

/** Reports whether a received transfer waits to be read. @param {TransferAPI["Transfer"]} t @param {boolean} sent */
const isNew = (t, sent) => !sent && t.read === false && !isOver(t);

/**
 * @param {{transfer: TransferAPI["Transfer"], sent: boolean, open: boolean, picked?: boolean, onPick: (() => void) | null, onOpen: () =>
 *  void, onChange: (changed?: TransferAPI["Transfer"]) => void}} props
 */
function Entry({ transfer: t, sent, open, picked, onPick, onOpen, onChange }) {
  const who = sent ? list(t.recipients.map(personName)) || T("Link") : personName(t.sender);
  const panel = `t-${t.uid}`;
  const marks = [open && "open", isOver(t) && "over", onPick && "picking", isNew(t, sent) && "new"].filter(Boolean).join(" ");
  known.set(t.uid, t.subject || known.get(t.uid));
  const [first, second] = t.locked ? [html`<${Icon} name="lock" /> ${T("Protected")}`] : about(t);
  return html`<li class=${`entry ${marks}`}>
    ${onPick && html`<label class="pick"><input type="checkbox" checked=${picked} onChange=${onPick} /><span class="hidden">
      ${F("Select the transfer of %s", who)}</span></label>`}
    <button type="button" class="head letter" aria-expanded=${String(open)} aria-controls=${open ? panel : undefined} onClick=${onOpen}>
      <${Avatar} name=${who} />
      <span class="name"><span class="clipped">${who}</span>${!sent && t.sender?.verified && html` <span class="checked"
        title=${T("address checked")}><${Icon} name="shield" /><span class="hidden">${T("address checked")}</span></span>`}</span>
      <span class="what"><span class="subject">${first}</span>${second && html` <span class="dim">${second}</span>`}</span>
      <time class="when" datetime=${t.createdAt} title=${exactly(t.createdAt)}>${recent(t.createdAt, now())}</time>
      <span class=${`badge ${t.state}`}>${badge(t, sent)}</span>
    </button>
    ${open && html`<div id=${panel} class="panel"><${Detail} summary=${t} sent=${sent} onChange=${onChange} /></div>`}
  </li>`;
}

/**
 * What a row says of a transfer: its subject, else its first answer, and then its first file and how many others there are.
 * @param {TransferAPI["Transfer"]} t
 */
function about(t) {
  const subject = known.get(t.uid) || (t.answers?.[0]?.value ?? Object.values(t.fields ?? {})[0]);
  const file = t.objects?.[0]?.name, others = (t.objectCount ?? 0) - 1;
  const size = t.objectCount ? N("%d file, %s", "%d files, %s", t.objectCount, bytes(t.totalBytes ?? 0)) : "";
  const files = file ? others > 0 ? N("%2$s and %1$d more", "%2$s and %1$d more", others, file) : file : size;
  return subject ? [subject, files] : [files || T("No subject")];
}

/** What the badge of a row says. @param {TransferAPI["Transfer"]} t @param {boolean} sent */
function badge(t, sent) {
  if (isNew(t, sent)) return T("New");
  if (t.pinned) return T("Kept");
  return !sent && t.state === "delivered" ? T("Opened") : states()[t.state];
}

/** @param {{summary: TransferAPI["Transfer"], sent: boolean, onChange: (changed?: TransferAPI["Transfer"]) => void}} props */
function Detail({ summary, sent, onChange }) {
  const [full, setFull] = useState(summary.objects ? summary : null);
  const [asking, setAsking] = useState(false);
  const load = useAction(async () => {
    const unread = !sent && summary.read === false;
    const { body } = await own(unread ? "PATCH" : "GET", `${transfer}/transfers/${summary.uid}`,
      unread ? { json: { read: true } } : undefined);
    setFull(body);
    if (unread) onChange({ ...summary, read: true });
  });
  useEffect(() => { load.run(); }, [summary.state, summary.malwareStatus]);
  const remove = useAction(async () => {
    await own("DELETE", `${transfer}/transfers/${summary.uid}`);
    announce(sent ? T("Revoked") : T("Deleted"));
    onChange(sent ? { ...summary, state: "revoked", objects: undefined } : undefined);
  });
  const ended = full && !isOver(full) && isOver(summary); // an event came before the transfer was loaded again
  const t = ended ? summary : full ?? summary;
  const over = isOver(t);
  const managed = sent && t.type === "p2p";
  const changed = (next) => { setFull(next); onChange(next); };
  const verb = sent ? T("Revoke") : T("Delete");
  const receipt = useReceipt((accept) => own("GET", `${transfer}/transfers/${t.uid}/receipt`, { accept }));
  const further = over && sent ? [] : [...(t.locked ? [] : receipt.commands),
    { name: "end", icon: "trash", label: verb, danger: true, busy: remove.busy, run: () => setAsking(true) }];
  const question = sent ? T("Revoke this transfer? Nobody can open it any more, and its files are erased.")
    : T("Delete this transfer from your list?");
  return html`
    ${t.message && html`<${Lines} text=${t.message} />`}
    ${t.undelivered && t.undelivered.length > 0 && html`<${Notice} kind="warn">
      ${F("This address could not be reached: %s", list(t.undelivered))}<//>`}
    ${t.unmailed && html`<${Notice} kind="info">${T("There was no email about this delivery, because there were too many on that day.")}
      <//>`}
    ${t.locked && !over && html`<${Notice} kind="info">
      ${T("This transfer has a password. Open it with the link in the message you received.")}<//>`}
    ${over && !isExtendable(t) && html`<p class="dim">${T("The files are no longer there.")}</p>`}
    ${t.answers && t.answers.length > 0 && html`<dl class="facts"><${Answers} answers=${t.answers} /></dl>`}
    ${!over && t.objects && html`<${Contents} of=${t} objects=${t.objects} total=${t.totalBytes} counts=${sent}
      download=${(...uids) => downloadOwn(t.uid, ...uids)} read=${readOwn(t.uid)}
      anyway=${t.downloadAnyway ? (uid) => downloadAnyway(t.uid, uid) : undefined} />`}
    ${!over && t.link && t.type === "drop" && html`<${TransferLink} transfer=${t} />`}
    ${managed && html`<${Receivers} transfer=${t} onChange=${changed} />`}
    ${t.legalHold && html`<${Notice}>${T("A copy of this transfer is kept for a legal reason, also when it is deleted.")}<//>`}
    ${(full || load.error) && (sent ? html`<${Living} transfer=${t} onChange=${changed} further=${further} />`
      : html`<${Received} transfer=${t} over=${over} onChange=${changed} further=${further} />`)}
    ${receipt.said}
    <${Problem} error=${load.error ?? remove.error} />
    <${Facts} transfer=${t} over=${over} listed=${managed} />
    ${asking && html`<${Ask} question=${question} yes=${verb} onYes=${remove.run} onClose=${() => setAsking(false)} />`}`;
}

/**
 * Sender, recipients unless they are listed, and times.
 * @param {{transfer: TransferAPI["Transfer"], over: boolean, listed: boolean}} props
 */
function Facts({ transfer: t, over, listed }) {
  const to = !listed && list(t.recipients.map((r) => (r.name ? `${r.name} (${r.email})` : r.email)));
  return html`<dl class="facts">
    <dt>${T("From")}</dt><dd>${[t.sender?.name, t.sender?.email].filter(Boolean).join(", ")} <${Unchecked} sender=${t.sender} /></dd>
    ${to && html`<dt>${T("To")}</dt><dd>${to}</dd>`}
    <dt>${T("Delivered")}</dt><dd>${exactly(t.createdAt)}</dd>
    ${t.accessedAt && html`<dt>${T("Opened")}</dt><dd>${exactly(t.accessedAt)}</dd>`}
    <dt>${over ? T("Expired") : T("Available until")}</dt><dd>${t.pinned && !over ? T("You keep it") : exactly(t.expiresAt)}</dd>
  </dl>`;
}
