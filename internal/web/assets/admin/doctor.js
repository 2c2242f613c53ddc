// The checks of consign doctor, run from the overview.

import { Button, Icon, Notice, Problem, announce, html, useAction, useState } from "../ui.js";
import { F, N, T, when } from "../i18n.js";
import { ask } from "./console.js";

/** Classes, icons and names of severities. @type {Record<string, () => [string, string, string]>} */
const severities = {
  error: () => ["failed", "alert", T("does not work")], warning: () => ["warning", "alert", T("needs attention")],
    hint: () => ["off", "info", T("worth knowing")],
  ok: () => ["ok", "check", T("works")],
};

/** A finding. Its texts are the server's, in English. @param {{of: AdminAPI["Examination"]["findings"][number]}} props */
function Finding({ of }) {
  const [look, icon, name] = severities[of.severity]();
  return html`<li><span class=${`state ${look}`}><${Icon} name=${icon} /> ${name}</span>
    <p class="break" lang="en">${of.sentence}</p>${of.advice && html`<p class="hint break" lang="en">${of.advice}</p>`}</li>`;
}

/** Runs the checks and shows what they found. */
export function Doctor() {
  const [result, setResult] = useState(/** @type {AdminAPI["Examination"] | null} */ (null));
  const run = useAction(async () => {
    const { body } = await ask("POST", "/doctor");
    setResult(body);
    announce(T("The checks have ended."));
  });
  const list = (/** @type {AdminAPI["Examination"]["findings"]} */ findings) => html`<ul class="list stack">
    ${findings.map((f) => html`<${Finding} key=${f.id + f.sentence} of=${f} />`)}</ul>`;
  const found = result?.findings ?? [], fine = found.filter((f) => f.severity === "ok"), rest = found.filter((f) => f.severity !== "ok");
  return html`<section class="card stack"><h2>${T("Checks")}</h2>
    <p class="hint">${T("They look at address, proxy, mail, database, storage, keys and clock of the server that answers. They take up to 45 seconds and change nothing. What they find is in English.")}</p>
    ${run.error?.status === 409 ? html`<${Notice} kind="bad">${T("The checks run already on this server. Wait until they have ended.")}<//>`
      : html`<${Problem} error=${run.error} />`}
    <div><${Button} icon="retry" busy=${run.busy} onClick=${() => run.run()}>${T("Run the checks")}<//></div>
    ${result && html`${rest.length > 0 ? list(rest) : html`<${Notice} kind="good">${T("Everything works.")}<//>`}
      ${fine.length > 0 && html`<details><summary>${N("%d check found nothing.", "%d checks found nothing.", fine.length)}</summary>
        ${list(fine)}</details>`}
      <p class="hint">${F("As of %s", when(result.at))}</p>`}
  </section>`;
}
