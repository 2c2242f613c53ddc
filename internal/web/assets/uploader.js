// The upload of a page, as a person sees it: where files are chosen, the list of them, and what makes it last: a record
// of the reservation and its files from which another visit goes on.

import { Button, Icon, Notice, announce, html, useEffect, useRef, useState } from "./ui.js";
import { F, N, T, bytes, count, duration, percent } from "./words.js";
import { Failure, call, transfer } from "./api.js";
import { Upload } from "./upload.js";
import { alone, drop, keepRecord, recall } from "./store.js";
import { fromDrop, fromInput, fromPaste, fromPicker, hasPicker, reopen } from "./files.js";

const lifetime = 48 * 3600 * 1000;
const shown = 100; // rows at first

/**
 * The upload of this page.
 * @param {string} key names it among the records of this browser
 * @param {() => Promise<{uid: string, token: string, maxFiles: number, maxFileSizeMb: number}>} reserve makes the reservation, when the first file is chosen
 */
export function useUpload(key, reserve) {
  const state = useRef(/** @type {any} */ ({ upload: null, form: {}, keep: true, since: 0 })).current;
  const [, redraw] = useState(0);
  const [phase, setPhase] = useState("looking"); // looking, ready, found (something unfinished), opening
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [receipt, setReceipt] = useState(/** @type {any} */ (null));

  const save = throttle(() => state.keep && state.upload && keepRecord(key, record(state)), 400);
  const changed = throttle(() => { redraw((n) => n + 1); save(); }, 120);

  useEffect(() => {
    (async () => {
      state.keep = await alone(key);
      const found = state.keep ? await recall(key) : undefined;
      if (found?.receipt && Date.now() - found.since < lifetime) setReceipt(found.receipt);
      else if (found?.uid && Date.now() - found.since < lifetime) await revive(found);
      setPhase((now) => (now === "looking" ? "ready" : now));
    })();
    const leaving = (event) => { if (state.upload?.totals().open && !state.upload.over) event.preventDefault(); };
    addEventListener("beforeunload", leaving);
    return () => removeEventListener("beforeunload", leaving);
  }, []);

  /** Takes up what an earlier visit began, as far as the server still knows it. */
  async function revive(found) {
    const known = await call("GET", `${transfer}/reservations/${found.uid}`, { token: found.token }).catch((error) => error);
    if (known instanceof Failure && known.status !== 0) {
      await drop(key);
      setProblem(T("An earlier upload from this browser has expired. Please begin again."));
      return;
    }
    if (known instanceof Error) setProblem(known);
    const upload = new Upload({ ...found, ...found.limits }, changed);
    const held = new Map((known.body?.objects ?? []).map((o) => [o.clientId, o]));
    upload.next = found.items.length + 1;
    upload.items = await Promise.all(found.items.map(async (item) => {
      const there = held.get(item.clientId);
      const file = await reopen(item.handle, false);
      return { ...item, file, attached: there !== undefined, held: there?.contentLength ?? 0, flying: 0, speed: 0, problem: "",
        state: there && there.contentLength === item.size ? "done" : "missing" };
    }));
    Object.assign(state, { upload, form: found.form ?? {}, since: found.since });
    for (const item of [...upload.items]) if (item.state === "missing" && item.file) upload.give(item, item.file);
    setPhase(upload.items.some((item) => item.state === "missing") ? "found" : "ready");
  }

  return {
    phase, problem, receipt, upload: state.upload, form: state.form, lasts: state.keep,
    /** Keeps what was written into the form. */
    write(values) { Object.assign(state.form, values); save(); },
    /** @param {import("./files.js").Chosen[]} chosen */
    async add(chosen) {
      if (!chosen.length) return;
      setProblem(null);
      try {
        if (!state.upload || state.upload.over) {
          setPhase("opening");
          state.opening ??= reserve().finally(() => { state.opening = null; });
          const reservation = await state.opening;
          if (!state.upload || state.upload.over) Object.assign(state, { upload: new Upload(reservation, changed), since: Date.now(), limits: reservation });
        }
        const twice = state.upload.add(chosen);
        announce(N("%d file added", "%d files added", chosen.length - twice.length));
        setPhase("ready");
      } catch (error) {
        if (!(error instanceof Failure)) console.error(error);
        setProblem(error);
        setPhase("ready");
      }
    },
    /** Asks the browser for the files it has handles of. */
    async reopenAll() {
      for (const item of state.upload.items.filter((i) => i.state === "missing")) {
        const file = await reopen(item.handle, true);
        if (file) state.upload.give(item, file);
      }
      redraw((n) => n + 1);
    },
    /** Ends what was begun and starts with nothing. */
    async discard() {
      const { upload } = state;
      state.upload = null;
      for (const item of upload?.items ?? []) item.request?.abort();
      if (upload) call("DELETE", `${transfer}/reservations/${upload.uid}`, { token: upload.token }).catch(() => {});
      await drop(key);
      setPhase("ready");
      setReceipt(null);
      setProblem(null);
    },
    /** Hands over, and keeps the receipt for when the page is opened again. @param {object} metadata */
    async deliver(metadata) {
      const { upload } = state;
      const done = await upload.deliver(metadata) ?? {
        objects: upload.items.filter((i) => i.state === "done").map(({ name, size }) => ({ name, contentLength: size })),
        subject: metadata.subject, message: metadata.message, createdAt: new Date().toISOString(), recipients: metadata.recipients ?? [],
      };
      const kept = { ...done, sender: done.sender ?? { name: metadata.anonSender, email: metadata.anonEmail } };
      state.upload = null;
      if (state.keep) await keepRecord(key, { since: Date.now(), receipt: kept });
      setReceipt(kept);
      document.getElementById("main")?.focus();
      scrollTo(0, 0);
      return kept;
    },
  };
}

