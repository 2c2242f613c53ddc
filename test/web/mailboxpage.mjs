// The page of a mailbox: from the files of a visitor to the inbox of the owner.

import fs from "node:fs";
import path from "node:path";
import { access, api, base, claim, consign, demo, equal, file, held, inFirefox, lateFrames, mail, more, page, person, retype, sha256,
  signedIn, slow, test, unfold, visitor, work } from "./kit.mjs";
import { judge } from "./looks.mjs";

/** Fills the form of a mailbox in. What an earlier visit left stays: see retype(). */
export async function fill(p, more = {}) {
  await unfold(p);
  for (const [name, value] of Object.entries({ anonSender: "Sam Stranger", anonEmail: "sam@example.com", ...more })) {
    if (await p.inputValue(`[name="${name}"]`) !== value) await p.fill(`[name="${name}"]`, value);
  }
}
export const choose = (p, files) => p.setInputFiles("[data-test=files]", files.map((f) => f.at ?? f));

/** Returns the files on the receipt: name to SHA-256. */
export const receipt = async (p) => {
  await p.waitForSelector(".receipt", { timeout: 60_000 });
  return Object.fromEntries(await p.$$eval(".delivered tbody tr",
    (rows) => rows.map((row) => [row.querySelector(".name").textContent, row.querySelector(".hash").textContent.replace("SHA-256 ", "")])));
};

