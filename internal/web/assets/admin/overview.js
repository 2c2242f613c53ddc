// /admin: what works, and what moves now.

import { Notice, Problem, Waiting, html } from "../ui.js";
import { F, N, T, bytes, count, duration, percent, when } from "../i18n.js";
import { Table } from "../lists.js";
import { Doctor } from "./doctor.js";
import { mayChange, State, ask, showConsole, useLive } from "./console.js";

showConsole("", () => {
  const { value, error } = useLive(async () => (await ask("GET", "/overview")).body);
  if (!value) return html`<${Waiting} error=${error} />`;
  return html`<${Problem} error=${error} />
    ${value.maintenance && html`<${Notice} kind="warn">${T("Maintenance mode is on: all requests are refused.")}<//>`}
    <${Parts} of=${value} />
    ${mayChange() && html`<${Doctor} />`}
    <${Traffic} of=${value} />
    <${Queues} of=${value.jobs} />
    <p class="hint">${F("Consign %1$s, running since %2$s. As of %3$s; this page reads again every 15 seconds.", value.version,
      when(value.started), when(value.at))}</p>`;
});

/** How long something has waited, if it has. @param {number} seconds */
const late = (seconds) => (seconds >= 1 ? F("The oldest has waited for %s.", duration(seconds)) : "");

/** A part of the installation: name, state, and sentences about it. @param {{name: string, state: string, children?: any}} props */
const Part = ({ name, state, children = null }) => html`<li class=${`card part ${state}`}>
  <h2>${name}</h2><${State} of=${state} />
  ${children && html`<p class="hint">${children}</p>`}
</li>`;

/** States of parts in the order in which they are shown: what does not work stands first. */
const urgency = ["failed", "warning", "ok", "off"];

function Parts({ of }) {
  const { database, storage, mail, redis, scanner, jobs, receipts, audit } = of;
  const waiting = jobs.queues.reduce((sum, queue) => sum + queue.due, 0);
  /** @type {[{state: string}, any][]} */
  const parts = [
    [database, html`<${Part} name=${T("Database")} state=${database.state}>
        ${F("Answers within %1$s ms. %2$s of %3$s connections are in use.", database.milliseconds, database.connections,
          database.maximum)}<//>`],
    [storage, html`<${Part} name=${T("Storage")} state=${storage.state}>
        ${storage.size > 0 && html`${F("%1$s of %2$s are free (%3$s). Uploads are refused below %4$s.",
      bytes(storage.free), bytes(storage.size), percent(storage.free / storage.size), bytes(storage.floor))}
        <meter class="meter" aria-label=${T("Used space")} min="0" max=${storage.size} high=${Math.max(0, storage.size - 2 * storage.floor)}
          value=${storage.size - storage.free}></meter>`}
        ${storage.damaged > 0 && html`<strong>${T("Damaged files")}: ${count(storage.damaged)}</strong> `}
        ${storage.problems > 0 && html`<strong>${N("%d problem", "%d problems", storage.problems)}</strong>`}<//>`],
    [mail, html`<${Part} name=${T("Mail")} state=${mail.state}>
        ${N("%d mail is queued.", "%d mails are queued.", mail.queued)} ${late(mail.oldestSeconds)}
        ${mail.refused > 0 && `${F("Refused at the last attempt: %1$s.", mail.refused)} `}
        ${F("Within a day: %1$s sent, %2$s given up.", mail.sent, mail.failed)}<//>`],
    [jobs, html`<${Part} name=${T("Background jobs")} state=${jobs.state}>${N("%d job is due.", "%d jobs are due.", waiting)}
        ${jobs.failures > 0 && ` ${N("%d run has failed since the start.", "%d runs have failed since the start.", jobs.failures)}`}<//>`],
    [scanner, html`<${Part} name=${T("Malware scanner")} state=${scanner.state}>
        ${scanner.state !== "off"
          && html`${scanner.engine} ${N("%d file waits.", "%d files wait.", scanner.waiting)} ${late(scanner.oldestSeconds)}`}<//>`],
    [redis, html`<${Part} name=${T("Redis")} state=${redis.state}>
        ${redis.state === "warning" && T("It does not answer: each server counts rate limits alone.")}<//>`],
    [receipts, html`<${Part} name=${T("Receipts")} state=${receipts.state}>
        ${N("%d receipt is not signed yet.", "%d receipts are not signed yet.", receipts.waiting)}<//>`],
    [audit, html`<${Part} name=${T("Audit stream")} state=${audit.state}>
        ${audit.state !== "off" && html`${N("%d entry is not sent yet.", "%d entries are not sent yet.", audit.waiting)}
          ${late(audit.oldestSeconds)} ${audit.trouble && html`<code>${audit.trouble}</code>`}`}<//>`],
  ];
  const shown = parts.toSorted(([a], [b]) => urgency.indexOf(a.state) - urgency.indexOf(b.state)).map(([, part]) => part);
  return html`<section aria-label=${T("Parts")}><ul class="list parts-grid">${shown}</ul></section>`;
}

function Traffic({ of: { traffic } }) {
  const figures = [[T("Uploads"), count(traffic.uploads)], [T("Downloads"), count(traffic.downloads)],
    [T("Open pages"), count(traffic.streams)],
    [T("Received since the start"), bytes(traffic.bytesIn)], [T("Sent since the start"), bytes(traffic.bytesOut)]];
  return html`<section class="card"><h2>${T("Right now")}</h2>
    <dl class="numbers">${figures.map(([name, figure]) => html`<div><dt>${name}</dt><dd>${figure}</dd></div>`)}</dl>
  </section>`;
}

function Queues({ of: { queues } }) {
  return html`<section class="card"><h2>${T("Queues of background jobs")}</h2>
    <${Table} caption=${T("Queues of background jobs")} head=${[T("Queue"), T("Due"), T("Later"), T("Running"), T("Oldest")]}>
      ${queues.map((q) => html`<tr key=${q.name}><th scope="row"><code>${q.name}</code></th>
        <td>${count(q.due)}</td><td>${count(q.scheduled)}</td><td>${count(q.running)}</td><td>
          ${q.oldestSeconds >= 1 ? duration(q.oldestSeconds) : "–"}</td></tr>`)}
    <//></section>`;
}
