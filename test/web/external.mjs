// Sign-in with an external provider: npm oidc-provider, as in test/oidc.

import { startProvider } from "../oidc/provider.mjs";
import { organization } from "./invitations.mjs";
import { api, base, consign, equal, person, picture, settled, test, visitor } from "./kit.mjs";
import { judge } from "./looks.mjs";

const issuer = `http://127.0.0.1:${process.env.IDP_PORT}`;

/** Opens the sign-in page of a host and redirects its Keycloak URLs to the test provider. */
async function atSignIn(host = base) {
  const context = await visitor({ also: [issuer, host] }); // the host may be an organization's
  await context.route("**/protocol/openid-connect/auth?*", (route) =>
    route.fulfill({ status: 303, headers: { Location: route.request().url().replace("/protocol/openid-connect", "") } }));
  await context.route(/^https:/, (route) => route.abort()); // resources that the provider's pages load from other hosts
  const p = await context.newPage();
  await p.goto(`${host}/login?next=%2Faccount`);
  await settled(p);
  await p.getByRole("button", { name: "Sign in with Test provider" }).click();
  await p.waitForURL(`${issuer}/**`);
  return p;
}

/** Signs in at the provider's page, and lets it share the address. */
async function atProvider(p, login) {
  await p.locator("[name=login]").fill(login);
  await p.locator("[name=password]").fill("whatever");
  await p.locator("button[type=submit]").click();
  await p.getByRole("button", { name: "Continue" }).click();
}

/**
 * Waits for the page that asks the person, and presses a button. Over http the browser does not send the cookie of the beginning with the
 * provider's post, as if another browser had begun the sign-in.
 */
async function answer(p, button, host = new URL(base).hostname) {
  await p.waitForURL(`${base}/continue`);
  await p.getByText(`Signs in at ${host}`).waitFor();
  await judge(p, "the page that asks");
  await p.getByRole("button", { name: button }).click();
}

export async function externalTests() {
  await test("sign in with an external provider", async () => {
    const { body } = await api("GET", "/id/v3/environment");
    const idp = await startProvider(Number(process.env.IDP_PORT),
      { redirect: body.oidcSettings.redirectUrl, logout: `${base}/id/v3/oidc/auth/logout` });
    try {
      idp.people.set("frieda", { email: "frieda@elsewhere.example", email_verified: true, name: "Frieda Fern" });
      const p = await atSignIn();
      await atProvider(p, "frieda");
      await answer(p, "Continue");
      await p.waitForURL("**/account");
      equal(await p.getByLabel("Name", { exact: true }).inputValue(), "Frieda Fern", "name");
      await p.goto(`${base}/organization`);
      await p.getByLabel("Name").fill("Fern & Friends");
      await p.getByRole("button", { name: "Create an organization" }).click();
      await p.getByRole("link", { name: "Security" }).click();
      await p.getByRole("button", { name: "Require a second factor" }).click(); // the provider asks for it
      await p.getByText("Members need a second factor.").waitFor();
      await picture(p, "external", "An administrator from an external provider requires a second factor of all members.");
      const q = await atSignIn();
      await q.getByRole("link", { name: /cancel/i }).click();
      await q.getByText("The other service didn’t sign you in.").waitFor();

      // Journey 7: a new person signs in at the host of an organization, and stays there.
      const fern = await organization(await person("Fay"), "Fern Works", "fern");
      idp.people.set("nora", { email: "nora@elsewhere.example", email_verified: true, name: "Nora New" });
      const n = await atSignIn(fern.at);
      await atProvider(n, "nora");
      await picture(n, "continue", "A sign-in that began elsewhere asks first.");
      await answer(n, "Continue", new URL(fern.at).hostname);
      await n.waitForURL(`${fern.at}/account`);
      equal(await n.getByLabel("Name", { exact: true }).inputValue(), "Nora New", "name at the organization's host");

      // A member is not asked at the organization's own host: its cookie shows that it is the same browser.
      consign("org", "member", fern.uid, "nora@elsewhere.example", "--roles", "Service.Transfer.Use");
      const m = await atSignIn(fern.at);
      await atProvider(m, "nora");
      await m.waitForURL(`${fern.at}/account`);

      const no = await atSignIn();
      idp.people.set("vic", { email: "vic@elsewhere.example", email_verified: true, name: "Vic" });
      await atProvider(no, "vic");
      await answer(no, "This wasn’t me");
      await no.getByText("Nobody was signed in").waitFor();
      await no.reload();
      await no.getByText("This sign-in is over.").waitFor();
    } finally {
      await idp.stop();
    }
  });
}