/** What another visit needs to go on. */
const record = ({ upload, form, since }) => ({
  uid: upload.uid, token: upload.token, since, form, limits: { maxFiles: upload.limits.files, maxFileSizeMb: upload.limits.bytes / 1e6 },
  items: upload.items.filter((i) => i.state !== "failed").map(({ clientId, name, size, modified, handle }) => ({ clientId, name, size, modified, handle })),
});

/** Calls work at most once in so many milliseconds, and once more at the end. */
function throttle(work, ms) {
  let timer = 0, last = 0;
  return () => {
    if (timer) return;
    timer = setTimeout(() => { timer = 0; last = Date.now(); work(); }, Math.max(0, last + ms - Date.now()));
  };
}

/** Where files are chosen: by the dialog, by dropping them anywhere on the page, or by pasting. */
export function Chooser({ onFiles, busy = false, small = false, disabled = false }) {
  const files = useRef(/** @type {any} */ (null)), folder = useRef(/** @type {any} */ (null));
  const [over, setOver] = useState(false);
  useEffect(() => {
    if (disabled) return undefined;
    let depth = 0;
    const carries = (event) => event.dataTransfer?.types.includes("Files");
    const handlers = {
      dragenter: (e) => { if (carries(e)) { depth++; setOver(true); e.preventDefault(); } },
      dragover: (e) => { if (carries(e)) { e.dataTransfer.dropEffect = "copy"; e.preventDefault(); } },
      dragleave: (e) => { if (carries(e) && --depth <= 0) { depth = 0; setOver(false); } },
      drop: (e) => { if (carries(e)) { depth = 0; setOver(false); e.preventDefault(); fromDrop(e.dataTransfer).then(onFiles); } },
      paste: (e) => { const pasted = fromPaste(e); if (pasted.length) { e.preventDefault(); onFiles(pasted); } },
    };
    for (const [name, handle] of Object.entries(handlers)) addEventListener(name, handle);
    return () => { for (const [name, handle] of Object.entries(handlers)) removeEventListener(name, handle); };
  }, [disabled]);
  const picked = (event) => {
    onFiles(fromInput(event.target.files));
    event.target.value = "";
  };
  const choose = async () => (hasPicker ? onFiles(await fromPicker()) : files.current.click());
  return html`<div class=${`chooser${over ? " over" : ""}${small ? " small" : ""}`}>
    ${!small && html`<span class="halo"><${Icon} name="upload" /></span>
    <p class="big">${over ? T("Let go to add the files") : T("Drop files or folders here")}</p>`}
    <div class="row center">
      <${Button} kind=${small ? "plain" : "primary"} icon=${small ? "plus" : ""} busy=${busy} disabled=${disabled} onClick=${choose}>${small ? T("Add files") : T("Choose files")}<//>
      <${Button} icon="folder" disabled=${disabled} onClick=${() => folder.current.click()}>${T("Choose a folder")}<//>
    </div>
    <input ref=${files} type="file" multiple hidden onChange=${picked} data-test="files" />
    <input ref=${folder} type="file" multiple webkitdirectory hidden onChange=${picked} data-test="folder" />
  </div>`;
}

