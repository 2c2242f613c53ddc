// /admin/keys: keys that sign tokens and receipts: replacing and revoking them.

import { Ask, Problem, Waiting, announce, html, useAction, useLoaded, useState } from "../ui.js";
import { F, T, when } from "../i18n.js";
import { Table } from "../lists.js";
import { ask, showConsole, useChange } from "./console.js";
import { Change } from "./reasons.js";

/** Names of the states of keys. @type {() => Record<string, string>} */
const states = () => ({
  signing: T("signs"), pending: T("signs later"), published: T("only verifies"), expired: T("ended"), ended: T("ended"),
    revoked: T("revoked"), replaced: T("signs beside its successor"),
});

showConsole("keys", () => {
  const { value, error, reload } = useLoaded(async () => (await ask("GET", "/keys")).body);
  const { change, dialog } = useChange();
  const [asked, setAsked] = useState(/** @type {{question: string, yes: string, run: () => void} | null} */ (null));
  const act = useAction(async (/** @type {string} */ method, /** @type {string} */ path) => {
    await change(method, path);
    announce(T("Done"));
    reload();
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const question = (/** @type {string} */ text, /** @type {string} */ yes, /** @type {string[]} */
    ...call) => setAsked({ question: text, yes, run: () => act.run(...call) });
  const revoke = (/** @type {string} */ kid) => question(
    T("Revoke this key? Every token that it signed ends at once, on all servers: people have to sign in again."), T("Revoke"), "DELETE",
      `/keys/${encodeURIComponent(kid)}`);
  return html`<${Problem} error=${act.error} />
    <section class="card stack"><h2>${T("Keys that sign tokens")}</h2>
      <${Table} caption=${T("Keys that sign tokens")} head=${[T("Key"), T("State"), T("Signs from"), T("Signs until"), T("Action")]}>
        ${value.signing.map((k) => html`<tr key=${k.kid}><th scope="row"><code>${k.kid}</code><span class="hint block">
          ${k.purpose}</span></th>
          <td>${states()[k.state]}</td><td>${when(k.signsFrom)}</td><td>${when(k.signsUntil)}</td>
          <td>${k.state !== "revoked" && html`<${Change} class="small" kind="danger" busy=${act.busy} onClick=${() => revoke(k.kid)}>
            ${T("Revoke")}<//>`}</td></tr>`)}
      <//>
      <div><${Change} icon="retry" busy=${act.busy} onClick=${() => act.run("POST", "/keys/rotate")}>${T("Publish a new key")}<//></div>
    </section>
    <section class="card stack"><h2>${T("Keys that sign receipts")}</h2>
      <${Table} caption=${T("Keys that sign receipts")} head=${[T("Key"), T("State"), T("Created"), T("Signs until")]}>
        ${value.log.map((k) => html`<tr key=${k.verifier}><th scope="row"><code class="break">${k.verifier}</code></th>
          <td>${states()[k.state]}</td><td>${when(k.created)}</td><td>${k.signsUntil ? when(k.signsUntil) : "–"}</td></tr>`)}
      <//>
      <div class="row">
        <${Change} icon="retry" busy=${act.busy} onClick=${() =>
          question(T("Replace the key of the receipts? The old one signs beside the new one for 30 days. Tell witnesses the new key."),
            T("Replace"), "POST", "/keys/log/rotate")}>${T("Replace")}<//>
        <${Change} kind="danger" busy=${act.busy} onClick=${() =>
          question(T("Revoke the key of the receipts? It ends at once. Do this only when others may know it."), T("Revoke"), "POST",
            "/keys/log/revoke")}>${T("Revoke")}<//>
      </div>
    </section>
    ${asked && html`<${Ask} question=${asked.question} yes=${asked.yes} onYes=${asked.run} onClose=${() => setAsked(null)} />`}${dialog}`;
});
