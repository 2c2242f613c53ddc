// /t/{key}: unlocks a protected transfer, lists its files and downloads them.

import { Avatar, Button, Field, Form, Icon, Lines, Notice, Problem, StepHeading, Unchecked, Unloaded, Waiting, html, show, useAction,
  useEffect, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, T, exactly, left } from "./i18n.js";
import { Failure, asAnybody, call, transfer } from "./api.js";
import { person, signedIn } from "./session.js";
import { readOpening, removeOpening, writeOpening } from "./store.js";
import { Password } from "./signin.js";
import { Answers } from "./answers.js";
import { Contents } from "./contents.js";
import { Expired } from "./expired.js";
import { showPicture } from "./shell.js";
import { downloadPublic, readPublic } from "./downloads.js";

const key = location.pathname.split("/")[2];
const at = /** @type {const} */ (`${transfer}/public/transfers/${key}`);

show(() => {
  const [state, setState] = useState(
    /** @type {{value?: TransferAPI["PublicTransfer"], token?: string, gone?: unknown, asks?: number}} */ ({}));
  const begin = useAction(async () => {
    const kept = readOpening(key);
    if (kept && await again(kept)) return;
    const { body } = await call("GET", at);
    if (body.locked) setState({ value: body });
    else await unlock({}, body);
    // An account with the recipient's address needs no code.
    if (body.locked && body.protection === "recipientAuthentication" && signedIn()) await unlock({}).catch(() => {});
  });
  /** Opens the transfer with the token of this tab, after a reload. Reports whether the token still opens it. @param {string} token */
  async function again(token) {
    try {
      const { body } = await call("GET", at, { token });
      if (!body.locked) setState({ value: body, token });
      if (!body.locked) return true;
    } catch (error) {
      if (!(error instanceof Failure) || error.status !== 401) throw error;
    }
    removeOpening(key);
    return false;
  }
  /**
   * Gets a download token, then the transfer.
   * @param {{password?: string, code?: string}} proof @param {TransferAPI["PublicTransfer"]} [known] the transfer, if already read
   */
  async function unlock(proof, known) {
    const { body } = await asAnybody("POST", `${at}/access`, { json: proof });
    const value = known ?? (await call("GET", at, { token: body.token })).body;
    if (value.protection !== "none") writeOpening(key, body.token);
    setState({ value, token: body.token });
  }
  useEffect(() => { begin.run(); }, []);
  const { value, token, asks = 0 } = state;
  useEffect(() => { // a link has no feed: ask until the files are checked
    if (!token || value?.malwareStatus !== "scanning") return undefined;
    const wait = setTimeout(async () => {
      const { body } = await call("GET", at, { token }).catch(() => ({ body: value }));
      setState((now) => (now === state ? { ...state, value: body, asks: asks + 1 } : now));
    }, 1000 * Math.min(30, 2 ** (asks + 1)));
    return () => clearTimeout(wait);
  }, [state]);
  if (begin.error && !value) return html`<${Gone} error=${begin.error} />`;
  if (!value) return html`<${Waiting} />`;
  if (!token) return html`<${Lock} value=${value} unlock=${unlock} />`;
  const lock = () => {
    removeOpening(key);
    setState({ value: { ...value, locked: value.protection !== "none" } });
  };
  if (state.gone) return html`<${Gone} error=${state.gone} />`;
  return html`<${Opened} value=${value} token=${token} onExpired=${lock} onGone=${(gone) => setState({ ...state, gone })} />`;
});

/** The link is unknown, or its transfer has ended: what to do next. */
function Gone({ error }) {
  if (error.status !== 404) return html`<${Unloaded} title=${T("Files for you")} error=${error} />`;
  return html`<${Expired} at=${at}><div class="narrow"><${Empty} drawing="gone"
    head=${html`<${StepHeading}>${T("These files are no longer here")}<//>`}
    sentence=${T("They expired, the sender took them back, or the link is incomplete.")} />
    <ul class="next card">
      <li>${T("Did you copy the link? Its end may be missing. Open it from the email again.")}</li>
      <li>${T("Reply to the email that brought you here. Your reply goes to the sender.")}</li>
    </ul>
    <p class="row center"><a class="button" href="/inbox">${signedIn() ? T("Open your inbox") : T("Sign in")}</a></p></div><//>`;
}

const senderOf = (/** @type {TransferAPI["PublicTransfer"]} */ value) => value.sender?.name || value.sender?.email || T("Somebody");

