// The account page: password, passkeys, second factor and recovery codes.

import { Ask, Button, Copy, Field, Form, Icon, Notice, Problem, Tool, Waiting, announce, html, useAction, useLoaded,
  useState } from "./ui.js";
import { F, N, T, when } from "./i18n.js";
import { identity, own } from "./api.js";
import { person } from "./session.js";
import { NewPassword, Password, hasPasskeys } from "./signin.js";
import { useStepUp } from "./stepup.js";

const authenticators = /** @type {const} */ (`${identity}/profile/authenticators`);

/** The person's authenticators. @param {{profile: IdentityAPI["Person"]}} props */
export function Credentials({ profile }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", authenticators)).body.authenticators);
  const { stepUp, dialog } = useStepUp();
  if (error) return html`<section class="card stack"><h2>${T("Signing in")}</h2><${Problem} error=${error} /></section>`;
  if (!value) return html`<${Waiting} />`;
  const of = (type) => value.find((a) => a.type === type);
  const email = profile.emails.find((e) => e.primary)?.address ?? "";
  return html`
    ${of("bcrypt") && html`<${ChangePassword} uid=${of("bcrypt")?.uid} />`}
    ${of("bcrypt") && html`<section class="card stack"><h2>${T("Passkeys")}</h2>
      <${Passkeys} all=${value.filter((a) => a.type === "webauthn")} email=${email} stepUp=${stepUp} onChange=${reload} />
    </section>`}
    <section class="card stack"><h2>${T("Second factor")}</h2>
      <${SecondFactor} now=${of("totp")} email=${email} stepUp=${stepUp} onChange=${reload} />
    </section>
    <section class="card stack"><h2>${T("Recovery codes")}</h2>
      <${Recovery} now=${of("recovery")} needed=${of("totp") || of("webauthn")} stepUp=${stepUp} onChange=${reload} />
    </section>
    ${dialog}`;
}

function ChangePassword({ uid }) {
  const [done, setDone] = useState(false);
  const change = useAction(async ({ old, next }, form) => {
    await own("PUT", `${authenticators}/${uid}`, { json: { authKey: old, pubKey: next } });
    form.reset();
    setDone(true);
  });
  const refused = change.error?.status === 403;
  return html`<section class="card stack"><h2>${T("Password")}</h2>
    ${done && html`<${Notice} kind="good" title=${T("Your new password is set")}>${T("All other devices were signed out.")}<//>`}
    <${Form} onSend=${change.run} refused=${change.error} onInput=${() => setDone(false)}>
      <input type="text" name="username" autocomplete="username" value=${person()?.email ?? ""} hidden readonly />
      <${Password} label=${T("Current password")} name="old" autocomplete="current-password"
        error=${refused && T("This password is not right.")} />
      <${NewPassword} label=${T("New password")} name="next" member="pubKey" />
      ${!refused && html`<${Problem} error=${change.error} />`}
      <div><${Button} type="submit" kind="primary" busy=${change.busy}>${T("Change password")}<//></div>
    <//>
  </section>`;
}

/** Renames a passkey. @param {{passkey: IdentityAPI["Authenticator"], onChange: () => void, onClose: () => void}} props */
function NameOfPasskey({ passkey, onChange, onClose }) {
  const rename = useAction(async ({ name }) => {
    await own("PUT", `${authenticators}/${passkey.uid}`, { json: { name: name.trim() } });
    onClose();
    onChange();
  });
  return html`<${Form} onSend=${rename.run} refused=${rename.error} class="stack">
    <${Field} label=${T("Name")} name="name" required focus maxlength="100" defaultValue=${passkey.name} autocomplete="off" />
    <${Problem} error=${rename.error} />
    <div class="row"><${Button} type="submit" kind="primary" busy=${rename.busy}>${T("Save")}<//> <${Button} onClick=${onClose}>
      ${T("Cancel")}<//></div>
  <//>`;
}

