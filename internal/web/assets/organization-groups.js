// The organization page: groups of mailboxes, each with its own link.

import { Ask, Button, Check, Field, Form, Problem, Tool, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, T } from "./i18n.js";
import { call, own, transfer } from "./api.js";

const groups = /** @type {const} */ (`${transfer}/mailboxgroups`);

/** Returns whether a member has a mailbox. @param {string} uid */
const hasMailbox = (uid) => call("HEAD", `${transfer}/public/mailbox/${uid}`).then(() => true, (error) => {
  if (error.status === 404) return false;
  throw error;
});

/** Lists and edits the groups. @param {{at: OrganizationPath}} props URL of the organization */
export function Groups({ at }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", groups)).body.mailboxgroups);
  const [editing, setEditing] = useState(/** @type {Partial<TransferAPI["OwnMailboxGroup"]> | null} */ (null));
  const [asking, setAsking] = useState(/** @type {TransferAPI["OwnMailboxGroup"] | null} */ (null));
  const remove = useAction(async (uid) => {
    await own("DELETE", `${groups}/${uid}`);
    reload();
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const done = () => {
    setEditing(null);
    reload();
  };
  const row = (g) => {
    const link = `${location.origin}/g/${g.vanityLink || g.uid}`;
    return html`<li key=${g.uid} class="row between">
      <span><b>${g.name}</b><span class="hint block break"><a href=${link}>${link}</a></span></span>
      <span class="row"><${Button} kind="quiet" onClick=${() => setEditing(g)}>${T("Edit")}<//>
        <${Tool} icon="trash" label=${F("Remove %s", g.name)} onClick=${() => setAsking(g)} /></span>
    </li>`;
  };
  return html`<section class="card stack"><h2>${T("Groups of mailboxes")}</h2>
    <p class="hint">${T("A group has one link where people choose who their files are for.")}</p>
    ${value.length > 0 ? html`<ul class="list rows">${value.map(row)}</ul>`
      : !editing && html`<${Empty} drawing="people"
        sentence=${T("No groups yet. A group lets people choose the right mailbox behind one link.")} />`}
    <${Problem} error=${remove.error} />
    ${editing ? html`<${Edit} key=${editing.uid ?? "new"} at=${at} group=${editing} onDone=${done} onCancel=${() => setEditing(null)} />`
      : html`<div><${Button} icon="plus" onClick=${() => setEditing({})}>${T("Add a group")}<//></div>`}
    ${asking && html`<${Ask} question=${F("Remove the group %s? Its link stops working.", asking.name)} yes=${T("Remove")}
      onYes=${() => remove.run(asking.uid)} onClose=${() => setAsking(null)} />`}
  </section>`;
}

function Edit({ at, group, onDone, onCancel }) {
  const [chosen, setChosen] = useState(/** @type {string[]} */ (group.mailboxUids ?? []));
  const [without, setWithout] = useState(/** @type {string[]} */ ([])); // members who turned out to have no mailbox
  const save = useAction(async ({ name, description, vanityLink }) => {
    const mailboxUids = chosen.filter((uid) => !without.includes(uid));
    const json = { name, mailboxUids, ...(description ? { description } : {}), ...(vanityLink ? { vanityLink } : {}) };
    await (group.uid ? own("PUT", `${groups}/${group.uid}`, { json }) : own("POST", groups, { json }));
    onDone();
  });
  return html`<${Form} onSend=${save.run} refused=${save.error}>
    <${Field} label=${T("Name")} name="name" required focus maxlength="120" defaultValue=${group.name ?? ""} />
    <${Field} label=${T("Description")} optional name="description" maxlength="500" defaultValue=${group.description ?? ""} />
    <${Field} label=${T("Name in the link")} optional name="vanityLink" autocapitalize="none" spellcheck="false"
      hint=${`${location.host}/g/…`}
      defaultValue=${group.vanityLink ?? ""} />
    <${Choice} at=${at} chosen=${chosen} onChosen=${setChosen} without=${without}
      onWithout=${(uid) => setWithout((before) => [...before, uid])} />
    <${Problem} error=${save.error} />
    <div class="row"><${Button} type="submit" kind="primary" busy=${save.busy}>${T("Save")}<//><${Button} onClick=${onCancel}>
      ${T("Cancel")}<//></div>
  <//>`;
}

/**
 * Chooses members, of whom each must have a mailbox.
 * @param {{at: OrganizationPath, chosen: string[], onChosen: (uids: string[]) => void, without: string[], onWithout: (uid: string) =>
 *  void}} props
 */
function Choice({ at, chosen, onChosen, without, onWithout }) {
  const [search, setSearch] = useState("");
  const { value, error } = useLoaded(async () => (await own("GET", `${at}/members`)).body.members, [at]);
  if (!value) return html`<${Waiting} error=${error} />`;
  const label = (/** @type {IdentityAPI["Member"]} */ m) => m.name || m.email || m.uid;
  const found = value.filter((m) => `${m.name ?? ""} ${m.email ?? ""}`.toLowerCase().includes(search.toLowerCase()));
  const tick = (uid) => async (event) => {
    const on = event.target.checked;
    onChosen(on ? [...chosen, uid] : chosen.filter((other) => other !== uid));
    if (on && !(await hasMailbox(uid).catch(() => true))) onWithout(uid);
  };
  return html`<fieldset class="plain tight"><legend>${T("Mailboxes")}</legend>
    ${value.length > 8 && html`<input type="search" aria-label=${T("Search")} placeholder=${T("Search")} value=${search}
      onInput=${(e) => setSearch(e.target.value)} />`}
    ${found.slice(0, 200).map((m) => html`<${Check} key=${m.uid} label=${label(m)}
      checked=${chosen.includes(m.uid) && !without.includes(m.uid)}
      disabled=${without.includes(m.uid)} hint=${without.includes(m.uid) ? T("No mailbox yet") : m.name ? m.email : ""}
        onChange=${tick(m.uid)} />`)}
    ${found.length === 0 && html`<${Empty} drawing="search" sentence=${T("Nothing matches.")} />`}
  </fieldset>`;
}
