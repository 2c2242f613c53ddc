// /demo/webhooks, only in a demo: the last messages of webhooks to this page, as their receiver sees them.

import { Button, Problem, Waiting, html, showOwn, useLoaded } from "./ui.js";
import { T, when } from "./i18n.js";
import { Empty } from "./drawings.js";
import { own } from "./api.js";
import "./shell.js";

const at = /** @type {string} */ ("/demo/webhooks/messages");

/**
 * @typedef {{name: string, value: string}} Header
 * @typedef {{id: string, timestamp: string, headers: Header[], body: string, verified: boolean}} Message
 */

showOwn(() => {
  const { value, error, reload } = useLoaded(async () =>
    /** @type {{messages: Message[]}} */ ((await own("GET", at)).body).messages);
  return html`<h1>${T("Webhook inspector")}</h1>
    <p class="dim">${T("The last messages that webhooks sent to this page.")}</p>
    ${value === undefined && html`<${Waiting} error=${error} />`}
    ${value?.length === 0 && html`<${Empty} drawing="search" sentence=${T("Nothing was sent yet.")} />`}
    ${value && value.length > 0 && html`<${Problem} error=${error} /><ul class="list stack">
      ${value.map((m) => html`<${Received} key=${`${m.id} ${m.timestamp}`} message=${m} />`)}</ul>`}
    <div><${Button} onClick=${reload}>${T("Refresh")}<//></div>`;
});

/** @param {{message: Message}} props */
function Received({ message }) {
  return html`<li class="card stack"><h2>${kindOf(message.body)}</h2>
    <p><span class=${`badge ${message.verified ? "good" : "warn"}`}>
      ${message.verified ? T("the signature is valid") : T("not signed with the secret of the demo")}</span>
      <span class="hint block">${when(message.timestamp)}</span></p>
    <dl class="facts">${message.headers.map((h) => html`<div key=${h.name}><dt>${h.name}</dt>
      <dd><code class="break">${h.value}</code></dd></div>`)}</dl>
    <pre class="lines break"><code>${pretty(message.body)}</code></pre></li>`;
}

/** The type of a message. @param {string} body */
function kindOf(body) {
  try {
    return String(JSON.parse(body).type);
  } catch {
    return T("Message");
  }
}

/** @param {string} body as it was received */
function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
