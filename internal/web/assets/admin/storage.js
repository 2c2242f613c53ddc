// /admin/storage: what is stored, how much of it is encrypted, and checks of all files.

import { Ask, Button, Notice, Problem, Waiting, announce, html, useAction, useLoaded, useState } from "../ui.js";
import { F, N, T, bytes, count, percent, when } from "../i18n.js";
import { Nothing, Table } from "../lists.js";
import { ask, showConsole, useChange, useLive } from "./console.js";
import { Change, Action } from "./reasons.js";

/** Names of the states of a check. @type {() => Record<string, string>} */
const states = () => ({ running: T("running"), done: T("done"), cancelled: T("cancelled") });

/** Names of kinds of problems. @type {() => Record<string, string>} */
const kinds = () => ({ lost: T("lost"), damaged: T("damaged"), orphan: T("bytes without an entry") });

showConsole("storage", () => {
  const { value, error, reload } = useLive(async () => {
    const [storage, overview] = await Promise.all([ask("GET", "/storage"), ask("GET", "/overview")]);
    return { ...storage.body, volume: overview.body.storage };
  });
  const [shown, show] = useState("");
  if (!value) return html`<${Waiting} error=${error} />`;
  return html`<${Problem} error=${error} />
    <${Sizes} of=${value} />
    ${value.damaged.length > 0 && html`<${Damaged} of=${value.damaged} />`}
    ${value.sweepOff && html`<${Accept} onDone=${reload} />`}
    <${Checks} of=${value.checks} onChange=${reload} onShow=${show} />
    ${shown && html`<${Problems} key=${shown} uid=${shown} />`}`;
});

