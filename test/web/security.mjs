// What an account asks for before it changes, and the link of its mails that undoes a change.

import { access, api, equal, forgive, idToken, mail, page, person, signedIn, test, totp, visitor } from "./kit.mjs";

const identity = "/id/v3";

/** Adds an address on the account page. */
async function add(p, address) {
  await p.getByLabel("Another address").fill(address);
  await p.getByRole("button", { name: "Add", exact: true }).click();
}

export async function securityTests() {
  await test("security: an old session asks for the password in place", async () => {
    const who = await person("Sonja"), second = `second-${who.email}`;
    const p = await page(await signedIn(who), "/account");
    // The session is young. Its requests are refused as those of an old one until they have the right password.
    await p.route(`**${identity}/profile/emails`, async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      const { authKey } = route.request().postDataJSON();
      if (authKey === who.password) return route.continue();
      return route.fulfill({ status: 403, json: { error: { code: authKey ? 403046 : 403010, message: "", details: [] } } });
    });
    await add(p, second);
    const dialog = p.getByRole("dialog");
    await dialog.getByText("Please confirm it’s you.").waitFor();
    await dialog.getByLabel("Password").fill("not the password");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.locator(".notice.bad").waitFor();
    equal((await api("GET", `${identity}/profile/emails`, { token: await access(who) })).body.emails.length, 1,
      "addresses after a wrong password");
    await dialog.getByLabel("Password").fill(who.password);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await p.getByText("Not confirmed").waitFor();
    equal(await dialog.count(), 0, "open dialogs");
    equal((await api("GET", `${identity}/profile/emails`, { token: await access(who) })).body.emails[1].address, second, "the new address");
  });

  await test("security: a session without the second factor asks for a code in place", async () => {
    const who = await person("Titus");
    const other = (await api("POST", `${identity}/auth/login`,
      { json: { email: who.email, type: "bcrypt", key: who.password } })).body.token;
    const { token } = (await api("POST", `${identity}/auth/access`, { token: other })).body; // another session gets the second factor
    const made = (await api("POST", `${identity}/profile/authenticators`, { token, json: { type: "totp" } })).body;
    await api("POST", `${identity}/profile/authenticators/${made.uid}/verify`,
      { token, json: { email: who.email, type: "totp", key: totp(made.key, Date.now() - 30_000) } });
    const p = await page(await signedIn(who), "/account");
    await add(p, `second-${who.email}`);
    const dialog = p.getByRole("dialog");
    await dialog.getByLabel("Code from your authenticator app, or a recovery code").fill("000000");
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.locator(".notice.bad").waitFor();
    await dialog.getByLabel("Code from your authenticator app, or a recovery code").fill(totp(made.key));
    await dialog.getByRole("button", { name: "Continue" }).click();
    await p.getByText("Not confirmed").waitFor();
  });

  await test("security: the link of a mail about a change undoes it", async () => {
    const who = await person("Urs"), other = `other-${who.email}`;
    const p = await page(await signedIn(who), "/account");
    await add(p, other);
    await p.getByText("Not confirmed").waitFor();
    const { link } = await mail(who.email, "/undo/");
    const q = await page(await visitor(), new URL(link).pathname);
    equal((await api("GET", `${identity}/profile/emails`, { token: await access(who) })).body.emails.length, 2,
      "addresses after opening the page");
    await q.getByRole("button", { name: "Sign out everywhere and undo the change" }).click();
    await q.getByRole("heading", { name: "The change was undone" }).waitFor();
    await api("POST", `${identity}/auth/access`, { token: await idToken(who), expect: 401 });
    await p.reload();
    await p.waitForURL("**/login?*");
    const reset = await mail(who.email, "/reset/");
    const r = await page(await visitor(), new URL(reset.link).pathname);
    await r.getByLabel("New password").fill("violet-anchor-92-meadow");
    await r.getByRole("button", { name: "Set password" }).click();
    await r.getByRole("heading", { name: "Your new password is set" }).waitFor();
    const again = await page(await visitor(), new URL(link).pathname);
    await again.getByRole("button", { name: "Sign out everywhere and undo the change" }).click();
    await again.locator(".notice.bad").waitFor();
    forgive(/401|404/);
  });

  await test("security: a password can be pasted and shown", async () => {
    const context = await visitor({ permissions: ["clipboard-read", "clipboard-write"] });
    const p = await page(context, "/signup");
    await p.evaluate(() => navigator.clipboard.writeText("pasted from a manager"));
    const field = p.locator("[name=password]");
    await field.focus();
    await p.keyboard.press("Control+V");
    equal(await field.inputValue(), "pasted from a manager", "pasted");
    equal(await field.getAttribute("type"), "password", "type");
    equal(await field.getAttribute("autocomplete"), "new-password", "autocomplete");
    await p.getByRole("button", { name: "Show", exact: true }).click();
    equal(await field.getAttribute("type"), "text", "type of a shown password");
  });
}
