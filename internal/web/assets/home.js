// The start page.

import { Avatar, Button, Field, Form, Icon, html, show } from "./ui.js";
import { F, T, bytes, duration, percent } from "./i18n.js";
import { signedIn } from "./session.js";
import "./shell.js";

const product = document.documentElement.dataset.product;

/** Finds a link of a mailbox, group or transfer in a text, with or without its host. */
const link = /(?<![^\s<("'])(https?:)?(?:\/\/)?([^\s/]*)(?:^|\/)([mgt])\/([\w.-]*[\w-])/i;

/** Returns the URL for the name of a mailbox, or for a link that was entered instead. @param {string} text */
function place(text) {
  const [, scheme = location.protocol, host, kind, key] = link.exec(text.trim()) ?? [];
  if (!kind) return `/m/${encodeURIComponent(text.trim().replace(/\/+$/, "").toLowerCase())}`;
  return `${scheme}//${host || location.host}/${kind.toLowerCase()}/${/t/i.test(kind) ? key : key.toLowerCase()}`;
}

/** A picture of the page of a mailbox while files are uploaded, made of what that page is made of. */
function Picture() {
  const name = "Mara Lindqvist";
  const row = (icon, file, size, share) => html`<li class=${`item${share === 100 ? " done" : ""}`}><${Icon} name=${icon} />
    <div class="what"><span class="name">${file}</span><span class="state">${bytes(size)}</span></div>
    <span class="ring">${share === 100 ? html`<${Icon} name="check" />` : html`<svg viewBox="0 0 36 36"><circle cx="18" cy="18" r="15" />
      <circle class="arc" cx="18" cy="18" r="15" pathLength="100" stroke-dasharray=${`${share} 100`} /></svg>`}</span></li>`;
  return html`<div class="shot" aria-hidden="true"><div class="sheet">
    <div class="owner small"><${Avatar} name=${name} /><div><span class="kicker">${T("Files for")}</span><strong>
      ${name}</strong></div></div>
    <section class="files"><ul class="list">
      ${row("text", "Harbour bridge.pdf", 18.4e6, 100)}${row("zip", "Survey 2026.zip", 1.2e9, 64)}${row("film", "Site north.mp4", 840e6,
        41)}
    </ul></section>
    <div class="sum"><progress max="1" value="0.58" tabindex="-1"></progress>
      <div class="figures"><strong class="percent">${percent(0.58)}</strong>
        <span class="status">${F("%s of %s, %s per second, %s left", bytes(1.2e9), bytes(2.1e9), bytes(12e6),
          duration(72, "short"))}</span></div>
      <span class="button primary">${F("Deliver to %s", name)}</span></div>
  </div></div>`;
}

show(() => {
  const open = ({ name }) => location.assign(place(name));
  const points = [["upload", T("Of any size"), T("An interrupted upload picks up where it left off, even after you close the page.")],
    ["check", T("Exactly the same"), T("Every file arrives exactly as it was sent, and a receipt proves it.")],
    ["lock", T("For the right person"), T("Protect what’s private with a password or a code by email.")]];
  return html`<div class="hero">
    <div>
      <h1>${T("Hand over files of any size, exactly as they are.")}</h1>
      <p class="lead">${T("Anyone with your link can send you files. All they need is a browser.")}</p>
      <div class="row">${signedIn() ? html`<a class="button primary" href="/inbox">${T("Transfers")}</a><a class="button" href="/send">
        ${T("Send files")}</a>`
        : html`<a class="button primary" href="/signup">${T("Create an account")}</a><a class="button" href="/login">${T("Sign in")}</a>`}
          </div>
    </div>
    <${Picture} />
  </div>
  <ul class="points" aria-label=${product}>${points.map(([icon, name,
    text]) => html`<li><${Icon} name=${icon} /><h2>${name}</h2><p>${text}</p></li>`)}</ul>
  <${Form} class="card visit" onSend=${open}>
    <h2>${T("Send files to a mailbox")}</h2>
    <${Field} label=${T("Name of the mailbox, or its link")} name="name" required autocapitalize="none" spellcheck="false"
      autocomplete="off" />
    <${Button} type="submit">${T("Open")}<//>
  <//>`;
});
