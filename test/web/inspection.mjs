// The check for malware, on a server whose scanner is clamd.mjs: node inspection.mjs URL DATA_DIR PICTURES [a pattern of names of tests]

import fs from "node:fs";
import path from "node:path";
import { access, api, base, equal, finish, page, person, pictures, settle, signedIn, test, visitor } from "./kit.mjs";
import { looked } from "./looks.mjs";

const transfer = "/transfer/v2";

/** Delivers texts as files to a mailbox, or from a person to others. @returns {Promise<any>} the transfer */
async function deliver(where, files, { token, reservation = {}, ...details } = {}) {
  const opened = await api("POST", where, { token, json: reservation, expect: 201 });
  const at = `${transfer}/reservations/${opened.body.uid}`, pass = { token: opened.token };
  for (const [i, [name, text]] of files.entries()) {
    await api("POST", `${at}/objects`, { ...pass, json: { clientId: `f${i}`, name, intendedSize: text.length } });
    await api("PUT", `${at}/objects/f${i}/content`, { ...pass, bytes: Buffer.from(text), type: "application/octet-stream" });
  }
  await api("PATCH", at, { ...pass, json: details });
  return (await api("POST", `${at}/confirm`, pass)).body;
}

/** The boss of an organization with a mailbox. */
async function boss(name) {
  const who = await person(name);
  settle(who, await api("POST", "/id/v3/organizations", { token: await access(who), json: { name: `${name}'s house` } }));
  const vanityLink = `box-${name.toLowerCase()}`;
  await api("PUT", `${transfer}/mailbox`, { token: await access(who), json: { vanityLink } });
  return { who, mailbox: `${transfer}/public/mailbox/${vanityLink}` };
}

await test("malware: the owner of a mailbox sees what was found, and takes a held file where the organization allows it", async () => {
  const { who, mailbox } = await boss("Iris");
  const sent = { anonSender: "Sam Stranger", anonEmail: "sam@example.com", subject: "Plans" };
  const files = [["plan.txt", "harmless"], ["game.txt", "a worm"], ["secret.txt", "sealed"]];
  await deliver(mailbox, files, { reservation: sent });
  const context = await signedIn(who);
  const p = await page(context, "/inbox");
  await p.locator(".entry .head").first().click();
  await p.getByText("Malware found: Test.Worm").waitFor();
  await p.getByText("No malware found").waitFor();
  await p.getByText("The check could read only a part of this file.").waitFor();
  equal(await p.getByRole("button", { name: "Download anyway" }).count(), 0, "buttons before the organization allows it");
  await looked(p, "malware-inbox");

  const q = await page(context, "/organization#settings");
  await q.getByLabel("Owners may download held files anyway").check();
  await q.getByLabel("Files sent by members").selectOption("hold");
  await q.getByLabel("Documents with macros").check();
  await looked(q, "malware-policy");
  await q.locator("form", { hasText: "Owners may download held files anyway" }).getByRole("button", { name: "Save" }).click();
  await q.getByText("Saved").first().waitFor();

  await deliver(mailbox, files, { reservation: sent }); // the policy of the confirm decides
  await p.goto(`${base}/inbox`);
  await p.locator(".entry .head").first().click();
  await p.getByRole("button", { name: "Download anyway game.txt" }).click();
  await p.getByRole("dialog").getByText("“game.txt” may be harmful.").waitFor();
  const [got] = await Promise.all([p.waitForEvent("download"),
    p.getByRole("dialog").getByRole("button", { name: "Download anyway" }).click()]);
  equal(fs.readFileSync(await got.path(), "utf8"), "a worm", "the bytes");
  equal(await p.getByRole("button", { name: /^Download anyway ./ }).count(), 2, "files that can be taken anyway");
});

await test("malware: a policy of a mailbox can only be stricter", async () => {
  const { who } = await boss("Jonas");
  const p = await page(await signedIn(who), "/mailbox");
  const policy = p.getByLabel("Check for malware");
  equal(await policy.locator("option").allTextContents(), ["As the organization says"], "choices below hold");
});

