// /verify: checks a receipt and files in the browser. The page needs the server only to load: nothing is sent, and it works offline
// afterwards.

import { Icon, Notice, StepHeading, Tool, html, show, useEffect, useState } from "./ui.js";
import { F, N, T, bytes, count, exactly } from "./i18n.js";
import { Refused, attached, hashFile, readKeys, verify } from "./proof.js";
import { Chooser } from "./upload/chooser.js";
import { startWorker } from "./workers.js";
import "./shell.js";

const small = 64 << 20; // bytes of a file that WebCrypto hashes at once
const largest = 64 << 20; // bytes of a receipt

/** The keys of this server's log, read when the page loads. @type {Promise<{name: string, id: string, key: CryptoKey}[]>} */
const keys = fetch("/log/keys", { credentials: "omit" }).then((r) => (r.ok ? r.text() : Promise.reject(new Error(r.statusText))))
  .then(readKeys);
keys.catch(() => {}); // shown when a receipt is checked

/** @typedef {{name: string, size: number, sum: string}} Hashed */

/** Hashes large files beside the page. Started with the page, which works offline afterwards. */
const hasher = startWorker("hashing.js");
let broken = false; // the browser has no workers of modules
hasher.onerror = () => { broken = true; };

/** @param {File} file @returns {Promise<string>} */
function hashBeside(file) {
  if (broken) return hashFile(file);
  return new Promise((resolve, reject) => {
    hasher.onmessage = ({ data }) => (data.failed ? reject(new Error("unreadable")) : resolve(data.sum));
    hasher.onerror = () => { broken = true; resolve(hashFile(file)); };
    hasher.postMessage({ file });
  });
}

/** Hashes a file. One after the other. @param {File} file @returns {Promise<string>} */
async function sumOf(file) {
  if (file.size > small) return hashBeside(file);
  return [...new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()))].map((b) => b.toString(16).padStart(2, "0"))
    .join("");
}

/** The bytes of a receipt: those of receipt.consign, or what is attached to its PDF; null for other files. @param {File} file */
async function receiptIn(file) {
  if (file.size >= largest || !/\.(consign|pdf)$/i.test(file.name)) return null;
  const content = new Uint8Array(await file.arrayBuffer());
  return file.name.endsWith(".consign") ? content : attached(content);
}

/** @param {Uint8Array} content */
async function check(content) {
  try {
    return { receipt: await verify(content, await keys) };
  } catch (error) {
    if (error instanceof Refused) return { refused: true };
    return { problem: T("This browser cannot check signatures. Use a newer one.") };
  }
}

/**
 * What people look for in a receipt of a delivery. Receipts of later events have none of it.
 * @param {import("./proof.js").Statement} receipt @returns {[string, string][]}
 */
function factsOf({ lines }) {
  const all = (/** @type {string} */ name) => lines.filter((l) => l.name === name).map((l) => l.value);
  const from = [...all("sender-name"), ...all("sender-email")].join(", "),
    to = all("recipient").map((r) => r.replace(/^(to|cc) /, "")).join(", ");
  /** @type {[string, string][]} */
  const facts = [[T("Delivered"), exactly(all("confirmed")[0])], [T("From"), from], [T("To"), to], [T("Subject"), all("subject").join()],
    [T("Available until"), exactly(all("expires")[0])]];
  return facts.filter(([, value]) => value);
}

/** Why something was erased. @returns {Record<string, string>} */
const reasons = () => ({ expiry: T("It had expired."), retention: T("Its organization keeps nothing for longer."),
  deletion: T("It was deleted."), account: T("The account of the last person who had it was deleted.") });

