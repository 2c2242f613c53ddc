// The link of the person's mailbox, and the ways to give it to others: copy, QR code, email, a button for a website.

import { Button, Copy, Icon, Problem, Waiting, html, useAction, useEffect, useLoaded, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, T } from "./i18n.js";
import { transfer } from "./api.js";
import { onSession } from "./session.js";
import { createMailbox, readMailbox } from "./newmailbox.js";

const longest = 1000; // bytes of a query in a QR code

/** Returns the public link of a mailbox. @param {TransferAPI["OwnMailbox"]} mailbox */
const linkOf = (mailbox) => `${location.origin}/m/${mailbox.vanityLink || mailbox.uid}`;

/** Returns the address that opens an email with the link. @param {string} link */
function mailTo(link) {
  const text = F("Hello,\n\nyou can send me files here. It works with files of any size, and you don’t need an account:\n\n%s\n", link);
  return `mailto:?subject=${encodeURIComponent(T("My link for files"))}&body=${encodeURIComponent(text.replaceAll("\n", "\r\n"))}`;
}

/** Returns the HTML of a button that opens the link. @param {string} link */
function buttonFor(link) {
  const brand = /#[0-9a-f]{6}/i.exec(getComputedStyle(document.documentElement).getPropertyValue("--brand"))?.[0] ?? "#0d6e62";
  const look = `background:${brand};border-radius:8px;color:#fff;display:inline-block;font:600 16px sans-serif;padding:12px 20px;text-decoration:none`;
  return `<a ${Object.entries({ href: link.replaceAll("&", "&amp;"), style: look }).map(([name, value]) => `${name}="${value}"`)
    .join(" ")}>${T("Send me files")}</a>`;
}

/** The link with its buttons. `query`: what it fills in. @param {{mailbox: TransferAPI["OwnMailbox"], query?: string}} props */
export function MailboxLink({ mailbox, query = "" }) {
  const link = linkOf(mailbox) + (query && `?${query}`);
  const [shown, setShown] = useState("");
  const part = (/** @type {string} */ name, /** @type {string} */ icon, /** @type {string} */
    label) => html`<${Button} icon=${icon} kind="quiet"
    aria-expanded=${String(shown === name)} onClick=${() => setShown(shown === name ? "" : name)}>${label}<//>`;
  return html`<div class="share">
    <div class="link-box"><a href=${link}>${link}</a><${Copy} text=${link} label=${T("Copy the link")} /></div>
    <div class="row ways">
      ${part("code", "qr", T("QR code"))}
      <a class="button quiet" href=${mailTo(link)}><${Icon} name="mail" />${T("Share by email")}</a>
      ${part("site", "link", T("Add to a website"))}
    </div>
    ${shown === "code" && html`<${Code} mailbox=${mailbox} query=${query} />`}
    ${shown === "site" && html`<div class="stack tight">
      <p class="hint">${T("Paste this HTML where you want a button that opens your mailbox.")}</p>
      <pre class="snippet" tabindex="0">${buttonFor(link)}</pre>
      <div><${Copy} text=${buttonFor(link)} label=${T("Copy the HTML")} /></div>
    </div>`}
  </div>`;
}

/** @param {{mailbox: TransferAPI["OwnMailbox"], query: string}} props */
function Code({ mailbox, query }) {
  const code = `${transfer}/public/mailbox/${mailbox.uid}/qr${query && `?prefill=${encodeURIComponent(query)}`}`;
  if (query.length > longest) return html`<p class="hint">${T("This link is too long for a QR code.")}</p>`;
  return html`<div class="qr-code"><img src=${code} alt=${T("QR code of your link")} width="200" height="200" />
    <div class="stack tight"><p class="hint">${T("Print it on a card, a poster or a letter. A phone’s camera opens the link.")}</p>
      <div><a class="button" href=${code} download=${`${mailbox.vanityLink || "mailbox"}.svg`}><${Icon} name="download" />
        ${T("Download as SVG")}</a></div></div>
  </div>`;
}

/** What an inbox without transfers shows: the link of the mailbox, or a button that creates the mailbox. */
export function FirstMailbox() {
  const { value: mailbox, error, reload, set } = useLoaded(readMailbox);
  useEffect(() => onSession(reload), []); // another tab has created it
  const create = useAction(async () => set(await createMailbox()));
  if (mailbox === undefined) return html`<${Waiting} error=${error} />`;
  if (mailbox) {
    return html`<section class="card first"><${Empty} drawing="letter"
      sentence=${T("Nothing has arrived yet. Share your link: anyone who has it can send you files.")} />
      <${MailboxLink} mailbox=${mailbox} /></section>`;
  }
  return html`<section class="card first"><${Empty} drawing="letter"
    sentence=${T("Nothing has arrived yet. Create your mailbox to get a link: anyone who has it can send you files.")}>
    <${Button} kind="primary" busy=${create.busy} onClick=${() => create.run()}>${T("Create my mailbox")}<//><//>
    <${Problem} error=${create.error} /></section>`;
}
