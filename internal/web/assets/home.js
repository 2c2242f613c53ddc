// The start page.

import { Button, Field, Form, Icon, html, show } from "./ui.js";
import { T } from "./i18n.js";
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

show(() => {
  const open = ({ name }) => location.assign(place(name));
  const points = [["upload", T("Of any size"), T("An interrupted upload goes on where it stopped, even after the page was closed.")],
    ["check", T("Exactly the same"), T("Every file keeps its SHA-256 sum, from the sender to the recipient.")],
    ["lock", T("For the right person"), T("A password or a mailed code protects what is not for everybody.")]];
  return html`<div class="hero">
    <div>
      <h1>${T("Hand over files of any size, exactly as they are.")}</h1>
      <p class="lead">${T("Everybody who has the link of your mailbox can leave files for you. They only need a browser.")}</p>
      <div class="row">${signedIn() ? html`<a class="button primary" href="/inbox">${T("Transfers")}</a><a class="button" href="/send">${T("Send files")}</a>`
        : html`<a class="button primary" href="/signup">${T("Create an account")}</a><a class="button" href="/login">${T("Sign in")}</a>`}</div>
    </div>
    <${Form} class="card" onSend=${open}>
      <h2>${T("Leave files in a mailbox")}</h2>
      <${Field} label=${T("Name of the mailbox, or its link")} name="name" required autocapitalize="none" spellcheck="false" autocomplete="off" />
      <${Button} type="submit" kind="primary">${T("Open")}<//>
    <//>
  </div>
  <ul class="points" aria-label=${product}>${points.map(([icon, name, text]) => html`<li><${Icon} name=${icon} /><h2>${name}</h2><p>${text}</p></li>`)}</ul>`;
});
