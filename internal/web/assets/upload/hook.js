// The upload of a page as a hook. It stores a record of the reservation and its files, from which a later visit resumes. The engine is
// loaded with the first file.

import { announce, useEffect, useListeners, useRef, useState } from "../ui.js";
import { N, T } from "../i18n.js";
import { Failure, call, transfer } from "../api.js";
import { account, now } from "../session.js";
import {
  lockRecord, readClaim, readReceipt, readRecord, removeClaim, removeReceipt, removeRecord, writeClaim, writeReceipt, writeRecord,
} from "../store.js";
import { reopen } from "../files.js";

/** @typedef {import("./engine.js").Item} Item */
/** @typedef {import("./engine.js").Upload} Upload */

/**
 * The data that a component keeps from one render to the next. `key`: of the record and the receipt. `keep`: this window has the lock of
 * the record and may write it. `keeps`: this browser may keep something. `found`: the record of an earlier visit that may be another
 * person's. `since`: time of the reservation. `left`: chosen files that wait because no reservation could be created. `opening`: the
 * reservation being created.
 * @typedef {{key: import("../store.js").Key, upload: Upload | null, form: Record<string, any>, keep: boolean, keeps: boolean,
 *   since: number, left: import("../files.js").Chosen[], found?: any,
 *   opening?: Promise<import("./engine.js").Reservation> | null}} State
 */

/**
 * The state of the hook with its setters, for the functions below.
 * @typedef {{state: State, changed: () => void, reserve: () => Promise<import("./engine.js").Reservation>,
 *   find?: (uid: string) => Promise<any>, setPhase: (phase: string) => void, setProblem: (problem: any) => void,
 *   setReceipt: (receipt: any) => void}} Context
 */

const lifetime = 48 * 3600 * 1000; // milliseconds until a reservation expires

/**
 * Returns the upload of this page and the functions that change it.
 * @param {string} name of the record in store.js, whose owner is the signed-in person
 * @param {() => Promise<import("./engine.js").Reservation>} reserve creates the reservation; called with the first file
 * @param {{find?: (uid: string) => Promise<any>, keeps?: boolean}} [options] `find` reads the transfer, when the person may.
 *   Without `keeps`, the device keeps nothing
 */
export function useUpload(name, reserve, { find, keeps = true } = {}) {
  const state = useRef(/** @type {State} */ (
    { key: [account(), name], upload: null, form: {}, keep: keeps, keeps, since: 0, left: [] })).current;
  const { key } = state;
  const [, redraw] = useState(0);
  // looking, ready, opening; from an earlier visit: asked (whose it is), found (files are missing), returned (all are there)
  const [phase, setPhase] = useState("looking");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const [receipt, setReceipt] = useState(/** @type {any} */ (null));

  const save = throttle(() => { store(state).catch(() => {}); }, 400);
  const changed = throttle(() => { redraw((n) => n + 1); save(); }, 120);
  /** @type {Context} */
  const context = { state, changed, reserve, find, setPhase, setProblem, setReceipt };

  useEffect(() => {
    (async () => {
      if (keeps) state.keep = await lockRecord(key);
      const found = state.keep ? await readRecord(key) : undefined;
      const receipt = keeps && readReceipt(key);
      if (receipt) setReceipt(receipt);
      else if (found && now() - found.since < lifetime) await (key[0] ? resume(context, found) : ask(context, found));
      else if (found) await removeRecord(key);
      setPhase((before) => (before === "looking" ? "ready" : before));
    })();
  }, []);
  useListeners({ beforeunload: (event) => { if (undelivered(state)) event.preventDefault(); } });

  return {
    phase, problem, receipt, upload: state.upload, form: state.form, lasts: state.keep, left: state.left.length,
    found: state.found,
    /** Stores the values of the form. @param {Record<string, any>} values */
    write(values) { Object.assign(state.form, values); save(); },
    /** Adds files, and those left from a failed try. @param {import("../files.js").Chosen[]} more */
    add: (more) => add(context, more),
    /** Resumes the upload that was asked about, if its sender typed that address. @param {string} address @returns {Promise<boolean>} */
    claim: (address) => claim(context, address),
    /** Asks for permission to read the missing files again that have a handle. */
    reopenAll: () => reopenAll(context).then(() => redraw((n) => n + 1)),
    /** Hides the notice about an earlier visit. */
    goOn: () => setPhase("ready"),
    /** Cancels the reservation, removes the receipt and starts over. */
    discard: () => discard(context),
    /** Delivers, and keeps the receipt until the tab is closed. @param {Record<string, any>} metadata */
    deliver: (metadata) => deliver(context, metadata),
  };
}

