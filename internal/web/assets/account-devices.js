// /account/devices: where the person is signed in, API tokens, and webhooks.

import { Ask, Button, Problem, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { F, T, since, when } from "./i18n.js";
import { call, forget, identity } from "./api.js";
import { showAccount } from "./accountpage.js";
import { APITokens } from "./apitokens.js";
import { now, person } from "./session.js";
import { Webhooks } from "./webhooks.js";
import "./shell.js";

showAccount(() => html`<${Sessions} /><${APITokens} /><${Webhooks} />`);

function Sessions() {
  const { value, error, reload } = useLoaded(async () => {
    const [listed, uses] = await Promise.all([call("GET", `${identity}/auth`), call("GET", `${identity}/auth/uses`)]);
    const used = new Map(uses.body.uses.map((u) => [u.jti, u.lastUsedTimestamp]));
    return listed.body.tokens.map((t) => ({ ...t, used: used.get(t.jti) ?? t.issuedTimestamp }));
  });
  const here = person()?.jti;
  const [asking, setAsking] = useState(false);
  const end = useAction(async (jti) => {
    await call("POST", `${identity}/auth/logout?jti=${encodeURIComponent(jti)}`);
    if (jti === "all" || jti === here) {
      await forget();
      location.assign("/");
    } else reload();
  });
  return html`<section class="card stack"><h2>${T("Sessions")}</h2>
    <${Problem} error=${error ?? end.error} />
    ${!value && !error && html`<${Waiting} />`}
    <ul class="list rows">${(value ?? []).map((s) => html`<li key=${s.jti} class="row between">
      <span><b>${browser(s.userAgent)}</b> ${s.jti === here && html`<span class="badge good">${T("This device")}</span>`}
        <span class="hint block">${s.jti === here ? T("Active now") : F("Last active %s", since(s.used, now()))}
          ${" · "}${F("signed in on %s", when(s.issuedTimestamp))} · ${s.ip}</span></span>
      <${Button} busy=${end.busy} onClick=${() => end.run(s.jti)}
        aria-label=${F("Sign out %s", `${browser(s.userAgent)}, ${when(s.issuedTimestamp)}`)}>${T("Sign out")}<//>
    </li>`)}</ul>
    <div><${Button} kind="danger" onClick=${() => setAsking(true)}>${T("Sign out everywhere")}<//></div>
    ${asking && html`<${Ask} question=${T("Sign out on every device, including this one?")} yes=${T("Sign out everywhere")}
      onYes=${() => end.run("all")} onClose=${() => setAsking(false)} />`}
  </section>`;
}

/** Returns a device from a User-Agent, like "Chrome on Linux". @param {string} agent */
function browser(agent) {
  const name = /Firefox|Edg|OPR|Chrome|Safari|curl/.exec(agent)?.[0] ?? "";
  const system = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(agent)?.[0] ?? "";
  const known = [{ Edg: "Edge", OPR: "Opera" }[name] ?? name, { "Mac OS X": "macOS" }[system] ?? system].filter(Boolean);
  return known.length === 2 ? F("%s on %s", ...known) : known[0] || agent.slice(0, 40) || T("Unknown device");
}
