// /t/{key}: unlocks a protected transfer, lists its files and downloads them.

import { Button, Field, Form, Icon, Lines, Notice, Problem, StepHeading, Unchecked, Unloaded, Waiting, html, show, useAction, useEffect, useState } from "./ui.js";
import { F, T, exactly } from "./i18n.js";
import { Failure, asAnybody, call, transfer } from "./api.js";
import { signedIn } from "./session.js";
import { Password } from "./signin.js";
import { Answers } from "./answers.js";
import { Contents } from "./contents.js";
import { downloadPublic } from "./downloads.js";

const key = location.pathname.split("/")[2];
const at = `${transfer}/public/transfers/${key}`;

show(() => {
  const [state, setState] = useState(/** @type {any} */ ({})); // {value, token}
  const begin = useAction(async () => {
    const { body } = await call("GET", at);
    if (body.locked) setState({ value: body });
    else await unlock({}, body);
    // An account with the recipient's address needs no code.
    if (body.locked && body.protection === "recipientAuthentication" && signedIn()) await unlock({}).catch(() => {});
  });
  /** Gets a download token, then the transfer. @param {{password?: string, code?: string}} proof @param {any} [known] the transfer, if already read */
  async function unlock(proof, known) {
    const { body } = await asAnybody("POST", `${at}/access`, { json: proof });
    const value = known ?? (await call("GET", at, { token: body.token })).body;
    setState({ value, token: body.token, unlock });
  }
  useEffect(() => { begin.run(); }, []);
  const { value, token } = state;
  if (begin.error && !value) return html`<${Gone} error=${begin.error} />`;
  if (!value) return html`<${Waiting} />`;
  if (!token) return html`<${Lock} value=${value} unlock=${unlock} />`;
  const lock = () => setState({ value: { ...value, locked: value.protection !== "none" } });
  if (state.gone) return html`<${Gone} error=${state.gone} />`;
  return html`<${Opened} value=${value} token=${token} onExpired=${lock} onGone=${(gone) => setState({ ...state, gone })} />`;
});

function Gone({ error }) {
  if (error.status !== 404) return html`<${Unloaded} title=${T("Files for you")} error=${error} />`;
  return html`<div class="narrow center"><span class="halo"><${Icon} name="clock" /></span><${StepHeading}>${T("These files are no longer here")}<//>
    <p class="lead">${T("The transfer has expired or was revoked by its sender, or the link is incomplete. Ask the sender for the files again.")}</p></div>`;
}

const senderOf = (value) => value.sender?.name || value.sender?.email || T("Somebody");

function Lock({ value, unlock }) {
  return html`<div class="narrow card">
    <span class="halo small"><${Icon} name="lock" /></span>
    <h1>${F("Files from %s", senderOf(value))} <${Unchecked} sender=${value.sender} /></h1>
    ${value.protection === "password" ? html`<${ByPassword} unlock=${unlock} />` : html`<${ByCode} unlock=${unlock} />`}
  </div>`;
}

function ByPassword({ unlock }) {
  const open = useAction(({ password }) => unlock({ password }));
  const wrong = open.error?.status === 401;
  return html`<p>${T("The sender has protected them with a password. You get it from the sender, not from us.")}</p>
    <${Form} onSend=${open.run}>
      <${Password} label=${T("Password")} name="password" autocomplete="off" focus error=${wrong && T("This password is not right.")} />
      ${!wrong && html`<${Problem} error=${open.error} />`}
      <${Button} type="submit" kind="primary" busy=${open.busy}>${T("Open")}<//>
    <//>`;
}

function ByCode({ unlock }) {
  const [sent, setSent] = useState(/** @type {"" | "now" | "before"} */ (""));
  const open = useAction(({ code }) => unlock({ code: code.replace(/\s/g, "") }));
  const ask = useAction(async () => {
    try {
      await call("POST", `${at}/code`);
      setSent("now");
    } catch (error) {
      if (error instanceof Failure && error.status === 429) setSent("before"); // a code from before a reload may be in the mail
      throw error;
    }
  });
  const wrong = open.error?.status === 401;
  return html`<p>${T("To make sure that it is you, we send a code to the address to which the files were sent.")}</p>
    ${sent ? html`<${Form} onSend=${open.run}>
      ${sent === "now" && html`<${Notice} kind="good">${T("The code is on its way. It works for 10 minutes.")}<//>`}
      <${Field} label=${T("Code of 6 digits")} name="code" required focus inputmode="numeric" pattern="[0-9 ]{6,8}" autocomplete="one-time-code"
        class="code" error=${wrong && T("This code is not right, or no longer valid.")} />
      ${!wrong && html`<${Problem} error=${open.error} />`}
      <${Button} type="submit" kind="primary" busy=${open.busy}>${T("Open")}<//>
      <${Button} kind="quiet" busy=${ask.busy} onClick=${() => ask.run()}>${T("Send another code")}<//>
    <//>` : html`<div><${Button} kind="primary" busy=${ask.busy} onClick=${() => ask.run()}>${T("Send me the code")}<//></div>
    <p class="links"><a href=${`/login?next=${encodeURIComponent(location.pathname)}`}>${T("Sign in instead")}</a></p>`}
    <${Problem} error=${ask.error} />`;
}

function Opened({ value, token, onExpired, onGone }) {
  const download = async (uid) => {
    try {
      await downloadPublic(key, token, uid);
    } catch (error) {
      if (error instanceof Failure && error.status === 401) onExpired();
      if (error instanceof Failure && error.status === 404) onGone(error); // ended while the page was open
      throw error;
    }
  };
  return html`<div class="reading card">
    <p class="kicker">${F("Files from %s", senderOf(value))} <${Unchecked} sender=${value.sender} /></p>
    <h1>${value.subject || T("Files for you")}</h1>
    ${value.message && html`<${Lines} text=${value.message} />`}
    ${value.answers && html`<dl class="facts"><${Answers} answers=${value.answers} /></dl>`}
    <p class="dim"><${Icon} name="clock" /> ${F("Available until %s", exactly(value.expiresAt))}</p>
    ${value.objects && html`<${Contents} objects=${value.objects} total=${value.totalBytes} download=${download} />`}
  </div>`;
}
