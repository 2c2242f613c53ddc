// /q/{key}: what somebody is asked for. Uploads are saved at once, and go on from any device with the same link; handing in delivers
// them. A public link leads to a link of one's own.

import {
  Button, Field, Form, Icon, Notice, Problem, Unloaded, announce, html, show, useAction, useEffect, useRef, useState,
} from "./ui.js";
import { Empty } from "./drawings.js";
import { F, N, T, exactly } from "./i18n.js";
import { bearer, call, transfer } from "./api.js";
import { Fields, given } from "./fields.js";
import { Head, Row, Tally, standing } from "./requestview.js";
import { useReceipt } from "./signedreceipt.js";
import "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);
const at = /** @type {const} */ (`${transfer}/public/requests/${encodeURIComponent(key)}`);

/** @typedef {import("./requestview.js").View} View */
/** @typedef {import("./requestview.js").Asked} Asked */
/** @typedef {import("./upload/engine.js").Upload} Upload */

call("GET", at).then(({ body }) => show(() => (body.party ? html`<${Page} first=${body} />` : html`<${Join} view=${body} />`)),
  (error) => show(() => (error.status === 404 ? html`<div class="sheet"><${Empty} drawing="search"
    head=${html`<h1>${T("This request doesn’t exist")}</h1>`}
    sentence=${T("The link may be mistyped, or the request was removed. Ask the person who gave it to you.")} /></div>`
    : html`<${Unloaded} title=${T("Something went wrong.")} error=${error} />`)));

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

/** @param {{first: View}} props */
function Page({ first }) {
  const [view, setView] = useState(first);
  const [, redraw] = useState(0);
  const [answers, setAnswers] = useState(/** @type {Record<string, string>} */ ({}));
  const [token, setToken] = useState(/** @type {{uid: string, token: string} | null} */ (null));
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
    ${last && html`<${Handed} key=${last.transfer} last=${last} complete=${view.complete} />`}
    ${view.state === "closed" && html`<${Notice} kind="info">${T("The request is closed and takes no more documents.")}<//>`}
    <${Problem} error=${open.error} />
    <${Tally} there=${there} all=${states.length} />
    <ul class="asked">${states.map((state) => html`<${Row} key=${state.item.uid} state=${state} upload=${uploads.get(state.item.uid)}
      disabled=${!token || view.state === "closed"} onFiles=${add} onRemove=${remove} />`)}</ul>
    ${view.fieldsSchema && !last && html`<fieldset><legend>${view.fieldsSchema.title || T("Questions from the recipient")}</legend>
      <${Fields} schema=${view.fieldsSchema} ui=${view.uiSchema} values=${answers}
        onValue=${(/** @type {string} */ name, /** @type {string} */ value) => setAnswers({ ...answers, [name]: value })} /></fieldset>`}
    ${saved && html`<p class="hint">${F("%d of %d, saved", there, states.length)}${" · "}
      ${T("You can close this page and come back with the same link, on any device.")}</p>
    <${Problem} error=${handIn.error} />
    <div class="row"><${Button} kind=${ready ? "primary" : "plain"} busy=${handIn.busy} disabled=${busy} onClick=${() => handIn.run(!ready)}
      data-test="handin">${ready ? T("Hand in") : T("Hand in what I have")}<//></div>`}
  </div>`;
}

/** The receipt of the last hand-in, at each visit. @param {{last: {at: string, late: boolean, files: number}, complete: boolean}} props */
function Handed({ last, complete }) {
  const { commands, said } = useReceipt((accept) => call("GET", `${at}/receipt`, { accept }));
  return html`<div class="notice good" data-test="handed"><${Icon} name="check" /><div><p><strong>${complete
    ? T("Everything is accepted. There is nothing left to do.") : F("Handed in on %s", exactly(last.at))}</strong></p>
    <p>${N("%d file", "%d files", last.files)}${last.late ? ` · ${T("late")}` : ""}</p>
    <div class="row">${commands.map((c) => html`<${Button} icon=${c.icon} busy=${c.busy} onClick=${c.run}>${c.label}<//>`)}</div>
    ${said}</div></div>`;
}