/** The files of an upload, and how far it is. */
export function FileList({ upload }) {
  const [all, setAll] = useState(false);
  const told = useRef(0);
  const t = upload.totals();
  const share = t.bytes ? t.sent / t.bytes : 1;
  useEffect(() => { // said aloud at each quarter, not at each byte
    const quarter = Math.floor(share * 4);
    if (t.bytes && quarter > told.current) announce(upload.complete() ? T("All files have arrived.") : F("%s sent", percent(quarter / 4)));
    told.current = quarter;
  }, [Math.floor(share * 4), t.files]);
  const rows = all ? upload.items : upload.items.slice(0, shown);
  return html`<section class="files" aria-label=${T("Files")}>
    <div class="sum">
      <div>
        <strong>${N("%d file, %s", "%d files, %s", t.files, bytes(t.bytes))}</strong>
        <span class="dim">${status(upload, t)}</span>
      </div>
      <div class="row">
        ${t.open > 1 && html`<${Button} kind="quiet" icon="pause" onClick=${() => [...upload.items].forEach((i) => upload.pause(i))}>${T("Pause all")}<//>`}
        ${t.paused > 1 && html`<${Button} kind="quiet" icon="play" onClick=${() => [...upload.items].forEach((i) => upload.resume(i))}>${T("Resume all")}<//>`}
      </div>
      <progress max="1" value=${share} aria-label=${T("All files")}></progress>
    </div>
    ${upload.broken && html`<${Notice} kind="warn">${upload.broken}<//>`}
    ${upload.stopped && html`<${Notice} kind="bad">${upload.stopped}<//>`}
    <ul class="list">${rows.map((item) => html`<${Row} key=${item.clientId} item=${item} upload=${upload} />`)}</ul>
    ${!all && upload.items.length > shown && html`<${Button} kind="quiet" onClick=${() => setAll(true)}>${F("Show all %s files", count(upload.items.length))}<//>`}
  </section>`;
}

function status(upload, t) {
  if (upload.complete()) return T("All files have arrived.");
  if (upload.broken || upload.stopped || t.open === 0) return F("%s of %s", bytes(t.sent), bytes(t.bytes));
  if (!t.speed) return T("Starting…");
  return F("%s of %s, %s per second, %s left", bytes(t.sent), bytes(t.bytes), bytes(t.speed), duration(t.left));
}

function Row({ item, upload }) {
  const at = item.name.lastIndexOf("/") + 1;
  const sent = item.held + item.flying;
  const words = {
    waiting: () => (item.held ? F("%s of %s", bytes(item.held), bytes(item.size)) : T("Waiting")),
    sending: () => (item.speed > 0 && sent < item.size
      ? F("%s of %s, %s per second, %s left", bytes(sent), bytes(item.size), bytes(item.speed), duration((item.size - sent) / item.speed))
      : F("%s of %s", bytes(sent), bytes(item.size))),
    retrying: () => F("Interrupted at %s, trying again", bytes(sent)),
    paused: () => item.problem || F("Paused at %s of %s", bytes(sent), bytes(item.size)),
    missing: () => F("Choose this file again to go on: %s of %s have arrived.", bytes(item.held), bytes(item.size)),
    done: () => T("Arrived"),
    failed: () => item.problem,
  }[item.state];
  const running = ["waiting", "sending", "retrying"].includes(item.state);
  return html`<li class=${`item ${item.state}`}>
    <${Icon} name=${item.state === "done" ? "check" : item.state === "failed" ? "alert" : "file"} />
    <div class="what">
      <div class="name">${at > 0 && html`<span class="dim">${item.name.slice(0, at)}</span>`}${item.name.slice(at)} <span class="dim size">${bytes(item.size)}</span></div>
      <div class="state">${words?.()}</div>
      ${item.state !== "done" && item.state !== "failed" && html`<progress max=${item.size || 1} value=${sent} aria-label=${item.name}></progress>`}
    </div>
    <div class="row tight">
      ${running && item.size > 0 && html`<button type="button" class="button icon-only" aria-label=${F("Pause %s", item.name)} title=${T("Pause")} onClick=${() => upload.pause(item)}><${Icon} name="pause" /></button>`}
      ${item.state === "paused" && html`<button type="button" class="button icon-only" aria-label=${F("Resume %s", item.name)} title=${T("Resume")} onClick=${() => upload.resume(item)}><${Icon} name="play" /></button>`}
      <button type="button" class="button icon-only" aria-label=${F("Remove %s", item.name)} title=${T("Remove")} onClick=${() => upload.remove(item)}><${Icon} name="close" /></button>
    </div>
  </li>`;
}
