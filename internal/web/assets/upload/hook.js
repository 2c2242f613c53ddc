// The upload of a page, and what makes it last: a record of the reservation and its files from which another visit goes on.

import { announce, useEffect, useRef, useState } from "../ui.js";
import { N, T } from "../i18n.js";
import { Failure, call, now, transfer } from "../api.js";
import { Upload } from "./engine.js";
import { alone, removeRecord, keepRecord, recall } from "../store.js";
import { reopen } from "../files.js";

const lifetime = 48 * 3600 * 1000; // milliseconds that the server keeps a reservation

/**
 * The upload of this page.
 * @param {string} key names it among the records of this browser
 * @param {() => Promise<{uid: string, token: string, maxFiles: number, maxFileSizeMb: number}>} reserve makes the reservation,
 *   when the first file is chosen
 * @param {(uid: string) => Promise<any>} [find] the transfer, for whoever may see it afterwards
 */
export function useUpload(key, reserve, find) {
  const state = useRef(/** @type {any} */ ({ upload: null, form: {}, keep: true, since: 0, left: [] })).current;
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
      if (found?.receipt && now() - found.since < lifetime) setReceipt(found.receipt);
      else if (found?.uid && now() - found.since < lifetime) await revive(found);
      setPhase((before) => (before === "looking" ? "ready" : before));
    })();
    const leaving = (event) => { if (state.upload?.totals().files && !state.upload.over) event.preventDefault(); };
    addEventListener("beforeunload", leaving);
    return () => removeEventListener("beforeunload", leaving);
  }, []);

  /** Takes up what an earlier visit began, as far as the server still knows it. */
  async function revive(found) {
    const upload = new Upload({ ...found, ...found.limits }, changed);
    const wait = (error) => { setProblem(error); return true; };
    const known = await upload.patiently(() => call("GET", `${transfer}/reservations/${found.uid}`, { token: found.token }), wait).catch((error) => error);
    if (known instanceof Error) {
      await removeRecord(key);
      setProblem(T("An earlier upload from this browser has expired. Please begin again."));
      return;
    }
    setProblem(null);
    const held = new Map((known.body.objects ?? []).map((o) => [o.clientId, o]));
    upload.next = found.items.length + 1;
    upload.items = await Promise.all(found.items.map(async (item) => {
      const there = held.get(item.clientId);
      const file = await reopen(item.handle, false);
      const stand = { attached: there !== undefined, held: there?.contentLength ?? 0, state: there?.contentLength === item.size ? "done" : "missing" };
      return { ...item, ...stand, file, flying: 0, speed: 0, problem: "" };
    }));
    Object.assign(state, { upload, form: found.form ?? {}, since: found.since });
    for (const item of [...upload.items]) if (item.state === "missing" && item.file) upload.give(item, item.file);
    setPhase(upload.items.some((item) => item.state === "missing") ? "found" : "ready");
  }

  return {
    phase, problem, receipt, upload: state.upload, form: state.form, lasts: state.keep,
    left: state.left.length, // files chosen that no upload could be begun for
    /** Keeps what was written into the form. */
    write(values) { Object.assign(state.form, values); save(); },
    /** Takes in what was chosen, and what is left of before. @param {import("../files.js").Chosen[]} more */
    async add(more) {
      const chosen = [...state.left.splice(0), ...more];
      if (!chosen.length) return;
      setProblem(null);
      try {
        if (!state.upload || state.upload.over) {
          setPhase("opening");
          state.opening ??= reserve().finally(() => { state.opening = null; });
          const reservation = await state.opening;
          if (!state.upload || state.upload.over) Object.assign(state, { upload: new Upload(reservation, changed), since: now() });
        }
        const twice = state.upload.add(chosen);
        announce(N("%d file added", "%d files added", chosen.length - twice.length));
        setPhase("ready");
      } catch (error) {
        if (!(error instanceof Failure)) console.error(error);
        state.left.push(...chosen);
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
      Object.assign(state, { upload: null, left: [] });
      for (const item of upload?.items ?? []) item.request?.abort();
      if (upload) call("DELETE", `${transfer}/reservations/${upload.uid}`, { token: upload.token }).catch(() => {});
      await removeRecord(key);
      setPhase("ready");
      setReceipt(null);
      setProblem(null);
    },
    /** Hands over, and keeps the receipt for when the page is opened again. @param {object} metadata */
    async deliver(metadata) {
      const { upload } = state;
      const answer = await upload.deliver(metadata);
      const done = answer.createdAt ? answer : await find?.(answer.uid).catch(() => {}) ?? {
        uid: answer.uid, objects: upload.items.filter((i) => i.state === "done").map(({ name, size }) => ({ name, contentLength: size })),
        subject: metadata.subject, message: metadata.message, createdAt: new Date(now()).toISOString(), recipients: metadata.recipients ?? [],
      };
      const kept = { ...done, sender: done.sender ?? { name: metadata.anonSender, email: metadata.anonEmail } };
      state.upload = null;
      if (state.keep) await keepRecord(key, { since: now(), receipt: kept });
      setReceipt(kept);
      document.getElementById("main")?.focus();
      scrollTo(0, 0);
      return kept;
    },
  };
}

/** What another visit needs to go on. */
const record = ({ upload, form, since }) => ({
  uid: upload.uid, token: upload.token, since, form,
  limits: { maxFiles: upload.limits.files, maxFileSizeMb: upload.limits.bytes / 1e6 },
  items: upload.items.filter((item) => item.state !== "failed")
    .map(({ clientId, name, size, modified, handle }) => ({ clientId, name, size, modified, handle })),
});

/** Calls work at most once in so many milliseconds, and once more at the end. */
function throttle(work, ms) {
  let timer = 0, last = 0;
  return () => {
    if (timer) return;
    timer = setTimeout(() => { timer = 0; last = Date.now(); work(); }, Math.max(0, last + ms - Date.now()));
  };
}
