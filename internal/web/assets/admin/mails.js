// /admin/mails: the mail queue, each with the last answer of the mail server; sending again, one or all that were refused; a test mail.

import { Button, Field, Form, Notice, Problem, html, useAction, useState } from "../ui.js";
import { N, T, locale } from "../i18n.js";
import { Choice, Filters, periods, useSince } from "../lists.js";
import { Mails, states } from "./maillist.js";
import { usePlace } from "../place.js";
import { mayChange, showConsole, useChange, useList } from "./console.js";
import { Change } from "./reasons.js";

showConsole("mails", () => {
  const [{ state, to, answer, period }, go] = usePlace("/admin/mails", { state: "", to: "", answer: "", period: "" });
  const since = useSince(period);
  const query = new URLSearchParams({ ...(state && { state }), ...(to && { to }), ...(answer && { answer }), ...(since && { since }) });
  const list = useList(`/mails?${query}`, "mails");
  return html`<section class="card stack">
      <${Filters} values=${{ to, answer }} onSearch=${go}>
        <${Choice} label=${T("State")} value=${state}
          onChange=${(/** @type {string} */ chosen) => go({ state: chosen })} choices=${[["", T("All")], ...Object.entries(states())]} />
        <${Choice} label=${T("Last attempt")} value=${period}
          onChange=${(/** @type {string} */ chosen) => go({ period: chosen })} choices=${periods()} />
        <${Field} label=${T("To")} name="to" type="search" defaultValue=${to} />
        <${Field} label=${T("Last answer")} name="answer" type="search" defaultValue=${answer}
          hint=${T("A part of it, as it is in the list")} />
      <//>
      <${Mails} list=${list} />
      ${["", "queued", "failed"].includes(state) && html`<${RetryAll} query=${query} list=${list} />`}
    </section>
    ${mayChange() && html`<${TestMail} />`}`;
});

/** What is said of mails that are not sent again. */
const lost = (/** @type {number} */ n) =>
  N("%d is not: its link was erased, or its subject has ended.", "%d are not: their links were erased, or their subject has ended.", n);

/** Sends again all mails that the filters select and the mail server refused. */
function RetryAll({ query, list }) {
  const { change, dialog } = useChange();
  const [done, setDone] = useState(/** @type {AdminAPI["RetriedMails"] | null} */ (null));
  const retry = useAction(async () => {
    setDone(null);
    setDone((await change("POST", `/mails/retry?${query}`)).body);
    list.reload();
  });
  return html`<${Problem} error=${retry.error} />
    ${done && html`<${Notice} kind="good">${N("%d mail is sent again.", "%d mails are sent again.", done.due)}
      ${done.left > 0 && html` ${lost(done.left)}`}<//>`}
    <div><${Change} icon="retry" busy=${retry.busy} onClick=${retry.run}>
      ${T("Send all refused mails of this list again")}<//></div>${dialog}`;
}

function TestMail() {
  const { change, dialog } = useChange();
  const [said, setSaid] = useState(/** @type {AdminAPI["TestMail"] | null} */ (null));
  const test = useAction(async ({ address }) => {
    setSaid(null);
    setSaid((await change("POST", "/mails/test", { json: { address: address.trim(), locale } })).body);
  });
  return html`<section class="card"><h2>${T("Test mail")}</h2>
    <${Form} onSend=${test.run} refused=${test.error}>
      <${Field} label=${T("Address")} name="address" type="email" required hint=${T("The mail is sent at once, without the queue.")} />
      <${Problem} error=${test.error} />
      ${said && html`<${Notice} kind=${said.sent ? "good" : "bad"}
        title=${said.sent ? T("The mail server has taken the mail.") : T("The mail was not sent.")}><code>${said.answer}</code><//>`}
      <div><${Button} type="submit" icon="mail" busy=${test.busy}>${T("Send a test mail")}<//></div>
    <//>${dialog}</section>`;
}
