// /device: a person sees which program asks for a session, and approves or refuses (RFC 8628, contract 3.25).

import { Button, Field, Form, Icon, Notice, Problem, StepHeading, Waiting, html, showOwn, useAction, useLoaded, useState } from "./ui.js";
import { F, T, since } from "./i18n.js";
import { identity, own } from "./api.js";
import { now } from "./session.js";
import { useStepUp } from "./stepup.js";
import "./shell.js";

showOwn(() => {
  const [code, setCode] = useState(new URLSearchParams(location.search).get("user_code") ?? "");
  return html`<div class="narrow card">${code ? html`<${Program} key=${code} code=${code} onOther=${() => setCode("")} />`
    : html`<${Enter} onCode=${setCode} />`}</div>`;
});

function Enter({ onCode }) {
  return html`<${StepHeading}>${T("Sign in a program")}<//>
    <p>${T("Enter the code that the program shows.")}</p>
    <${Form} onSend=${({ code }) => onCode(code.trim())}>
      <${Field} label=${T("Code")} name="code" required maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false"
        focus />
      <${Button} type="submit" kind="primary">${T("Continue")}<//>
    <//>`;
}

/** Returns a code as programs show it. @param {string} code as it was typed */
const spelled = (code) => code.toUpperCase().replace(/[^A-Z0-9]/g, "").replace(/^(.{4})/, "$1-");

function Program({ code, onOther }) {
  const at = /** @type {const} */ (`${identity}/device/${encodeURIComponent(code)}`);
  const { value, error } = useLoaded(async () => (await own("GET", at)).body);
  const [done, setDone] = useState("");
  const { stepUp, dialog } = useStepUp();
  const answer = useAction(async (what) => {
    if (what === "approve") await stepUp("POST", `${at}/approve`);
    else await own("POST", `${at}/refuse`);
    setDone(what);
  });
  if (done === "approve") {
    return html`<div class="center"><div class="seal"><${Icon} name="check" /></div>
      <${StepHeading}>${T("The program is signed in")}<//>
      <p>${T("Go back to it. You can end its session on your account page.")}</p><a class="button" href="/account/devices">
        ${T("Your account")}</a></div>`;
  }
  if (done) {
    return html`<div class="center"><span class="halo"><${Icon} name="close" /></span>
      <${StepHeading}>${T("The program was refused")}<//><p>${T("It gets no access to your account.")}</p></div>`;
  }
  if (error) {
    return html`<${StepHeading}>${T("Sign in a program")}<//><${Problem} error=${error} />
      <div><${Button} onClick=${onOther}>${T("Enter another code")}<//></div>`;
  }
  if (!value) return html`<${Waiting} />`;
  return html`<${StepHeading}>${T("Sign in a program?")}<//>
    <div class="asking"><b class="break">${value.clientName}</b><code>${spelled(code)}</code>
      <span class="dim">${F("From: %s", value.ip)}${value.userAgent
        && html` · <span class="break">${value.client || value.userAgent}</span>`}
        <span class="block">${F("Asked %s", since(value.requestedTimestamp, now()))}</span></span></div>
    <${Notice} kind="warn">${T("It gets access to everything in your account. Continue only if you started it yourself just now, and it shows the same code.")}<//>
    <${Problem} error=${answer.error} />
    <div class="row">
      <${Button} kind="primary" busy=${answer.busy} onClick=${() => answer.run("approve")}>${T("Sign in the program")}<//>
      <${Button} busy=${answer.busy} onClick=${() => answer.run("refuse")}>${T("Refuse")}<//>
    </div>${dialog}`;
}
