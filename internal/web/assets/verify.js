// /verify: checks a receipt and files in the browser. The page needs the server only to load: nothing is sent, and it works offline
// afterwards.

import { Icon, Notice, StepHeading, html, show, useEffect, useRef, useState } from "./ui.js";
import { T, bytes, exactly } from "./i18n.js";
import { Refused, hashFile, readKeys, verify } from "./proof.js";
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

/** Checks the receipt among files. @param {File[]} files */
async function checkReceipt(files) {
  const receipt = files.find((f) => f.name.endsWith(".consign") && f.size < largest);
  if (!receipt) return { problem: T("There is no receipt among these files. Its name ends with .consign.") };
  try {
    return { receipt: await verify(new Uint8Array(await receipt.arrayBuffer()), await keys) };
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

/** What a receipt says, and which of its files are there. @param {{receipt: import("./proof.js").Statement, sums: Hashed[]}} props */
function Proved({ receipt, sums }) {
  const have = (o) => sums.some((s) => s.sum === o.sha256 && s.size === o.size);
  const foreign = sums.filter((s) => !receipt.objects.some((o) => o.sha256 === s.sum && o.size === s.size));
  const facts = factsOf(receipt), signed = receipt.lines.filter((l) => l.name !== "salt")
    .map((l) => html`<dt>${l.name}</dt><dd class="break">${l.value}</dd>`);
  return html`<dl class="facts">${facts.length > 0 ? facts.map(([name, value]) => html`<dt>${name}</dt><dd class="break">${value}</dd>`)
    : signed}</dl>
    ${(receipt.objects.length > 0 || foreign.length > 0) && html`<table class="delivered proven">
      <thead><tr><th scope="col">${T("File")}</th><th scope="col" class="right">${T("Size")}</th></tr></thead>
      <tbody>
        ${foreign.map((s) => html`<tr data-state="foreign"><td><span class="name">${s.name}</span> <span class="badge warn">
          ${T("not in this receipt")}</span></td><td class="right">${bytes(s.size)}</td></tr>`)}
        ${receipt.objects.map((o) => html`<tr data-state=${have(o) ? "ok" : "open"}><td><span class="name">${o.name}</span>
          <span class="badge">${have(o) ? T("unchanged") : T("not checked: choose this file as well")}</span>
          <code class="hash" title="SHA-256">SHA-256 ${o.sha256}</code></td><td class="right">${bytes(o.size)}</td></tr>`)}
      </tbody></table>`}
    <p>${T("This server recorded this delivery exactly as it is written here, and nothing was changed since.")}</p>
    <p class="dim">${T("It doesn’t prove who was at the keyboard, or that what the files say is true. Times are this server’s.")}</p>
    <p class="dim">${T("This signature shows integrity and order by the server’s own key. Legal weight comes from a qualified time stamp.")}
      ${receipt.stamped && html` ${T("This receipt carries a time stamp, which isn’t checked here. “consign verify --tsa-cert” checks it.")}`}</p>
    <details class="more"><summary>${T("Everything that was signed")}</summary>
      <dl class="facts">${signed}</dl><p class="dim"><code>${receipt.log} #${receipt.index} / ${receipt.size}</code></p></details>`;
}

show(() => {
  const files = useRef(/** @type {File[]} */ ([]));
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState(
    /** @type {{receipt?: import("./proof.js").Statement, refused?: boolean, problem?: string} | null} */ (null));
  const [sums, setSums] = useState(/** @type {Hashed[]} */ ([]));
  useEffect(() => { keys.catch(() => setResult({ problem: T("This browser cannot check signatures. Use a newer one.") })); }, []);
  /** @param {import("./files.js").Chosen[]} chosen */
  const add = async (chosen) => {
    setBusy(true);
    const added = chosen.map((c) => c.file), receipts = added.some((f) => f.name.endsWith(".consign"));
    files.current = [...(receipts ? files.current.filter((f) => !f.name.endsWith(".consign")) : files.current), ...added];
    setResult(await checkReceipt(files.current));
    for (const file of added.filter((f) => !f.name.endsWith(".consign"))) {
      const sum = await sumOf(file);
      setSums((s) => [...s, { name: file.name, size: file.size, sum }]);
    }
    setBusy(false);
  };
  return html`<div class="narrow card" data-busy=${busy}>
    <h1>${T("Check a receipt")}</h1>
    <p>${T("Check a receipt and the files it lists. Nothing leaves your device.")}</p>
    <${Chooser} onFiles=${add} busy=${busy} small=${result !== null} />
    ${result?.problem && html`<${Notice} kind="bad">${result.problem}<//>`}
    ${result?.refused && html`<div class="verdict" data-verdict="refused"><${StepHeading}>${T("The receipt was refused")}<//>
      <${Notice} kind="bad">${T("It was changed, is damaged, or was not signed by this server.")}<//></div>`}
    ${result?.receipt && html`<div class="verdict" data-verdict="genuine"><div class="center"><div class="seal"><${Icon}
      name="check" /></div><${StepHeading}>${T("The receipt is genuine")}<//></div>
      <${Proved} receipt=${result.receipt} sums=${sums} /></div>`}
  </div>`;
});
