// /q/{key}: what somebody is asked for. Uploads are saved at once, and go on from any device with the same link; handing in delivers
// them. A public link leads to a link of one's own.

import {
  Button, Field, Form, Icon, Lines, Notice, Problem, Tool, Unloaded, announce, html, show, useAction, useEffect, useRef, useState,
} from "./ui.js";
import { Empty } from "./drawings.js";
import { F, N, T, bytes, exactly, language, left, percent } from "./i18n.js";
import { bearer, call, transfer } from "./api.js";
import { Fields, given } from "./fields.js";
import { fromInput } from "./files.js";
import { useReceipt } from "./signedreceipt.js";
import "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);
const at = /** @type {const} */ (`${transfer}/public/requests/${encodeURIComponent(key)}`);

/** @typedef {TransferAPI["PublicDocumentRequest"]} View */
/** @typedef {TransferAPI["RequestedItem"]} Asked */
/** @typedef {import("./upload/engine.js").Upload} Upload */

call("GET", at).then(({ body }) => show(() => (body.party ? html`<${Page} first=${body} />` : html`<${Join} view=${body} />`)),
  (error) => show(() => (error.status === 404 ? html`<div class="sheet"><${Empty} drawing="search"
    head=${html`<h1>${T("This request doesn’t exist")}</h1>`}
    sentence=${T("The link may be mistyped, or the request was removed. Ask the person who gave it to you.")} /></div>`
    : html`<${Unloaded} title=${T("Something went wrong.")} error=${error} />`)));

/** Who asks, for what, by when: the due time in the zone of the visitor, by the clock of the server. @param {{view: View}} props */
function Head({ view }) {
  const ahead = Date.parse(view.now) - Date.now(), [clock, tick] = useState(0); // of the server's clock
  useEffect(() => { const timer = setInterval(() => tick((n) => n + 1), 1000); return () => clearInterval(timer); }, []);
  const first = useRef(ahead).current, now = Date.now() + first, due = Date.parse(view.due ?? "");
  void clock;
  const soon = due - now < 3600e3;
  return html`<header>
    <p class="kicker">${F("%s asks you for documents", view.owner.name || view.owner.email)}</p>
    <h1>${view.title}</h1>
    ${view.message && html`<${Lines} text=${view.message} />`}
    ${view.due && html`<p class=${due < now ? "late" : ""} data-test="due"><${Icon} name="clock" /> ${due < now
      ? F("It was due on %s.", exactly(view.due)) : F("By %s, in %s", exactly(view.due), left(view.due))}</p>`}
    ${view.due && due > now && html`<p class="hint">${view.late === "refuse" ? T("Nothing can be handed in after the due time.")
      : T("What is handed in later is marked as late.")} ${T("What counts is when you hand in, not when an upload begins.")}</p>`}
    ${view.due && soon && due > now && html`<p class="hint" data-test="clock">
      ${F("The server’s clock: %s", new Date(now).toLocaleTimeString(language))}</p>`}
  </header>`;
}

