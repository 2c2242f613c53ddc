// What a mailbox's page says of the mailbox. The settings of the mailbox show the same as a preview.

import { Avatar, Icon, Lines, html } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, N, T, bytes } from "./i18n.js";
import { inWords } from "./filetypes.js";

/** What is shown of a mailbox. @typedef {Partial<TransferAPI["Mailbox"]> & {maxFiles: number, maxFileSizeMb: number}} Shown */

/** The name of a mailbox. @param {Shown} mailbox */
export const nameOf = (mailbox) => mailbox.name || mailbox.email || "";

/**
 * Who receives the files: large before files are chosen, then small.
 * @param {{mailbox: Shown, at: string, small?: boolean, heading?: any}} props `at`: the path of the mailbox in the API
 */
export const Owner = ({ mailbox, at, small = false, heading = undefined }) => html`<header class=${small ? "owner small" : "owner"}>
  <${Avatar} src=${mailbox.hasAvatar ? `${at}/avatar?height=160` : ""} name=${nameOf(mailbox)} />
  <div>
    <h1 ref=${heading} tabindex=${heading && "-1"}><span class="kicker">${T("Files for")}</span> ${nameOf(mailbox)}</h1>
    ${!small && mailbox.slogan && html`<p class="slogan">${mailbox.slogan}</p>`}
  </div>
</header>`;

const many = 50, large = 1000; // files and MB from which a limit does not matter to people

/** The limits that may matter, as a sentence, and what happens on the way. */
function Limits({ mailbox }) {
  const types = mailbox.mimeTypeFilterEnabled ? inWords((mailbox.mimeTypeFilterDescription ?? "").split(/,\s*/)) : "";
  const size = mailbox.maxFileSizeMb <= large || types ? bytes(mailbox.maxFileSizeMb * 1e6) : "";
  const files = mailbox.maxFiles < many && N("Up to %d file", "Up to %d files", mailbox.maxFiles);
  const each = types ? F("Only %s, up to %s each", types, size) : size && F("Up to %s each", size);
  const sentence = [files, each].filter(Boolean).join(" · ");
  return html`${sentence && html`<p class="limits">${sentence}</p>`}
    ${mailbox.secure && html`<p class="limits"><${Icon} name="lock" /> ${T("The recipient opens it with a code")}</p>`}
    ${mailbox.verifySender && html`<p class="limits"><${Icon} name="mail" /> ${T("You confirm your email address with a code")}</p>`}`;
}

/** What a visitor may rely on. */
const Promises = () => html`<ul class="promises">
  <li><${Icon} name="check" />${T("No account needed")}</li>
  <li><${Icon} name="retry" />${T("Resumes after interruptions")}</li>
  <li><${Icon} name="shield" />${T("You get proof of delivery")}</li>
</ul>`;

/** Says why the mailbox takes no files at the moment, and how to reach the owner. @param {{mailbox: Shown}} props */
export function Closed({ mailbox }) {
  const write = mailbox.email && html`<a class="button" href=${`mailto:${encodeURIComponent(mailbox.email).replace("%40", "@")}`}><${Icon}
    name="mail" />${F("Write to %s", nameOf(mailbox))}</a>`;
  if (mailbox.unavailableReason === "absent") {
    return html`<${Empty} drawing="away" title=${F("%s is away and doesn’t accept files right now.", nameOf(mailbox))}
      sentence=${mailbox.absenceMessage && html`<${Lines} text=${mailbox.absenceMessage} />`}>${write}<//>`;
  }
  const [title, sentence] = {
    notAvailable: [T("This mailbox is not available."), T("Please ask the owner for another way.")],
    volume: [T("This mailbox is full for this month."), T("It accepts files again next month, or when the owner gets more volume.")],
    storage: [T("This mailbox is full."), T("It accepts files again when the owner has removed older ones.")],
  }[mailbox.unavailableReason] ?? [T("This mailbox doesn’t accept files right now."), T("Please ask the owner for another way.")];
  return html`<${Empty} drawing="full" title=${title} sentence=${sentence}>${write}<//>`;
}

/** The page before files are chosen. `children`: where they are chosen. @param {{mailbox: Shown, at: string, children?: any}} props */
export const Invites = ({ mailbox, at, children = null }) => html`<div class="sheet">
  <${Owner} mailbox=${mailbox} at=${at} />
  ${children}
  <${Limits} mailbox=${mailbox} />
  <${Promises} />
</div>`;
