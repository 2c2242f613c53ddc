// The console of operators (/admin).

import path from "node:path";
import { access, api, consign, equal, forgive, page, person, pictures, settle, settled, signedIn, test, totp, visitor } from "./kit.mjs";
import { judge } from "./looks.mjs";

const identity = "/id/v3";

/** Creates an operator with TOTP whose session began with it. */
export async function operator(name, role = "operator") {
  const who = await person(name);
  const token = await access(who);
  const made = (await api("POST", `${identity}/profile/authenticators`, { token, json: { type: "totp" } })).body;
  const verify = { email: who.email, type: "totp", key: totp(made.key, Date.now() - 30_000) };
  await api("POST", `${identity}/profile/authenticators/${made.uid}/verify`, { token, json: verify });
  const { token: mfa } = (await api("POST", `${identity}/auth/login`,
    { json: { email: who.email, type: "bcrypt", key: who.password } })).body;
  const second = { email: who.email, type: "totp", key: totp(made.key) };
  settle(who, (await api("POST", `${identity}/auth/login`, { token: mfa, json: second })).body);
  consign("admin", "add", who.email, role);
  return { ...who, code: () => totp(made.key, Date.now() + 30_000) };
}

/** Signs a person in who has no second factor any more. */
const idTokenAgain = (who) => api("POST", `${identity}/auth/login`, { json: { email: who.email, type: "bcrypt", key: who.password } });

/** The pages of the console: name of the picture, path, and a text that shows that it has loaded. */
export const pages = [["console", "/admin", "Queues of background jobs"], ["console-charts-empty", "/admin/charts", "A gap is a time"],
  ["console-people", "/admin/people?search=o", "Second factor"],
  ["console-transfers", "/admin/transfers", "Search for"], ["console-mailboxes", "/admin/mailboxes", "Unfinished uploads of strangers"],
  ["console-organizations", "/admin/organizations", "Of the installation"],
  ["console-mails", "/admin/mails", "Last answer"], ["console-jobs", "/admin/jobs", "Background jobs"],
    ["console-storage", "/admin/storage", "Check all files"],
  ["console-holds", "/admin/holds", "Nothing is held."],
  ["console-keys", "/admin/keys", "Keys that sign receipts"], ["console-settings", "/admin/settings", "Begin maintenance"],
    ["console-audit", "/admin/audit", "Download as lines of JSON"]];

const looks = [["light", { colorScheme: "light" }],
  ["360", { viewport: { width: 360, height: 740 }, colorScheme: "light", hasTouch: true, isMobile: true }],
  ["dark", { colorScheme: "dark" }]];

