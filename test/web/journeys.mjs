// Journeys of members and administrators that walk across several pages.

import { execFileSync } from "node:child_process";
import { access, api, base, closeBrowser, consign, equal, held, idToken, mail, page, person, picture, settle, settled, signedIn, test,
  unfold, visitor } from "./kit.mjs";

/** Makes an organization with an administrator and a member, who both keep a mailbox. */
export async function office(name) {
  const boss = await person(`${name}boss`), member = await person(`${name}member`);
  const made = await api("POST", "/id/v3/organizations", { token: await access(boss), json: { name: `${name} Ltd` } });
  settle(boss, made);
  const uid = made.body.uid;
  consign("org", "member", "--roles", "Service.Transfer.Use", uid, member.email);
  settle(member, await api("POST", "/id/v3/auth/upgrade", { token: await idToken(member) }));
  for (const p of [boss, member]) await api("PUT", "/transfer/v2/mailbox",
    { token: await access(p), json: { vanityLink: p.email.split("@")[0] } });
  return { uid, boss, member };
}

export async function journeyTests() {
  await test("journey: a member sends by the rules of the organization", async () => {
    const { boss, member } = await office("rules");
    await api("PUT", "/transfer/v2/adminunit", { token: await access(boss),
      json: { availableTtl: [2, 4], defaultTtl: 4, protectionLevel: "recipientAuthentication" } });
    const p = await page(await signedIn(member), "/send");
    await p.getByText("Add a message").waitFor();
    await unfold(p);
    equal(await p.getByLabel("Available for").locator("option").allInnerTexts(), ["2 days", "4 days"], "periods");
    equal(await p.getByLabel("Protection").locator("option").allInnerTexts(), ["A code sent to each recipient"], "protections");
    await picture(p, "rules", "A member sends with the periods and the protection that the organization allows.");
  });

  await test("journey: a mailbox that takes nothing says why", async () => {
    const { uid, member } = await office("closed");
    const box = `/m/${member.email.split("@")[0]}`;
    consign("org", "limits", uid, "serviceEnabled=off");
    const p = await page(await visitor({ locale: "de-DE", viewport: { width: 390, height: 800 } }), box);
    await p.getByText("Dieses Postfach nimmt derzeit keine Dateien an.").waitFor();
    await picture(p, "closed-mailbox",
      "A mailbox whose organization has the service switched off tells a visitor that it takes no files (German).");
    const english = await page(await visitor(), box);
    await english.getByText("This mailbox doesn’t accept files right now.").waitFor();
    const q = await page(await signedIn(member), "/mailbox");
    await q.getByText("The service is switched off for your organization. Ask your administrator.").waitFor();
  });

  await test("journey: leaving with a copy of one's data", async () => {
    const { boss, member } = await office("leaving");
    const p = await page(await signedIn(member, { locale: "de-DE", viewport: { width: 390, height: 800 } }), "/account/privacy");
    const [copy] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "Ihre Daten herunterladen" }).click()]);
    equal(copy.suggestedFilename(), "export.zip", "name of the copy");
    const program = "import json,sys,zipfile; z = zipfile.ZipFile(sys.argv[1]); "
      + "print(json.dumps(json.loads(z.read('export.json'))['emails'][0]['address']))";
    const listed = execFileSync("python3", ["-c", program, await copy.path()], { encoding: "utf8" });
    equal(JSON.parse(listed), member.email, "address in the copy");
    await mail(member.email, "/undo/");
    await picture(p, "leaving", "On the account page a person downloads a copy of the own data, and may delete the account (German).");
    await p.getByRole("button", { name: "Konto löschen" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Konto löschen" }).click();
    await p.waitForURL(`${base}/`);
    const { plain } = await mail(member.email, "/m/leavingmember");
    if (!plain.includes("leaving Ltd")) throw new Error(`the mail does not name the organization: ${plain}`);
    const q = await page(await signedIn(boss), "/organization#members");
    await q.getByText("1 member", { exact: true }).waitFor();
  });

  await test("journey: an administrator's hostname, security, limits and groups", async () => {
    const { uid, boss, member } = await office("admin");
    const p = await page(await signedIn(boss), "/organization");
    await p.getByText("The hostname cannot be changed").waitFor();
    consign("org", "limits", uid, "changeHostname=custom");
    await p.reload();
    await p.getByLabel("New hostname").fill("files.nowhere.example");
    await p.getByRole("button", { name: "Use this hostname" }).click();
    await p.getByText("Waiting for the TXT record of files.nowhere.example.").waitFor();
    await p.getByText("_consign.files.nowhere.example").waitFor();
    await p.getByRole("button", { name: "Check now" }).click();
    await p.getByText("The record was not found.").waitFor();
    await p.getByRole("link", { name: "Security" }).click();
    await p.getByText("Set up a second factor for yourself first").waitFor();
    await p.getByText("changed the organization’s profile").first().waitFor();
    const [table] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "Download as a table (CSV)" }).click()]);
    equal(table.suggestedFilename(), "audit.csv", "table");
    await p.getByRole("link", { name: "Usage" }).click();
    await p.getByText("2 of 100").waitFor();
    await p.getByText("There are no subscriptions.").waitFor();
    await p.getByRole("link", { name: "Documents" }).click();
    await p.getByText("The agreement needs an active subscription.").waitFor();
    await p.getByRole("link", { name: "Groups" }).click();
    await p.getByRole("button", { name: "Add a group" }).click();
    await p.getByLabel("Name", { exact: true }).fill("Everybody");
    await p.getByLabel(/adminmember/i).check();
    await p.getByRole("button", { name: "Save" }).click();
    await p.getByText("Everybody").waitFor();
    const small = await page(await signedIn(boss, { locale: "de-DE", viewport: { width: 390, height: 800 } }), "/organization#security");
    await small.getByRole("heading", { name: "Aktivitäten" }).waitFor();
    await picture(small, "security", "An administrator sees the rule of the second factor, and who did what (German).");
    await small.goto(`${new URL(small.url()).origin}/organization#profile`);
    await small.getByText("wartet auf den TXT-Eintrag").waitFor();
    await picture(small, "hostname", "A hostname of one's own waits for its TXT record, which can be copied (German).");
    equal((await api("GET", `/id/v3/organizations/${uid}/audit?limit=1`, { token: await access(boss) })).body.entries.length, 1,
      member.email);
  });

  /** Opens a page of any host. */
  const open = async (context, url) => {
    const p = await context.newPage();
    await p.goto(url);
    await settled(p);
    return p;
  };
  /** Signs up. Returns the link in the mail. */
  const signUp = async (p, address) => {
    await p.fill("[name=address]", address);
    await p.fill("[name=password]", "violet-anchor-92-meadow");
    await p.locator("form [type=submit]").click();
    await p.getByText(address).waitFor();
    return (await mail(address, "/confirm/")).link;
  };

  await test("journey: a confirmation signs in every tab, and reaches another browser", async () => {
    const { uid } = await office("tabs");
    consign("org", "host", uid, "tabs.localhost");
    for (const at of [base, base.replace("localhost", "tabs.localhost")]) {
      const label = new URL(at).hostname.split(".")[0];
      const context = await visitor({ also: at });
      const first = await open(context, `${at}/signup`), bystander = await open(context, `${at}/login`);
      const link = await signUp(first, `${label}one@example.com`);
      await bystander.waitForURL(`${at}/inbox`); // signed in, at level 0
      const second = await open(context, at + new URL(link).pathname);
      await second.getByRole("button", { name: "Confirm the address" }).click();
      await second.getByText("Your email address is confirmed.").waitFor();
      await first.waitForURL(`${at}/inbox`);
      // a page that loads after the sign-out asks for a sign-in
      for (const p of [first, bystander]) await p.getByText("Nothing has arrived yet.").waitFor();
      for (const p of [first, second, bystander]) equal(
        await p.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]).includes("eyJ")), false, "tokens in a storage");
      await second.getByRole("button", { name: "Sign out", exact: true }).click();
      // pages in the background draw no frames
      for (const p of [first, second, bystander]) await p.waitForFunction(() => location.pathname === "/", null, { polling: 200 });
      equal(await held(first), "", "session cookie after the sign-out");

      const waiting = await open(await visitor({ also: at }), `${at}/signup?next=%2Faccount`);
      const other = await visitor({ also: at, locale: "de-DE", viewport: { width: 390, height: 800 } });
      const phone = await open(other, await signUp(waiting, `${label}two@example.com`));
      await phone.fill("[name=email]", `${label}two@example.com`);
      await phone.fill("[name=password]", "violet-anchor-92-meadow");
      await phone.locator("form [type=submit]").click();
      await phone.getByRole("button", { name: "Adresse bestätigen" }).click();
      await phone.getByText("Sie haben in einem anderen Browser bestätigt").waitFor();
      await picture(phone, `confirmed-elsewhere-${label}`,
        `Who confirms in another browser reads that the first one goes on (German, at ${new URL(at).hostname}).`);
      await waiting.waitForURL(`${at}/account`); // it has asked
      await waiting.getByRole("heading", { name: "Your account" }).waitFor();
      await closeBrowser(waiting.context());
      const reopened = await open(waiting.context(), `${at}/account`);
      await reopened.waitForURL(`${at}/login**`);
    }
  });
}