/**
 * The person's passkeys.
 * @param {{all: IdentityAPI["Authenticator"][], email: string, stepUp: ReturnType<typeof useStepUp>["stepUp"], onChange: () => void}} props
 */
function Passkeys({ all, email, stepUp, onChange }) {
  const [asking, setAsking] = useState(/** @type {IdentityAPI["Authenticator"] | null} */ (null));
  const [naming, setNaming] = useState("");
  const add = useAction(async ({ passkey }, form) => {
    const { body } = await stepUp("POST", authenticators, { type: "webauthn", name: passkey.trim() });
    const key = await (await import("./passkeys.js")).create(body.options);
    await own("POST", `${authenticators}/${body.uid}/verify`, { json: { email, type: "webauthn", key } });
    form.reset();
    announce(T("The passkey was added."));
    onChange();
  });
  const remove = useAction(async (uid) => {
    await stepUp("DELETE", `${authenticators}/${uid}`);
    onChange();
  });
  const close = (/** @type {string} */ uid) => {
    setNaming("");
    requestAnimationFrame(() => document.getElementById(`rename-${uid}`)?.focus());
  };
  const used = (k) => [k.lastUsedAt ? F("Last used %s", when(k.lastUsedAt)) : F("Added %s", when(k.registeredAt)),
    k.backedUp ? T("synced by your devices") : T("on one device only"),
      k.hostname !== location.hostname && F("for %s", k.hostname)].filter(Boolean).join(" · ");
  const named = (k) => k.name || T("Passkey");
  return html`
    <p class="dim">${T("A passkey signs you in with your fingerprint, face or PIN, without a password. Nobody can trick you into giving it away.")}</p>
    ${all.length > 0 && html`<ul class="list rows">${all.map((k) => html`<li key=${k.uid} class="row between">
      ${naming === k.uid ? html`<${NameOfPasskey} passkey=${k} onChange=${onChange} onClose=${() => close(k.uid)} />`
        : html`<span><b class="break">${named(k)}</b> <span class="hint block">${used(k)}</span></span>
      <span class="row"><${Button} id=${`rename-${k.uid}`} aria-label=${F("Rename %s", named(k))} onClick=${() => setNaming(k.uid)}>
        ${T("Rename")}<//>
      <${Tool} icon="trash" label=${F("Remove %s", named(k))} onClick=${() => setAsking(k)} /></span>`}</li>`)}</ul>`}
    <${Problem} error=${remove.error} />
    ${hasPasskeys ? html`<${Form} onSend=${add.run} refused=${add.error}>
      <${Field} label=${T("Name of the new passkey")} name="passkey" required maxlength="100" hint=${T("For example: my phone.")}
        autocomplete="off" />
      <${Problem} error=${add.error} />
      <div><${Button} type="submit" icon="key" busy=${add.busy}>${T("Add a passkey")}<//></div>
    <//>` : html`<p class="hint">${T("This browser cannot use passkeys here.")}</p>`}
    ${asking && html`<${Ask} question=${F("Remove the passkey %s? You can no longer sign in with it.", named(asking))} yes=${T("Remove")}
      onYes=${() => remove.run(asking.uid)} onClose=${() => setAsking(null)} />`}`;
}

/** The second factor: on, in set-up, or off. */
function SecondFactor({ now, email, stepUp, onChange }) {
  const [made, setMade] = useState(/** @type {any} */ (null));
  const start = useAction(async () => setMade((await stepUp("POST", authenticators, { type: "totp", name: T("Authenticator app") })).body));
  if (now) return html`<${FactorOn} now=${now} stepUp=${stepUp} onChange=${onChange} />`;
  if (made) {
    const done = () => {
      setMade(null);
      announce(T("The second factor is on."));
      onChange();
    };
    return html`<${FactorSetUp} made=${made} email=${email} onDone=${done} onCancel=${() => setMade(null)} />`;
  }
  return html`
    <p class="dim">${T("An app on your phone shows a code that changes every 30 seconds. A stolen password then isn’t enough to get in.")}
      </p>
    <${Problem} error=${start.error} />
    <div><${Button} kind="primary" busy=${start.busy} onClick=${() => start.run()}>${T("Set up")}<//></div>`;
}