/** Whether files are here that nobody has received. @param {State} state */
const undelivered = (state) => (Boolean(state.upload?.totals().files && !state.upload.over) || state.left.length > 0) && isOwner(state);

/** Whether the person who opened the page is still the one who is signed in. @param {State} state */
const isOwner = ({ key: [owner] }) => account() === owner;

/** Whether this window may write the record. @param {State} state */
const mayStore = (state) => state.keep && isOwner(state);

/**
 * Writes the record. That of a person without an account is sealed with the address that was typed, but for handles of files, which only
 * the browser can store. Before an address is typed there is nothing to seal it with.
 * @param {State} state
 */
async function store(state) {
  const { key, upload, form } = state;
  if (!mayStore(state) || !upload) return;
  const made = record(upload, state), { since, count, items } = made;
  const sealed = key[0] ? undefined : await (await import("./seal.js")).seal(form.anonEmail ?? "",
    { ...made, items: items.map(({ handle, ...item }) => item) });
  if (state.upload !== upload || !mayStore(state)) return;
  if (sealed) writeClaim(key, form.anonEmail);
  await writeRecord(key, sealed ? { since, count, sealed, handles: items.map(({ handle }) => handle) }
    : { ...made, form: key[0] ? form : {} });
}

/** Asks whose upload an earlier visit has left. A reload of the tab need not ask. @param {Context} context @param {any} found the record */
async function ask(context, found) {
  const { state, setPhase } = context, address = readClaim(state.key);
  state.found = found;
  if (address !== undefined && await claim(context, address)) return;
  setPhase("asked");
}

/** @param {Context} context @param {string} address @returns {Promise<boolean>} */
async function claim(context, address) {
  const { found } = context.state, opened = found.sealed ? await (await import("./seal.js")).open(found.sealed, address) : found;
  if (!opened) return false;
  const { handles, ...whole } = { ...found, ...opened };
  await resume(context, { ...whole, items: whole.items.map((/** @type {Item} */ item, /** @type {number} */ i) =>
    ({ ...item, handle: handles?.[i] ?? item.handle })) });
  return true;
}

/**
 * Decides about an upload that was asked about when files are chosen: one of its files claims it, others start over.
 * @param {Context} context @param {import("../files.js").Chosen[]} chosen
 */
async function decide(context, chosen) {
  const { found } = context.state, own = !found.sealed && chosen.some(({ file, name }) =>
    found.items.some((/** @type {Item} */ i) => i.name === name && i.size === file.size && i.modified === file.lastModified));
  await (own ? claim(context, "") : discard(context));
}

/** Resumes the upload of an earlier visit. @param {Context} context @param {any} found the record */
async function resume({ state, changed, setPhase, setProblem }, found) {
  state.found = undefined;
  setPhase("looking");
  const { Upload, partsFrom } = await import("./engine.js");
  const upload = new Upload({ ...found, ...found.limits }, changed);
  const wait = (/** @type {Failure} */ error) => { setProblem(error); return true; };
  const known = await upload.patiently(() => call("GET", `${transfer}/reservations/${found.uid}`, { token: found.token }),
    wait).catch((error) => error);
  if (known instanceof Error) {
    await removeRecord(state.key);
    setProblem(T("An earlier upload from this browser has expired. Please start again."));
    setPhase("ready");
    return;
  }
  setProblem(null);
  const held = new Map((known.body.objects ?? []).map((o) => [o.clientId, o]));
  upload.next = found.items.length + 1;
  upload.items = await Promise.all(found.items.map(async (/** @type {Item} */ item) => {
    const there = held.get(item.clientId);
    const file = await reopen(item.handle, false);
    const stand = { attached: there !== undefined, held: there?.contentLength ?? 0,
      state: there?.contentLength === item.size ? "done" : "missing" };
    return { ...item, ...stand, file, flying: 0, problem: "" };
  }));
  const large = upload.items.filter((item) => item.state === "missing" && item.attached && item.size > partsFrom);
  if (large.length) await import("./parts.js").then((parts) => parts.look(upload, large)).catch(() => {});
  Object.assign(state, { upload, form: found.form ?? {}, since: found.since });
  for (const item of [...upload.items]) if (item.state === "missing" && item.file) upload.give(item, item.file);
  setPhase(upload.items.some((item) => item.state === "missing") ? "found" : upload.complete() ? "returned" : "ready");
}

