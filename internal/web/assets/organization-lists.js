// The organization page: transfers and mailboxes of the organization (contract 4.28). Never contents.

import { Field, Problem, Waiting, html, useLoaded } from "./ui.js";
import { F, N, T, bytes, when } from "./i18n.js";
import { own, transfer } from "./api.js";
import { Choice, Listing, Search, useList } from "./lists.js";
import { usePlace } from "./place.js";
import { Stated } from "./reasons.js";
import { Report, head, may, row, states } from "./transferlists.js";

const unit = /** @type {const} */ (`${transfer}/adminunit`);

/** Sends changes without another proof: a sender needs none for the same ones. */
const useChange = () => ({ change: own, dialog: null });

/** Those search terms that have a value. @param {Record<string, string>} terms */
const asked = (terms) => new URLSearchParams(Object.entries(terms).filter(([, value]) => value));

/** Lists the transfers, or shows the one of #transfers/uid. */
export function Transfers() {
  const [{ open, ...terms }, go] = usePlace("#transfers", { person: "", state: "" });
  return open ? html`<${Transfer} key=${open} uid=${open} />` : html`<${TransferList} terms=${terms} onTerms=${go} />`;
}

/** @param {{terms: Record<string, string>, onTerms: (terms: Record<string, string>) => void}} props */
function TransferList({ terms, onTerms }) {
  const list = useList(own, `${unit}/transfers?${asked(terms)}`, "transfers");
  const choices = /** @type {[string, string][]} */ ([["", T("All")], ...Object.entries(states())]);
  return html`<section class="card stack wide"><h2>${T("Transfers")}</h2>
    <p class="hint">${T("What members have sent, and what was sent to their mailboxes. Subjects, messages and files are not shown.")}</p>
    <${Search} label=${T("Member (address or uid)")} value=${terms.person}
      onSearch=${(/** @type {string} */ person) => onTerms({ person })} refused=${list.error}>
      <${Choice} label=${T("State")} value=${terms.state} onChange=${(/** @type {string} */ state) => onTerms({ state })}
        choices=${choices} /><//>
    <${Listing} list=${list} caption=${T("Transfers")}
      none=${terms.person || terms.state ? T("Nothing matches.") : T("There are no transfers yet.")} head=${head()}
      row=${(/** @type {TransferAPI["OrganizationTransferList"]["transfers"][number]} */ t) => row(t,
        html`<a href=${`#transfers/${t.uid}`}>${when(t.createdAt)}</a>`)} />
  </section>`;
}

/** Shows a person by the words. @param {{children?: any}} props */
const Plain = ({ children }) => html`${children}`;

/** @param {{uid: string}} props */
function Transfer({ uid }) {
  const at = /** @type {const} */ (`${unit}/transfers/${encodeURIComponent(uid)}`);
  const { value, error, reload } = useLoaded(async () => {
    const [report, rules] = await Promise.all([own("GET", at), own("GET", unit)]);
    return { t: report.body, longest: Math.max(...rules.body.availableTtl) };
  }, [at]);
  const back = html`<p><a href="#transfers">${T("All transfers")}</a></p>`;
  if (!value) return html`${back}<${Waiting} error=${error} />`;
  const { t, longest } = value, { extend, revoke } = may(t);
  return html`${back}<${Problem} error=${error} />
    <${Report} of=${t} Person=${Plain} />
    ${(extend || revoke) && html`<section class="card stack"><h2>${T("Actions")}</h2><p class="hint">
      ${T("The sender sees what an administrator has changed.")}</p><div class="row">
      ${extend && html`<${Stated} label=${T("Extend")} question=${T("For how long shall this transfer be available?")}
        path=${`${at}/extend`} onDone=${reload} useChange=${useChange}
        read=${(/** @type {any} */ { days }) => ({ days: Number(days) })}>
        <${Field} label=${T("Days from now")} name="days" type="number" min="1" max=${longest} required defaultValue=${longest} /><//>`}
      ${revoke && html`<${Stated} kind="danger" label=${T("Revoke")} question=${T("End this transfer for good and erase its files?")}
        path=${`${at}/revoke`} onDone=${reload} useChange=${useChange} />`}
    </div></section>`}`;
}

/** @typedef {TransferAPI["UsedMailboxList"]["mailboxes"][number]} UsedMailbox */

/** Why a mailbox accepts nothing. @type {() => Record<string, string>} */
const reasons = () => ({
  notAvailable: T("Suspended"), absent: T("Absent"), serviceDisabled: T("Service switched off"),
    roleMissing: T("Owner lacks the permission"),
    volume: T("Monthly volume used up"), storage: T("Storage used up"),
});

/** Lists the mailboxes of members. */
export function Mailboxes() {
  const [{ search }, go] = usePlace("#mailboxes", { search: "" });
  const list = useList(own, `${unit}/mailboxes?${asked({ search })}`, "mailboxes");
  const line = (/** @type {UsedMailbox} */ m) => html`<tr key=${m.uid}>
    <th scope="row" class="break"><a href=${`/m/${m.link ?? m.uid}`}>${m.link ?? m.name}</a><span class="hint block">${m.name}</span></th>
    <td class="break">${m.email}</td>
    <td>${m.unavailable ? html`<span class="badge warn">${reasons()[m.unavailable]}</span>` : T("Open")}</td>
    <td>${m.receivedAt ? when(m.receivedAt) : "–"}</td>
    <td>${stored(m)}<${Unfinished} of=${m} /></td>
    <td>${m.uploadLimitBytes === null ? bytes(m.uploadBytes) : F("%s of %s", bytes(m.uploadBytes), bytes(m.uploadLimitBytes))}</td>
    <td>${N("%d file of %s", "%d files of %s each", m.maxFiles, bytes(m.maxFileSizeMb * 1e6))}</td></tr>`;
  return html`<section class="card stack wide"><h2>${T("Mailboxes")}</h2>
    <${Search} label=${T("Name, address or link contains")} value=${search}
      onSearch=${(/** @type {string} */ text) => go({ search: text })} refused=${list.error} />
    <${Listing} list=${list} caption=${T("Mailboxes")} none=${search ? T("Nothing matches.") : T("No member has a mailbox yet.")}
      elsewhere=${T("None of the first ones matches.")} row=${line}
      head=${[T("Mailbox"), T("Owner"), T("State"), T("Last transfer"), T("Stored"), T("Volume used this month"),
        T("Limit of a transfer")]} />
  </section>`;
}

/** What is stored in a mailbox; of many transfers the least. @param {UsedMailbox} m */
const stored = (m) => (m.partly ? F("at least %s", bytes(m.bytes)) : bytes(m.bytes));

/** Unfinished uploads of strangers. @param {{of: UsedMailbox}} props */
const Unfinished = ({ of: m }) => m.reservations > 0
  && html`<span class="hint block">${F("%s in unfinished uploads", bytes(m.reservationBytes))}</span>`;
