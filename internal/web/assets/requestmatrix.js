// One request: the parties and their documents as a table, what waits to be checked, reminders, and what comes out of it.

import {
  Ask, Button, Copy, Field, Form, Icon, Lines, Notice, Problem, announce, html, useAction, useEffect, useRef, useState,
} from "./ui.js";
import { F, N, T, exactly, localTime, when } from "./i18n.js";
import { own, transfer } from "./api.js";
import { Actions } from "./actions.js";
import { downloadRequest, saveBody } from "./downloads.js";
import { People, readPeople } from "./people.js";
import { Due, Parties, called, count, stepOf } from "./requestparts.js";
import { usePlace } from "./place.js";
import { now } from "./session.js";
import { Tabs } from "./tabs.js";

const shownParties = 50; // before "Show more"
const pause = 864e5; // milliseconds in which a party is reminded once

/** @typedef {TransferAPI["DocumentRequest"]} Request */
/** @typedef {TransferAPI["Party"]} Party */

/** Whether something required of a party is not there. @param {Request} request @param {Party} party */
const misses = (request, party) => request.items.some((item) => item.required
  && !["uploaded", "accepted"].includes(party.items.find((i) => i.item === item.uid)?.state ?? "open"));

/** Whether something of a party waits to be checked. @param {Party} party */
const waits = (party) => party.items.some((i) => i.state === "uploaded");

/**
 * The documents that can be checked, one after another: party by party.
 * @param {Request} request @param {boolean} waiting only those that were not decided
 */
export const documents = (request, waiting) => request.parties.flatMap((party) => party.items
  .filter((i) => i.files.length > 0 && (!waiting || i.state === "uploaded")).map((i) => `${party.uid}.${i.item}`));

