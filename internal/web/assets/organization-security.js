// The organization page: the rule of the second factor, and who did what.

import { Button, Notice, Problem, Waiting, html, useAction, useLoaded, useRef, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { T } from "./i18n.js";
import { accessClaims, identity, own } from "./api.js";
import { saveBody } from "./downloads.js";
import { AuditList } from "./auditlist.js";
import { named } from "./auditwords.js";
import { Choice, Search, periods, useSince } from "./lists.js";
import { usePlace } from "./place.js";
import { useStepUp } from "./stepup.js";

/** Shows the rule of the second factor and the audit. @param {{at: OrganizationPath}} props URL of the organization */
export function Security({ at }) {
  return html`<${Factor} at=${at} /><${Audit} at=${at} />`;
}

/** @param {{at: OrganizationPath}} props */
function Factor({ at }) {
  const { value, error, reload } = useLoaded(async () => {
    const [profile, said, listed] = await Promise.all([own("GET", `${identity}/profile`), accessClaims(),
      own("GET", `${identity}/profile/authenticators`)]);
    // A person of an external provider has no password here: the provider asks for the second factor.
    const external = !listed.body.authenticators.some((a) => a.type === "bcrypt");
    return { required: profile.body.membership?.organization?.mfaRequired ?? false, ready: external || said.authLevel >= 2 };
  });
  const { stepUp, dialog } = useStepUp();
  const put = useAction(async (mfaRequired) => {
    await stepUp("PUT", `${at}/security`, { mfaRequired });
    reload();
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const { required, ready } = value;
  return html`<section class="card stack"><h2>${T("Second factor")}</h2>
    <p>${required ? T("Members need a second factor. Without one they can only set it up or leave.")
      : T("Members can sign in with just their password.")}</p>
    ${!required && html`<p class="hint">
      ${T("If you require it, every member gets an email, and sessions without a second factor lose access.")}</p>`}
    ${!required && !ready && html`<${Notice}>${T("Set up a second factor for yourself first, then sign in with it.")}
      <a href="/account/security">${T("Sign-in and security")}</a><//>`}
    <${Problem} error=${put.error} />
    <div><${Button} kind=${required ? "plain" : "primary"} busy=${put.busy} disabled=${!required && !ready}
      onClick=${() => put.run(!required)}>
      ${required ? T("No longer require it") : T("Require a second factor")}<//></div>
    ${dialog}
  </section>`;
}

const pageSize = 50;

/**
 * The uid of a member: of an address, the member whose address it is.
 * @param {OrganizationPath} at URL of the organization @param {string} wanted
 */
async function uidOf(at, wanted) {
  if (!wanted.includes("@")) return wanted;
  const { body } = await own("GET", `${at}/people?${new URLSearchParams({ search: wanted })}`);
  return body.people.find((m) => m.email?.toLowerCase() === wanted.toLowerCase())?.uid ?? nobody;
}

/** The uid of nobody: the one of zeros selects everybody. */
const nobody = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** An entry as the list shows it. @param {IdentityAPI["AuditEntry"]} e */
const shown = (e) => ({ id: e.id, at: e.at, told: { action: e.action, role: e.role, actor: named(e.actor), target: named(e.target),
  object: e.object ?? "", details: e.details ?? {} } });

/** @param {{at: OrganizationPath}} props */
function Audit({ at }) {
  const [{ action, period, member }, go] = usePlace("#security", { action: "", period: "", member: "" });
  const since = useSince(period);
  const [pages, setPages] = useState(/** @type {IdentityAPI["AuditEntry"][]} */ ([])); // the entries after the first page
  const [more, setMore] = useState(true);
  const terms = useRef(/** @type {Record<string, string>} */ ({})); // of the list that is shown
  const find = async () => {
    const person = member && await uidOf(at, member);
    return { ...(action && { action }), ...(since && { since }), ...(person && { person }) };
  };
  const query = (after = 0) => /** @type {const} */
    (`${at}/audit?${new URLSearchParams({ ...terms.current, limit: String(pageSize), ...(after && { after: String(after) }) })}`);
  const { value, error } = useLoaded(async () => {
    terms.current = await find();
    const { body } = await own("GET", query());
    setPages([]);
    setMore(body.entries.length === pageSize);
    return body.entries;
  }, [at, action, since, member]);
  const next = useAction(async () => {
    const last = pages.at(-1) ?? value?.at(-1);
    const { body } = await own("GET", query(last?.id));
    setPages([...pages, ...body.entries]);
    setMore(body.entries.length === pageSize);
  });
  const save = useAction(async (format, type) => {
    const { response } = await own("GET", `${at}/audit?${new URLSearchParams({ ...await find(), format })}`, { accept: type });
    await saveBody(response, `audit.${format}`);
  });
  /** @type {[string, string][]} */
  const kinds = [["", T("Everything")], ["member.", T("Members")], ["invitation.", T("Invitations")], ["organization.", T("Organization")],
    ["session.", T("Sessions")], ["mailbox.", T("Mailboxes")], ["mailboxgroup.", T("Groups of mailboxes")],
      ["adminunit.", T("Rules for transfers")],
    ["transfer.", T("Transfers")], ["token.", T("API tokens")], ["webhook.", T("Webhooks")]];
  return html`<section class="card stack wide"><h2>${T("Activity")}</h2>
    <${Search} label=${T("Member (address or uid)")} value=${member}
      onSearch=${(/** @type {string} */ text) => go({ member: text })} refused=${error}>
      <${Choice} label=${T("Show")} value=${action} onChange=${(/** @type {string} */ chosen) => go({ action: chosen })} choices=${kinds} />
      <${Choice} label=${T("Time")} value=${period}
        onChange=${(/** @type {string} */ chosen) => go({ period: chosen })} choices=${periods()} /><//>
    <${Problem} error=${error ?? next.error ?? save.error} />
    ${value && value.length === 0 && html`<${Empty} drawing="search" sentence=${T("Nothing matches.")} />`}
    ${value && html`<${AuditList} entries=${[...value, ...pages].map(shown)} />`}
    <div class="row">
      ${more && value && value.length > 0 && html`<${Button} busy=${next.busy} onClick=${() => next.run()}>${T("Show more")}<//>`}
      <${Button} icon="download" busy=${save.busy} onClick=${() => save.run("csv", "text/csv")}>${T("Download as a table (CSV)")}<//>
      <${Button} icon="download" busy=${save.busy} onClick=${() => save.run("jsonl", "application/x-ndjson")}>
        ${T("Download as lines of JSON")}<//>
    </div>
  </section>`;
}
