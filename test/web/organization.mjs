// What administrators see of their organization: transfers, mailboxes, people, usage, audit.

import fs from "node:fs";
import path from "node:path";
import { access, api, base, consign, equal, forgive, page, person, pictures, signedIn, test } from "./kit.mjs";
import { judge } from "./looks.mjs";
import { operator } from "./console.mjs";
import { office } from "./journeys.mjs";
import { world } from "./world.mjs";

const looks = [["light", { colorScheme: "light" }],
  ["360", { viewport: { width: 360, height: 740 }, colorScheme: "light", hasTouch: true, isMobile: true }],
  ["dark", { colorScheme: "dark" }], ["german", { locale: "de-DE", colorScheme: "light" }]];

const shoot = (p, name) => p.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: true });

/** Sends bridge.pdf to Rita. */
async function send(who) {
  const token = await access(who), reservations = "/transfer/v2/reservations";
  const { uid } = (await api("POST", reservations,
    { token, json: { type: "p2p", ttl: 7, subject: "Plans of the bridge",
      recipients: [{ email: "rita@example.com", destinationType: "to" }] } })).body;
  await api("POST", `${reservations}/${uid}/objects`, { token, json: { clientId: "a", name: "bridge.pdf", intendedSize: 6 } });
  await api("PUT", `${reservations}/${uid}/objects/a/content`, { token, bytes: Buffer.from("bridge") });
  return (await api("POST", `${reservations}/${uid}/confirm`, { token })).body.uid;
}

