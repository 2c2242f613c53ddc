// Sign-in with an external provider: npm oidc-provider, as in test/oidc.

import { startProvider } from "../oidc/provider.mjs";
import { organization } from "./invitations.mjs";
import { api, base, equal, person, picture, settled, test, visitor } from "./kit.mjs";

const issuer = `http://127.0.0.1:${process.env.IDP_PORT}`;

/** Opens the sign-in page of a host and redirects its Keycloak URLs to the test provider. */
async function atSignIn(host = base) {
  const context = await visitor({ also: issuer });
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

export async function externalTests() {
  await test("sign in with an external provider", async () => {
    const { body } = await api("GET", "/id/v3/environment");
    const idp = await startProvider(Number(process.env.IDP_PORT), { redirect: body.oidcSettings.redirectUrl, logout: `${base}/id/v3/oidc/auth/logout` });
    try {
      idp.people.set("frieda", { email: "frieda@elsewhere.example", email_verified: true, name: "Frieda Fern" });
      const p = await atSignIn();
      await atProvider(p, "frieda");
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
      await n.waitForURL(`${fern.at}/account`);
      equal(await n.getByLabel("Name", { exact: true }).inputValue(), "Nora New", "name at the organization's host");
    } finally {
      await idp.stop();
    }
  });
}
