// /account: profile, picture, addresses, password, second factor, recovery codes, sessions.

import { Ask, Button, Copy, Field, Form, Icon, Notice, Problem, announce, html, show, useAction, useLoaded, useState } from "./ui.js";
import { F, N, T, languageName, when } from "./words.js";
import { call, claims, forget, idToken, identity, own, signInFirst, signedIn } from "./api.js";
import { members } from "./refusals.js";
import { Password } from "./signin.js";
import { Picture } from "./avatar.js";
import { speak } from "./shell.js";

const locales = ["de_DE", "en_US", "fr_FR", "ru_RU", "ko_KR", "zh_CN", "zh_TW", "ja_JP"];
const zones = (now) => [...new Set([...(now ? [now] : []), "UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])])];

if (signedIn()) {
  show(() => {
    const { value: profile, error, reload } = useLoaded(async () => (await own("GET", `${identity}/profile`)).body);
    if (error) return html`<h1>${T("Your account")}</h1><${Problem} error=${error} />`;
    if (!profile) return html`<p class="loading" role="status">${T("One moment…")}</p>`;
    return html`<h1>${T("Your account")}</h1>
      <div class="stack sections">
        <${Profile} profile=${profile} />
        <${Addresses} profile=${profile} onChange=${reload} />
        <${Credentials} profile=${profile} />
        <${Sessions} />
        <${Membership} profile=${profile} />
        <${Leave} />
      </div>`;
  });
} else signInFirst();

function Profile({ profile }) {
  const [saved, setSaved] = useState(false);
  const save = useAction(async ({ name, locale, timeZone }) => {
    await own("PUT", `${identity}/profile`, { json: { name: name.trim(), locale, timeZone } });
    setSaved(true);
    announce(T("Saved"));
    if (locale !== document.documentElement.dataset.locale) speak(locale);
  });
  const wrong = members(save.error);
  return html`<section class="card stack">
    <h2>${T("Profile")}</h2>
    <${Picture} url=${`${identity}/profile/avatar`} name=${profile.name || profile.emails[0]?.address || ""} has=${profile.hasAvatar} label=${T("Your picture, shown on the page of your mailbox.")} />
    <${Form} onSend=${save.run} onInput=${() => setSaved(false)}>
      <${Field} label=${T("Name")} name="name" value=${profile.name ?? ""} maxlength="120" autocomplete="name" error=${wrong.name && T("Please check this.")} />
      <div class="pair">
        <${Field} label=${T("Language")} name="locale" as="select">${locales.map((l) => html`<option value=${l} lang=${l.replace("_", "-")} selected=${l === profile.locale}>${languageName(l)}</option>`)}<//>
        <${Field} label=${T("Time zone")} name="timeZone" as="select">${zones(profile.timeZone).map((z) => html`<option value=${z} selected=${z === profile.timeZone}>${z.replaceAll("_", " ")}</option>`)}<//>
      </div>
      <${Problem} error=${save.error} />
      <div class="row"><${Button} type="submit" kind="primary" busy=${save.busy}>${T("Save")}<//>${saved && html`<span class="saved">${T("Saved")}</span>`}</div>
    <//>
    ${profile.fingerprint?.length > 0 && html`<p class="hint">${T("Your fingerprint, by which others can recognise you:")} <span class="fingerprint" title=${profile.fingerprint.map((f) => f.title).join(" ")}>${profile.fingerprint.map((f) => f.name).join(" ")}</span></p>`}
  </section>`;
}

function Addresses({ profile, onChange }) {
  const [sent, setSent] = useState("");
  const act = useAction(async (method, address, below = "") => {
    await own(method, `${identity}/profile/emails/${encodeURIComponent(address)}${below}`);
    if (below === "/verify") setSent(address);
    else onChange();
  });
  const add = useAction(async ({ address }, form) => {
    await own("POST", `${identity}/profile/emails`, { json: { address: address.trim() } });
    form.reset();
    setSent(address.trim());
    onChange();
  });
  return html`<section class="card stack">
    <h2>${T("Email addresses")}</h2>
    ${sent && html`<${Notice} kind="good">${F("We have sent a message to %s. Open the link in it to confirm your address.", sent)}<//>`}
    <ul class="list rows">${profile.emails.map((e) => html`<li key=${e.address} class="row between">
      <span><b class="break">${e.address}</b> ${e.primary && html`<span class="badge">${T("Main address")}</span>`} ${e.verified ? "" : html`<span class="badge warn">${T("Not confirmed")}</span>`}
        ${e.removeAt && html`<span class="hint block">${F("Is removed on %s unless it is confirmed.", when(e.removeAt))}</span>`}</span>
      <span class="row">
        ${!e.verified && html`<${Button} kind="quiet" busy=${act.busy} onClick=${() => act.run("POST", e.address, "/verify")}>${T("Send the message again")}<//>`}
        ${e.verified && !e.primary && html`<${Button} kind="quiet" busy=${act.busy} onClick=${() => act.run("POST", e.address, "/primary")}>${T("Make it the main one")}<//>`}
        ${!e.primary && html`<button type="button" class="button icon-only" aria-label=${F("Remove %s", e.address)} onClick=${() => act.run("DELETE", e.address)}><${Icon} name="trash" /></button>`}
      </span></li>`)}</ul>
    <${Problem} error=${act.error} />
    <${Form} onSend=${add.run}>
      <${Field} label=${T("Another address")} name="address" type="email" required error=${add.error?.status === 400 && T("This is not an email address that can be used.")} />
      ${add.error?.status !== 400 && html`<${Problem} error=${add.error} />`}
      <div><${Button} type="submit" busy=${add.busy}>${T("Add")}<//></div>
    <//>
  </section>`;
}

/** Password, second factor and recovery codes. */
function Credentials({ profile }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${identity}/profile/authenticators`)).body.authenticators);
  if (error) return html`<section class="card"><h2>${T("Signing in")}</h2><${Problem} error=${error} /></section>`;
  if (!value) return null;
  const of = (type) => value.find((a) => a.type === type);
  const email = profile.emails.find((e) => e.primary)?.address ?? "";
  return html`
    ${of("bcrypt") && html`<${ChangePassword} uid=${of("bcrypt").uid} />`}
    <section class="card stack"><h2>${T("Second factor")}</h2>
      <${SecondFactor} now=${of("totp")} email=${email} onChange=${reload} />
    </section>
    <section class="card stack"><h2>${T("Recovery codes")}</h2>
      <${Recovery} now=${of("recovery")} onChange=${reload} />
    </section>`;
}

function ChangePassword({ uid }) {
  const [done, setDone] = useState(false);
  const change = useAction(async ({ old, next }, form) => {
    await own("PUT", `${identity}/profile/authenticators/${uid}`, { json: { authKey: old, pubKey: next } });
    form.reset();
    setDone(true);
  });
  const wrong = members(change.error);
  return html`<section class="card stack"><h2>${T("Password")}</h2>
    ${done && html`<${Notice} kind="good" title=${T("Your new password is set")}>${T("All other sessions were ended.")}<//>`}
    <${Form} onSend=${change.run} onInput=${() => setDone(false)}>
      <input type="text" name="username" autocomplete="username" value=${claims(idToken()).email ?? ""} hidden readonly />
      <${Password} label=${T("Present password")} name="old" autocomplete="current-password" error=${change.error?.status === 403 && T("This password is not right.")} />
      <${Password} label=${T("New password")} name="next" minlength="10" maxlength="72" autocomplete="new-password" hint=${T("At least 10 characters. Several words are easy to remember and hard to guess.")}
        error=${wrong.pubKey && T("This password is too short, too long or too common. Please choose another.")} />
      ${change.error?.status !== 403 && html`<${Problem} error=${change.error} />`}
      <div><${Button} type="submit" kind="primary" busy=${change.busy}>${T("Change the password")}<//></div>
    <//>
  </section>`;
}

/** A refusal that a fresh sign-in would overcome leads there. */
function Refusal({ error }) {
  return html`<${Problem} error=${error} />${error?.code === 403010 && html`<p><a class="button" href="/login?next=/account">${T("Sign in")}</a></p>`}`;
}

function SecondFactor({ now, email, onChange }) {
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [asking, setAsking] = useState(false);
  const start = useAction(async () => setMade((await own("POST", `${identity}/profile/authenticators`, { json: { type: "totp", name: T("Authenticator app") } })).body));
  const verify = useAction(async ({ code }) => {
    await own("POST", `${identity}/profile/authenticators/${made.uid}/verify`, { json: { email, type: "totp", key: code.replace(/\s/g, "") } });
    setMade(null);
    announce(T("The second factor is on."));
    onChange();
  });
  const remove = useAction(async () => {
    await own("DELETE", `${identity}/profile/authenticators/${now.uid}`);
    onChange();
  });
  if (now) {
    return html`<div class="row between"><p><${Icon} name="check" /> ${T("The second factor is on.")} <span class="dim">${F("Since %s", when(now.registeredAt))}</span></p>
      <${Button} kind="danger" busy=${remove.busy} onClick=${() => setAsking(true)}>${T("Switch off")}<//></div><${Problem} error=${remove.error} />
      ${asking && html`<${Ask} question=${T("Switch off the second factor? Your password alone is then enough to sign in.")} yes=${T("Switch off")} onYes=${remove.run} onClose=${() => setAsking(false)} />`}`;
  }
  if (made) {
    return html`<div class="qr">
      <img src=${made.dataUri} alt=${T("QR code for your authenticator app")} width="200" height="200" />
      <div class="stack">
        <p>${T("Scan the code with an authenticator app, or type the key into it. Then enter the six digits that the app shows.")}</p>
        <div class="row"><code class="key">${made.key.replace(/(.{4})/g, "$1 ").trim()}</code><${Copy} text=${made.key} label=${T("Copy the key")} /></div>
        <${Form} onSend=${verify.run}>
          <${Field} label=${T("Code of 6 digits")} name="code" required inputmode="numeric" pattern="[0-9 ]{6,8}" autocomplete="one-time-code" class="code" error=${verify.error?.status === 403 && T("This code is not right, or no longer valid.")} />
          ${verify.error?.status !== 403 && html`<${Problem} error=${verify.error} />`}
          <div class="row"><${Button} type="submit" kind="primary" busy=${verify.busy}>${T("Switch on")}<//><${Button} kind="quiet" onClick=${() => setMade(null)}>${T("Cancel")}<//></div>
        <//>
      </div></div>`;
  }
  return html`<p class="dim">${T("An app on your phone shows a code that changes every 30 seconds. A stolen password alone then opens nothing.")}</p>
    <${Refusal} error=${start.error} /><div><${Button} kind="primary" busy=${start.busy} onClick=${() => start.run()}>${T("Set up")}<//></div>`;
}

function Recovery({ now, onChange }) {
  const [codes, setCodes] = useState(/** @type {string[]} */ ([]));
  const make = useAction(async () => {
    const { body } = await own("POST", `${identity}/profile/authenticators`, { json: { type: "recovery", name: T("Recovery codes") } });
    setCodes(body.key.split(/\s+/));
    onChange();
  });
  return html`
    ${codes.length > 0 ? html`
      <${Notice} kind="warn">${T("Keep these codes in a safe place. They are shown only now, and each works once.")}<//>
      <ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
      <div class="row"><${Copy} text=${codes.join("\n")} label=${T("Copy the codes")} /><${Button} icon="print" onClick=${() => print()}>${T("Print")}<//></div>`
      : html`<p class="dim">${now ? T("You have recovery codes. New ones replace them.") : T("With a recovery code you get in when your phone is lost.")} ${Number(now?.cardinality) > 1 ? N("%d code is left.", "%d codes are left.", Number(now.cardinality)) : ""}</p>
      <${Refusal} error=${make.error} /><div><${Button} busy=${make.busy} onClick=${() => make.run()}>${now ? T("Make new codes") : T("Make recovery codes")}<//></div>`}`;
}

function Sessions() {
  const { value, error, reload } = useLoaded(async () => (await call("GET", `${identity}/auth`, { token: idToken() })).body.tokens);
  const here = claims(idToken()).jti;
  const [asking, setAsking] = useState(false);
  const end = useAction(async (jti) => {
    await call("POST", `${identity}/auth/logout?jti=${encodeURIComponent(jti)}`, { token: idToken() });
    if (jti === "all" || jti === here) {
      forget();
      location.assign("/");
    } else reload();
  });
  return html`<section class="card stack"><h2>${T("Sessions")}</h2>
    <${Problem} error=${error ?? end.error} />
    <ul class="list rows">${(value ?? []).map((s) => html`<li key=${s.jti} class="row between">
      <span><b>${browser(s.userAgent)}</b> ${s.jti === here && html`<span class="badge good">${T("This one")}</span>`}<span class="hint block">${F("%s, since %s", s.ip, when(s.issuedTimestamp))}</span></span>
      <${Button} busy=${end.busy} onClick=${() => end.run(s.jti)} aria-label=${F("End the session %s", browser(s.userAgent))}>${T("End")}<//></li>`)}</ul>
    <div><${Button} kind="danger" onClick=${() => setAsking(true)}>${T("End all sessions")}<//></div>
    ${asking && html`<${Ask} question=${T("End all sessions, this one too?")} yes=${T("End all sessions")} onYes=${() => end.run("all")} onClose=${() => setAsking(false)} />`}
  </section>`;
}

/** A browser and its system, as far as their line of text tells. @param {string} agent */
function browser(agent) {
  const name = /Firefox|Edg|OPR|Chrome|Safari|curl/.exec(agent)?.[0] ?? "";
  const system = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(agent)?.[0] ?? "";
  return [{ Edg: "Edge", OPR: "Opera" }[name] ?? name, { "Mac OS X": "macOS" }[system] ?? system].filter(Boolean).join(", ") || agent.slice(0, 40) || T("Unknown device");
}

function Membership({ profile }) {
  const organization = profile.membership?.organization;
  return html`<section class="card stack"><h2>${T("Organization")}</h2>
    ${organization && !organization.selfSignup ? html`<p>${F("You are a member of %s", organization.name ?? "")} <a href="/organization">${T("Your organization")}</a></p>`
      : html`<p class="dim">${T("An organization has its own members, groups, limits and look.")}</p><div><a class="button" href="/organization">${T("Create an organization")}</a></div>`}
  </section>`;
}

function Leave() {
  const [asking, setAsking] = useState(false);
  const remove = useAction(async () => {
    await own("DELETE", `${identity}/profile`);
    forget();
    location.assign("/");
  });
  return html`<section class="card stack"><h2>${T("Delete the account")}</h2>
    <p class="dim">${T("Your profile, your mailbox and what you have received are removed for good. What you have sent stays with its recipients until it expires.")}</p>
    <${Problem} error=${remove.error} />
    <div><${Button} kind="danger" icon="trash" busy=${remove.busy} onClick=${() => setAsking(true)}>${T("Delete the account")}<//></div>
    ${asking && html`<${Ask} question=${T("Delete your account and everything in it? This cannot be undone.")} yes=${T("Delete the account")} onYes=${remove.run} onClose=${() => setAsking(false)} />`}
  </section>`;
}
