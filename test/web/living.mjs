// What a sender changes after the delivery, and the page of an expired link.

import { access, api, equal, mail, more, page, person, signedIn, test, visitor } from "./kit.mjs";

const transfer = "/transfer/v2";
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** Sends a file to an address. Returns the transfer. */
async function send(who, email, details = {}) {
  const own = await access(who);
  const { body, token } = await api("POST", `${transfer}/reservations`,
    { token: own, json: { recipients: [{ email, destinationType: "to" }], ...details } });
  const at = `${transfer}/reservations/${body.uid}`;
  await api("POST", `${at}/objects`, { token, json: { clientId: "a", name: "plan.txt", intendedSize: 4 } });
  await api("PUT", `${at}/objects/a/content`, { token, bytes: Buffer.from("plan"), type: "application/octet-stream" });
  return (await api("POST", `${at}/confirm`, { token })).body;
}

/** Lets a transfer expire: at once, as its sender may decide. */
async function expire(who, sent) {
  const at = `${transfer}/transfers/${sent.uid}`;
  await api("PATCH", at, { token: await access(who), json: { expiresAt: new Date(Date.now() + 1000).toISOString() } });
  for (let tries = 0; tries < 100; tries++) {
    if ((await api("GET", at, { token: await access(who) })).body.state === "expired") return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("it does not expire");
}

export async function livingTests() {
  await test("living: an expired link asks for more time, and its sender extends it in two taps", async () => {
    const sender = await person("Selma");
    const email = `roy${Date.now()}@example.com`;
    const sent = await send(sender, email, { subject: "Drawings of the bridge" });
    const link = new URL((await mail(email, "/t/")).link).pathname;
    await expire(sender, sent);
    const q = await page(await visitor(phone), link);
    await q.getByRole("heading", { name: "These files have expired" }).waitFor();
    await q.getByText(/Selma sent them on/).waitFor();
    equal(await q.getByText("Drawings of the bridge").count(), 0, "subject on the expired page");
    await q.getByLabel("Message").fill("I was on holiday.");
    await q.getByRole("button", { name: "Ask for more time" }).click();
    await q.getByText("The sender was asked to make the files available again.").waitFor();
    await q.reload();
    await q.getByText("The sender was asked to make the files available again.").waitFor();
    const { link: demand, plain } = await mail(sender.email, "/inbox");
    if (!plain.includes("I was on holiday.")) throw new Error(plain);
    const p = await page(await signedIn(sender, phone), new URL(demand).pathname + new URL(demand).search);
    await p.locator(".asked").getByRole("button", { name: "Extend" }).click();
    await p.getByText(/^Available until/).first().waitFor();
    await mail(email, "available again");
    await q.reload();
    await q.getByRole("heading", { name: "Drawings of the bridge" }).waitFor();
  });

  await test("living: a sender extends, protects, adds, removes and reminds on the transfer's page", async () => {
    const sender = await person("Sven");
    const stamp = Date.now();
    await send(sender, `rita${stamp}@example.com`, { subject: "Living plans" });
    const p = await page(await signedIn(sender, phone), "/inbox");
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.getByRole("button", { name: /Living plans/ }).click();
    await p.getByRole("button", { name: "Extend", exact: true }).click();
    await p.getByLabel("Available for").selectOption("30");
    await p.locator(".panel form").getByRole("button", { name: "Extend" }).click();
    await p.locator(".panel form").waitFor({ state: "detached" });
    const people = p.getByRole("list", { name: "Recipients" });
    equal(await people.getByText(`rita${stamp}@example.com`).count(), 1, "lists of recipients");
    equal(await p.locator(".panel").getByText(`rita${stamp}@example.com`).count(), 1, "places that name the recipient");
    await p.getByRole("button", { name: "Remind" }).click();
    await p.getByText("1 recipient was reminded.").first().waitFor();
    await mail(`rita${stamp}@example.com`, "Reminder");
    await more(p, "Add recipients");
    await p.locator(".panel form").getByRole("textbox").fill(`rolf${stamp}@example.com`);
    await p.keyboard.press("Enter");
    await p.locator(".panel form").getByRole("button", { name: "Add recipients" }).click();
    await people.getByText(`rolf${stamp}@example.com`).waitFor();
    const { link } = await mail(`rolf${stamp}@example.com`, "/t/");
    await p.getByRole("button", { name: `Remove rita${stamp}@example.com` }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Take back" }).click();
    await people.getByText(`rita${stamp}@example.com`).waitFor({ state: "detached" });
    await more(p, "Password");
    await p.fill(".panel [name=password]", "opensesame-42-lagoon");
    await p.getByRole("button", { name: "Protect with a password" }).click();
    await p.locator(".panel form").waitFor({ state: "detached" });
    const wide = await p.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 360) throw new Error(`the page is ${wide} pixels wide`);
    const q = await page(await visitor(), new URL(link).pathname);
    await q.fill("[name=password]", "opensesame-42-lagoon");
    await q.getByRole("button", { name: "Open" }).click();
    await q.getByRole("heading", { name: "Living plans" }).waitFor();
  });

  await test("living: a sender limits the downloads, and the recipient is told", async () => {
    const sender = await person("Sina");
    const email = `ria${Date.now()}@example.com`;
    await send(sender, email, { subject: "Limited plans" });
    const { link } = await mail(email, "/t/");
    const p = await page(await signedIn(sender, phone), "/inbox");
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.getByRole("button", { name: /Limited plans/ }).click();
    await more(p, "Limits");
    await p.getByLabel("Downloads by each recipient").fill("1");
    await p.getByRole("button", { name: "Save" }).click();
    await p.getByText("Each recipient can download each file 1 time.").waitFor();
    const q = await page(await visitor(phone), new URL(link).pathname);
    await q.getByText("Each recipient can download each file 1 time.").waitFor();
    equal(await q.getByRole("button", { name: "Show plan.txt" }).count(), 0, "previews");
    await Promise.all([q.waitForEvent("download"), q.getByRole("button", { name: /^Download .*plan\.txt$/ }).click()]);
    await q.getByRole("button", { name: /^Download .*plan\.txt$/ }).click();
    await q.getByText("This was downloaded as often as the sender allows.").first().waitFor();
    await more(p, "Limits");
    await p.getByLabel("Downloads by each recipient").fill("");
    await p.getByLabel("Delete the files when a recipient has downloaded all of them").check();
    await p.getByRole("button", { name: "Save" }).click();
    await p.getByText("The files are deleted when a recipient has downloaded all of them.").waitFor();
    await q.reload();
    await Promise.all([q.waitForEvent("download"), q.getByRole("button", { name: /^Download .*plan\.txt$/ }).click()]);
    await p.locator(".badge.revoked").waitFor();
  });

  await test("living: a sender sees in two taps who downloaded what", async () => {
    const sender = await person("Sira");
    const email = `rob${Date.now()}@example.com`;
    await send(sender, email, { subject: "Watched plans" });
    const { link } = await mail(email, "/t/");
    const q = await page(await visitor(), new URL(link).pathname);
    await Promise.all([q.waitForEvent("download"), q.getByRole("button", { name: /^Download .*plan\.txt$/ }).click()]);
    const p = await page(await signedIn(sender, phone), "/inbox");
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.getByRole("button", { name: /Watched plans/ }).click();
    await p.getByRole("button", { name: "Activity", exact: true }).click();
    const line = p.getByRole("list", { name: "Activity" });
    await line.getByText(`${email} downloaded plan.txt`).waitFor();
    await line.getByText(`${email} opened the transfer`).waitFor();
    equal(await line.getByText("not complete").count(), 0, "incomplete downloads");
    const wide = await p.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 360) throw new Error(`the page is ${wide} pixels wide`);
  });
}