await test("malware: pages show the result of a check that ends while they are open", async () => {
  const { who, mailbox } = await boss("Karla");
  const p = await page(await signedIn(who), "/inbox");
  const sent = { anonSender: "Sam Stranger", anonEmail: "sam@example.com", subject: "Later" };
  await deliver(mailbox, [["later.txt", "slow but harmless"]], { reservation: sent });
  await p.locator(".entry .head").first().click();
  await p.getByText("Being checked for malware").waitFor();
  await p.getByText("No malware found").waitFor();
  equal(await p.getByText("Being checked for malware").count(), 0, "old states");
});

await test("malware: the page of a link waits for the check", async () => {
  const { who } = await boss("Lena");
  await api("PUT", `${transfer}/adminunit`, { token: await access(who),
    json: { availableTtl: [7], defaultTtl: 7, inspection: { members: "hold" } } });
  const done = await deliver(`${transfer}/reservations`, [["later.txt", "slow but harmless"], ["more.txt", "slow and a worm"]],
    { token: await access(who) });
  const p = await page(await visitor(), new URL(done.link).pathname);
  await p.getByText("Being checked for malware").first().waitFor();
  equal(await p.getByRole("button", { name: /^Download/ }).count(), 0, "downloads before the check");
  await looked(p, "malware-checking");
  await p.getByText("No malware found").waitFor();
  await p.getByText("Malware found: Test.Worm").waitFor();
  await looked(p, "malware-link");
  const [got] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "Download later.txt" }).first().click()]);
  equal(fs.readFileSync(await got.path(), "utf8"), "slow but harmless", "the bytes");
});

await test("malware: journey: a document of a request is infected, both see it, it goes back and a clean one is accepted", async () => {
  const { who } = await boss("Olga");
  const token = await access(who), email = `bob${Date.now()}@example.org`;
  const { body: made } = await api("POST", `${transfer}/requests`, { token, json: { title: "Statement 2026",
    items: [{ name: "Lease" }, { name: "Letter" }], parties: [{ email, name: "Bob Builder" }] } });
  const bob = await page(await visitor(), new URL(made.parties[0].link).pathname);
  const put = (nth, name, text) => bob.locator("[data-test=item]").nth(nth).locator("[data-test=files]").setInputFiles(
    { name, mimeType: "text/plain", buffer: Buffer.from(text) });
  const handIn = async (there) => {
    await bob.waitForFunction((want) => document.querySelector("[data-test=tally]")?.textContent?.trim() === want, there);
    await bob.locator("[data-test=handin]").click();
    await bob.waitForFunction(() => document.querySelector("[data-test=handin]")?.disabled !== false);
  };
  await put(0, "lease.txt", "a worm in the lease");
  await put(1, "letter.txt", "dear office");
  await handIn("2 of 2");

  const o = await page(await signedIn(who), `/requests/${made.uid}`);
  await o.getByRole("button", { name: "Check 2 documents" }).click();
  await o.locator("dialog").getByText("Malware was found").waitFor();
  equal(await o.getByRole("button", { name: "Download lease.txt" }).count(), 0, "downloads of what is infected");
  await looked(o, "malware-request");
  await o.keyboard.press("r");
  await looked(o, "malware-request-return");
  await o.getByRole("button", { name: "Send back", exact: true }).click();
  await o.getByText("dear office").waitFor();
  await o.keyboard.press("a");
  await o.waitForFunction(() => !document.querySelector("dialog"));

  await bob.reload();
  await bob.getByText("Malware was found in this file.").waitFor();
  await looked(bob, "malware-request-party");
  await put(0, "lease-clean.txt", "the lease");
  await handIn("2 of 2");
  await o.getByRole("button", { name: "Check 1 document" }).click();
  await o.getByText("the lease", { exact: true }).waitFor();
  await o.keyboard.press("a");
  await o.waitForFunction(() => !document.querySelector("dialog")); // closed by the answer: Bob's page reads what was decided once
  await bob.reload();
  await bob.getByText("Everything is accepted.").waitFor();
});

await finish();