function Lock({ value, unlock }) {
  return html`<div class="narrow card">
    <span class="halo small"><${Icon} name="lock" /></span>
    <h1 class="whose">${F("Files from %s", senderOf(value))} <${Unchecked} sender=${value.sender} /></h1>
    ${value.protection === "password" ? html`<${ByPassword} unlock=${unlock} />` : html`<${ByCode} unlock=${unlock} />`}
  </div>`;
}

function ByPassword({ unlock }) {
  const open = useAction(({ password }) => unlock({ password }));
  const wrong = open.error?.status === 401;
  return html`<p>${T("The sender protected them with a password. Ask the sender for it: we don’t know it.")}</p>
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
  return html`<p>${T("To make sure it’s you, we’ll send a code to the address the files were sent to.")}</p>
    ${sent ? html`<${Form} onSend=${open.run}>
      ${sent === "now" && html`<${Notice} kind="good">${T("The code is on its way. It works for 10 minutes.")}<//>`}
      <${Field} label=${T("6-digit code")} name="code" required focus inputmode="numeric" pattern="[0-9 ]{6,8}" autocomplete="one-time-code"
        class="code" error=${wrong && T("This code is not right, or no longer valid.")} />
      ${!wrong && html`<${Problem} error=${open.error} />`}
      <${Button} type="submit" kind="primary" busy=${open.busy}>${T("Open")}<//>
      <${Button} kind="quiet" busy=${ask.busy} onClick=${() => ask.run()}>${T("Send another code")}<//>
    <//>` : html`<div><${Button} kind="primary" busy=${ask.busy} onClick=${() => ask.run()}>${T("Send me the code")}<//></div>
    <p class="links"><a href=${`/login?next=${encodeURIComponent(location.pathname)}`}>${T("Sign in instead")}</a></p>`}
    <${Problem} error=${ask.error} />`;
}

/** @param {{value: TransferAPI["PublicTransfer"], token: string, onExpired: () => void, onGone: (error: unknown) => void}} props */
function Opened({ value, token, onExpired, onGone }) {
  const download = async (...uids) => {
    try {
      await downloadPublic(key, token, ...uids);
    } catch (error) {
      if (error instanceof Failure && error.status === 401) onExpired();
      if (error instanceof Failure && error.status === 404) onGone(error); // ended while the page was open
      throw error;
    }
  };
  useEffect(() => {
    if (value.mailbox?.hasPicture) showPicture(`${transfer}/public/mailbox/${value.mailbox.uid}/picture`);
  }, []);
  return html`<article class="reading card">
    <header class="from"><${Avatar} name=${senderOf(value)} />
      <p><span class="name">${F("Files from %s", senderOf(value))}</span> <${Unchecked} sender=${value.sender} />
        <span class="dim block" title=${F("Available until %s", exactly(value.expiresAt))}><${Icon}
          name="clock" /> ${F("%s left", left(value.expiresAt))}</span></p>
    </header>
    <h1>${value.subject || T("Files for you")}</h1>
    ${value.message && html`<blockquote><${Lines} text=${value.message} /></blockquote>`}
    ${value.answers && html`<dl class="facts"><${Answers} answers=${value.answers} /></dl>`}
    ${value.objects && value.objects.length > 0 && html`<${Contents} of=${value} objects=${value.objects} total=${value.totalBytes}
      download=${download} read=${readPublic(key, token)} />`}
    <${Reply} to=${value} />
    <footer class="dim">${F("Available until %s", exactly(value.expiresAt))}
      ${value.type === "mailbox" && html` · <a href="/inbox">
        ${signedIn() ? T("Open your inbox") : T("Sign in to see everything in your mailbox")}</a>`}</footer>
  </article>`;
}

/**
 * Sends files back to a sender whose address was checked: as a person, or without an account to the sender's mailbox. The link of a person
 * names this transfer, not the address: so nobody can make one that leads to somebody else.
 * @param {{to: TransferAPI["PublicTransfer"]}} props
 */
function Reply({ to: { sender, mailbox, type, subject } }) {
  if (!sender.verified || !sender.email || sender.email === person()?.email) return null;
  const byMailbox = !signedIn() && mailbox && type !== "mailbox";
  const answers = subject ? [...F("Re: %s", subject)].slice(0, 120).join("") : "";
  const link = byMailbox ? `/m/${mailbox.uid}?${new URLSearchParams({ subject: answers })}`
    : `/send?${new URLSearchParams({ reply: key })}`;
  return html`<p><a class="button" href=${link}><${Icon} name="upload" />${T("Reply with files")}</a></p>`;
}
