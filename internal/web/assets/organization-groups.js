// The organization page: groups of mailboxes, each with its own link.

import { Ask, Button, Field, Form, Problem, Tool, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { own, transfer } from "./api.js";
import { members } from "./errors.js";

const groups = `${transfer}/mailboxgroups`;

/** Returns the uid of a mailbox. @param {string} name vanity link or uid */
async function mailboxUid(name) {
  if (/^[0-9a-f-]{36}$/i.test(name)) return name;
  return (await own("GET", `${transfer}/public/mailbox/${encodeURIComponent(name.toLowerCase())}`)).body.uid;
}

/** Lists and edits the groups. */
export function Groups() {
  const { value, error, reload } = useLoaded(async () => (await own("GET", groups)).body.mailboxgroups);
  const [editing, setEditing] = useState(/** @type {any} */ (null));
  const [asking, setAsking] = useState(/** @type {any} */ (null));
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
    <p class="hint">${T("A group has one link, behind which people choose whom their files are for.")}</p>
    ${value.length > 0 && html`<ul class="list rows">${value.map(row)}</ul>`}
    <${Problem} error=${remove.error} />
    ${editing ? html`<${Edit} key=${editing.uid ?? "new"} group=${editing} onDone=${done} onCancel=${() => setEditing(null)} />`
      : html`<div><${Button} icon="plus" onClick=${() => setEditing({})}>${T("Add a group")}<//></div>`}
    ${asking && html`<${Ask} question=${F("Remove the group %s? Its link stops working.", asking.name)} yes=${T("Remove")}
      onYes=${() => remove.run(asking.uid)} onClose=${() => setAsking(null)} />`}
  </section>`;
}

function Edit({ group, onDone, onCancel }) {
  const save = useAction(async ({ name, description, vanityLink, mailboxes }) => {
    const mailboxUids = await Promise.all(mailboxes.split(/[\s,;]+/).filter(Boolean).map(mailboxUid));
    const json = { name, mailboxUids, ...(description ? { description } : {}), ...(vanityLink ? { vanityLink } : {}) };
    await (group.uid ? own("PUT", `${groups}/${group.uid}`, { json }) : own("POST", groups, { json }));
    onDone();
  });
  const wrong = members(save.error);
  return html`<${Form} onSend=${save.run}>
    <${Field} label=${T("Name")} name="name" required focus maxlength="120" defaultValue=${group.name ?? ""} />
    <${Field} label=${T("Description")} optional name="description" maxlength="500" defaultValue=${group.description ?? ""} />
    <${Field} label=${T("Name in the link")} optional name="vanityLink" autocapitalize="none" spellcheck="false" hint=${`${location.host}/g/…`}
      defaultValue=${group.vanityLink ?? ""} error=${wrong.vanityLink && T("Please check this.")} />
    <${Field} label=${T("Mailboxes")} name="mailboxes" as="textarea" rows="3" required hint=${T("Their names, separated by commas or spaces.")}
      defaultValue=${(group.mailboxes ?? []).map((m) => m.vanityLink || m.uid).join(", ")} />
    <${Problem} error=${save.error} />
    <div class="row"><${Button} type="submit" kind="primary" busy=${save.busy}>${T("Save")}<//><${Button} onClick=${onCancel}>${T("Cancel")}<//></div>
  <//>`;
}