export async function consoleTests() {
  await test("console: an operator sees what works", async () => {
    const p = await page(await signedIn(await operator("Olga")), "/admin");
    await p.getByRole("heading", { name: "Database" }).waitFor();
    equal(await p.locator(".part").count(), 8, "parts");
    equal(await p.locator(".part.failed").count(), 0, "parts that have failed");
    await p.getByRole("row", { name: /mail/ }).waitFor();
    await p.route("**/admin/v1/overview", async (route) => {
      const answer = await route.fetch(), body = await answer.json();
      body.receipts.state = "failed";
      body.jobs.state = "warning";
      await route.fulfill({ response: answer, json: body });
    });
    await p.reload();
    await p.locator(".part.failed").waitFor();
    equal((await p.locator(".part h2").allTextContents()).slice(0, 3), ["Receipts", "Background jobs", "Database"], "what is broken first");
  });

  await test("console: the help desk sees people and mails, and an auditor has no buttons", async () => {
    const hal = await signedIn(await operator("Hal", "helpdesk")), sam = await person("Sam");
    const p = await page(hal, "/admin");
    await p.getByRole("heading", { name: "Database" }).waitFor();
    const links = p.getByRole("navigation", { name: "Console" }).getByRole("link");
    equal(await links.allTextContents(), ["Overview", "People", "Mail queue"], "pages");
    equal(await p.getByRole("button", { name: "Run the checks" }).count(), 0, "buttons of the checks");
    const people = await page(hal, `/admin/people?search=${encodeURIComponent(sam.email)}`);
    await people.getByRole("table").getByRole("link").or(people.getByRole("table").getByRole("button")).first().press("Enter");
    await people.getByRole("button", { name: "Reset second factors" }).waitFor();
    equal(await people.getByRole("button", { name: "Suspend" }).count(), 0, "buttons that suspend");
    await (await page(hal, "/admin/keys")).getByText("Your role does not include this page.").waitFor();
    const auditor = await page(await signedIn(await operator("Aud", "auditor")), "/admin/keys");
    await auditor.getByRole("heading", { name: "Keys that sign receipts" }).waitFor();
    equal(await auditor.getByRole("button", { name: /Revoke|Replace|Publish/ }).count(), 0, "buttons of the keys");
  });

  await test("console: charts have gaps where no server ran, and tables", async () => {
    const olga = await operator("Olympia");
    const until = Math.floor(Date.now() / 600_000) * 600_000, at = (n) => new Date(until - (144 - n) * 600_000).toISOString();
    const sample = (n) => ({
      at: at(n), requests: 900 + Math.round(400 * Math.sin(n / 9)), errors: n % 40 === 0 ? 30 : 0, uploads: 20 + n % 7,
        downloads: 40 + n % 11, bytesIn: 2e9 + n * 1e7, bytesOut: 5e9 - n * 1e7,
      logins: n % 9, deliveries: n % 5, mails: n % 30 === 0 ? 12 : 0, jobs: n % 3, free: 4e11 - n * 1e9, database: 8e8 + n * 1e6,
        people: 500 + Math.floor(n / 6), transfers: n < 20 ? null : 1600 + n,
    });
    const samples = [...Array(144).keys()].filter((n) => n < 60 || n === 70 || n > 85).map(sample);
    for (const [look, options] of looks) {
      const context = await signedIn(olga, options);
      await context.route("**/admin/v1/samples?period=24h",
        (route) => route.fulfill({ json: { from: at(0), until: at(144), seconds: 600, samples } }));
      await context.route("**/admin/v1/samples?period=30d",
        (route) => route.fulfill({ json: { from: at(0), until: at(144), seconds: 3600, samples: [] } }));
      const p = await page(context, "/admin/charts");
      const chart = p.getByRole("figure", { name: "Requests" });
      await chart.getByText("most: 1,300").waitFor();
      equal(((await chart.locator("path.series-0").last().getAttribute("d")).match(/M/g) ?? []).length, 3, "runs of the line");
      await p.screenshot({ path: path.join(pictures, `console-charts-${look}.png`), fullPage: true });
      await judge(p, `/admin/charts (${look})`);
      await chart.getByText("As a table").press("Enter");
      await chart.locator("tbody tr").last().waitFor();
      equal(await chart.locator("tbody tr").count(), samples.length, "rows of the table");
      await judge(p, `/admin/charts, table (${look})`);
      await p.getByRole("button", { name: "Last 30 days" }).press("Enter");
      await p.getByText("There are no values of this time yet.").waitFor();
      await context.close();
    }
  });

  await test("console: an operator checks all files, and sees problems without names", async () => {
    const p = await page(await signedIn(await operator("Orsolya")), "/admin/storage");
    await p.getByText("No check was started yet.").waitFor();
    await p.getByRole("button", { name: "Check all files" }).click();
    await p.waitForFunction(() => document.getElementById("announcements")?.textContent === "The check has begun.", null, { polling: 200 });
    await p.getByText("no problems").waitFor();
    const check = { uid: "0193f0b1-0c2d-7e4f-8a91-6b5c4d3e2f10", started: "2026-11-20T09:30:00.000+00:00", total: 400, objects: 100,
      bytes: 5e9, sweepOff: false };
    const problems = [{ kind: "lost", object: check.uid, detail: "400 bytes, none of them in the store" }];
    const done = { ...check, state: "done", finished: check.started, findings: 1, problems: [] };
    const transfers = [{ uid: "0193f0b1-0c2d-7e4f-8a91-6b5c4d3e2f11", sender: "sam@example.com", recipients: ["ann@example.com"] }];
    const storage = { objects: 400, bytes: 2e10, encryption: true, encryptedObjects: 300, encryptedBytes: 1e10, sweepOff: true,
      damaged: [{ object: check.uid, detail: "the SHA-256 differs", found: check.started, transfers }] };
    for (const [look, options] of looks) {
      const context = await signedIn(await operator("Orsolya"), options);
      await context.route("**/admin/v1/storage", (route) =>
        route.fulfill({ json: { ...storage, checks: [{ ...check, state: "running", finished: null, findings: 0, problems: [] },
          { ...done, uid: "0193f0b1-0c2d-7e4f-8a91-6b5c4d3e2f12" }] } }));
      await context.route("**/admin/v1/storage/checks/*", (route) => route.fulfill({ json: { ...done, problems } }));
      const q = await page(context, "/admin/storage");
      await q.getByText("100 of 400 files", { exact: true }).waitFor();
      await q.getByRole("row", { name: /sam@example\.com ann@example\.com/ }).waitFor();
      equal(await q.getByRole("button", { name: "Check all files" }).isDisabled(), true, "a second check cannot be started");
      await q.getByRole("button", { name: "Show problems" }).press("Enter");
      await q.getByText("400 bytes, none of them in the store").waitFor();
      await q.screenshot({ path: path.join(pictures, `console-storage-problems-${look}.png`), fullPage: true });
      await judge(q, `/admin/storage, problems (${look})`);
      await q.getByRole("button", { name: "Accept" }).click();
      await q.getByRole("dialog").getByLabel("Reason").waitFor();
      await context.route("**/admin/v1/overview", async (route) => {
        const seen = await (await route.fetch()).json();
        await route.fulfill({ json: { ...seen, storage: { ...seen.storage, state: "warning", damaged: 2, problems: 1 } } });
      });
      const first = await page(context, "/admin");
      const part = first.getByRole("region", { name: "Parts" }).getByRole("listitem").first();
      await part.getByText("Damaged files: 2").waitFor();
      await part.getByText("1 problem").waitFor();
      await first.screenshot({ path: path.join(pictures, `console-damaged-${look}.png`), fullPage: true });
      await judge(first, `/admin, damaged files (${look})`);
      await context.close();
    }
  });

  await test("console: an operator runs the checks of the server", async () => {
    const p = await page(await signedIn(await operator("Ottilie")), "/admin");
    await p.getByRole("button", { name: "Run the checks" }).click();
    await p.getByText(/only this machine can open/).first().waitFor();
    await p.getByText(/checks? found nothing/).click();
    await p.getByText("Notifications of the database arrive.").waitFor();
    await judge(p, "/admin, checks");
    await p.screenshot({ path: path.join(pictures, "console-checks.png"), fullPage: true });
  });

  await test("console: an operator finds a person, resets the factors and ends the sessions", async () => {
    const olga = await operator("Olivia"), paula = await operator("Paula");
    const p = await page(await signedIn(olga), "/admin/people");
    await p.getByLabel("Search for").fill(paula.email.slice(1, 12).toUpperCase());
    await p.getByRole("button", { name: "Search" }).click();
    await p.getByRole("link", { name: paula.email }).click();
    await p.getByRole("row", { name: /Authenticator app/ }).waitFor();
    equal(await p.getByRole("row", { name: /127\.0\.0\.1|::1/ }).count() > 0, true, "sessions");
    const mails = p.getByRole("region", { name: "Mail queue" });
    await mails.getByRole("row", { name: /sent/ }).first().waitFor();
    const to = await mails.getByRole("rowheader").allTextContents();
    equal(to.every((text) => text.startsWith(paula.email)), true, "mails to the person only");
    await p.getByRole("button", { name: "Reset second factors" }).click();
    const dialog = p.getByRole("dialog", { name: "Reset second factors" });
    await dialog.getByLabel("Reason").fill("Lost the phone, ticket 7");
    await judge(p, "/admin/people, reason");
    await dialog.getByRole("button", { name: "Reset second factors" }).click();
    await p.getByText("There are no sessions.").waitFor();
    equal(await p.getByRole("row", { name: /Authenticator app/ }).count(), 0, "authenticators");
    await p.screenshot({ path: path.join(pictures, "console-person.png"), fullPage: true });
    await idTokenAgain(paula);
    await p.getByRole("button", { name: "End all sessions" }).click();
    await p.getByRole("dialog").getByLabel("Reason").fill("Ticket 7");
    await p.getByRole("dialog").getByRole("button", { name: "End all sessions" }).click();
    await p.waitForFunction(() => !document.querySelector("dialog[open]"), null, { polling: 200 });
    equal(/Lost the phone, ticket 7/.test(consign("audit")), true, "the reason is in the audit");
    await judge(p, "/admin/people?person");
  });

  await test("console: an operator finds a transfer, extends and revokes it", async () => {
    const olga = await operator("Orson"), tom = await person("Tom");
    const token = await access(tom), reservations = "/transfer/v2/reservations";
    const { uid: reservation } = (await api("POST", reservations,
      { token, json: { type: "p2p", ttl: 7, subject: "Plans of the bridge",
        recipients: [{ email: "rita@example.com", destinationType: "to" }] } })).body;
    await api("POST", `${reservations}/${reservation}/objects`, { token, json: { clientId: "a", name: "bridge.pdf", intendedSize: 6 } });
    await api("PUT", `${reservations}/${reservation}/objects/a/content`, { token, bytes: Buffer.from("bridge") });
    await api("POST", `${reservations}/${reservation}/confirm`, { token });
    const p = await page(await signedIn(olga), "/admin/transfers");
    await p.getByLabel("Search for").fill(tom.email);
    await p.getByRole("button", { name: "Search" }).click();
    const row = p.getByRole("row", { name: /rita@example\.com/ });
    await row.getByText("Delivered").waitFor();
    await row.getByRole("link").click();
    await p.getByRole("row", { name: /rita@example\.com/ }).waitFor();
    equal(await p.getByText(/bridge/).count(), 0, "contents");
    await p.getByRole("button", { name: "Extend" }).click();
    const dialog = p.getByRole("dialog", { name: "Extend" });
    await dialog.getByLabel("Days from now").fill("300");
    await dialog.getByLabel("Reason").fill("Ticket 9");
    await judge(p, "/admin/transfers, reason");
    await dialog.getByRole("button", { name: "Extend" }).click();
    await p.waitForFunction(() => !document.querySelector("dialog[open]"), null, { polling: 200 });
    await p.screenshot({ path: path.join(pictures, "console-transfer.png"), fullPage: true });
    await p.getByRole("button", { name: "Revoke" }).click();
    await p.getByRole("dialog").getByLabel("Reason").fill("Ticket 9");
    await p.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await p.getByText("Contents erased").waitFor();
    equal(await p.getByRole("button", { name: "Revoke" }).count(), 0, "buttons of a transfer that has ended");
    await judge(p, "/admin/transfers?transfer");
    await p.getByRole("link", { name: "All transfers" }).click();
    await p.getByLabel("State").selectOption("revoked");
    await p.getByRole("button", { name: "Search" }).click();
    await p.getByRole("row", { name: /rita@example\.com.*Revoked/ }).first().waitFor();
  });

  await test("console: an operator holds a person and ends the hold", async () => {
    const olga = await operator("Oriane"), hal = await person("Hal");
    const p = await page(await signedIn(olga), "/admin/holds");
    await p.getByRole("button", { name: "Add a hold" }).click();
    const dialog = p.getByRole("dialog", { name: "Add a hold" });
    await dialog.getByLabel("Address of the person").fill(hal.email);
    await dialog.getByLabel("Case", { exact: true }).fill("Case 9");
    await dialog.getByLabel("Reason").fill("Court order");
    await dialog.getByRole("button", { name: "Add a hold" }).click();
    const row = p.getByRole("row", { name: new RegExp(hal.email) });
    await row.getByText("Case 9").waitFor();
    await judge(p, "/admin/holds");
    const q = await page(await signedIn(hal), "/account");
    await q.getByRole("heading", { name: "Email addresses" }).waitFor();
    equal(await q.getByText("kept for a legal reason").count(), 0, "a hold that nobody is told of");
    await row.getByRole("button", { name: "End" }).click();
    await p.getByRole("dialog", { name: "End" }).getByLabel("Reason").fill("Closed");
    await p.getByRole("dialog", { name: "End" }).getByRole("button", { name: "End" }).click();
    await row.waitFor({ state: "detached" });
  });

  await test("console: an operator ends the uploads of a stranger to a mailbox", async () => {
    const olga = await operator("Ottilie"), mia = await person("Mia"), link = `mia-${Date.now()}`;
    await api("PUT", "/transfer/v2/mailbox", { token: await access(mia), json: { vanityLink: link } });
    for (let n = 0; n < 2; n++) await api("POST", `/transfer/v2/public/mailbox/${link}`,
      { json: { anonSender: "Sam", anonEmail: "sam@example.com", subject: "Secret plans" } });
    const p = await page(await signedIn(olga), "/admin/mailboxes");
    await p.getByLabel("Search for").fill(link.toUpperCase());
    await p.getByRole("button", { name: "Search" }).click();
    await p.getByRole("row", { name: new RegExp(mia.email) }).getByRole("link").click();
    await p.getByRole("button", { name: "End", exact: true }).first().click();
    await p.getByRole("dialog").getByLabel("Reason").fill("Ticket 10");
    await judge(p, "/admin/mailboxes, reason");
    await p.getByRole("dialog").getByRole("button", { name: "End", exact: true }).click();
    await p.waitForFunction(() => !document.querySelector("dialog[open]")
      && [...document.querySelectorAll("button")].filter((b) => b.textContent.trim() === "End").length === 1, null, { polling: 200 });
    equal(await p.getByText(/Secret|sam@/).count(), 0, "contents");
    await p.screenshot({ path: path.join(pictures, "console-mailbox.png"), fullPage: true });
    await judge(p, "/admin/mailboxes?mailbox");
    await p.getByRole("button", { name: "End all" }).click();
    await p.getByRole("dialog").getByLabel("Reason").fill("Ticket 10");
    await p.getByRole("dialog").getByRole("button", { name: "End all" }).click();
    await p.getByText("There are none.").waitFor();
    const q = await page(await signedIn(olga), `/admin/mailboxes?by=person&search=${encodeURIComponent((await person("Nils")).email)}`);
    await q.getByText("Nothing matches.").waitFor();
  });

  await test("console: an operator creates an organization, adds its administrator and changes its limits", async () => {
    const olga = await operator("Odette"), ann = await person("Anja"), name = `Acme ${Date.now()}`, host = `acme-${Date.now()}.test`;
    const p = await page(await signedIn(olga), "/admin/organizations");
    const because = async (label, fill = async (/** @type {any} */ _) => {}) => {
      const dialog = p.getByRole("dialog");
      await fill(dialog);
      await dialog.getByLabel("Reason").fill("Ticket 11");
      await judge(p, `/admin/organizations, ${label}`);
      await dialog.getByRole("button", { name: label, exact: true }).click();
      await p.waitForFunction(() => !document.querySelector("dialog[open]"), null, { polling: 200 });
    };
    await p.getByRole("button", { name: "Create an organization" }).click();
    await because("Create an organization", (d) => d.getByLabel("Name").fill(name));
    await p.getByRole("heading", { name }).waitFor();
    await p.getByText("There are no members.").waitFor();
    await p.getByRole("button", { name: "Add a member" }).click();
    await because("Add a member", async (d) => {
      await d.getByLabel("Person").fill(ann.email);
      await d.getByLabel("Administer the organization").check();
    });
    await p.getByRole("row", { name: new RegExp(`${ann.email}.*Administer the organization and Send and receive files`) }).waitFor();
    const limit = p.getByRole("row", { name: /Monthly volume/ });
    await limit.getByRole("button", { name: "Change" }).focus();
    await p.keyboard.press("Enter");
    await because("Change", (d) => d.getByLabel("Monthly volume, in GB").fill("2.5"));
    await p.getByRole("row", { name: /Monthly volume 0 B of 2\.5 GB this organization/ }).waitFor();
    await p.getByRole("row", { name: /Custom hostname No the plan/ }).waitFor();
    await p.getByRole("button", { name: "Change the hostname" }).click();
    await p.getByRole("dialog").getByText("they work only as a second factor").waitFor();
    await because("Change the hostname", (d) => d.getByLabel("New hostname").fill(host));
    await p.getByText(host).waitFor();
    await p.getByRole("button", { name: "Set a subscription" }).click();
    await because("Set a subscription", (d) => d.getByLabel("Product", { exact: false }).first().fill("pro-100"));
    await p.getByRole("row", { name: /pro-100.*Active/ }).waitFor();
    await p.getByRole("button", { name: "Change the profile" }).click();
    await because("Change the profile", (d) => d.getByLabel("City").fill("Berlin"));
    await p.getByText("Berlin").waitFor();
    await p.getByRole("button", { name: "Require a second factor" }).click();
    await because("Require a second factor");
    await p.getByText("Second factor required").waitFor();
    for (const [look, options] of looks) {
      const q = await page(await signedIn(olga, options), "/admin/organizations?by=name&search=" + encodeURIComponent(name.toUpperCase()));
      await q.getByRole("link", { name }).click();
      await q.getByRole("row", { name: /Data processing agreement/ }).waitFor();
      await q.getByRole("row", { name: new RegExp(ann.email) }).waitFor();
      await q.screenshot({ path: path.join(pictures, `console-organization-${look}.png`), fullPage: true });
      await judge(q, `/admin/organizations?organization (${look})`);
      const wide = await q.evaluate(() => document.documentElement.scrollWidth);
      if (look === "360") equal(wide, 360, "width of the page");
    }
    const found = await page(await signedIn(olga), `/admin/organizations?by=hostname&search=${host}`);
    await found.getByRole("link", { name }).waitFor();
    const none = await page(await signedIn(olga), "/admin/organizations?by=hostname&search=nowhere.test");
    await none.getByText("Nothing matches.").waitFor();
  });

  await test("console: nobody else gets in", async () => {
    const p = await page(await signedIn(await person("Paul")), "/admin");
    await p.getByText("This page is for the operators of this installation.").waitFor();
    equal(await p.locator(".part").count(), 0, "parts");
    const single = await person("Quinn");
    consign("admin", "add", single.email);
    const q = await page(await signedIn(single), "/admin");
    await q.getByText("Operators need a second factor.").waitFor();
    await q.getByRole("link", { name: "Sign-in and security" }).click();
    await q.waitForURL("**/account/security");
    await q.getByRole("button", { name: "Set up" }).waitFor();
    forgive(/403/);
  });

  await test("console: a mail that did not arrive is found by its address", async () => {
    const olga = await operator("Otto");
    const p = await page(await signedIn(olga), "/admin/mails");
    await p.getByRole("columnheader", { name: "Last answer" }).waitFor();
    await p.getByLabel("To", { exact: true }).fill(olga.email);
    await p.getByRole("button", { name: "Search" }).click();
    await p.waitForFunction((email) => [...document.querySelectorAll("tbody th")].every((th) => th.textContent.includes(email)), olga.email,
      { polling: 200 });
    await p.getByLabel("State").selectOption("failed");
    await p.getByText("No mails here.").waitFor();
  });

  await test("console: a test mail shows what the mail server says", async () => {
    const p = await page(await signedIn(await operator("Orla")), "/admin/mails");
    await p.getByLabel("Address").fill("ops@example.com");
    await p.getByRole("button", { name: "Send a test mail" }).click();
    await p.getByText("The mail server has taken the mail.").waitFor();
  });

  await test("console: an old login is proved again before a change", async () => {
    const olga = await operator("Ophelia");
    const p = await page(await signedIn(olga), "/admin/mails");
    let refusals = 0, proved = "";
    await p.route("**/admin/v1/mails/test", async (route) => {
      if (route.request().headers().authorization === `Bearer ${proved}`) return route.continue();
      refusals++;
      return route.fulfill({ status: 403, json: { error: { code: 403909, message: "", details: [] } } });
    });
    await p.route("**/admin/v1/session", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      const proof = route.request().postDataJSON() ?? {};
      if (!proof.authFactor) return route.fulfill({ status: 403,
        json: { error: { code: proof.authKey === olga.password ? 403048 : 403010, message: "", details: [] } } });
      const response = await route.fetch({ postData: "{}" });
      proved = (await response.json()).token;
      return route.fulfill({ response });
    });
    await p.getByLabel("Address").fill("ops@example.com");
    await p.getByRole("button", { name: "Send a test mail" }).click();
    const dialog = p.getByRole("dialog");
    await dialog.getByLabel("Password").fill(olga.password);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByLabel("Code from your authenticator app, or a recovery code").fill(olga.code());
    await dialog.getByRole("button", { name: "Continue" }).click();
    await p.getByText("The mail server has taken the mail.").waitFor();
    equal(refusals, 1, "refusals");
  });

  await test("console: a job is ended after a question", async () => {
    const p = await page(await signedIn(await operator("Oskar")), "/admin/jobs");
    await p.getByLabel("State").selectOption("completed");
    await p.getByRole("button", { name: "Run now" }).first().click();
    await p.waitForFunction(() => document.getElementById("announcements")?.textContent === "The job runs again.", null, { polling: 200 });
  });

  await test("console: the audit has the operator's own calls, and is saved as lines of JSON", async () => {
    const olga = await operator("Olive");
    const p = await page(await signedIn(olga), "/admin/audit");
    await p.getByLabel("Show").selectOption("console.");
    await p.locator(".audit li").filter({ hasText: /Olive looked something up in the console/ }).first().waitFor();
    await p.getByText(olga.email).first().waitFor();
    const [download] = await Promise.all([p.waitForEvent("download"),
      p.getByRole("button", { name: "Download as lines of JSON" }).click()]);
    equal(download.suggestedFilename(), "audit.jsonl", "name of the file");
  });

  await test("console: a new key is published, and the old one goes on", async () => {
    const p = await page(await signedIn(await operator("Odile")), "/admin/keys");
    const keys = p.getByRole("region", { name: "Keys that sign tokens" }).locator("tbody tr");
    await keys.first().waitFor();
    const before = await keys.count();
    await p.getByRole("button", { name: "Publish a new key" }).click();
    await p.getByText("signs later").waitFor();
    equal(await keys.count(), before + 1, "keys");
  });

  await test("console: settings say where they come from, without secrets", async () => {
    const p = await page(await signedIn(await operator("Omar")), "/admin/settings");
    await p.getByRole("rowheader", { name: /^CONSIGN_ADMIN_CONSOLE/ }).waitFor();
    equal(await p.getByRole("rowheader", { name: /CONSIGN_BCRYPT_COST/ }).count(), 0, "settings that have defaults");
    await p.getByLabel("Show defaults, too").check();
    await p.getByRole("row", { name: /CONSIGN_SECRET_KEY / }).getByText("********").waitFor();
  });

  await test("console: every page has no finding of axe and fits its window", async () => {
    const olga = await operator("Oda");
    for (const [look, options] of looks) {
      const context = await signedIn(olga, options);
      for (const [name, where, text] of pages) {
        const p = await page(context, where);
        await p.getByText(text).first().waitFor();
        await settled(p);
        await p.screenshot({ path: path.join(pictures, `${name}-${look}.png`), fullPage: true });
        await judge(p, `${where} (${look})`);
        await p.close();
      }
      await context.close();
    }
  });

  await test("console: an operator signs in during maintenance and ends it", async () => {
    const olga = await operator("Ornella");
    try {
      const p = await page(await signedIn(olga), "/admin/settings");
      await p.getByRole("button", { name: "Begin maintenance" }).click();
      await p.getByRole("dialog").getByRole("button", { name: "Begin maintenance" }).click();
      await p.getByText("Maintenance mode is on").waitFor();
      const q = await page(await visitor(), "/login?next=/admin/settings");
      await q.getByLabel("Email address").fill(olga.email);
      await q.getByLabel("Password", { exact: true }).fill(olga.password);
      const code = q.getByLabel("Code from your authenticator app, or a recovery code"), end = q.getByRole("button",
        { name: "End maintenance" });
      await until(() => q.getByRole("button", { name: "Sign in", exact: true }).click(), code);
      await until(async () => {
        await code.fill(olga.code());
        await q.getByRole("button", { name: "Continue" }).click();
      }, end);
      await end.click();
      await q.getByText("Maintenance mode is off.").waitFor();
    } finally {
      consign("maintenance", "off");
    }
    forgive(/50[39]/);
  });
}

/** Repeats something until the page shows what follows: logins with one address have a bucket. */
async function until(act, shown) {
  for (let tries = 0; ; tries++) {
    await act();
    try {
      return await shown.waitFor({ timeout: 6000 });
    } catch (error) {
      if (tries > 8) throw error;
    }
  }
}