/** What the certificate of erasure of an account says. @param {{said: (name: string) => string}} props */
function Account({ said }) {
  const n = (/** @type {string} */ name) => count(Number(said(name)));
  return html`<p>${F("This account was erased by %s, with its profile, addresses, ways to sign in and mailbox.", exactly(said("at")))}
      ${" "}${said("reason") === "operator" ? T("An operator had deleted it.") : T("Its owner had deleted it.")}
      ${" "}${F("Received transfers: %1$s. Stored files that nobody else had: %2$s. Requests: %3$s.", n("received"), n("files"),
        n("requests"))}
      ${" "}${F("Receipts that named it: %1$s. Sent transfers that lost its address: %2$s.", n("receipts"), n("sent"))}</p>
    <p class="dim">
      ${T("This says nothing about what other people have of it, about backups, and about records of mails and changes.")}</p>`;
}

/** What a certificate of erasure says, in sentences. @param {import("./proof.js").Statement} receipt */
function Erasure({ lines }) {
  const said = (/** @type {string} */ name) => lines.find((l) => l.name === name)?.value ?? "";
  if (said("person")) return html`<${Account} said=${said} />`;
  return html`<p>${F("All stored files of this transfer were erased by %s.", exactly(said("at")))} ${reasons()[said("reason")]}</p>
    <p class="dim">${T("This says nothing about copies elsewhere: in backups, or with people who had downloaded the files.")}</p>`;
}

/** The name of a file without its folders. @param {string} name */
const base = (name) => name.split("/").at(-1);

/**
 * Compares files with a receipt: `rows` are the objects with their states, `others` the files that are none of them.
 * @param {import("./proof.js").Statement} receipt @param {Hashed[]} sums
 */
function compared({ objects }, sums) {
  const is = (/** @type {Hashed} */ s, /** @type {{size: number, sha256: string}} */ o) => s.sum === o.sha256 && s.size === o.size;
  const none = sums.filter((s) => !objects.some((o) => is(s, o)));
  const rows = objects.map((o) => {
    const file = sums.find((s) => is(s, o)), other = none.find((s) => base(s.name) === base(o.name));
    return { ...o, file: file ?? other, state: file ? "ok" : other ? "changed" : "open" };
  });
  return { rows, others: none.filter((s) => !rows.some((r) => r.file === s)) };
}

/** What a receipt says, and which of its files are there. @param {any} props `onRemove` takes a file away */
function Proved({ receipt, rows, others, onRemove }) {
  const facts = factsOf(receipt), signed = receipt.lines.filter((l) => l.name !== "salt")
    .map((l) => html`<dt>${l.name}</dt><dd class="break">${l.value}</dd>`);
  const said = { ok: ["good", T("unchanged")], changed: ["bad", T("Changed: not the file that was delivered")],
    open: ["plain", T("not checked: choose this file as well")] };
  const end = (file, size) => html`<td class="right">${bytes(size)}${file && html`
    <${Tool} icon="close" label=${F("Remove %s", file.name)} onClick=${() => onRemove(file)} />`}</td>`;
  const erased = receipt.lines.some((l) => l.name === "event" && l.value === "erased");
  return html`${erased && html`<${Erasure} ...${receipt} />`}
    <dl class="facts">${facts.length > 0 ? facts.map(([name, value]) => html`<dt>${name}</dt><dd class="break">${value}</dd>`)
    : signed}</dl>
    ${(rows.length > 0 || others.length > 0) && html`<table class="delivered proven">
      <thead><tr><th scope="col">${T("File")}</th><th scope="col" class="right">${T("Size")}</th></tr></thead>
      <tbody>
        ${others.map((s) => html`<tr data-state="foreign"><td><span class="name">${s.name}</span> <span class="badge warn">
          ${T("not in this receipt")}</span></td>${end(s, s.size)}</tr>`)}
        ${rows.map((o) => html`<tr data-state=${o.state}><td><span class="name">${o.name}</span>
          <span class=${`badge ${said[o.state][0]}`}>${said[o.state][1]}</span>
          <code class="hash" title="SHA-256">SHA-256 ${o.sha256}</code>
          ${o.state === "changed" && html`<code class="hash">${F("Your file: %s", `SHA-256 ${o.file.sum}`)}</code>`}</td>
          ${end(o.file, o.size)}</tr>`)}
      </tbody></table>`}
    ${!erased && html`<p>${T("This server recorded this delivery exactly as it is written here, and nothing was changed since.")}</p>
      <p class="dim">
        ${T("It doesn’t prove who was at the keyboard, or that what the files say is true. Times are this server’s.")}</p>`}
    <p class="dim">${T("This signature shows integrity and order by the server’s own key. Legal weight comes from a qualified time stamp.")}
      ${receipt.stamped && html` ${T("This receipt carries a time stamp, which isn’t checked here. “consign verify --tsa-cert” checks it.")}`}</p>
    <details class="more"><summary>${T("Everything that was signed")}</summary>
      <dl class="facts">${signed}</dl><p class="dim"><code>${receipt.log} #${receipt.index} / ${receipt.size}</code></p></details>`;
}