/** @param {Context} context @param {import("../files.js").Chosen[]} more */
async function add(context, more) {
  const { state, changed, reserve, setPhase, setProblem } = context, chosen = [...state.left.splice(0), ...more];
  if (!chosen.length) return;
  setProblem(null);
  try {
    if (state.found) await decide(context, chosen);
    if (!state.upload || state.upload.over) {
      setPhase("opening");
      state.opening ??= reserve().finally(() => { state.opening = null; });
      const [reservation, { Upload }] = await Promise.all([state.opening, import("./engine.js")]);
      if (!state.upload || state.upload.over) Object.assign(state, { upload: new Upload(reservation, changed), since: now() });
    }
    const twice = /** @type {Upload} */ (state.upload).add(chosen);
    announce(N("%d file added", "%d files added", chosen.length - twice.length));
    setPhase("ready");
  } catch (error) {
    if (!(error instanceof Failure)) console.error(error);
    state.left.push(...chosen);
    setProblem(error);
    setPhase("ready");
  }
}

/** @param {Context} context */
async function reopenAll({ state }) {
  const upload = /** @type {Upload} */ (state.upload);
  for (const item of upload.items.filter((i) => i.state === "missing")) {
    const file = await reopen(item.handle, true);
    if (file) upload.give(item, file);
  }
}

/** @param {Context} context */
async function discard({ state, changed, setPhase, setProblem, setReceipt }) {
  const { upload } = state, ended = upload ?? state.found;
  Object.assign(state, { upload: null, left: [], found: undefined });
  for (const item of upload?.items ?? []) item.request?.abort();
  if (ended?.uid) call("DELETE", `${transfer}/reservations/${ended.uid}`, { token: ended.token }).catch(() => {});
  removeReceipt(state.key);
  removeClaim(state.key);
  await removeRecord(state.key);
  setPhase("ready");
  setReceipt(null);
  setProblem(null);
  changed();
}

/** @param {Context} context @param {Record<string, any>} metadata @returns {Promise<any>} the receipt */
async function deliver({ state, find, setReceipt }, metadata) {
  const upload = /** @type {Upload} */ (state.upload);
  const answer = await upload.deliver(metadata);
  const done = answer.createdAt ? answer : await find?.(answer.uid).catch(() => {}) ?? {
    uid: answer.uid, objects: upload.items.filter((i) => i.state === "done").map(({ name, size }) => ({ name, contentLength: size })),
    subject: metadata.subject, message: metadata.message, createdAt: new Date(now()).toISOString(), recipients: metadata.recipients ?? [],
  };
  const kept = { ...done, sender: done.sender ?? { name: metadata.anonSender, email: metadata.anonEmail },
    reservation: { uid: upload.uid, token: upload.token } };
  state.upload = null;
  if (isOwner(state) && state.keeps) writeReceipt(state.key, kept);
  removeClaim(state.key);
  if (state.keep) await removeRecord(state.key);
  setReceipt(kept);
  document.getElementById("main")?.focus();
  scrollTo(0, 0);
  return kept;
}

/** Returns the record from which a later visit resumes. @param {Upload} upload @param {State} state */
function record(upload, { form, since }) {
  const items = upload.items.filter((item) => item.state !== "failed")
    .map(({ clientId, name, size, modified, handle }) => ({ clientId, name, size, modified, handle }));
  return { uid: upload.uid, token: upload.token, since, form, items, count: items.length,
    limits: { maxFiles: upload.limits.files, maxFileSizeMb: upload.limits.bytes / 1e6 } };
}

/**
 * Returns a function that calls `work` at most once per interval, and once after the last call.
 * @param {() => void} work @param {number} ms
 */
function throttle(work, ms) {
  let timer = 0, last = 0;
  return () => {
    if (timer) return;
    timer = setTimeout(() => { timer = 0; last = Date.now(); work(); }, Math.max(0, last + ms - Date.now()));
  };
}
