// /account/privacy: what happened in the account, a copy of the data, and deleting the account.

import { Ask, Button, Problem, Waiting, html, useAction, useEffect, useState } from "./ui.js";
import { T } from "./i18n.js";
import { forget, identity, own } from "./api.js";
import { showAccount } from "./accountpage.js";
import { AuditList } from "./auditlist.js";
import { named } from "./auditwords.js";
import { saveBody } from "./downloads.js";
import { useStepUp } from "./stepup.js";
import "./shell.js";

showAccount((profile) => html`<${Activity} profile=${profile} /><${Copy} /><${Leave} />`);

const pageSize = 10;

/** What happened, newest first. @param {{profile: IdentityAPI["Person"]}} props */
function Activity({ profile }) {
  const [entries, setEntries] = useState(/** @type {IdentityAPI["OwnAuditEntry"][] | null} */ (null));
  const [more, setMore] = useState(false);
  const load = useAction(async (/** @type {IdentityAPI["OwnAuditEntry"] | undefined} */ last) => {
    const query = new URLSearchParams({ limit: String(pageSize), ...(last && { after: String(last.id) }) });
    const { body } = await own("GET", `${identity}/profile/audit?${query}`);
    setEntries((before) => [...(last && before) || [], ...body.entries]);
    setMore(body.entries.length === pageSize);
  });
  useEffect(() => { load.run(); }, []);
  const me = profile.name || profile.emails.find((e) => e.primary)?.address || "";
  const shown = (/** @type {IdentityAPI["OwnAuditEntry"]} */ e) => ({ id: e.id, at: e.at, facts: [e.address],
    told: { action: e.action, role: e.role, object: e.object ?? "", details: e.details ?? {},
      actor: e.own ? me : e.role === "person" ? T("Somebody else") : "", target: e.target?.uid === profile.uid ? me : named(e.target) } });
  return html`<section class="card stack wide"><h2>${T("Activity")}</h2>
    <p class="dim">${T("What happened in your account. If something was not you, change your password and sign out everywhere.")}</p>
    ${entries ? html`<${AuditList} entries=${entries.map(shown)} />` : html`<${Waiting} error=${load.error} />`}
    ${entries && html`<${Problem} error=${load.error} />`}
    ${more && html`<div><${Button} busy=${load.busy} onClick=${() => load.run(entries?.at(-1))}>${T("Show more")}<//></div>`}
  </section>`;
}

function Copy() {
  const { stepUp, dialog } = useStepUp();
  const load = useAction(async () => {
    const { response } = await stepUp("POST", `${identity}/profile/export`, {}, "application/zip");
    await saveBody(response, "export.zip");
  });
  return html`<section class="card stack"><h2>${T("Your data")}</h2>
    <p class="dim">
      ${T("A copy of everything we store about you: profile, addresses, sessions, memberships, mailbox, transfers and activity.")}${" "}
      ${T("Files aren’t included.")}</p>
    <${Problem} error=${load.error} />
    <div><${Button} icon="download" busy=${load.busy} onClick=${() => load.run()}>${T("Download your data")}<//></div>
    ${dialog}
  </section>`;
}

function Leave() {
  const [asking, setAsking] = useState(false);
  const { stepUp, dialog } = useStepUp();
  const remove = useAction(async () => {
    await stepUp("DELETE", `${identity}/profile`);
    await forget();
    location.assign("/");
  });
  return html`<section class="card stack"><h2>${T("Delete account")}</h2>
    <p class="dim">
      ${T("Your profile, your mailbox and what you have received are removed for good.")}${" "}
      ${T("What you have sent stays with its recipients until it expires.")}</p>
    <${Problem} error=${remove.error} />
    <div><${Button} kind="danger" icon="trash" busy=${remove.busy} onClick=${() => setAsking(true)}>${T("Delete account")}<//></div>
    ${asking && html`<${Ask} question=${T("Delete your account and everything in it? This cannot be undone.")} yes=${T("Delete account")}
      onYes=${remove.run} onClose=${() => setAsking(false)} />`}
    ${dialog}
  </section>`;
}