export async function mailboxPageTests() {
  await test("a visitor delivers files and gets a receipt", async () => {
    const p = await page(await visitor(), "/m/demo");
    const files = [file("plan.bin", 3_000_000), file("empty.txt", 0), file("Übersicht (1) & more.txt", 12)];
    await choose(p, files);
    await fill(p, { subject: "The plans", message: "As agreed.\nBoth of them." });
    await p.click(".details button[type=submit]");
    equal(await receipt(p), Object.fromEntries(files.map((f) => [f.name, f.sum])), "receipt");
    const text = await p.textContent(".receipt");
    for (const word of ["Delivered", "Olivia Owner", "The plans",
      "sam@example.com"]) if (!text.includes(word)) throw new Error(`the receipt lacks ${word}`);
    await p.reload();
    await p.waitForSelector(".receipt"); // still there
    await mail("sam@example.com", "3 files");
    await p.getByRole("button", { name: "Send more files" }).click();
    await p.waitForSelector(".chooser");
  });

  await test("an interrupted upload goes on by itself", async () => {
    const p = await page(await visitor(), "/m/demo");
    const big = file("interrupted.bin", 12_000_000);
    const line = await slow(p, 2_500_000);
    await choose(p, [big]);
    await fill(p);
    await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.25);
    await line.cut();
    await p.getByText("The connection is interrupted").waitFor();
    await line.mend();
    await p.click(".details button[type=submit]");
    equal(await receipt(p), { [big.name]: big.sum }, "receipt");
  });

  await test("an upload goes on after the page was closed", async () => {
    const context = await visitor();
    let p = await page(context, "/m/demo");
    const big = file("reopened.bin", 12_000_000), small = file("small.txt", 100);
    const line = await slow(p, 1_000_000);
    await choose(p, [small, big]);
    await fill(p, { subject: "Kept" });
    await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.4);
    await line.cut(); // the rest does not arrive, however slow this browser is
    await p.waitForTimeout(600); // the record is written
    await p.close({ runBeforeUnload: false });
    const sent = [];
    p = await page(context, "/m/demo");
    p.on("request", (r) => { if (r.method() === "PUT") sent.push(r.headers()["content-range"]); });
    await claim(p, "sam@example.com");
    await p.getByText("You have an upload here that is not finished.").waitFor();
    equal(await p.inputValue("[name=subject]"), "Kept", "subject");
    await choose(p, [big]);
    await p.click(".details button[type=submit]");
    equal(await receipt(p), { [small.name]: small.sum, [big.name]: big.sum }, "receipt");
    if (!sent.length || /bytes 0-/.test(sent[0])) throw new Error(`did not go on where it stopped: ${sent}`);
  });

  await test("a file that was changed between visits starts over", async () => {
    const context = await visitor();
    let p = await page(context, "/m/demo");
    const big = file("changed.bin", 8_000_000);
    const line = await slow(p, 1_000_000);
    await choose(p, [big]);
    await p.fill("[name=anonEmail]", "sam@example.com");
    await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.4);
    await line.cut();
    await p.waitForTimeout(600);
    await p.close();
    const bytes = Buffer.alloc(8_000_000, 9);
    fs.writeFileSync(big.at, bytes);
    fs.utimesSync(big.at, new Date(), new Date(Date.now() + 5000));
    p = await page(context, "/m/demo");
    await claim(p, "sam@example.com");
    await p.getByText("You have an upload here").waitFor();
    await choose(p, [big]);
    await fill(p);
    await p.click(".details button[type=submit]");
    equal(await receipt(p), { [big.name]: sha256(bytes) }, "receipt");
  });

  // Firefox reads the new bytes of a changed file and tells nobody. The SHA-256 of the receipt is that of the bytes that arrived.
  if (!inFirefox) await test("a file that changes while it is read is reported", async () => {
    const p = await page(await visitor(), "/m/demo");
    const big = file("moving.bin", 10_000_000);
    await slow(p, 2_000_000);
    await choose(p, [big]);
    await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.2);
    fs.writeFileSync(big.at, Buffer.alloc(10_000_000, 1));
    fs.utimesSync(big.at, new Date(), new Date(Date.now() + 9000));
    await p.locator(".state", { hasText: "The file was changed, moved or deleted" }).waitFor({ timeout: 30_000 });
  });

  await test("pause, resume and remove", async () => {
    const p = await page(await visitor(), "/m/demo");
    const big = file("paused.bin", 8_000_000), other = file("removed.bin", 8_000_000);
    const line = await slow(p, 2_000_000);
    await choose(p, [big, other]);
    await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.1);
    await p.getByRole("button", { name: "Pause paused.bin" }).click();
    await p.getByRole("button", { name: "Remove removed.bin" }).click();
    await p.getByText(/^Paused at/).waitFor();
    await line.free();
    await p.getByRole("button", { name: "Resume paused.bin" }).click();
    await fill(p);
    await p.click(".details button[type=submit]");
    equal(await receipt(p), { [big.name]: big.sum }, "receipt");
  });

  await test("dropping and pasting files, and a folder", async () => {
    const p = await page(await lateFrames(await visitor()), "/m/demo");
    await p.waitForSelector(".chooser button:enabled");
    await p.evaluate(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["dropped"], "dropped.txt"));
      for (const type of ["dragenter", "dragover",
        "drop"]) dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    await p.getByText("dropped.txt").waitFor();
    await p.evaluate(() => {
      const clipboard = new DataTransfer();
      clipboard.items.add(new File(["pasted"], "pasted.txt"));
      const paste = new ClipboardEvent("paste", { bubbles: true, cancelable: true });
      Object.defineProperty(paste, "clipboardData", { value: clipboard }); // Firefox does not take it from the constructor
      dispatchEvent(paste);
    });
    await p.getByText("pasted.txt").waitFor();
    const inner = file("folder/inner/deep.txt", 20);
    file("folder/.DS_Store", 5);
    // WebDriver BiDi cannot choose a folder
    if (!inFirefox) await p.setInputFiles("[data-test=folder]", inner.at.replace("/inner/deep.txt", ""));
    await fill(p);
    await p.click(".details button[type=submit]");
    equal(await receipt(p), { "dropped.txt": sha256("dropped"), "pasted.txt": sha256("pasted"),
      ...(inFirefox ? {} : { "folder/inner/deep.txt": inner.sum }) }, "receipt");
  });

  await test("a thousand files at once", async () => {
    const p = await page(await visitor(), "/m/demo");
    const payload = Array.from({ length: 1000 }, (_,
      i) => ({ name: `file-${i}.txt`, mimeType: "text/plain", buffer: Buffer.from(`number ${i}`) }));
    for (let i = 0; i < 1000; i += 250) await p.setInputFiles("[data-test=files]", payload.slice(i, i + 250));
    await fill(p);
    await p.click(".details button[type=submit]");
    await p.waitForSelector(".receipt", { timeout: 120_000 });
    equal(await p.locator(".delivered tbody tr").count(), 1000, "rows");
  });

  await test("structured fields, their rules, and the filter of types", async () => {
    const ann = await person("Ann");
    const token = await access(ann);
    await api("PUT", "/transfer/v2/mailbox", { token, json: {
      vanityLink: "ann.fields", slogan: "With questions", maxFiles: 3, maxFileSizeMb: 2, mimeTypeFilter: ["text/plain", "application/pdf"],
      fieldsSchema: { type: "object", title: "About the job", required: ["project", "kind"], properties: {
        project: { type: "string", minLength: 2 }, kind: { type: "string", enum: ["offer", "bill"] },
          due: { type: "string", format: "date" }, at: { type: "string" }, copies: { type: "string" },
            contact: { type: "string", format: "email" } } },
      uiSchema: { "ui:order": ["kind", "project", "due", "at", "copies", "contact"],
        project: { "ui:widget": "text", "ui:title": "Project", "ui:placeholder": "Bridge 12", "ui:description": "As on the order",
          "ui:options": {} },
        kind: { "ui:widget": "select", "ui:title": "Kind", "ui:options": {} },
          due: { "ui:widget": "date", "ui:title": "Due", "ui:options": {} },
        at: { "ui:widget": "time", "ui:title": "At", "ui:options": {} },
          copies: { "ui:widget": "updown", "ui:title": "Copies", "ui:options": {} },
            contact: { "ui:widget": "email", "ui:title": "Contact", "ui:options": {} } } } });
    const p = await page(await visitor(), "/m/ann.fields");
    await p.getByText("Up to 3 files · Only PDF and text/plain, up to 2 MB each").waitFor();
    const note = file("note.txt", 1);
    fs.writeFileSync(note.at, "plain words");
    await choose(p, [note, file("wrong.exe", 10), file("large.txt", 2_500_000)]);
    await p.getByText("This mailbox doesn’t accept this file type.").waitFor();
    await p.locator(".state", { hasText: "This file is too large for this mailbox. The limit is 2 MB." }).waitFor();
    equal(await p.locator("fieldset").first().locator("label")
      .evaluateAll((labels) => labels.map((l) => l.textContent.replace(" optional", ""))),
        ["Kind", "Project", "Due", "At", "Copies", "Contact"], "order");
    await fill(p, { "field.project": "Bridge 12", "field.due": "2026-12-24", "field.at": "10:30", "field.copies": "2",
      "field.contact": "x@example.com" });
    await p.click(".details button[type=submit]");
    equal(await p.locator(".receipt").count(), 0, "delivered without the required choice");
    await p.selectOption('[name="field.kind"]', "offer");
    await p.getByText("2 files were refused and will not be delivered.", { exact: true }).waitFor();
    await p.click(".details button[type=submit]");
    equal(Object.keys(await receipt(p)), ["note.txt"], "delivered");
    const { body } = await api("GET", "/transfer/v2/transfers?location=received", { token });
    equal(Object.entries(body.transfers[0].fields).sort(),
      Object.entries({ at: "10:30", contact: "x@example.com", copies: "2", due: "2026-12-24", kind: "offer", project: "Bridge 12" }),
        "fields");
  });

  await test("a mailbox that wants the address of the sender verified", async () => {
    const eve = await person("Eve");
    const settings = await page(await signedIn(eve), "/mailbox");
    await settings.getByLabel("Name in the link").fill("eve.verifies");
    await settings.getByLabel("Senders confirm their address").check();
    await settings.getByRole("button", { name: "Save" }).click();
    await settings.getByText("Saved").first().waitFor();
    const p = await page(await visitor(), "/m/eve.verifies");
    await p.getByText("You confirm your email address with a code").waitFor();
    const one = file("proved.bin", 5_000);
    await choose(p, [one]);
    await fill(p, { anonEmail: "mistyped@example.com", subject: "Proved" });
    await p.click(".details button[type=submit]");
    await p.getByText("We’ll send a code to mistyped@example.com.").waitFor();
    await retype(p.locator("[name=anonEmail]"), "prover@example.com");
    await p.getByRole("button", { name: "Send me the code" }).click();
    await p.getByText("The code is on its way.").waitFor();
    const code = /(?:^|\s)(\d{3}\s?\d{3})(?:\s|$)/m.exec((await mail("prover@example.com", "code")).plain.replace(/^[\s\S]*?text\/plain/,
      ""))[1];
    await p.fill("[name=code]", code.replace(/^\d/, (d) => String((Number(d) + 1) % 10)));
    await p.click(".details button[type=submit]");
    await p.getByText("This code is not right").waitFor();
    await p.fill("[name=code]", code);
    await p.click(".details button[type=submit]");
    equal(await receipt(p), { [one.name]: one.sum }, "receipt");
    const inbox = await page(await signedIn(eve), "/inbox");
    await inbox.getByText("Proved").first().click();
    await inbox.getByText("prover@example.com").first().waitFor();
    equal(await inbox.getByText("address not checked").count(), 0, "marks of the checked address");
    const link = await page(await visitor(), new URL((await mail(eve.email, "/t/")).link).pathname);
    await link.getByText("proved.bin").waitFor();
    equal(await link.getByText("address not checked").count(), 0, "marks behind the link");
  });

  await test("settings of a mailbox: the page beside the form, and links that fill in answers", async () => {
    const lena = await person("Lena"), token = await access(lena);
    const fieldsSchema = { type: "object", title: "Case", required: [], properties: { order: { type: "string", title: "Order number" } } };
    await api("PUT", "/transfer/v2/mailbox", { token, json: { vanityLink: "lena.links", fieldsSchema,
      uiSchema: { "ui:order": ["order"], order: { "ui:widget": "text", "ui:title": "Order number", "ui:options": {} } } } });
    const p = await page(await signedIn(lena), "/mailbox");
    const preview = p.getByRole("complementary", { name: "Preview of your page" });
    await preview.getByText("Order number").waitFor();
    await p.getByLabel("Slogan").fill("Drawings and offers");
    await preview.getByText("Drawings and offers").waitFor();
    await p.getByText("Senders confirm their address").click();
    await preview.getByText("You confirm your email address with a code").waitFor();
    await p.getByText("I’m away: don’t accept files").click();
    await preview.getByText("Lena is away and doesn’t accept files right now.").waitFor();
    equal(await preview.evaluate((e) => [...e.querySelectorAll("button, input")].some((i) => {
      i.focus();
      return document.activeElement === i;
    })), false, "the preview takes the focus");
    const sides = async () => { const [a, b] = [await p.locator("main form").first().boundingBox(), await preview.boundingBox()];
      return [b.x >= a.x + a.width, b.y >= a.y + a.height]; };
    equal(await sides(), [true, false], "beside the form");
    await p.setViewportSize({ width: 390, height: 800 });
    equal(await sides(), [false, true], "below the form on a phone");
    const builder = p.locator("#prefilled");
    await builder.getByLabel("Subject").fill("Case 4711 & more");
    await builder.getByLabel("Order number").fill("12");
    const href = `${base}/m/lena.links?subject=Case+4711+%26+more&field.order=12`;
    await builder.getByRole("link", { name: href }).waitFor();
    await builder.getByRole("button", { name: "QR code" }).click();
    await p.waitForFunction(() => document.querySelector("#prefilled .qr-code img")?.naturalWidth > 0);
    await builder.getByRole("button", { name: "Add to a website" }).click();
    equal((await builder.locator(".snippet").textContent()).startsWith(`<a href="${href.replace("&field", "&amp;field")}"`), true, "HTML");
    await judge(p, "/mailbox with preview and links");
    const q = await page(await visitor(), new URL(href).pathname + new URL(href).search);
    await choose(q, [file("case.txt", 12)]);
    equal([await q.getByLabel("Subject").inputValue(), await q.locator('[name="field.order"]').inputValue()],
      ["Case 4711 & more", "12"], "what the page filled in");
    await builder.getByText("For a shared device").click();
    await builder.getByRole("link", { name: `${href}&shared` }).waitFor();
  });

  await test("the owner locks what a link fills in, and shows a picture behind the page", async () => {
    const ivy = await person("Ivy"), token = await access(ivy);
    const fieldsSchema = { type: "object", title: "Details", required: [],
      properties: { order: { type: "string", title: "Order" }, kind: { type: "string", title: "Kind", enum: ["offer", "bill"] } } };
    const uiSchema = { "ui:order": ["order", "kind"], order: { "ui:widget": "text", "ui:title": "Order", "ui:options": {} },
      kind: { "ui:widget": "select", "ui:title": "Kind", "ui:options": {} } };
    await api("PUT", "/transfer/v2/mailbox", { token, json: { vanityLink: "ivy.locks", fieldsSchema, uiSchema } });
    const settings = await page(await signedIn(ivy), "/mailbox");
    await settings.getByLabel("Lock what a link fills in").check();
    await settings.getByRole("button", { name: "Save" }).click();
    await settings.locator(".saved").waitFor();
    const white = await settings.evaluate(() => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 800, height: 500 }), context = canvas.getContext("2d");
      context.fillStyle = "#fff";
      context.fillRect(0, 0, 800, 500);
      return canvas.toDataURL("image/png").split(",")[1];
    });
    await settings.setInputFiles("[data-test=backdrop]", { name: "view.png", mimeType: "image/png", buffer: Buffer.from(white, "base64") });
    await settings.getByRole("button", { name: "Remove the picture" }).waitFor();

    const p = await page(await visitor(), "/m/ivy.locks?subject=Order%204711&field.order=4711&field.kind=bill");
    await p.locator("body.pictured").waitFor();
    const dark = await p.evaluate(() => getComputedStyle(document.body, "::before").backgroundImage);
    equal(/rgba\(0, 0, 0, 0\.64\).*\/transfer\/v2\/public\/mailbox\/ivy\.locks\/picture/.test(dark), true, "picture below a dark strip");
    await choose(p, [file("order.txt", 12)]);
    equal(await p.getByLabel("Subject").evaluate((e) => [e.value, e.readOnly]), ["Order 4711", true], "subject");
    equal(await p.locator('[name="field.order"]').evaluate((e) => [e.value, e.readOnly]), ["4711", true], "answer");
    equal(await p.locator('[name="field.kind"]').evaluate((e) => [e.value, e.disabled]), ["bill", true], "choice");
    await fill(p);
    await p.click(".details button[type=submit]");
    await receipt(p);
    const { body } = await api("GET", "/transfer/v2/transfers?location=received", { token });
    equal([body.transfers[0].subject, body.transfers[0].fields], ["Order 4711", { kind: "bill", order: "4711" }], "delivered");

    const got = await page(await visitor(), new URL((await mail(ivy.email, "/t/")).link).pathname); // the same backdrop behind what came
    await got.locator("body.pictured").waitFor();
    await judge(got, "a transfer before the picture");

    await settings.getByRole("button", { name: "Remove the picture" }).click();
    await settings.getByRole("button", { name: "Remove the picture" }).waitFor({ state: "detached" });
    await settings.getByLabel("Lock what a link fills in").uncheck();
    await settings.getByRole("button", { name: "Save" }).click();
    await settings.locator(".saved").waitFor();
    const q = await page(await visitor(), "/m/ivy.locks?field.order=4711");
    await choose(q, [file("order.txt", 12)]);
    equal(await q.locator('[name="field.order"]').evaluate((e) => [e.value, e.readOnly]), ["4711", false], "an open answer");
    equal(await q.locator("body.pictured").count(), 0, "pictures after the removal");
  });

  await test("absence is shown before files are chosen", async () => {
    const bob = await person("Bob");
    await api("PUT", "/transfer/v2/mailbox", { token: await access(bob),
      json: { vanityLink: "bob.away", absent: true, absenceMessage: "Back on Monday." } });
    const p = await page(await visitor(), "/m/bob.away");
    await p.getByText("Back on Monday.").waitFor();
    equal(await p.locator(".chooser").count(), 0, "choosers");
  });

  await test("a full mailbox is shown before files are chosen, and when it becomes full during the upload", async () => {
    const carl = await person("Carl");
    await api("PUT", "/transfer/v2/mailbox", { token: await access(carl), json: { vanityLink: "carl.full" } });
    const early = await page(await visitor(), "/m/carl.full");
    consign("person", "limits", carl.email, "uploadVolumeGb=0");
    const p = await page(await visitor(), "/m/carl.full");
    await p.getByText("This mailbox is full for this month.").waitFor();
    equal(await p.locator(".chooser").count(), 0, "choosers");
    await choose(early, [file("late.bin", 10)]);
    await early.getByText("The owner's upload volume for this month is used up.").waitFor();
  });

  await test("a file of 20 GB", async () => {
    const p = await page(await visitor(), "/m/demo");
    const at = path.join(work, "huge.img");
    fs.writeFileSync(at, "");
    fs.truncateSync(at, 20e9); // a sparse file
    const ranges = [];
    p.on("request", (r) => { if (r.method() === "PUT") ranges.push(r.headers()["content-range"]); });
    await slow(p, 4_000_000);
    await p.setInputFiles("[data-test=files]", at);
    await p.getByText(/of 20.GB, .* per second, .* left/).first().waitFor();
    await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 3e6 / 20e9);
    // On a machine that answers late the page sends parts at once.
    if (!/^bytes 0-\d+\/(20000000000|20971520)$/.test(ranges[0])) throw new Error(`first range ${ranges[0]}`);
    await p.getByRole("button", { name: "Remove huge.img" }).click();
    await p.getByText("Choose at least one file.").waitFor();
  });

  await test("a server that is unavailable for a while", async () => {
    const p = await page(await visitor(), "/m/demo");
    let refusals = 2;
    await p.context().route("**/content", (route) => (refusals-- > 0 && route.request().method() === "PUT"
      ? route.fulfill({ status: 503, headers: { "Retry-After": "1" }, json: { error: { code: 503001, message: "", details: [] } } })
        : route.continue()));
    const one = file("patient.bin", 60_000);
    await choose(p, [one]);
    await fill(p);
    await p.click(".details button[type=submit]");
    equal(await receipt(p), { [one.name]: one.sum }, "receipt");
  });

  await test("files can be delivered after the session has ended", async () => {
    const dora = await person("Dora");
    const context = await signedIn(dora);
    const p = await page(context, "/m/demo");
    await api("POST", "/id/v3/auth/logout?jti=all", { token: await held(p) });
    const one = file("anyway.bin", 500);
    await choose(p, [one]);
    await fill(p);
    await p.click(".details button[type=submit]");
    equal(await receipt(p), { [one.name]: one.sum }, "receipt");
  });

  await test("unknown mailboxes, and a reservation that ended", async () => {
    const p = await page(await visitor(), "/m/no-such-box");
    await p.getByRole("heading", { name: "This mailbox doesn’t exist" }).waitFor();
    const context = await visitor();
    const q = await page(context, "/m/demo");
    let auth = "", uid = "";
    q.on("response", (r) => { if (r.request().method() === "POST"
      && r.url().endsWith("/public/mailbox/demo")) { auth = r.headers().authorization; uid = r.headers().location.split("/").pop(); } });
    const line = await slow(q, 1_000_000);
    await choose(q, [file("ended.bin", 6_000_000)]);
    await q.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.1);
    await fetch(`${base}/transfer/v2/reservations/${uid}`, { method: "DELETE", headers: { Authorization: auth } });
    await line.free();
    await q.getByText("This upload can’t be finished anymore.").waitFor({ timeout: 30_000 });
  });

  await test("the owner sees a transfer arrive and downloads it", async () => {
    const context = await signedIn(demo);
    const inbox = await page(context, "/inbox");
    await inbox.waitForTimeout(500); // the feed is open
    const stranger = await page(await visitor(), "/m/demo");
    const one = file("fresh.bin", 40_000);
    await choose(stranger, [one]);
    await fill(stranger, { subject: "Fresh from the press" });
    await stranger.click(".details button[type=submit]");
    await receipt(stranger);
    await inbox.getByText("Fresh from the press").click({ timeout: 10_000 }); // without a reload
    equal(await inbox.locator(".entry.open").getByText("address not checked").count(), 1, "marks of the unchecked address, in the details");
    const [download] = await Promise.all([inbox.waitForEvent("download"),
      inbox.getByRole("button", { name: /^Download .*fresh\.bin$/ }).click()]);
    equal(sha256(fs.readFileSync(await download.path())), one.sum, "downloaded");
    equal(download.suggestedFilename(), "fresh.bin", "name");
    await inbox.getByRole("searchbox").fill("no such thing");
    await inbox.getByText("Nothing matches.").waitFor();
    await inbox.getByRole("searchbox").fill("fresh from");
    await inbox.getByText("Fresh from the press").waitFor();
    await more(inbox, "Delete");
    await inbox.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await inbox.getByText("Nothing matches.").waitFor();
  });
}
