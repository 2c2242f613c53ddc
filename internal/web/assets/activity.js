// What happened to a transfer that the signed-in person sent, as a time line.

import { Button, Icon, Problem, Waiting, html, useAction, useEffect, useState } from "./ui.js";
import { F, N, T, bytes, exactly, list, when } from "./i18n.js";
import { own, transfer } from "./api.js";

const pageSize = 20;

/** The time line, newest first. @param {{transfer: TransferAPI["Transfer"]}} props */
export function Activity({ transfer: t }) {
  const [page, setPage] = useState(/** @type {{activity: TransferAPI["Activity"][], next?: string} | null} */ (null));
  const load = useAction(async (after) => {
    const query = new URLSearchParams({ limit: String(pageSize), ...(after ? { after } : {}) });
    const { body } = await own("GET", `${transfer}/transfers/${t.uid}/activity?${query}`);
    setPage((before) => (after && before ? { activity: [...before.activity, ...body.activity], next: body.next } : body));
  });
  useEffect(() => { load.run(); }, [t]);
  if (!page) return html`<${Waiting} error=${load.error} />`;
  return html`
    <ol class="list timeline" aria-label=${T("Activity")}>${page.activity.map((a, i) => html`<${Line} key=${i} entry=${a} />`)}</ol>
    <${Problem} error=${load.error} />
    ${page.next && html`<p class="row center"><${Button} busy=${load.busy} onClick=${() => load.run(page.next)}>
      ${T("Show more")}<//></p>`}`;
}

function Line({ entry: a }) {
  const times = a.lastAt && when(a.lastAt) !== when(a.at) ? `${exactly(a.at)} – ${when(a.lastAt)}` : exactly(a.at);
  const facts = [
    times,
    a.kind === "downloaded" && bytes(a.bytes),
    a.kind === "downloaded" && a.downloads > 1 && N("%d time", "%d times", a.downloads),
    a.kind === "downloaded" && !a.complete && T("not complete"),
    list(a.addresses ?? []),
    a.reason === "administrator" && T("by an administrator of the organization"),
  ].filter(Boolean);
  return html`<li><${Icon} name=${icons[a.kind] ?? "clock"} /><div><div class="break">${sentenceOf(a)}</div><div class="dim">
    ${facts.join(" · ")}</div></div></li>`;
}

/** @type {Record<string, string>} */
const icons = { downloaded: "download", opened: "check", revoked: "trash", recipientRemoved: "close", recipientsAdded: "plus",
  resent: "mail", reminded: "mail", delivered: "upload" };

/** Who an entry is about. */
const personOf = ({ recipient: r }) => (!r || r.link ? T("Somebody with the link")
  : r.removed ? T("A removed recipient") : r.name || r.email);

/** What was downloaded. */
function filesOf(a) {
  if (a.archive) return T("all files");
  if (a.objects?.length === 1 && a.objects[0].name) return a.objects[0].name;
  return N("%d file", "%d files", a.objects?.length ?? 1);
}

/** What happened, in a sentence. */
function sentenceOf(a) {
  switch (a.kind) {
    case "opened": return F("%s opened the transfer", personOf(a));
    case "downloaded": return F("%s downloaded %s", personOf(a), filesOf(a));
    case "delivered": return T("Delivered");
    case "recipientsAdded": return N("%d recipient was added", "%d recipients were added", a.count ?? 1);
    case "recipientRemoved": return T("A recipient was removed");
    case "resent": return F("The link was sent to %s again.", personOf(a));
    case "reminded": return N("%d recipient was reminded.", "%d recipients were reminded.", a.count ?? 1);
    case "extensionAsked": return F("%s asked for more time", personOf(a));
    case "forwarded": return T("The transfer was forwarded");
    case "revoked": return a.reason === "downloaded" ? T("Deleted after the first complete download") : T("Revoked");
    default: return changeOf(a);
  }
}

/** What the sender has changed. */
function changeOf(a) {
  if (a.members?.length === 1 && a.expiresAt) return F("Available until %s", exactly(a.expiresAt));
  const names = (a.members ?? []).map((member) => labels()[member] ?? member);
  return F("Changed: %s", list([...new Set(names)]));
}

/** Names of the members of a transfer. @returns {Record<string, string>} */
const labels = () => ({
  subject: T("Subject"), expiresAt: T("Available until"), protection: T("Password"), password: T("Password"),
    deliveryNotification: T("Tell me when it is opened"),
  remindBefore: T("Reminder"), maxDownloads: T("Limits"), maxTotalDownloads: T("Limits"), deleteAfterDownload: T("Limits"),
    forwarding: T("Forwarding"),
});
