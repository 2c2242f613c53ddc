// The console of operators (/admin).

import path from "node:path";
import { access, api, consign, equal, forgive, page, person, pictures, settle, settled, signedIn, test, totp } from "./kit.mjs";
import { judge } from "./looks.mjs";

const identity = "/id/v3";

/** Creates an operator with TOTP whose session began with it. */
export async function operator(name) {
  const who = await person(name);
  const token = await access(who);
  const made = (await api("POST", `${identity}/profile/authenticators`, { token, json: { type: "totp" } })).body;
  const verify = { email: who.email, type: "totp", key: totp(made.key, Date.now() - 30_000) };
  await api("POST", `${identity}/profile/authenticators/${made.uid}/verify`, { token, json: verify });
  const { token: mfa } = (await api("POST", `${identity}/auth/login`, { json: { email: who.email, type: "bcrypt", key: who.password } })).body;
  const second = { email: who.email, type: "totp", key: totp(made.key) };
  settle(who, (await api("POST", `${identity}/auth/login`, { token: mfa, json: second })).body);
  consign("admin", "add", who.email);
  return { ...who, code: () => totp(made.key, Date.now() + 30_000) };
}

/** The pages of the console: name of the picture, path, and a text that shows that it has loaded. */
const pages = [["console", "/admin", "Queues of background jobs"]];

const looks = [["light", { colorScheme: "light" }], ["360", { viewport: { width: 360, height: 740 }, colorScheme: "light", hasTouch: true, isMobile: true }],
  ["dark", { colorScheme: "dark" }]];

export async function consoleTests() {
  await test("console: an operator sees what works", async () => {
    const p = await page(await signedIn(await operator("Olga")), "/admin");
    await p.getByRole("heading", { name: "Database" }).waitFor();
    equal(await p.locator(".part").count(), 7, "parts");
    equal(await p.locator(".part.failed").count(), 0, "parts that have failed");
    await p.getByRole("row", { name: /mail/ }).waitFor();
  });

  await test("console: nobody else gets in", async () => {
    const p = await page(await signedIn(await person("Paul")), "/admin");
    await p.getByText("This page is for the operators of this installation.").waitFor();
    equal(await p.locator(".part").count(), 0, "parts");
    const single = await person("Quinn");
    consign("admin", "add", single.email);
    const q = await page(await signedIn(single), "/admin");
    await q.getByText("Operators need a second factor.").waitFor();
    await q.getByRole("link", { name: "Account" }).last().click();
    await q.waitForURL("**/account");
    forgive(/403/);
  });

  await test("console: every page has no finding of axe and fits its window", async () => {
    const olga = await operator("Oda");
    for (const [look, options] of looks) {
      const context = await signedIn(olga, options);
      for (const [name, where, text] of pages) {
        const p = await page(context, where);
        await p.getByText(text).first().waitFor();
        await settled(p);
        await p.screenshot({ path: path.join(process.env.PICTURES ?? pictures, `${name}-${look}.png`), fullPage: true });
        await judge(p, `${where} (${look})`);
        await p.close();
      }
      await context.close();
    }
  });
}