/** A public link: a link of one's own is mailed. @param {{view: View}} props */
function Join({ view }) {
  const [values, setValues] = useState({ email: "", name: "" });
  const [sent, setSent] = useState("");
  const join = useAction(async () => { await call("POST", `${at}/parties`, { json: values }); setSent(values.email); });
  const input = (/** @type {"email" | "name"} */ name) => ({ value: values[name],
    onInput: (/** @type {any} */ event) => setValues({ ...values, [name]: event.target.value }) });
  return html`<div class="sheet"><${Head} view=${view} />
    <ul>${view.items.map((item) => html`<li>${item.name}</li>`)}</ul>
    ${sent ? html`<${Notice} kind="good">${F("We’ve sent your link to %s. Open it to hand in your documents.", sent)}<//>`
    : html`<${Form} onSend=${join.run} refused=${join.error}>
      <p>${T("Enter your address, and we’ll send you a link of your own.")}</p>
      <${Field} label=${T("Your name")} required maxlength="120" autocomplete="name" ...${input("name")} />
      <${Field} label=${T("Your email address")} type="email" required maxlength="254" autocomplete="email" ...${input("email")} />
      <${Problem} error=${join.error} />
      <${Button} kind="primary" type="submit" busy=${join.busy}>${T("Send me the link")}<//>
    <//>`}</div>`;
}

/** The state of each item in the words of a party. @param {View} view @param {Asked} item */
function standing(view, item) {
  const state = view.states.find((s) => s.item === item.uid) ?? { state: "open", files: [] };
  const files = /** @type {any[]} */ (state.files), saved = files.filter((f) => !f.transfer);
  const takes = state.state === "open" || state.state === "returned";
  return { ...state, files: takes ? saved : files.filter((f) => f.transfer), takes,
    there: !takes || saved.some((f) => f.contentLength === f.intendedSize) };
}

/** @param {{first: View}} props */
function Page({ first }) {
  const [view, setView] = useState(first);
  const [, redraw] = useState(0);
  const [answers, setAnswers] = useState(/** @type {Record<string, string>} */ ({}));
  const [token, setToken] = useState(/** @type {{uid: string, token: string} | null} */ (null));
  const [proof, setProof] = useState(/** @type {{uid: string, token: string} | null} */ (null)); // of the hand-in of this visit
  const uploads = useRef(/** @type {Map<string, Upload>} */ (new Map())).current;
  const reload = async () => { setView((await call("GET", at)).body); };
  const opening = useRef(/** @type {Promise<{uid: string, token: string}> | null} */ (null)); // files may be chosen meanwhile
  const open = useAction(async () => {
    opening.current = call("POST", at).then(({ body, headers }) => ({ uid: body.reservation, token: bearer(headers) }));
    setToken(await opening.current);
  });
  useEffect(() => { if (view.state === "open" && !view.complete) open.run(); }, []);
  const done = useRef(new Set()).current; // uploads that the view shows
  const changed = (/** @type {Upload} */ upload) => {
    redraw((n) => n + 1);
    for (const file of upload.items) {
      if (file.state === "done" && !done.has(file.clientId)) {
        done.add(file.clientId);
        reload().catch(() => {});
      }
    }
  };
  const add = async (/** @type {Asked} */ item, /** @type {import("./files.js").Chosen[]} */ files) => {
    const reservation = token ?? await opening.current;
    if (!reservation) return;
    const { Upload } = await import("./upload/engine.js");
    let upload = uploads.get(item.uid);
    if (!upload || upload.over || upload.uid !== reservation.uid) {
      upload = new Upload({ ...reservation, maxFiles: item.maxFiles, maxFileSizeMb: item.maxFileSizeMb, item: item.uid }, changed);
      uploads.set(item.uid, upload);
    }
    upload.add(files);
  };
  const remove = async (/** @type {string} */ clientId) => {
    if (token) await call("DELETE", `${transfer}/reservations/${token.uid}/objects/${clientId}`, { token: token.token });
    for (const upload of uploads.values()) upload.items = upload.items.filter((i) => i.clientId !== clientId);
    await reload();
  };
  const handIn = useAction(async (/** @type {boolean} */ partly) => {
    if (view.fieldsSchema && token) {
      await call("PATCH", `${transfer}/reservations/${token.uid}`, { token: token.token, json: { fields: given(answers) } });
    }
    await call("POST", `${at}/handin`, { json: { partly } });
    setProof(token);
    setToken(null);
    uploads.clear();
    await reload();
    await open.run(); // what is missing or returned goes into another reservation
    announce(T("Handed in"));
    scrollTo(0, 0);
  });
  const states = view.items.map((item) => ({ ...standing(view, item), item }));
  const there = states.filter((s) => s.there).length, saved = states.some((s) => s.takes && s.files.length);
  const ready = states.every((s) => s.there || !s.item.required), busy = [...uploads.values()].some((u) => u.totals().open);
  const last = view.handIns.at(-1);
  return html`<div class="sheet">
    <${Head} view=${view} />
    ${last && html`<${Handed} last=${last} complete=${view.complete} proof=${proof} />`}
    ${view.state === "closed" && html`<${Notice} kind="info">${T("The request is closed and takes no more documents.")}<//>`}
    <${Problem} error=${open.error} />
    <div class="tally"><svg class="ring" viewBox="0 0 40 40" aria-hidden="true"><circle cx="20" cy="20" r="17" />
      ${there > 0 && html`<circle class="part" cx="20" cy="20" r="17" pathLength="100"
        stroke-dasharray=${`${100 * there / states.length} 100`} />`}</svg>
      <p role="status" data-test="tally">${F("%d of %d", there, states.length)}</p></div>
    <ul class="asked">${states.map((state) => html`<${Row} key=${state.item.uid} state=${state} upload=${uploads.get(state.item.uid)}
      disabled=${!token || view.state === "closed"} onFiles=${add} onRemove=${remove} />`)}</ul>
    ${view.fieldsSchema && !last && html`<fieldset><legend>${view.fieldsSchema.title || T("Questions from the recipient")}</legend>
      <${Fields} schema=${view.fieldsSchema} ui=${view.uiSchema} values=${answers}
        onValue=${(/** @type {string} */ name, /** @type {string} */ value) => setAnswers({ ...answers, [name]: value })} /></fieldset>`}
    ${saved && html`<p class="hint">${F("%d of %d, saved", there, states.length)} ·
      ${T("You can close this page and come back with the same link, on any device.")}</p>
    <${Problem} error=${handIn.error} />
    <div class="row"><${Button} kind=${ready ? "primary" : "plain"} busy=${handIn.busy} disabled=${busy} onClick=${() => handIn.run(!ready)}
      data-test="handin">${ready ? T("Hand in") : T("Hand in what I have")}<//></div>`}
  </div>`;
}

/** One item: its files, and what they are waiting for. @param {any} props */
function Row({ state, upload, disabled, onFiles, onRemove }) {
  const { item, files, takes, there } = state, input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const going = (upload?.items ?? []).filter((/** @type {any} */ f) => !files.some((/** @type {any} */ s) => s.clientId === f.clientId
    && s.contentLength === s.intendedSize));
  const said = { uploaded: T("Handed in"), accepted: T("Accepted"), returned: T("Please hand this in again") }[state.state]
    ?? (there ? T("Saved") : item.required ? T("Missing") : T("Optional"));
  return html`<li class=${`${state.state}${there ? " there" : ""}`} data-test="item">
    <${Icon} name=${there ? "check" : state.state === "returned" ? "retry" : "file"} />
    <div><p><strong>${item.name}</strong></p><p class="hint">${said}</p></div>
    ${takes && html`<${Button} disabled=${disabled || files.length >= item.maxFiles} onClick=${() => input.current?.click()}
      aria-label=${F("Choose files for %s", item.name)}>${T("Choose")}<//>
      <input ref=${input} type="file" hidden multiple=${item.maxFiles > 1} accept=${item.mimeTypes.join(",")} data-test="files"
        onChange=${(/** @type {any} */ event) => { onFiles(item, fromInput(event.target.files)); event.target.value = ""; }} />`}
    <div class="under">
      ${state.reason && html`<blockquote>${state.reason}</blockquote>`}
      ${item.hint && html`<p class="hint">${item.hint}</p>`}
      ${item.example && html`<p class="hint">${F("Example: %s", item.example)}</p>`}
      <ul class="files">
        ${files.filter((/** @type {any} */ f) => !going.some((/** @type {any} */ g) => g.clientId === f.clientId))
          .map((/** @type {any} */ f) => html`<li>
          <span class="name">${f.name}</span><span class="hint">${bytes(f.intendedSize)}${f.malwareStatus === "infected"
            ? ` · ${T("Malware was found")}` : f.contentLength < f.intendedSize ? ` · ${T("Not complete")}` : ""}</span>
          ${takes && html`<${Tool} icon="trash" label=${F("Remove %s", f.name)} onClick=${() => onRemove(f.clientId)} />`}</li>`)}
        ${going.map((/** @type {any} */ f) => html`<li><span class="name">${f.name}</span><span class="hint">${f.problem
          || percent(f.size ? (f.held + f.flying) / f.size : 1)}</span>
          ${f.state === "failed" && html`<${Tool} icon="close" label=${F("Remove %s", f.name)}
            onClick=${() => upload.remove(f)} />`}</li>`)}
      </ul>
    </div></li>`;
}

/** The receipt of the last hand-in. @param {{last: {at: string, late: boolean, files: number}, complete: boolean, proof: any}} props */
function Handed({ last, complete, proof }) {
  const { commands, said } = useReceipt((accept) => call("GET", `${transfer}/reservations/${proof?.uid}/receipt`,
    { token: proof?.token, accept }));
  return html`<div class="notice good" data-test="handed"><p><strong>${complete ? T("Everything is accepted. There is nothing left to do.")
    : F("Handed in on %s", exactly(last.at))}</strong> ${N("%d file", "%d files", last.files)}${last.late ? ` · ${T("late")}` : ""}</p>
    ${proof && html`<div class="row">${commands.map((c) => html`<${Button} icon=${c.icon} busy=${c.busy} onClick=${c.run}>
      ${c.label}<//>`)}</div>`}
    ${said}</div>`;
}
