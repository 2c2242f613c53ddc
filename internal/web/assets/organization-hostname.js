// The organization page: its hostname, the TXT record that verifies a new one, and hostnames that are no longer used.

import { Ask, Button, Copy, Field, Form, Notice, Problem, Tool, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { own } from "./api.js";
import { useStepUp } from "./stepup.js";

/** Returns the record that verifies a hostname, or null. @param {Headers} headers of the answer to GET or PUT …/profile */
function claimOf(headers) {
  const found = /<dns:([^?>]+)\?type=TXT>; rel="verify"; key="([^"]+)"/.exec(headers.get("Link") ?? "");
  return found && { record: found[1], host: found[1].replace(/^_consign\./, ""), key: found[2] };
}

/** Shows and changes the hostname. @param {{at: OrganizationPath, onChange: () => void}} props `at`: URL of the organization */
export function Hostname({ at, onChange }) {
  const { value, error, reload } = useLoaded(async () => {
    const [profile, limits] = await Promise.all([own("GET", `${at}/profile`), own("GET", `${at}/limits`)]);
    return { profile: profile.body, claim: claimOf(profile.headers), rule: limits.body.limitations.changeHostname };
  }, [at]);
  if (!value) return html`<${Waiting} error=${error} />`;
  const changed = () => {
    reload();
    onChange();
  };
  return html`<${Hostnames} key=${`${value.profile.hostname} ${value.claim?.host}`} at=${at} ...${value} onChange=${changed} />`;
}

/**
 * @param {{at: OrganizationPath, profile: IdentityAPI["OrganizationProfile"], claim: ReturnType<typeof claimOf>, onChange: () => void,
 *   rule: IdentityAPI["Limitations"]["changeHostname"]}} props
 */
function Hostnames({ at, profile, claim, rule, onChange }) {
  const [missing, setMissing] = useState(false);
  const [asking, setAsking] = useState("");
  const { stepUp, dialog } = useStepUp();
  const put = async (part) => {
    const { headers } = await stepUp("PUT", `${at}/profile`, { ...profile, ...part });
    return claimOf(headers);
  };
  const choose = useAction(async ({ hostname }) => {
    await put({ hostname: hostname.trim().toLowerCase() });
    onChange();
  });
  const check = useAction(async () => {
    const left = await put({ hostname: claim?.host });
    setMissing(Boolean(left));
    if (!left) onChange();
  });
  const remove = useAction(async (host) => {
    await put({ inactiveHostnames: profile.inactiveHostnames.filter((other) => other !== host) });
    onChange();
  });
  const fixed = rule === "noChange";
  const hints = {
    pro: T("One label below the domain of this installation."), teambeam: T("One or two labels below the domain of this installation."),
    custom: T("Any hostname you own. Its DNS must point to this server."),
  };
  return html`<section class="card stack"><h2>${T("Hostname")}</h2>
    <p>${profile.hostname ? html`<b class="break">${profile.hostname}</b>` : T("Your organization has no custom hostname.")}</p>
    ${fixed ? html`<${Notice}>
      ${T("The hostname cannot be changed: your plan does not include it. The operator of this server can allow it.")}<//>`
      : html`<${Form} onSend=${choose.run} refused=${choose.error}>
        <${Field} label=${T("New hostname")} name="hostname" required maxlength="253" autocapitalize="none" spellcheck="false"
          hint=${hints[rule]} />
        <p class="hint">${T("Passkeys belong to the hostname where they were made. After a change, your members sign in with password and second factor, and add a new passkey.")}</p>
        <${Problem} error=${choose.error} />
        <div><${Button} type="submit" busy=${choose.busy}>${T("Use this hostname")}<//></div>
      <//>`}
    ${claim && html`<${Notice} kind="warn" title=${F("Waiting for the TXT record of %s.", claim.host)}>
      <p>${T("Add this record at your domain’s DNS provider. We also check for it automatically for 30 days.")}</p>
      <dl class="facts">
        <dt>${T("Name")}</dt><dd class="break"><code>${claim.record}</code> <${Copy} text=${claim.record}
          label=${T("Copy the name")} /></dd>
        <dt>${T("Type")}</dt><dd><code>TXT</code></dd>
        <dt>${T("Value")}</dt><dd class="break"><code>${claim.key}</code> <${Copy} text=${claim.key} label=${T("Copy the value")} /></dd>
      </dl>
      ${missing && html`<p role="status">${T("The record was not found. DNS changes can take some hours.")}</p>`}
      <${Problem} error=${check.error} />
      <div><${Button} kind="primary" busy=${check.busy} onClick=${() => check.run()}>${T("Check now")}<//></div>
    <//>`}
    ${profile.inactiveHostnames.length > 0 && html`<h3>${T("No longer used")}</h3>
      <p class="hint">${T("Links with these hostnames still work. Once you remove one, its links stop working and others can take the name.")}</p>
      <ul class="list rows">${profile.inactiveHostnames.map((host) => html`<li key=${host} class="row between"><span class="break">
        ${host}</span>
        <${Tool} icon="trash" label=${F("Remove %s", host)} onClick=${() => setAsking(host)} /></li>`)}</ul>
      <${Problem} error=${remove.error} />`}
    ${asking && html`<${Ask} question=${F("Remove the hostname %s? Links with it stop working.", asking)} yes=${T("Remove")}
      onYes=${() => remove.run(asking)} onClose=${() => setAsking("")} />`}
    ${dialog}
  </section>`;
}