function Sizes({ of }) {
  const figures = [[T("Files"), count(of.objects)], [T("Bytes"), bytes(of.bytes)],
    ...(of.volume.size > 0 ? [[T("Free space"), bytes(of.volume.free)]] : [])];
  return html`<section class="card stack"><h2>${T("What is stored")}</h2>
    <dl class="numbers">${figures.map(([name, figure]) => html`<div><dt>${name}</dt><dd>${figure}</dd></div>`)}</dl>
    <p>${of.encryption ? T("New files are encrypted.") : T("New files are not encrypted.")}
      ${of.objects > 0 && ` ${F("%1$s of %2$s files are encrypted (%3$s).", count(of.encryptedObjects), count(of.objects),
        percent(of.encryptedObjects / of.objects))}`}</p>
    ${of.encryption && of.encryptedObjects < of.objects
      && html`<${Notice} kind="warn">
        ${T("Some files are stored in plain. consign storage encrypt encrypts them beside the running server.")}<//>`}
  </section>`;
}

/** Files that are not given out, and whom to tell. @param {{of: AdminAPI["Storage"]["damaged"]}} props */
const Damaged = ({ of }) => html`<section class="card stack"><h2>${T("Damaged files")}</h2>
  <p class="hint">${T("Their stored bytes are not those that were sent, so nobody gets them. Restore the files from a backup: within an hour they are given out again. Otherwise tell these people.")}</p>
  <${Table} caption=${T("Damaged files")} head=${[T("Found"), T("File (uid)"), T("Transfer"), T("From"), T("To")]}>
    ${of.flatMap((d) => (d.transfers.length > 0 ? d.transfers : [null]).map((t) => html`<tr key=${d.object + (t?.uid ?? "")}>
      <th scope="row">${when(d.found)}</th><td><code title=${d.detail}>${d.object}</code></td>
      <td>${t ? html`<a href=${`/admin/transfers?transfer=${t.uid}`}>${t.uid}</a>` : T("ended")}</td>
      <td>${t?.sender}</td><td>${t?.recipients.join(", ")}</td></tr>`))}
  <//></section>`;

const Accept = ({ onDone }) => html`<section class="card stack"><h2>${T("Bytes without an entry are kept")}</h2>
  <p>${T("Database and storage are from different times, as after a restore. Bytes that the database does not know are kept until you accept them. Check all files first.")}</p>
  <div><${Action} kind="danger" label=${T("Accept")}
    question=${T("Is nothing of an older backup needed any more? Bytes without an entry are then removed for good once they are old enough.")}
    path="/storage/accept" onDone=${onDone} /></div></section>`;

/** How far a check is. @param {{of: AdminAPI["StorageCheck"]}} props */
function Progress({ of }) {
  if (of.state !== "running") return html`${states()[of.state]}<span class="hint block">${when(of.finished)}</span>`;
  if (of.total === null || of.total === 0) return html`${states().running}`;
  return html`<progress aria-label=${T("Progress")} max=${of.total} value=${Math.min(of.objects, of.total)}></progress>
    <span class="hint block">${F("%1$s of %2$s files", count(of.objects), count(of.total))}
      ${of.scrub && ` · ${T("slowly, by itself")}`}</span>`;
}

function Checks({ of, onChange, onShow }) {
  const { change, dialog } = useChange();
  const [asked, setAsked] = useState("");
  const running = of.find((c) => c.state === "running");
  const act = useAction(async (/** @type {string} */ path, /** @type {string} */ said) => {
    await change("POST", path);
    announce(said);
    onChange();
  });
  const row = (/** @type {AdminAPI["StorageCheck"]} */ c) => html`<tr key=${c.uid}><th scope="row">${when(c.started)}</th><td><${Progress}
    of=${c} /></td><td>${bytes(c.bytes)}</td>
    <td>${c.findings > 0 ? html`<span class="badge warn">${N("%d problem", "%d problems", c.findings)}</span>`
      : c.state === "done" ? T("no problems") : "–"}
      ${c.sweepOff && html`<span class="hint block">${T("not accepted after a restore")}</span>`}</td>
    <td><div class="row tight">
      ${c.findings > 0 && html`<${Button} class="small" onClick=${() => onShow(c.uid)}>${T("Show problems")}<//>`}
      ${c.state === "running" && html`<${Change} class="small" kind="danger" busy=${act.busy} onClick=${() => setAsked(c.uid)}>
        ${T("End")}<//>`}</div></td></tr>`;
  return html`<section class="card stack"><h2>${T("Checks of all files")}</h2>
    <p class="hint">${T("A check reads every file and compares it with its SHA-256, as consign fsck does. It takes long when there is much, and goes on when a server stops.")}</p>
    <${Problem} error=${act.error} />
    <div><${Change} icon="retry" disabled=${Boolean(running && !running.scrub)} busy=${act.busy}
      onClick=${() => act.run("/storage/checks", T("The check has begun."))}>${T("Check all files")}<//></div>
    ${of.length === 0 ? html`<${Nothing} sentence=${T("No check was started yet.")} />`
    : html`<${Table} caption=${T("Checks of all files")} head=${[T("Begun"), T("State"), T("Read"), T("Result"), T("Action")]}>
      ${of.map(row)}<//>`}
    ${asked && html`<${Ask} question=${T("End this check? The next one begins anew.")} yes=${T("End")}
      onYes=${() => act.run(`/storage/checks/${asked}/cancel`, T("The check was ended."))} onClose=${() => setAsked("")} />`}
    ${dialog}</section>`;
}

/** @param {{uid: string}} props */
function Problems({ uid }) {
  const { value, error } = useLoaded(async () => (await ask("GET", `/storage/checks/${uid}`)).body, [uid]);
  if (!value) return html`<${Waiting} error=${error} />`;
  return html`<section class="card stack"><h2>${F("Problems found on %s", when(value.started))}</h2>
    ${value.findings > value.problems.length && html`<p class="hint">
      ${F("The first %1$s of %2$s. consign fsck lists all.", count(value.problems.length), count(value.findings))}</p>`}
    <${Table} caption=${T("Problems")} head=${[T("Problem"), T("File (uid)"), T("Details")]}>
      ${value.problems.map((p) => html`<tr key=${p.object + p.kind}><th scope="row">${kinds()[p.kind]}</th><td><code>${p.object}</code></td>
        <td class="said" lang="en">${p.detail}</td></tr>`)}
    <//></section>`;
}