export async function organizationTests() {
  await test("administrators: rules about how long things stay", async () => {
    const { boss } = await office("retention");
    const p = await page(await signedIn(boss), "/organization#settings");
    const transfers = p.getByRole("group", { name: "Files of transfers" });
    await transfers.getByLabel("At least").fill("30");
    await transfers.getByLabel("At most").fill("10");
    const save = () => p.locator("form", { hasText: "How long things stay" }).getByRole("button", { name: "Save" }).click();
    await save();
    await p.getByRole("alert").first().waitFor();
    await judge(p, "/organization#settings, wrong rules");
    await transfers.getByLabel("At most").fill("3650");
    await p.getByRole("group", { name: "Log of changes" }).getByLabel("At most").fill("400");
    await save();
    await p.getByText("Saved").first().waitFor();
    equal((await api("GET", "/transfer/v2/adminunit", { token: await access(boss) })).body.retention,
      { transfers: { least: 30, most: 3650 }, audit: { most: 400 } }, "rules");
    for (const [look, options] of looks) {
      const one = await page(await signedIn(boss, options), "/organization#settings");
      await one.locator("input[name=retention-transfers-least]").waitFor();
      await shoot(one, `organization-retention-${look}`);
      await judge(one, `/organization#settings with rules (${look})`);
    }
  });

  await test("administrators: a member is held, told, exported and let go", async () => {
    const { boss, member } = await office("holds");
    const empty = await page(await signedIn(boss), "/organization#holds");
    await empty.getByText("Nothing is held.").waitFor();
    await judge(empty, "/organization#holds, empty");
    await empty.getByRole("button", { name: "Add a hold" }).click();
    const dialog = empty.getByRole("dialog", { name: "Add a hold" });
    await dialog.getByLabel("Address of the person").fill(member.email);
    await dialog.getByLabel("Case", { exact: true }).fill("Case 7");
    await dialog.getByLabel("Tell the people concerned").check();
    await dialog.getByLabel("Reason").fill("Court order");
    await judge(empty, "/organization#holds, new");
    await dialog.getByRole("button", { name: "Add a hold" }).click();
    const row = empty.getByRole("row", { name: new RegExp(member.email) });
    await row.getByText("Case 7").waitFor();
    const uid = await send(member);
    await api("DELETE", `/transfer/v2/transfers/${uid}`, { token: await access(member) });
    const p = await page(await signedIn(member), "/account");
    await p.getByText("A copy of what you delete is kept for a legal reason.").waitFor();
    const q = await page(await signedIn(member), `/inbox/${uid}?box=sent`);
    await q.getByText("A copy of this transfer is kept for a legal reason").waitFor();
    for (const [look, options] of looks) {
      const one = await page(await signedIn(boss, options), "/organization#holds");
      await one.getByRole("row", { name: new RegExp(member.email) }).waitFor();
      await shoot(one, `organization-holds-${look}`);
      await judge(one, `/organization#holds (${look})`);
    }
    await row.getByRole("button", { name: "Export" }).click();
    await empty.getByRole("dialog", { name: "Export" }).getByLabel("Reason").fill("For the court");
    const [file] = await Promise.all([empty.waitForEvent("download"),
      empty.getByRole("dialog", { name: "Export" }).getByRole("button", { name: "Export" }).click()]);
    const lines = fs.readFileSync(/** @type {string} */ (await file.path()), "utf8");
    equal([lines.includes("transfer.objects"), lines.includes("bridge.pdf")], [true, false], "the export");
    await row.getByRole("button", { name: "End" }).click();
    await empty.getByRole("dialog", { name: "End" }).getByLabel("Reason").fill("Closed");
    await empty.getByRole("dialog", { name: "End" }).getByRole("button", { name: "End" }).click();
    await empty.getByText("Nothing is held.").waitFor();
  });

  await test("administrators: a transfer of a member is found, extended and revoked", async () => {
    const { boss, member } = await office("bridge");
    const empty = await page(await signedIn(boss), "/organization#transfers");
    await empty.getByText("There are no transfers yet.").waitFor();
    await judge(empty, "/organization#transfers, empty");
    await send(member);
    await send(boss);
    for (const [look, options] of looks) {
      const p = await page(await signedIn(boss, options), "/organization#transfers");
      await p.getByRole("row", { name: /rita@example\.com/ }).nth(1).waitFor();
      await shoot(p, `organization-transfers-${look}`);
      await judge(p, `/organization#transfers (${look})`);
    }
    const p = await page(await signedIn(boss), "/organization#transfers");
    await p.getByLabel("Member").fill(member.email);
    await p.keyboard.press("Enter");
    const row = p.getByRole("row", { name: new RegExp(member.email) });
    await p.getByRole("row", { name: /rita@/ }).nth(1).waitFor({ state: "detached" }); // until the answer, the former list is shown
    await row.getByText("Delivered").waitFor();
    equal(await p.getByRole("row", { name: /rita@/ }).count(), 1, "rows of the member");
    await row.getByRole("link").focus();
    await p.keyboard.press("Enter");
    await p.getByRole("heading", { name: "Recipients" }).waitFor();
    equal(await p.getByText(/bridge\.pdf|Plans of/).count(), 0, "contents");
    await p.getByRole("button", { name: "Extend" }).click();
    const dialog = p.getByRole("dialog", { name: "Extend" });
    await dialog.getByLabel("Days from now").fill("300");
    await dialog.getByLabel("Reason").fill("On holiday");
    await dialog.getByRole("button", { name: "Extend" }).click();
    equal(await dialog.getByLabel("Days from now").evaluate((field) => field.validity.rangeOverflow), true,
      "more days than the rules allow");
    await dialog.getByLabel("Days from now").fill("20");
    await judge(p, "/organization#transfers, reason");
    await dialog.getByRole("button", { name: "Extend" }).click();
    await p.waitForFunction(() => !document.querySelector("dialog[open]"), null, { polling: 200 });
    await shoot(p, "organization-transfer");
    await p.getByRole("button", { name: "Revoke" }).click();
    await p.getByRole("dialog").getByLabel("Reason").fill("Wrong address");
    await p.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await p.getByText("Contents erased").waitFor();
    equal(await p.getByRole("button", { name: "Revoke" }).count(), 0, "buttons of a transfer that has ended");
    await judge(p, "/organization#transfers, one");
    await p.getByRole("link", { name: "All transfers" }).click();
    await p.getByLabel("State").selectOption("revoked");
    await p.getByRole("row", { name: /rita@example\.com.*Revoked/ }).waitFor();
    await p.getByLabel("State").selectOption("expired");
    await p.getByText("Nothing matches.").waitFor();
    await p.goBack(); // each filter is a step
    await p.getByRole("row", { name: /rita@example\.com.*Revoked/ }).waitFor();
    await p.goBack();
    await p.goBack();
    await p.getByRole("heading", { name: "Recipients" }).waitFor();
    await p.goto(`${base}/organization#transfers/01a20bca-0556-7e3c-bd91-8d18258147d8`);
    await p.reload();
    await p.getByRole("alert").waitFor();
    await p.getByRole("link", { name: "All transfers" }).click();
    await p.getByRole("row", { name: /rita@example\.com/ }).nth(1).waitFor();
  });

  await test("administrators: mailboxes of members, with a search and an error", async () => {
    const { boss, member } = await office("harbour");
    await api("PUT", "/transfer/v2/mailbox", { token: await access(member),
      json: { vanityLink: member.email.split("@")[0], absent: true } });
    for (const [look, options] of looks) {
      const p = await page(await signedIn(boss, options), "/organization#mailboxes");
      await p.getByRole("row", { name: new RegExp(member.email) }).waitFor();
      await shoot(p, `organization-mailboxes-${look}`);
      await judge(p, `/organization#mailboxes (${look})`);
    }
    const context = await signedIn(boss), p = await page(context, "/organization#mailboxes");
    await p.getByLabel("Name, address or link contains").fill("HARBOURMEMBER");
    await p.getByRole("button", { name: "Search" }).click();
    await p.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1, null, { polling: 200 });
    await p.getByRole("row", { name: new RegExp(`${member.email}.*Absent`) }).waitFor();
    await p.getByLabel("Name, address or link contains").fill("nobody");
    await p.getByRole("button", { name: "Search" }).click();
    await p.getByText("Nothing matches.").waitFor();
    await judge(p, "/organization#mailboxes, nothing");
    await context.route("**/adminunit/mailboxes?search=broken",
      (route) => route.fulfill({ status: 503, json: { error: { code: 503001, message: "x", details: [] } } }));
    await p.getByLabel("Name, address or link contains").fill("broken");
    await p.getByRole("button", { name: "Search" }).click();
    await p.getByRole("alert").waitFor();
    await judge(p, "/organization#mailboxes, error");
    const other = await page(await signedIn(member), "/organization");
    await other.getByRole("link", { name: "Usage" }).waitFor();
    equal(await other.getByRole("navigation", { name: "Organization" }).getByRole("link", { name: /Mailboxes|Transfers/ }).count(), 0,
      "parts that a member does not see");
  });

  await test("administrators: charts of storage and volume", async () => {
    const { boss } = await office("quay");
    const fresh = await page(await signedIn(boss), "/organization#usage");
    await fresh.getByRole("figure", { name: "Currently stored" }).waitFor();
    await judge(fresh, "/organization#usage, new");
    const last = Date.UTC(2026, 10, 24), name = (n) => new Date(last - (89 - n) * 86_400_000).toISOString().slice(0, 10);
    const days = [...Array(90).keys()].filter((n) => n < 70 || n > 72)
      .map((n) => ({ day: name(n), storedBytes: 2e9 + n * 3e7, monthBytes: Number(name(n).slice(8)) * 1e8 }));
    const months = ["2026-08", "2026-09", "2026-10", "2026-11"].map((month, i) => ({ month, bytes: (i + 1) * 1e9 }));
    for (const [look, options] of looks) {
      const context = await signedIn(boss, options);
      await context.route("**/adminunit/usage", (route) =>
        route.fulfill({ json: { months, days, volumeLimitBytes: null, storageLimitBytes: 5e9 } }));
      const p = await page(context, "/organization#usage");
      await p.locator("figure").nth(2).waitFor();
      await shoot(p, `organization-usage-${look}`);
      await judge(p, `/organization#usage (${look})`);
      if (look !== "light") continue;
      const stored = p.getByRole("figure", { name: "Currently stored" }), uploaded = p.getByRole("figure", { name: "Uploaded in a day" });
      equal(((await stored.locator("path.series-0").last().getAttribute("d")).match(/M/g) ?? []).length, 2, "runs of the line of 30 days");
      await uploaded.getByText("most: 100 MB · newest: 100 MB").waitFor();
      await p.getByRole("button", { name: "Last 90 days" }).focus();
      await p.keyboard.press("Enter");
      await stored.getByText("August 27, 2026").waitFor();
      await p.getByRole("figure", { name: "Uploaded in a month" }).getByText("As a table").click();
      await p.getByRole("row", { name: /October 2026.*3 GB/ }).waitFor();
      await judge(p, "/organization#usage, table");
    }
  });

  await test("administrators: people with their state, ending the sessions of one, and the audit", async () => {
    const { boss, member, uid } = await office("pier");
    for (let n = 0; n < 8; n++) consign("org", "member", "--roles", "Service.Transfer.Use", uid, (await person("Pia")).email);
    for (const [look, options] of looks) {
      const p = await page(await signedIn(boss, options), "/organization#members");
      await p.getByText(member.email).first().waitFor();
      await shoot(p, `organization-people-${look}`);
      await judge(p, `/organization#members (${look})`);
    }
    const theirs = await signedIn(member), theirPage = await page(theirs, "/inbox");
    const p = await page(await signedIn(boss), "/organization#members");
    await p.getByText("10 members").waitFor();
    await p.getByLabel("Name, address or reference contains").fill(member.email.toUpperCase());
    await p.keyboard.press("Enter");
    await p.waitForFunction(() => document.querySelectorAll("main ul.rows")[0].children.length === 1, null, { polling: 200 });
    await p.getByRole("button", { name: "End all sessions" }).click();
    await judge(p, "/organization#members, question");
    await p.getByRole("dialog").getByRole("button", { name: "End all sessions" }).click();
    await p.getByText("0 sessions").waitFor();
    forgive(/401/);
    await theirPage.reload();
    await theirPage.getByRole("heading", { name: "Sign in" }).waitFor();
    forgive(/401/);
    await p.goto(`${base}/organization#security`);
    await p.getByLabel("Member (address or uid)").fill(member.email);
    await p.getByRole("button", { name: "Search" }).click();
    const told = p.locator(".audit li").filter({ hasText: /signed out all devices of .*as an administrator/s }).first();
    await told.waitFor();
    await told.getByText("Code and details").click();
    await told.getByText("session.end-all").waitFor();
    await p.getByLabel("Time").selectOption({ label: "Last hour" });
    await told.waitFor();
    for (const [button, file] of [["Download as a table (CSV)", "audit.csv"], ["Download as lines of JSON", "audit.jsonl"]]) {
      const [saved] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: button }).click()]);
      equal(saved.suggestedFilename(), file, "name of the file");
      const text = fs.readFileSync(await saved.path(), "utf8");
      if (!text.includes("session.end-all") || text.includes("organization.create")) throw new Error(`${file} has ${text}`);
    }
    await p.getByLabel("Member (address or uid)").fill("nobody@example.com");
    await p.getByRole("button", { name: "Search" }).click();
    await p.getByText("Nothing matches.").waitFor();
    await shoot(p, "organization-audit");
    await judge(p, "/organization#security, audit");
  });

  await test("organization: what a list shows is in its address, with history", async () => {
    const { mara } = await world();
    const p = await page(await signedIn(mara), "/organization#members");
    const search = async (text) => {
      await p.locator("[name=search]").fill(text);
      await p.getByRole("button", { name: "Search" }).click();
    };
    const at = (hash) => p.waitForFunction((want) => location.hash === want, hash);
    await p.goto(`${base}/organization#mailboxes`);
    await search("chloe");
    await at("#mailboxes?search=chloe");
    await p.getByRole("row", { name: /chloe/ }).waitFor();
    await search("ben");
    await at("#mailboxes?search=ben");
    await p.goBack();
    await at("#mailboxes?search=chloe");
    await p.waitForFunction(() => document.querySelector("[name=search]").value === "chloe");
    await p.getByRole("row", { name: /chloe/ }).waitFor();
    equal(await p.getByRole("row", { name: /ben@/ }).count(), 0, "rows of the newer search");
    await p.reload();
    await p.getByRole("row", { name: /chloe/ }).waitFor();
    equal(await p.locator("[name=search]").inputValue(), "chloe", "the field after a reload");
    await p.getByRole("navigation", { name: "Organization" }).getByRole("link", { name: "Security" }).click();
    await p.getByLabel("Show").selectOption({ label: "Mailboxes" });
    await at("#security?action=mailbox.");
    await p.getByLabel("Time").selectOption({ label: "Last hour" });
    await at("#security?action=mailbox.&period=3600");
    await p.goBack();
    await at("#security?action=mailbox.");
    equal(await p.getByLabel("Time").inputValue(), "", "the time after Back");
    await p.getByRole("navigation", { name: "Organization" }).getByRole("link", { name: "Mailboxes" }).click();
    equal(await p.locator("[name=search]").inputValue(), "", "another part begins without terms");
  });

  await test("console: what a list shows is in its address, with history", async () => {
    const p = await page(await signedIn(await operator("Ottilie")), "/admin/mails");
    await p.getByLabel("To").fill("nobody@example.com");
    await p.getByRole("button", { name: "Search" }).click();
    await p.getByText("No mails here.").waitFor();
    equal(new URL(p.url()).search, "?to=nobody%40example.com", "address of a search");
    await p.getByLabel("State").selectOption("sent");
    equal(new URL(p.url()).search, "?state=sent&to=nobody%40example.com", "with a state");
    await p.goBack();
    await p.goBack();
    await p.getByRole("table").waitFor();
    equal(await p.getByLabel("To").inputValue(), "", "the field after Back");
    await p.goto(`${base}/admin/jobs?state=completed`);
    await p.getByRole("row").nth(1).waitFor();
    equal(await p.getByLabel("State").inputValue(), "completed", "the choice that the address names");
  });
}
