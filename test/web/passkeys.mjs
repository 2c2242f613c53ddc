// Passkeys, with Chromium's virtual authenticator (CDP domain WebAuthn).

import { equal, focused, inFirefox, page, person, signedIn, test, visitor } from "./kit.mjs";

const identity = "/id/v3";

/** Gives a page an authenticator. `credentials`: those of another page. */
async function authenticator(p, { verifies = true, backup = true, credentials = [], present = true } = {}) {
  const cdp = await p.context().newCDPSession(p);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", { options: {
    protocol: "ctap2", ctap2Version: "ctap2_1", transport: "internal", hasResidentKey: true, hasUserVerification: verifies,
      isUserVerified: verifies,
    automaticPresenceSimulation: present, defaultBackupEligibility: backup, defaultBackupState: backup,
  } });
  for (const credential of credentials) await cdp.send("WebAuthn.addCredential", { authenticatorId, credential });
  return { credentials: async () => (await cdp.send("WebAuthn.getCredentials", { authenticatorId })).credentials };
}

/** A visitor whose browser offers no passkeys in the autofill: the virtual authenticator would accept at once, before the test clicks. */
async function withoutAutofill() {
  const context = await visitor();
  await context.addInitScript(() => { if (globalThis.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = () =>
    Promise.resolve(false); });
  return context;
}

/** Adds a passkey on the account page. */
async function add(p, name) {
  await p.getByLabel("Name of the new passkey").fill(name);
  await p.getByRole("button", { name: "Add a passkey" }).click();
  await p.getByText(name, { exact: true }).waitFor();
}

async function typePassword(p, who) {
  await p.fill("[name=email]", who.email);
  await p.fill("[name=password]", who.password);
  await p.getByRole("button", { name: "Sign in", exact: true }).click();
}

export async function passkeyTests() {
  if (inFirefox) return;

  await test("passkeys: added, signs in without a password, removed", async () => {
    const who = await person("Petra");
    const p = await page(await signedIn(who), "/account/security");
    const device = await authenticator(p);
    await add(p, "My phone");
    await p.getByText("synced by your devices").waitFor();
    await p.getByText("Create recovery codes now.").waitFor();
    const credentials = await device.credentials();
    equal(credentials.length, 1, "credentials on the device");

    const q = await page(await withoutAutofill(), "/login");
    await authenticator(q, { credentials });
    await q.getByRole("button", { name: "Sign in with a passkey" }).click();
    await q.waitForURL("**/inbox");
    const session = (await q.context().cookies()).find((c) => c.name === "id");
    equal(session.expires, -1, "the session without “stay signed in”");

    await p.reload();
    await p.getByText("Last used").waitFor();
    await p.getByRole("button", { name: "Rename My phone" }).click();
    await p.getByLabel("Name", { exact: true }).and(p.locator("[value='My phone']")).fill("Old phone");
    await p.keyboard.press("Enter");
    await p.getByText("Old phone", { exact: true }).waitFor();
    await focused(p, "Rename");
    await p.getByRole("button", { name: "Rename Old phone" }).click();
    await p.getByRole("button", { name: "Cancel" }).click();
    await p.getByRole("button", { name: "Remove Old phone" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await p.getByText("Old phone", { exact: true }).waitFor({ state: "detached" });
    const r = await page(await withoutAutofill(), "/login");
    await authenticator(r, { credentials });
    await r.getByRole("button", { name: "Sign in with a passkey" }).click();
    await r.locator(".notice.bad").waitFor();
  });

  await test("passkeys: the second factor after the password, without user verification", async () => {
    const who = await person("Pablo");
    const p = await page(await signedIn(who), "/account/security");
    const device = await authenticator(p, { verifies: false, backup: false });
    await add(p, "Key ring");
    await p.getByText("on one device only").waitFor();
    const credentials = await device.credentials();
    const q = await page(await withoutAutofill(), "/login");
    await authenticator(q, { verifies: false, backup: false, credentials });
    await typePassword(q, who);
    await q.getByRole("button", { name: "Use a passkey" }).click();
    await q.waitForURL("**/inbox");
  });

  await test("passkeys: the person cancels and tries again", async () => {
    const q = await page(await visitor(), "/login");
    await q.evaluate(() => { navigator.credentials.get = () => Promise.reject(new DOMException("cancelled", "NotAllowedError")); });
    await q.getByRole("button", { name: "Sign in with a passkey" }).click();
    await q.getByText("No passkey was used. You can try again.").waitFor();
    equal(await q.getByRole("button", { name: "Sign in with a passkey" }).isEnabled(), true, "the button");
  });

  await test("passkeys: the autofill of the address offers them", async () => {
    const who = await person("Paul");
    const p = await page(await signedIn(who), "/account/security");
    await authenticator(p);
    await add(p, "Laptop");
    const context = await visitor();
    await context.addInitScript(() => {
      if (!navigator.credentials) return; // about:blank
      const get = navigator.credentials.get.bind(navigator.credentials);
      window.asked = [];
      navigator.credentials.get = (options) => {
        window.asked.push(options.mediation ?? "");
        return options.mediation === "conditional"
          ? new Promise((_, reject) => options.signal.addEventListener("abort", () => reject(options.signal.reason))) : get(options);
      };
    });
    const q = await page(context, "/login");
    await q.waitForFunction(() => window.asked.includes("conditional"), null, { polling: 200 });
    equal(await q.getAttribute("[name=email]", "autocomplete"), "username webauthn", "autocomplete");
  });

  await test("passkeys: one that is chosen in the autofill signs in", async () => {
    const who = await person("Pina");
    const p = await page(await signedIn(who), "/account/security");
    const device = await authenticator(p);
    await add(p, "Watch");
    const q = await page(await visitor(), "/verify"); // a page that asks for no passkey
    await authenticator(q, { credentials: await device.credentials() }); // it chooses at once
    await q.goto(new URL("/login", q.url()).href);
    await q.waitForURL("**/inbox");
  });

  await test("passkeys: an old session asks for one in place", async () => {
    const who = await person("Pia");
    const p = await page(await signedIn(who), "/account/security");
    await authenticator(p);
    await add(p, "Tablet");
    await p.goto(new URL("/account", p.url()).href);
    // The session is young. Its requests are refused as those of an old one until they have a passkey's answer.
    await p.route(`**${identity}/profile/emails`, async (route) => {
      const sent = route.request().method() === "POST" ? route.request().postDataJSON() : {};
      if (route.request().method() !== "POST" || sent.authFactor?.type === "webauthn") return route.continue();
      return route.fulfill({ status: 403, json: { error: { code: 403010, message: "", details: [] } } });
    });
    await p.getByLabel("Another address").fill(`second-${who.email}`);
    await p.getByRole("button", { name: "Add", exact: true }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Use a passkey" }).click();
    await p.getByText("Not confirmed").waitFor();
    equal(await p.getByText(`second-${who.email}`, { exact: true }).count(), 1, "the new address");
  });
}
