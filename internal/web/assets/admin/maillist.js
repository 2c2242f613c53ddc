// A list of mails, each with its state, the last answer of the mail server, and a button that sends it again.

import { Problem, Waiting, announce, html, useAction } from "../ui.js";
import { N, T, when } from "../i18n.js";
import { Listed, Nothing, Table } from "../lists.js";
import { useChange } from "./console.js";
import { Change } from "./reasons.js";

/** Names of the states of a mail. @type {() => Record<string, string>} */
export const states = () => ({ queued: T("waiting"), sent: T("sent"), failed: T("given up"), cancelled: T("cancelled") });

/** @param {{list: import("../lists.js").List<AdminAPI["MailList"]["mails"][number]>}} props */
export function Mails({ list }) {
  const { change, dialog } = useChange();
  const retry = useAction(async (uid) => {
    await change("POST", `/mails/${uid}/retry`);
    announce(T("It is sent again."));
    list.reload();
  });
  if (!list.items) return html`<${Waiting} error=${list.error} />`;
  const row = (/** @type {AdminAPI["MailList"]["mails"][number]} */ m) => html`<tr key=${m.uid}>
    <th scope="row"><span class="break">${m.to}</span><span class="hint block">${m.template}</span></th>
    <td>${states()[m.state]}<span class="hint block">${N("%d attempt", "%d attempts", m.attempts)}</span></td>
    <td>${when(m.created)}${m.nextAttempt && html`<span class="hint block">${T("next:")} ${when(m.nextAttempt)}</span>`}</td>
    <td class="said"><code>${m.lastAnswer || "–"}</code></td>
    <td>${["queued", "failed"].includes(m.state) && html`<${Change} helpDesk class="small" icon="retry" busy=${retry.busy}
      onClick=${() => retry.run(m.uid)}>${T("Send again")}<//>`}</td>
  </tr>`;
  return html`<${Problem} error=${list.error ?? retry.error} />
    ${list.items.length === 0 ? html`<${Nothing} sentence=${T("No mails here.")} />`
    : html`<${Table} caption=${T("Mail queue")} head=${[T("To"), T("State"), T("Created"), T("Last answer"), T("Action")]}>
      ${list.items.map(row)}<//>`}
    <${Listed} of=${list} />${dialog}`;
}
