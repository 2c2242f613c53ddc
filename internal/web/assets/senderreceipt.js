// /r/{key}: the receipt of somebody who has sent files to a mailbox. The link of the mail that confirms them proves the sender's address
// once, by a button: programs that follow links press none. Then it shows the receipt, and what happened since. The link of the mail
// about a deleted account opens the certificate of its erasure.

import { Button, Icon, Notice, Problem, StepHeading, Unloaded, Waiting, html, show, useAction, useEffect, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, T, exactly } from "./i18n.js";
import { call, transfer } from "./api.js";
import { Receipt } from "./receipt.js";
import { useReceipt } from "./signedreceipt.js";
import { readKeys, verify } from "./proof.js";
import "./shell.js";

const key = decodeURIComponent(location.pathname.split("/")[2]);
const at = /** @type {const} */ (`${transfer}/public/receipts/${encodeURIComponent(key)}`);

/** @typedef {TransferAPI["SenderReceipt"]} State */
/** @typedef {import("./proof.js").Statement} Statement */

call("GET", at).then(({ body }) => show(() => html`<${Page} first=${body} />`),
  (error) => show(() => (error.status === 404 ? html`<div class="sheet"><${Empty} drawing="gone"
    head=${html`<h1>${T("This receipt is no longer here")}</h1>`}
    sentence=${T("It was erased, or the link is incomplete. A copy that you have saved can still be checked.")}>
    <a class="button" href="/verify">${T("Check a receipt")}</a><//></div>`
    : html`<${Unloaded} title=${T("Something went wrong.")} error=${error} />`)));

/** @param {{first: State}} props */
function Page({ first }) {
  const [state, setState] = useState(first);
  const prove = useAction(async () => { setState((await call("POST", at)).body); });
  if (state.account) return html`<${Erased} state=${state} />`;
  if (state.checked) return html`<${Proved} state=${state} />`;
  return html`<div class="sheet center">
    <span class="halo"><${Icon} name="mail" /></span>
    <h1>${F("Did you send files to %s?", state.mailbox)}</h1>
    <p>${F("They arrived on %s, with your address as the sender’s.", exactly(state.createdAt))}
      ${" "}${T("If you confirm it, the recipient sees that the address is yours, and you get your receipt.")}</p>
    <${Problem} error=${prove.error} />
    <div class="row center"><${Button} kind="primary" busy=${prove.busy} onClick=${() => prove.run()}>
      ${T("Yes, I sent this: open my receipt")}<//></div>
    <p class="hint">${T("If it wasn’t you, close this page. Nothing is confirmed then.")}</p>
  </div>`;
}

/** The certificate of erasure of an account, once nothing of it is left. @param {{state: State}} props */
function Erased({ state }) {
  const { commands, said } = useReceipt((accept) => call("GET", `${at}/receipt?of=erased`, { accept }));
  const done = state.since?.length;
  return html`<div class="sheet center">
    <span class="halo"><${Icon} name=${done ? "check" : "clock"} /></span>
    <h1>${done ? T("Your account is erased") : T("Your account is being erased")}</h1>
    <p>${F("It was deleted on %s.", exactly(state.createdAt))} ${done
      ? T("The signed certificate proves that nothing of it is left. Save it: anybody can check it.")
      : T("Something of it is still there. Come back later: the certificate is here as soon as everything is gone.")}</p>
    ${done && html`<div class="row center">${commands.map((c, i) => html`<${Button} kind=${i ? "plain" : "primary"} icon=${c.icon}
      busy=${c.busy} onClick=${c.run}>${c.label}<//>`)}</div>${said}
      <p class="links"><a href="/verify">${T("Check a receipt")}</a></p>`}
  </div>`;
}

const get = (/** @type {string} */ accept) => call("GET", `${at}/receipt`, { accept });
const tries = 20; // one a second

/** Reads the signed receipt and verifies it on this device. @returns {Promise<Statement | null>} null: it is not signed yet */
async function read() {
  const keys = await fetch("/log/keys", { credentials: "omit" }).then((r) => r.text()).then(readKeys);
  for (let n = 0; n < tries; n++) {
    const { status, response } = await get("application/vnd.consign.receipt");
    if (status === 200) return verify(new Uint8Array(await response.arrayBuffer()), keys);
    await new Promise((done) => { setTimeout(done, 1000); });
  }
  return null;
}

/** A statement as the receipt of an upload. @param {Statement} statement */
function receiptOf({ lines, objects }) {
  const one = (/** @type {string} */ name) => lines.find((l) => l.name === name)?.value ?? "";
  return { uid: one("transfer"), createdAt: one("confirmed"), expiresAt: one("expires"), subject: one("subject"),
    sender: { name: one("sender-name"), email: one("sender-email") },
    objects: objects.map((o) => ({ name: o.name, contentLength: o.size, sha256: o.sha256 })) };
}

/** @param {{state: State}} props */
function Proved({ state }) {
  const [statement, setStatement] = useState(/** @type {Statement | null | undefined} */ (undefined));
  const load = useAction(async () => { setStatement(await read()); });
  useEffect(() => { load.run(); }, []);
  if (load.error || statement === null) {
    return html`<div class="sheet"><${StepHeading}>${T("Delivered")}<//>
      ${statement === null && html`<${Notice} kind="info">${T("The receipt is not signed yet. Please try again in a moment.")}<//>`}
      ${load.error && html`<${Notice} kind="bad">${T("The receipt could not be read or checked on this device.")}<//>`}
      <div class="row center"><${Button} busy=${load.busy} onClick=${() => load.run()}>${T("Try again")}<//></div></div>`;
  }
  if (!statement) return html`<div class="sheet"><${Waiting} /></div>`;
  return html`<${Receipt} receipt=${receiptOf(statement)} to=${state.mailbox} get=${get} after=${html`<${Since} state=${state} />`}>
    <p class="center"><span class="badge good">${T("Signature checked on this device")}</span></p><//>`;
}

/** @returns {Record<string, [string, string]>} icon and sentence of what happened */
const happened = () => ({
  opened: ["check", T("Opened by the recipient")],
  downloaded: ["download", T("Downloaded completely")],
  expired: ["clock", T("Expired")],
  revoked: ["trash", T("Deleted by the recipient")],
  erased: ["trash", T("The server has deleted the files")],
});

/** What happened since the delivery. @param {{state: State}} props */
function Since({ state }) {
  const told = happened(), all = [...(state.since ?? []).map(({ kind, at: when }) => ({ told: told[kind], when }))];
  if (state.checkedAt && state.checkedAt !== state.createdAt) {
    all.push({ told: ["mail", T("You confirmed your address")], when: state.checkedAt });
  }
  all.sort((a, b) => (a.when < b.when ? -1 : 1));
  return html`<section class="since"><h2>${T("Since then")}</h2>
    ${all.length ? html`<ol class="list timeline">${all.map(({ told: [icon, sentence], when }) => html`<li><${Icon} name=${icon} />
      <div><div>${sentence}</div><div class="dim">${exactly(when)}</div></div></li>`)}</ol>`
    : html`<p class="dim">${T("Nothing yet: the recipient has not opened the files.")}</p>`}</section>`;
}
