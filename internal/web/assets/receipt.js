// The receipt of an upload: files, recipients, time and SHA-256 sums. It can be printed.

import { Button, Copy, Icon, Lines, html, useState } from "./ui.js";
import { F, N, T, bytes, exactly } from "./i18n.js";
import { call, transfer } from "./api.js";
import { signedIn } from "./session.js";
import { useReceipt } from "./signedreceipt.js";

/**
 * Shows a receipt. "Done" removes it from this tab and opens the next page.
 * @param {{receipt: any, to: string, title?: string, answers?: [string, string][], onMore?: () => unknown, onDone?: () => unknown,
 *   get?: (accept: string) => Promise<{status: number, response: Response}>, after?: any, children?: any}} props `receipt`: the transfer;
 *   `to`: names of the recipients; `title`: other than
 *   "Delivered", then "Done" is not the primary button; `answers`: questions and answers; `onMore` removes the receipt and starts over;
 *   `onDone` does what follows "Done" instead. A page of its own has no `onMore`: `get` fetches its signed receipt, `after` follows the
 *   files
 */
export function Receipt({ receipt, to, title = "", answers = [], onMore = undefined, onDone = undefined, get = undefined, after = undefined,
  children }) {
  const [proof, setProof] = useState(false);
  const objects = receipt.objects ?? [];
  const total = objects.reduce((sum, o) => sum + o.contentLength, 0);
  const hashed = objects.some((o) => o.sha256), { reservation } = receipt;
  const { commands: [pdf, signed], said } = useReceipt(get ?? ((accept) =>
    call("GET", `${transfer}/reservations/${reservation.uid}/receipt`, { token: reservation.token, accept })));
  const signable = Boolean(get || reservation);
  const printing = html`<${Button} kind="quiet" icon="print" onClick=${() => print()}>${T("Print or save as PDF")}<//>`;
  const save = (/** @type {any} */ c) => html`<${Button} icon=${c.icon} busy=${c.busy} onClick=${c.run}>${c.label}<//>`;
  const days = Math.round((Date.parse(receipt.expiresAt) - Date.parse(receipt.createdAt)) / 864e5);
  const done = onDone || (async () => {
    await onMore?.();
    location.assign(signedIn() ? "/inbox" : "/");
  });
  return html`<article class="sheet receipt">
    <div class="seal"><${Icon} name="check" /></div>
    <h1>${title || T("Delivered")}</h1>
    <p class="lead">${N("%d file, %s", "%d files, %s", objects.length, bytes(total))}${days > 0
      && html` · ${N("available for %d day", "available for %d days", days)}`}
      ${to && html`<span class="block break">${F("to %s", to)}</span>`}</p>
    ${receipt.malwareStatus === "scanning" && html`<p class="hint center">
      ${T("The files are checked for malware before they can be downloaded.")}</p>`}
    ${children}
    <dl class="facts">
      <dt>${T("Time")}</dt><dd>${exactly(receipt.createdAt)}</dd>
      ${receipt.sender?.email && html`<dt>${T("From")}</dt><dd>
        ${[receipt.sender.name, receipt.sender.email].filter(Boolean).join(", ")}</dd>`}
      ${answers.map(([question, answer]) => html`<dt>${question}</dt><dd>${answer}</dd>`)}
      ${receipt.subject && html`<dt>${T("Subject")}</dt><dd>${receipt.subject}</dd>`}
      ${receipt.message && html`<dt>${T("Message")}</dt><dd><${Lines} text=${receipt.message} /></dd>`}
      ${receipt.expiresAt && html`<dt>${T("Available until")}</dt><dd>${exactly(receipt.expiresAt)}</dd>`}
      ${receipt.uid && html`<dt class=${proof ? "" : "printed"}>${T("Number")}</dt><dd class=${proof ? "" : "printed"}><code>
        ${receipt.uid}</code></dd>`}
    </dl>
    <table class=${`delivered${proof ? " proven" : ""}`}>
      <caption>${T("What the server has received, byte for byte")}</caption>
      <thead><tr><th scope="col">${T("File")}</th><th scope="col" class="right">${T("Size")}</th></tr></thead>
      <tbody>${objects.map((o) => html`<tr>
        <td><span class="name">${o.name}</span>${o.sha256 && html`<code class="hash" title="SHA-256">SHA-256 ${o.sha256}</code>`}</td>
        <td class="right">${bytes(o.contentLength)}</td>
      </tr>`)}</tbody>
    </table>
    ${!hashed && objects.length > 0 && html`<p class="hint">
      ${T("The SHA-256 sums are in the confirmation we have sent you by email.")}</p>`}
    <div class="row center screen">
      ${signable ? save(pdf) : printing}
      ${(hashed || signable) && html`<${Button} kind="quiet" icon="shield" aria-expanded=${String(proof)}
        onClick=${() => setProof(!proof)}>${T("Proof")}<//>`}
    </div>
    ${proof && html`<div class="row center screen proof">
      ${signable && save(signed)}
      ${hashed && html`<${Copy} label=${T("Copy the list")} text=${objects.map((o) => `${o.sha256}  ${o.name}`).join("\n")} />`}
      ${signable && printing}
    </div>`}
    ${said}
    ${after}
    ${onMore ? html`<div class="row center screen">
      <${Button} onClick=${onMore}>${T("Send more files")}<//>
      <${Button} kind=${title ? "plain" : "primary"} onClick=${done}>${T("Done")}<//>
    </div>` : html`<p class="links center screen"><a href="/verify">${T("Check a receipt")}</a></p>`}
  </article>`;
}