/** @param {{request: Request, onChange: (request: Request) => void, onReload: () => void, onGone: () => void}} props */
export function Matrix({ request, onChange, onReload, onGone }) {
  const [{ show, cell }, go] = usePlace("/requests", { show: "all", cell: "" });
  const [Check, setCheck] = useState(/** @type {any} */ (null));
  useEffect(() => { if (cell) import("./requestcheck.js").then((m) => setCheck(() => m.Check)); }, [cell]);
  const at = /** @type {const} */ (`${transfer}/requests/${request.uid}`);
  const [said, setSaid] = useState("");
  const remind = useAction(async () => {
    const { body } = await own("POST", `${at}/remind`);
    setSaid(N("%d person was reminded.", "%d people were reminded.", body.reminded));
    onReload();
  });
  const save = useAction(async () => {
    const { response } = await own("GET", `${at}/table`, { accept: "text/csv" });
    await saveBody(response, `${request.title}.csv`);
  });
  const all = useAction(() => downloadRequest(request.uid));
  const patch = useAction(async (/** @type {any} */ json) => {
    onChange((await own("PATCH", at, { json })).body);
    announce(T("Saved"));
  });
  const remove = useAction(async () => {
    await own("DELETE", at);
    onGone();
  });
  const [asking, setAsking] = useState(false);
  const open = request.state === "open", waiting = documents(request, true);
  const late = request.parties.filter((p) => misses(request, p));
  const cold = late.filter((p) => p.reminders && !(p.remindedAt && now() - Date.parse(p.remindedAt) < pause));
  const filters = { all: request.parties, waiting: request.parties.filter(waits), missing: late };
  const parties = filters[show] ?? request.parties, any = documents(request, false).length > 0;
  const commands = [
    ...(open && cold.length ? [{ name: "remind", icon: "mail", busy: remind.busy, run: () => remind.run(),
      label: N("Remind %d person", "Remind %d people", cold.length) }] : []),
    ...(any ? [{ name: "archive", icon: "download", label: T("Download all"), busy: all.busy, run: () => all.run() }] : []),
    { name: "table", icon: "table", label: T("Table (CSV)"), busy: save.busy, run: () => save.run() },
    ...(open ? [{ name: "ask", icon: "plus", label: T("Ask more people"), form: (/** @type {() => void} */ done) => html`<${More} at=${at}
      onChange=${onChange} done=${done} />` },
    { name: "due", icon: "clock", label: T("Change the due date"), form: (/** @type {() => void} */ done) => html`<${Later} at=${at}
      due=${request.due} onChange=${onChange} done=${done} />` }] : []),
    { name: "again", icon: "copy", label: T("Use again"), run: () => location.assign(`/requests/new?from=${request.uid}`) },
    { name: "reminders", icon: request.reminders ? "pause" : "play",
      label: request.reminders ? T("Pause reminders") : T("Resume reminders"), run: () => patch.run({ reminders: !request.reminders }) },
    { name: "close", icon: "lock", label: open ? T("Close the request") : T("Open it again"),
      run: () => patch.run({ state: open ? "closed" : "open" }) },
    { name: "delete", icon: "trash", label: T("Delete"), danger: true, run: () => setAsking(true) },
  ];
  return html`<h1>${request.title}</h1>
    <p><${Due} at=${request.due} />${Date.parse(request.due ?? "") < now() && html` <${Outages} of=${request} />`}
      ${!open && html` <span class="badge plain">${T("Closed")}</span>`}</p>
    ${request.message && html`<${Lines} text=${request.message} />`}
    ${request.parties.length > 0 && html`<${Parties} of=${count(request.parties)} />`}
    ${request.link && html`<div class="link-box"><a href=${request.link}>${request.link}</a><${Copy} text=${request.link}
      label=${T("Copy the link")} /></div>`}
    <div class="row doing">
      ${waiting.length > 0 && html`<${Button} kind="primary" icon="eye" onClick=${() => go({ show: "waiting", cell: waiting[0] })}>
        ${N("Check %d document", "Check %d documents", waiting.length)}<//>`}
      <${Actions} commands=${commands} />
    </div>
    <${Problem} error=${remind.error ?? save.error ?? all.error ?? patch.error ?? remove.error} />
    ${asking && html`<${Ask} question=${T("Delete this request? What was handed in stays in your inbox; what was not is deleted.")}
      yes=${T("Delete")} onYes=${() => remove.run()} onClose=${() => setAsking(false)} />`}
    ${said && html`<${Notice} kind="good">${said}<//>`}
    ${request.parties.length === 0 ? html`<${Notice} kind="info">${T("Nobody is asked yet.")}<//>` : html`
      <div class="bar"><${Tabs} label=${T("Show")} value=${show} panel="parties"
        onTurn=${(/** @type {string} */ name) => go({ show: name })}
        tabs=${[["all", F("All (%s)", request.parties.length)], ["waiting", F("Waiting for me (%s)", filters.waiting.length)],
          ["missing", F("Missing (%s)", late.length)]]} /></div>
      <div id="parties" role="tabpanel" aria-labelledby=${`tab-${show}`}>
        ${parties.length === 0 ? html`<p class="empty">${show === "waiting" ? T("Nothing waits for you.") : T("Nothing is missing.")}</p>`
          : html`<${Grid} key=${show} request=${request} parties=${parties}
            onOpen=${(/** @type {string} */ next) => go({ cell: next })} />`}
      </div>`}
    ${cell && Check && html`<${Check} request=${request} cell=${cell} waiting=${show === "waiting"} onChange=${onChange}
      onOpen=${(/** @type {string} */ next) => go({ cell: next }, true)} />`}`;
}

/** When the service did not answer around a due time that has passed, with the proof. @param {{of: Request}} props */
function Outages({ of }) {
  const [known, set] = useState(/** @type {TransferAPI["Availability"] | null} */ (null));
  const at = /** @type {const} */ (`${transfer}/requests/${of.uid}/availability`);
  const load = useAction(async () => set((await own("GET", at)).body));
  const save = () => saveBody(new Response(JSON.stringify(known, null, 2)), `${of.title}.availability.json`);
  useEffect(() => { load.run(); }, [of.uid, of.due]);
  return known && html`<span class="dim" data-test="outages">${known.gaps.length === 0 ? T("No outage around the due time.")
    : known.gaps.map((gap) => html`${F("The service did not answer from %s to %s.", exactly(gap.from), exactly(gap.until))} `)}
    <${Button} kind="quiet" icon="download" onClick=${save}>${T("Save the proof")}<//></span>`;
}

/** Looks of the states of an item: icon, and what it means. @returns {Record<string, [string, string]>} */
const marks = () => ({ uploaded: ["eye", T("to be checked")], accepted: ["check", T("accepted")], returned: ["retry", T("sent back")] });

/**
 * The table. One of its cells is in the order of Tab, and the arrow keys move to others.
 * @param {{request: Request, parties: Party[], onOpen: (cell: string) => void}} props
 */
