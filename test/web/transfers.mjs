// Transfers between people: sending, protection, links, downloads.

import fs from "node:fs";
import { access, api, base, demo, equal, file, mail, more, page, person, sha256, signedIn, test, unfold, visitor } from "./kit.mjs";

async function send(p, files, { to, subject, protection, secret }) {
  if (to) {
    await p.getByLabel("Recipients", { exact: true }).first().fill(to);
    await p.keyboard.press("Enter");
  } else await p.getByText("As a link").click();
  await p.setInputFiles("[data-test=files]", files.map((f) => f.at));
  await p.getByLabel("Subject").fill(subject);
  await unfold(p);
  if (protection) await p.getByLabel("Protection").selectOption(protection);
  if (secret) await p.getByLabel("Password for the recipients").fill(secret);
  await p.locator(".details button[type=submit]").click();
  await p.waitForSelector(".receipt", { timeout: 30_000 });
}

async function download(p, name) {
  const [d] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name }).click()]);
  return fs.readFileSync(await d.path());
}

export async function transferTests() {
  await test("send to a person, who opens the link and downloads one and all", async () => {
    const sender = await person("Sigrid");
    const p = await page(await signedIn(sender), "/send");
    const files = [file("first.bin", 70_000), file("second.bin", 3_000)];
    await send(p, files, { to: "rec1@example.com", subject: "For Rec" });
    const { link } = await mail("rec1@example.com", "/t/");
    const q = await page(await visitor(), new URL(link).pathname);
    await q.getByRole("heading", { name: "For Rec" }).waitFor();
    equal(sha256(await download(q, "Download first.bin")), files[0].sum, "one");
    const zip = await download(q, /^Download all/);
    equal(zip.subarray(0, 2).toString(), "PK", "archive");
    await p.goto(p.url().replace("/send", "/inbox"));
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.getByText("For Rec").click();
    await p.getByText("Opened").first().waitFor();
    await more(p, "Revoke");
    await p.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await p.getByText("The files are no longer there.").waitFor();
    await q.reload();
    await q.getByText("These files are no longer here").waitFor();
  });

  await test("reply: files go back to a sender whose address was checked, and to no other", async () => {
    const sender = await person("Renata"), reader = await person("Ruben");
    await send(await page(await signedIn(sender), "/send"), [file("there.bin", 100)], { to: reader.email, subject: "There" });
    const link = new URL((await mail(reader.email, "/t/")).link).pathname;
    const stranger = await page(await visitor(), link);
    await stranger.getByRole("link", { name: "Reply with files" }).click();
    await stranger.waitForURL("**/login?next=**reply**"); // and comes back after the sign-in
    await api("PUT", "/transfer/v2/mailbox", { token: await access(sender), json: { vanityLink: "renata.takes" } });
    await stranger.goto(base + link);
    await stranger.getByRole("link", { name: "Reply with files" }).click(); // to the mailbox of the sender, without an account
    await stranger.setInputFiles("[data-test=files]", file("from-nobody.bin", 200).at);
    await stranger.getByText("Files for").first().waitFor();
    await stranger.fill("[name=anonSender]", "Ruben");
    await stranger.fill("[name=anonEmail]", reader.email);
    equal(await stranger.inputValue("[name=subject]"), "Re: There", "the subject");
    await stranger.locator(".details button[type=submit]").click();
    await stranger.waitForSelector(".receipt", { timeout: 30_000 });
    equal((await mail(sender.email, "from-nobody.bin")).plain.includes("Re: There"), true, "the reply of a stranger");

    const p = await page(await signedIn(reader), link);
    await p.getByRole("link", { name: "Reply with files" }).click();
    await p.locator(".chips", { hasText: sender.email }).waitFor();
    equal(p.url().includes(sender.email), false, "the address is in the link");
    await p.setInputFiles("[data-test=files]", file("back.bin", 200).at);
    await p.getByLabel("Subject").fill("And back");
    await p.locator(".details button[type=submit]").click();
    await p.waitForSelector(".receipt", { timeout: 30_000 });
    await mail(sender.email, "back.bin");
    await api("PUT", "/transfer/v2/mailbox", { token: await access(reader), json: { vanityLink: "ruben.reads" } });
    const q = await page(await visitor(), "/m/ruben.reads");
    await q.setInputFiles("[data-test=files]", file("claimed.bin", 10).at);
    await q.fill("[name=anonSender]", "Not Renata");
    await q.fill("[name=anonEmail]", sender.email);
    await q.locator(".details button[type=submit]").click();
    await q.waitForSelector(".receipt");
    const said = await mail(reader.email, "claimed.bin");
    const unchecked = new URL(/https?:\/\/\S*\/t\/\S+/.exec(said.plain)[0]).pathname;
    const r = await page(await visitor(), unchecked);
    await r.getByText("address not checked").waitFor();
    equal(await r.getByRole("link", { name: "Reply with files" }).count(), 0, "a reply to an address that anybody may have stated");
    await p.goto(`${base}/send?reply=${unchecked.split("/").pop()}`);
    await p.waitForTimeout(1000);
    equal(await p.locator(".chips").count(), 0, "recipients by a link that somebody made up");
  });

  await test("links: who made one is told to copy it, and finds it again in Sent, with its QR code", async () => {
    const sender = await person("Linus");
    const p = await page(await signedIn(sender), "/send");
    await send(p, [file("linked.bin", 100)], { subject: "To be found" });
    await p.getByRole("heading", { name: "Your link is ready" }).waitFor();
    equal(await p.locator(".receipt .button.primary").allTextContents(), ["Copy the link"], "the primary button");
    const link = await p.locator(".link-box code").textContent();
    await p.goto(p.url().replace("/send", "/inbox"));
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.getByText("To be found").click();
    equal(await p.locator(".link-box code").textContent(), link, "the link in Sent");
    await p.getByRole("button", { name: "QR code" }).click();
    await p.waitForFunction(() => document.querySelector(".qr-code img")?.naturalWidth > 0);
  });

  await test("a link with a password", async () => {
    const sender = await person("Lena");
    const p = await page(await signedIn(sender), "/send");
    const one = file("secret.bin", 5_000);
    await send(p, [one], { subject: "Between us", protection: "password", secret: "opensesame-42" });
    const link = await p.textContent(".link-box code");
    const q = await page(await visitor(), new URL(link).pathname);
    equal(await q.getByText("Between us").count(), 0, "told before it was opened");
    await q.fill("[name=password]", "wrong");
    await q.getByRole("button", { name: "Open" }).click();
    await q.getByText("This password is not right.").waitFor();
    await q.fill("[name=password]", "opensesame-42");
    await q.getByRole("button", { name: "Open" }).click();
    await q.getByRole("heading", { name: "Between us" }).waitFor();
    equal(sha256(await download(q, /^Download .*secret.bin$/)), one.sum, "downloaded");
  });

  await test("a code by mail", async () => {
    const sender = await person("Cora");
    const p = await page(await signedIn(sender), "/send");
    const one = file("coded.bin", 5_000);
    await send(p, [one], { to: "rec2@example.com", subject: "Prove it", protection: "recipientAuthentication" });
    const { link } = await mail("rec2@example.com", "/t/");
    const q = await page(await visitor(), new URL(link).pathname);
    const after = Date.now(); // the mail with the link also contains the word code
    await q.getByRole("button", { name: "Send me the code" }).click();
    await q.getByText("The code is on its way.").waitFor();
    const code = /(?:^|\s)(\d{3}\s?\d{3})(?:\s|$)/m.exec((await mail("rec2@example.com", "code", { after })).plain.replace(
      /^[\s\S]*?text\/plain/, ""))[1];
    await q.fill("[name=code]", code.replace(/^\d/, (d) => String((Number(d) + 1) % 10)));
    await q.getByRole("button", { name: "Open" }).click();
    await q.getByText("This code is not right").waitFor();
    await q.reload(); // a second code is rate-limited for a minute; the one in the mail still works
    await q.getByRole("button", { name: "Send me the code" }).click();
    await q.getByText("Too many attempts.").waitFor();
    await q.fill("[name=code]", code);
    await q.getByRole("button", { name: "Open" }).click();
    await q.getByRole("heading", { name: "Prove it" }).waitFor();
    equal(sha256(await download(q, /^Download .*coded.bin$/)), one.sum, "downloaded");
  });

  await test("a recipient with an account needs no code", async () => {
    const sender = await person("Dora"), recipient = await person("Rolf");
    const p = await page(await signedIn(sender), "/send");
    await send(p, [file("known.bin", 500)], { to: recipient.email, subject: "You know me", protection: "recipientAuthentication" });
    const { link } = await mail(recipient.email, "/t/");
    const q = await page(await signedIn(recipient), new URL(link).pathname);
    await q.getByRole("heading", { name: "You know me" }).waitFor();
  });

  await test("an unlock that has expired asks again", async () => {
    const p = await page(await signedIn(await person("Lotte")), "/send");
    await send(p, [file("again.bin", 500)], { subject: "Twice", protection: "password", secret: "opensesame-42" });
    const q = await page(await visitor(), new URL(await p.textContent(".link-box code")).pathname);
    const open = async () => {
      await q.fill("[name=password]", "opensesame-42");
      await q.getByRole("button", { name: "Open" }).click();
      await q.getByRole("heading", { name: "Twice" }).waitFor();
    };
    await open();
    await q.context().route("**/otk",
      (route) => route.continue({ headers: { ...route.request().headers(), authorization: "Bearer gone" } }), { times: 1 });
    await q.getByRole("button", { name: /^Download .*again\.bin$/ }).click();
    await open();
    equal((await download(q, /^Download .*again.bin$/)).length, 500, "downloaded");
  });

  await test("a long inbox: pages, and new transfers do not reset it", async () => {
    const who = await person("Paul");
    await api("PUT", "/transfer/v2/mailbox", { token: await access(who), json: { vanityLink: "paul.pages" } });
    const arrive = async (i) => {
      const { body, token } = await api("POST", "/transfer/v2/public/mailbox/paul.pages",
        { json: { anonSender: "Sam", anonEmail: "sam@example.com", subject: `Number ${i}` } });
      const at = `/transfer/v2/reservations/${body.uid}`;
      await api("POST", `${at}/objects`, { token, json: { clientId: "a", name: "a.txt", intendedSize: 0 } });
      await api("POST", `${at}/confirm`, { token });
    };
    for (let i = 0; i < 55; i++) await arrive(i);
    const p = await page(await signedIn(who), "/inbox");
    equal(await p.locator(".entry").count(), 50, "first page");
    await p.getByRole("button", { name: "Show more" }).click();
    await p.locator(".entry").nth(54).waitFor();
    await arrive(55);
    await p.getByText("Number 55").waitFor();
    if (await p.locator(".entry").count() < 55) throw new Error("the list was folded up");

    let asked = 0; // search answers without results; the fourteenth has one
    await p.route(/transfers\?.*search=/, async (route) => {
      const url = new URL(route.request().url());
      url.searchParams.delete("after");
      if (++asked < 14) return route.fulfill({ json: { transfers: [], next: `after-${asked}` } });
      return route.fulfill({ response: await route.fetch({ url: String(url) }) }); // WebDriver BiDi cannot continue with another URL
    });
    await p.getByRole("searchbox").fill("number 7");
    await p.getByText("Nothing found so far.").waitFor();
    equal(asked, 10, "calls without being asked");
    await p.getByRole("button", { name: "Keep searching" }).click();
    await p.getByText("Number 7").waitFor();
    equal(await p.locator(".entry").count(), 1, "found");
    equal(await p.getByRole("button", { name: "Keep searching" }).count(), 0, "ways further");
  });

  await test("an unknown link", async () => {
    const p = await page(await visitor(), "/t/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    await p.getByText("These files are no longer here").waitFor();
  });

  await test("open reservations on the mailbox", async () => {
    const stranger = await api("POST", "/transfer/v2/public/mailbox/demo", { json: { anonEmail: "half@example.com" }, expect: 201 });
    const p = await page(await signedIn(demo), "/mailbox");
    const row = p.getByRole("row", { name: /half@example.com/ });
    await row.getByRole("button", { name: "Cancel the upload" }).click();
    await row.waitFor({ state: "detached" });
    await api("GET", `/transfer/v2/reservations/${stranger.body.uid}`, { token: stranger.token, expect: 404 });
    await access(demo);
  });
}