/** The seal: amber when a file was changed. */
function Verdict({ receipt, sums, onRemove }) {
  const { rows, others } = compared(receipt, sums), ok = rows.filter((o) => o.state === "ok").length;
  const changed = rows.some((o) => o.state === "changed");
  const title = changed ? N("%2$s of %1$d file is unchanged", "%2$s of %1$d files are unchanged", rows.length, count(ok))
    : T("The receipt is genuine");
  return html`<div class="verdict" data-verdict=${changed ? "changed" : "genuine"}>
    <div class="center"><div class="seal"><${Icon} name=${changed ? "alert" : "check"} /></div>
      <${StepHeading}>${title}<//>
      ${changed && html`<p>${T("The receipt is genuine. A file that you chose is not the one that was delivered.")}</p>`}</div>
    <${Proved} receipt=${receipt} rows=${rows} others=${others} onRemove=${onRemove} /></div>`;
}

show(() => {
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState(
    /** @type {{receipt?: import("./proof.js").Statement, refused?: boolean, problem?: string} | null} */ (null));
  const [sums, setSums] = useState(/** @type {Hashed[]} */ ([]));
  useEffect(() => { keys.catch(() => setResult({ problem: T("This browser cannot check signatures. Use a newer one.") })); }, []);
  /** @param {import("./files.js").Chosen[]} chosen */
  const add = async (chosen) => {
    setBusy(true);
    const given = await Promise.all(chosen.map(async ({ file }) => ({ file, content: await receiptIn(file).catch(() => null) })));
    const found = given.findLast(({ file, content }) => content && file.name.endsWith(".consign")) ?? given.find((g) => g.content);
    if (found?.content) setResult(await check(found.content));
    else setResult((before) => before ?? { problem: T("There is no receipt among these files. Its name ends with .consign.") });
    for (const { file } of given.filter((g) => !g.content)) {
      const sum = await sumOf(file).catch(() => "");
      if (sum) setSums((s) => [...s.filter((o) => o.name !== file.name || o.sum !== sum), { name: file.name, size: file.size, sum }]);
    }
    setBusy(false);
  };
  const remove = (/** @type {Hashed} */ file) => setSums((all) => all.filter((s) => s !== file));
  return html`<div class="sheet" data-busy=${busy}>
    <h1>${T("Check a receipt")}</h1>
    <p>${T("Check a receipt and the files it lists. Nothing leaves your device.")}</p>
    <${Chooser} onFiles=${add} busy=${busy} small=${result !== null} />
    ${result?.problem && html`<${Notice} kind="bad">${result.problem}<//>`}
    ${result?.refused && html`<div class="verdict" data-verdict="refused"><${StepHeading}>${T("The receipt was refused")}<//>
      <${Notice} kind="bad">${T("It was changed, is damaged, or was not signed by this server.")}<//></div>`}
    ${result?.receipt && html`<${Verdict} receipt=${result.receipt} sums=${sums} onRemove=${remove} />`}
  </div>`;
});