function Grid({ request, parties, onOpen }) {
  const [limit, setLimit] = useState(shownParties), [, setAt] = useState("");
  const table = useRef(/** @type {HTMLElement | null} */ (null)), marked = marks();
  const first = useRef("");
  const cells = parties.slice(0, limit).flatMap((p) => documents({ ...request, parties: [p] }, false));
  const current = cells.includes(first.current) ? first.current : cells[0];
  const move = (/** @type {KeyboardEvent} */ event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest("button"),
      rows = [...table.current?.querySelectorAll("tbody tr") ?? []];
    const cell = button?.closest("td"), row = cell?.closest("tr");
    if (!button || !cell || !row) return;
    const all = [...table.current?.querySelectorAll("td button") ?? []], n = all.indexOf(button);
    const below = (/** @type {number} */ step) => {
      for (let y = rows.indexOf(row) + step; rows[y]; y += step) {
        const found = rows[y].children[/** @type {HTMLTableCellElement} */ (cell).cellIndex]?.querySelector("button");
        if (found) return found;
      }
      return undefined;
    };
    const to = { ArrowLeft: () => all[n - 1], ArrowRight: () => all[n + 1], ArrowUp: () => below(-1), ArrowDown: () => below(1),
      Home: () => row.querySelector("td button"), End: () => [...row.querySelectorAll("td button")].at(-1) }[event.key]?.();
    if (!to) return;
    event.preventDefault();
    first.current = /** @type {HTMLElement} */ (to).dataset.cell ?? "";
    setAt(first.current);
    /** @type {HTMLElement} */ (to).focus();
  };
  return html`<div class="scroll"><table ref=${table} class="matrix" role="grid" onKeyDown=${move}>
    <caption class="hidden">${T("People and their documents")}</caption>
    <thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${T("Person")}</th>${request.items.map((item) => html`<th
      key=${item.uid} scope="col" role="columnheader">${item.name}${!item.required
        && html`<span class="hint block">${T("optional")}</span>`}</th>`)}
    </tr></thead>
    <tbody role="rowgroup">${parties.slice(0, limit).map((party) => html`<${Row} key=${party.uid} request=${request} party=${party}
      marked=${marked} current=${current} onOpen=${onOpen} />`)}</tbody></table></div>
    ${parties.length > limit && html`<p class="row center more"><${Button} onClick=${() => setLimit(limit + shownParties)}>
      ${T("Show more")}<//></p>`}`;
}

/**
 * One party. `current` is the cell in the order of Tab.
 * @param {{request: Request, party: Party, marked: Record<string, string[]>, current: string, onOpen: (cell: string) => void}} props
 */
function Row({ request, party, marked, current, onOpen }) {
  const step = { complete: T("Complete"), handedIn: T("Handed in"), opened: T("Opened"), unopened: T("Not opened") }[stepOf(party)];
  const at = party.completedAt ?? party.handedInAt ?? party.openedAt;
  return html`<tr role="row" class=${party.handedInAt ? "" : "idle"}><th scope="row" role="rowheader">
    <span class="name">${called(party)}${" "}${party.name && html`<span class="hint">${party.email}</span>`}</span>
    <span class="hint block">${at ? `${step}, ${when(at)}` : step}${party.late
      && html` · <span class="late">${T("late")}</span>`}</span></th>
    ${request.items.map((item) => {
      const of = party.items.find((i) => i.item === item.uid), [icon, means] = marked[of?.state ?? ""] ?? [];
      const cell = `${party.uid}.${item.uid}`, none = item.required ? T("missing") : T("optional");
      return html`<td key=${item.uid} role="gridcell" class=${of?.state ?? "open"}>${of?.files.length ? html`<button type="button"
          data-cell=${cell} tabindex=${cell === current ? 0 : -1} title=${`${item.name}: ${means}`} onClick=${() => onOpen(cell)}
          aria-label=${`${called(party)}, ${item.name}: ${means}`}><${Icon} name=${icon} /><span class="label">${item.name}</span></button>`
        : html`<span class=${`none ${item.required ? "" : "spare"}`} title=${none}><span aria-hidden="true">
          ${item.required ? "–" : "·"}</span><span class="label">${item.name}</span>
          <span class="hidden">${none}</span></span>`}</td>`;
    })}</tr>`;
}

/** The path of a request. @typedef {`${typeof transfer}/requests/${string}`} At */

/** Asks further people. @param {{at: At, onChange: (request: Request) => void, done: () => void}} props */
function More({ at, onChange, done }) {
  const [text, setText] = useState("");
  const { people, wrong } = readPeople(text);
  const ask = useAction(async () => {
    onChange((await own("POST", `${at}/parties`, { json: { parties: people } })).body);
    announce(N("%d person is asked.", "%d people are asked.", people.length));
    done();
  });
  return html`<${Form} class="stack" onSend=${() => ask.run()} refused=${ask.error}><${People} value=${text} onValue=${setText} />
    <${Problem} error=${ask.error} />
    <div><${Button} kind="primary" type="submit" busy=${ask.busy} disabled=${!people.length || wrong.length > 0}>
      ${N("Ask %d person", "Ask %d people", people.length)}<//></div><//>`;
}

/** Changes when the request is due. @param {{at: At, due: string, onChange: (request: Request) => void, done: () => void}} props */
function Later({ at, due, onChange, done }) {
  const save = useAction(async (/** @type {{due: string}} */ values) => {
    const json = { due: values.due ? new Date(values.due).toISOString() : null };
    onChange((await own("PATCH", at, { body: JSON.stringify(json), type: "application/merge-patch+json" })).body);
    announce(T("Saved"));
    done();
  });
  return html`<${Form} class="stack" onSend=${save.run} refused=${save.error}>
    <${Field} label=${T("Due date")} optional type="datetime-local" name="due" defaultValue=${due && localTime(new Date(due))}
      min=${localTime(new Date(now()))} /><${Problem} error=${save.error} />
    <div><${Button} kind="primary" type="submit" busy=${save.busy}>${T("Save")}<//></div><//>`;
}