function FactorOn({ now, stepUp, onChange }) {
  const [asking, setAsking] = useState(false);
  const remove = useAction(async () => {
    await stepUp("DELETE", `${authenticators}/${now.uid}`);
    onChange();
  });
  return html`<div class="row between">
      <p class="on"><${Icon} name="check" /> ${T("The second factor is on.")} <span class="dim">
        ${F("Since %s", when(now.registeredAt))}</span></p>
      <${Button} kind="danger" busy=${remove.busy} onClick=${() => setAsking(true)}>${T("Turn off")}<//>
    </div>
    <${Problem} error=${remove.error} />
    ${asking && html`<${Ask} question=${T("Turn off the second factor? You’ll then sign in with just your password.")} yes=${T("Turn off")}
      onYes=${remove.run} onClose=${() => setAsking(false)} />`}`;
}

function FactorSetUp({ made, email, onDone, onCancel }) {
  const verify = useAction(async ({ code }) => {
    await own("POST", `${authenticators}/${made.uid}/verify`, { json: { email, type: "totp", key: code.replace(/\s/g, "") } });
    onDone();
  });
  const refused = verify.error?.status === 403;
  return html`<div class="qr">
    <img src=${made.dataUri} alt=${T("QR code for your authenticator app")} width="200" height="200" />
    <div class="stack">
      <p>${T("Scan the code with an authenticator app, or type the key into it. Then enter the six digits that the app shows.")}</p>
      <div class="row"><code class="key">${made.key.replace(/(.{4})/g, "$1 ").trim()}</code><${Copy} text=${made.key}
        label=${T("Copy the key")} /></div>
      <${Form} onSend=${verify.run}>
        <${Field} label=${T("6-digit code")} name="code" required focus inputmode="numeric" pattern="[0-9 ]{6,8}"
          autocomplete="one-time-code"
          class="code" error=${refused && T("This code is not right, or no longer valid.")} />
        ${!refused && html`<${Problem} error=${verify.error} />`}
        <div class="row">
          <${Button} type="submit" kind="primary" busy=${verify.busy}>${T("Turn on")}<//>
          <${Button} kind="quiet" onClick=${onCancel}>${T("Cancel")}<//>
        </div>
      <//>
    </div>
  </div>`;
}

function Recovery({ now, needed, stepUp, onChange }) {
  const [codes, setCodes] = useState(/** @type {string[]} */ ([]));
  const make = useAction(async () => {
    const { body } = await stepUp("POST", authenticators, { type: "recovery", name: T("Recovery codes") });
    setCodes(body.key.split(/\s+/));
    onChange();
  });
  if (codes.length > 0) {
    return html`
      <${Notice} kind="warn">${T("Keep these codes in a safe place. They are shown only now, and each works once.")}<//>
      <ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
      <div class="row screen">
        <${Copy} text=${codes.join("\n")} label=${T("Copy the codes")} />
        <${Button} icon="print" onClick=${() => print()}>${T("Print")}<//>
      </div>`;
  }
  const left = Number(now?.cardinality);
  return html`
    ${needed && !now && html`<${Notice} kind="warn">
      ${T("Create recovery codes now. Without them you cannot get in when you lose your device.")}<//>`}
    <p class="dim">${now ? T("You have recovery codes. New ones replace them.") : T("Recovery codes get you in if you lose your phone.")}
      ${left > 0 && html` ${N("%d code is left.", "%d codes are left.", left)}`}</p>
    <${Problem} error=${make.error} />
    <div><${Button} busy=${make.busy} onClick=${() => make.run()}>${now ? T("Create new codes") : T("Create recovery codes")}<//></div>`;
}
