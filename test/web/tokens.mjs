// API tokens on /account and /organization, and the sign-in of a program on /device.

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { access, api, base, equal, forgive, idToken, page, person, settle, signedIn, test, visitor, work } from "./kit.mjs";
import { judge } from "./looks.mjs";

const identity = "/id/v3", transfer = "/transfer/v2";

/** Makes a token on the page and returns it. */
async function make(p, name, ...sentences) {
  await p.getByRole("button", { name: "Create a token" }).click();
  await p.getByLabel("Name", { exact: true }).last().fill(name);
  for (const sentence of sentences) await p.getByLabel(sentence).check();
}

export async function tokenTests() {
  await test("tokens: make, copy, use and revoke one", async () => {
    const who = await person("Tilda");
    await api("PUT", `${transfer}/mailbox`, { token: await access(who), json: { vanityLink: "tilda.box" } });
    const context = await signedIn(who);
    const p = await page(context, "/account/devices");
    await make(p, "Nightly backup", "Deliver files to certain mailboxes", "See and download transfers");
    await p.getByRole("textbox", { name: "Mailboxes" }).fill("nobody.here");
    await p.getByRole("button", { name: "Create the token" }).click();
    await p.locator("#tokens .wrong").waitFor();
    await p.getByRole("textbox", { name: "Mailboxes" }).fill(`${new URL(p.url()).origin}/m/tilda.box`);
    await judge(p, "a new token");
    await p.getByRole("button", { name: "Create the token" }).click();
    await p.getByText("Copy the token now.").waitFor();
    const token = await p.locator("#tokens code").textContent();
    equal(/^cns_[0-9A-Za-z]{49}$/.test(token), true, "the token");
    await judge(p, "the token, shown once");
    await api("GET", `${transfer}/transfers`, { token, expect: 200 });
    await api("POST", `${transfer}/public/mailbox/tilda.box`, { token, json: {}, expect: 201 });
    await api("GET", `${identity}/organizations`, { token, expect: 405 });
    await p.reload();
    await p.getByText("last used").waitFor();
    equal((await p.content()).includes(token), false, "shown again");
    await p.getByText("See and download transfers").waitFor();
    await p.getByRole("button", { name: "Revoke Nightly backup" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await p.getByText("Nightly backup").first().waitFor({ state: "detached" });
    await api("GET", `${transfer}/transfers`, { token, expect: 401 });
  });

  await test("tokens: of an organization", async () => {
    const who = await person("Orla");
    settle(who, await api("POST", `${identity}/organizations`, { token: await access(who), json: { name: "Orla’s office" }, expect: 201 }));
    const p = await page(await signedIn(who), "/organization#tokens");
    await make(p, "Directory", "See the organization, its members and its activity");
    await p.getByRole("button", { name: "Create the token" }).click();
    const token = await p.locator("#tokens code").textContent();
    const { body } = await api("GET", `${identity}/profile`, { token, expect: 200 });
    await api("GET", `${identity}/organizations/${body.membership.organization.uid}/members`, { token, expect: 200 });
    await p.getByText("Orla ·").waitFor();
    await judge(p, "tokens of an organization");
  });

  await test("device: sign in, approve and refuse a program", async () => {
    const begin = async () => (await (await fetch(`${base}${identity}/device/authorization`,
      { method: "POST", body: new URLSearchParams({ client_id: "consign on build-7" }) })).json());
    const fetched = async (codes) => (await (await fetch(`${base}${identity}/device/token`, {
      method: "POST", body: new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:device_code",
        device_code: codes.device_code }),
    })).json());
    const who = await person("Devi"), codes = await begin();
    const p = await page(await visitor(), new URL(codes.verification_uri_complete).pathname
      + new URL(codes.verification_uri_complete).search);
    await p.waitForURL("**/login?next=**");
    await p.getByLabel("Email address").fill(who.email);
    await p.getByLabel("Password", { exact: true }).fill(who.password);
    await p.getByRole("button", { name: "Sign in", exact: true }).click();
    await p.waitForURL("**/device?**");
    await p.getByText("consign on build-7").waitFor();
    await p.getByText(codes.user_code).waitFor();
    await judge(p, "a program asks");
    equal((await fetched(codes)).error, "authorization_pending", "before the approval");
    await p.getByRole("button", { name: "Sign in the program" }).click();
    await p.getByText("The program is signed in").waitFor();
    await judge(p, "an approved program");
    await new Promise((resolve) => setTimeout(resolve, 1000 * codes.interval)); // as the program waits
    const { access_token: token } = await fetched(codes);
    equal((await api("GET", `${identity}/profile`, { token, expect: 200 })).body.name, "Devi", "the program's person");

    const other = await begin();
    await p.goto(`${base}/device`);
    await p.getByLabel("Code", { exact: true }).fill("BCDF-BCDF");
    await p.getByRole("button", { name: "Continue" }).click();
    await p.locator(".notice.bad").waitFor();
    await p.getByRole("button", { name: "Enter another code" }).click();
    await p.getByLabel("Code", { exact: true }).fill(other.user_code.toLowerCase().replace("-", " "));
    await p.getByRole("button", { name: "Continue" }).click();
    await p.getByRole("button", { name: "Refuse" }).click();
    await p.getByText("The program was refused").waitFor();
    await judge(p, "a refused program");
    equal((await fetched(other)).error, "access_denied", "after the refusal");
  });

  await test("device: consign login, approved in the browser, then consign list", async () => {
    const who = await person("Clio"), home = fs.mkdtempSync(path.join(work, "home-"));
    const run = (...args) => {
      const child = spawn(path.resolve(import.meta.dirname, "../../bin/consign"), args, { env: { HOME: home, PATH: process.env.PATH } });
      const told = { out: "", err: "", code: new Promise((resolve) => { child.on("close", resolve); }) };
      child.stdout.on("data", (text) => { told.out += text; });
      child.stderr.on("data", (text) => { told.err += text; });
      return told;
    };
    const login = run("login", base);
    while (!/[A-Z]{4}-[A-Z]{4}/.test(login.err)) await Promise.race([login.code.then(() => { throw new Error(login.err); }),
      new Promise((resolve) => { setTimeout(resolve, 50); })]);
    const p = await page(await signedIn(who), "/device");
    await p.getByLabel("Code", { exact: true }).fill(/[A-Z]{4}-[A-Z]{4}/.exec(login.err)[0]);
    await p.getByRole("button", { name: "Continue" }).click();
    await p.getByText("consign on ").first().waitFor();
    await p.getByRole("button", { name: "Sign in the program" }).click();
    await p.getByText("The program is signed in").waitFor();
    equal(await login.code, 0, "consign login");
    equal(login.out, `signed in to ${base} as Clio\n`, "what it says");
    const list = run("list");
    equal(await list.code, 0, "consign list");
    equal(list.out.startsWith("TRANSFER"), true, "the list has its head");
  });

  await test("reference: try an operation without a token, and with one", async () => {
    const who = await person("Rea");
    const made = await api("POST", `${identity}/tokens`,
      { token: await idToken(who), json: { name: "reference", scopes: ["transfers:read"] }, expect: 201 });
    const p = await page(await visitor(), "/api/#listTransfers");
    const operation = p.locator("#listTransfers");
    await operation.getByLabel("limit (query)").fill("7");
    await operation.getByRole("button", { name: "Send request" }).click();
    await operation.locator(".try pre").filter({ hasText: "401" }).waitFor();
    forgive(/401/);
    await p.getByLabel("Token for requests").fill(made.body.token);
    await operation.getByRole("button", { name: "Send request" }).click();
    const answer = operation.locator(".try pre").filter({ hasText: '"transfers": []' });
    await answer.waitFor();
    const text = await answer.textContent();
    equal(text.startsWith(`GET ${transfer}/transfers?limit=7\n200`), true, "the request");
  });
}
