// /t, /inbox and /mailbox: what an owner, a sender or a recipient sees after a delivery.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { access, api, base, browser, equal, forgive, lateFrames, mail, more, page, person, signedIn, test, visitor } from "./kit.mjs";

const transfer = "/transfer/v2";

const questions = {
  fieldsSchema: { type: "object", title: "About it", required: [],
    properties: { kind: { type: "string" }, due: { type: "string", format: "date" } } },
  uiSchema: {
    "ui:order": ["kind", "due"],
    kind: { "ui:widget": "select", "ui:title": "What is it?", "ui:options": { enumOptions: [{ value: "d", label: "Drawing" }] } },
    due: { "ui:widget": "date", "ui:title": "Needed by", "ui:options": {} },
  },
};

/** A person with a mailbox that asks questions. */
export async function owner(name, link, more = {}) {
  const who = await person(name);
  await api("PUT", `${transfer}/mailbox`, { token: await access(who), json: { vanityLink: link, ...questions, ...more } });
  return who;
}

/** Delivers files ([name, bytes, type]) to a mailbox. Returns the transfer. */
export async function arrive(link, files, { anonEmail = "sam@example.com", anonSender = "Sam", ...details } = {}) {
  const { body, token } = await api("POST", `${transfer}/public/mailbox/${link}`, { json: { anonSender, anonEmail } });
  const at = `${transfer}/reservations/${body.uid}`;
  for (const [i, [name, bytes]] of files.entries()) {
    await api("POST", `${at}/objects`, { token, json: { clientId: `f${i}`, name, intendedSize: bytes.length } });
    if (bytes.length > 0) await api("PUT", `${at}/objects/f${i}/content`, { token, bytes, type: "application/octet-stream" });
  }
  await api("PATCH", at, { token, json: details });
  return (await api("POST", `${at}/confirm`, { token })).body;
}

/** A video of less than a second, of 64 by 48 pixels. */
async function video() {
  const drawn = await browser.newPage();
  const film = Buffer.from(await drawn.evaluate(async () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 48 }), context = canvas.getContext("2d");
    const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: "video/webm" }), parts = [];
    const over = new Promise((resolve) => { recorder.onstop = resolve; });
    recorder.ondataavailable = ({ data }) => parts.push(data);
    recorder.start();
    for (let i = 0; i < 20; i++) {
      context.fillStyle = `hsl(${i * 18} 80% 50%)`;
      context.fillRect(0, 0, 64, 48);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    recorder.stop();
    await over;
    return btoa(String.fromCharCode(...new Uint8Array(await new Blob(parts).arrayBuffer())));
  }), "base64");
  await drawn.close();
  return film;
}

export async function inboxTests() {
  await test("inbox: what is shown has an address; Back, a reload and a link lead to it", async () => {
    const ida = await person("Ida");
    await api("PUT", "/transfer/v2/mailbox", { token: await access(ida), json: { vanityLink: "ida.addressed" } });
    for (const subject of ["Alpha", "Beta"]) {
      const { location, token } = await api("POST", "/transfer/v2/public/mailbox/ida.addressed");
      const at = new URL(location, base).pathname;
      await api("PATCH", at, { token, json: { anonSender: "Sam", anonEmail: "sam@example.com", subject } });
      await api("POST", `${at}/objects`, { token, json: { clientId: "a", name: `${subject}.txt`, intendedSize: 0 } });
      await api("POST", `${at}/confirm`, { token });
    }
    const context = await signedIn(ida), p = await page(context, "/inbox");
    await p.locator(".search input").fill("Alp");
    await p.waitForFunction(() => document.querySelectorAll(".entry").length === 1);
    equal(new URL(p.url()).search, "?q=Alp", "the search in the address");
    await p.locator(".entry .head").click();
    await p.locator(".entry .panel").getByText("Alpha.txt").waitFor();
    const link = p.url();
    equal(/\/inbox\/[0-9a-f-]{36}\?q=Alp$/.test(link), true, `the address of a transfer: ${link}`);
    await p.goBack();
    await p.waitForFunction(() => !document.querySelector(".panel"));
    equal(await p.inputValue(".search input"), "Alp", "the search after Back");
    const q = await page(context, new URL(link).pathname);
    await q.locator(".entry .panel").getByText("Alpha.txt").waitFor();
    equal(await q.locator(".entry").count(), 2, "transfers beside it");
    const r = await page(context, `${new URL(link).pathname}?q=Beta`); // not in the list
    await r.locator(".entry .panel").getByText("Alpha.txt").waitFor();
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.waitForURL(/box=sent/);
    await p.goBack();
    await p.locator("#tab-received[aria-selected=true]").waitFor();
  });

  await test("the answers reach the owner: mail, link, inbox and table", async () => {
    const ann = await owner("Answered", "answered");
    await arrive("answered", [["plan.txt", Buffer.from("x")]], { subject: "The bridge", fields: { kind: "d", due: "2026-12-24" } });
    const { link, plain } = await mail(ann.email, "/t/");
    if (!plain.includes("What is it?: Drawing") || !plain.includes("Needed by: December 24, 2026")
      || !plain.includes("- plan.txt")) throw new Error(plain);
    const p = await page(await visitor(), new URL(link).pathname);
    await p.getByRole("heading", { name: "The bridge" }).waitFor();
    equal(await p.locator(".facts").first().innerText(), "What is it?\nDrawing\nNeeded by\nDecember 24, 2026", "answers behind the link");
    const q = await page(await signedIn(ann), "/inbox");
    await q.getByRole("button", { name: /The bridge/ }).click();
    await q.getByText("December 24, 2026").waitFor();
    const [table] = await Promise.all([q.waitForEvent("download"), q.getByRole("button", { name: "Download as a table (CSV)" }).click()]);
    const rows = fs.readFileSync(await table.path(), "utf8").trim().split("\r\n");
    if (rows.length !== 2 || !rows[0].includes("What is it?,Needed by,otherAnswers")
      || !rows[1].includes(",Drawing,2026-12-24,")) throw new Error(rows.join("\n"));
    await q.getByRole("searchbox").fill("drawing"); // the value is d; the search knows what was stored
    await q.getByText("Nothing matches.").waitFor();
    await q.getByRole("searchbox").fill("2026-12-24");
    await q.getByText("The bridge").waitFor();
    const r = await page(await visitor(), "/m/answered?field.due=2026-12-24");
    await r.setInputFiles("[data-test=files]", { name: "plan.txt", mimeType: "text/plain", buffer: Buffer.from("x") });
    await r.selectOption('[name="field.kind"]', "d");
    await r.fill("[name=anonSender]", "Sam");
    await r.fill("[name=anonEmail]", "sam@example.com");
    await r.locator(".details button[type=submit]").click();
    await r.locator(".receipt .facts").waitFor();
    equal((await r.locator(".receipt .facts").innerText()).includes("What is it?\nDrawing\nNeeded by\nDecember 24, 2026"), true,
      "answers in the receipt");
  });

  await test("refused settings mark their field and move the focus there", async () => {
    const bea = await owner("Refused", "refused");
    await owner("Taken", "taken.name");
    const p = await page(await lateFrames(await signedIn(bea)), "/mailbox");
    const save = p.getByRole("button", { name: "Save", exact: true });
    const marked = async () =>
      p.evaluate(() => [...document.querySelectorAll('[aria-invalid="true"]')].map((e) => e.name
        + (e === document.activeElement ? " has the focus" : "")));
    const types = p.locator('input[name="mimeTypeFilter"]');
    await p.getByText("Further types").click();
    await types.fill("application/pdf nonsense");
    await save.click();
    await p.getByText("Each entry is a media type").waitFor();
    equal(await marked(), ["mimeTypeFilter has the focus"], "marked");
    equal(await p.locator(".notice.bad").count(), 0, "vague lines");
    await types.fill("");
    await p.getByLabel("PDF", { exact: true }).check();
    await p.getByLabel("Images", { exact: true }).check();
    await p.getByText("Senders can leave only these: PDF and Images.").waitFor();
    await p.getByLabel("Name in the link").fill("taken.name");
    await save.click();
    await p.getByText("This name is already taken.").waitFor();
    equal(await marked(), ["vanityLink has the focus"], "marked");
    equal(await p.locator(".notice.bad").count(), 0, "vague lines");
    await p.getByLabel("Name in the link").fill("refused");
    await save.click();
    await p.locator(".saved").waitFor();
    equal((await api("GET", `${transfer}/mailbox`, { token: await access(bea) })).body.mimeTypeFilter, ["application/pdf", "image/*"],
      "filter");
    await p.reload();
    equal(await p.getByLabel("Images", { exact: true }).isChecked(), true, "a family after a reload");
    await p.route("**/transfer/v2/mailbox", (route) => (route.request().method() === "PUT"
      ? route.fulfill({ status: 400, json: { error: { code: 400001, message: "x",
        details: ['fieldsSchema: needs the type string in "due": x'] } } }) : route.continue()));
    await save.click();
    await p.getByText("Please check this.").waitFor();
    equal(await p.evaluate(() => document.activeElement?.value), "Needed by", "question with the focus");
    equal(await p.locator(".notice.bad").count(), 0, "vague lines");
  });

  await test("a received transfer: pictures, a PDF, text, some files as one zip, and who downloaded", async () => {
    const carl = await owner("Previewed", "previewed");
    const drawn = await browser.newPage();
    const [png, pdf] = [Buffer.from((await drawn.evaluate(() => {
      const c = Object.assign(document.createElement("canvas"), { width: 300, height: 200 });
      const d = c.getContext("2d");
      d.fillStyle = "#c33";
      d.fillRect(0, 0, 300, 200);
      return c.toDataURL("image/png");
    })).split(",")[1], "base64"), await drawn.pdf({ width: "300px", height: "200px" })];
    await drawn.close();
    const evil = Buffer.from("<!doctype html><script>document.title = 'owned'</script>");
    await arrive("previewed", [["site.png", png], ["plan.pdf", pdf], ["notes.txt", Buffer.from("line one\nline two")], ["page.html", evil],
      ["drawing.svg", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>')]],
        { subject: "Pictures", message: "Here they are." });
    const { link } = await mail(carl.email, "/t/");
    const p = await page(await visitor(), new URL(link).pathname);
    await p.getByRole("heading", { name: "Pictures" }).waitFor();
    await p.getByText("7 days left").waitFor();
    await p.locator(".thumbnail img").waitFor();
    equal(await p.locator(".thumbnail").count(), 1, "thumbnails");
    await p.getByRole("button", { name: "Show plan.pdf" }).click();
    await p.locator(".stage canvas").waitFor();
    const others = await p.evaluate(() => [() => new Worker("/inbox"), () => window.trustedTypes.createPolicy("other", {})].map((start) => {
      try { return start() && "allowed"; } catch (error) { return error.name; }
    }));
    equal(others, ["TypeError", "TypeError"], "other workers, other policies");
    forgive(/Trusted ?(Script|Type)/i);
    await p.getByRole("button", { name: "Next" }).click();
    await p.getByText("line two").waitFor();
    await p.getByRole("button", { name: "Next" }).click();
    await p.getByText("document.title = 'owned'").waitFor();
    equal(await p.title() === "owned", false, "a script ran");
    await p.keyboard.press("Escape");
    equal(await p.getByRole("button", { name: "Show drawing.svg" }).count(), 0, "ways to show an SVG");
    await p.getByLabel("Choose site.png").check();
    await p.getByLabel("Choose notes.txt").check();
    const [zip] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: /^Download 2 files/ }).click()]);
    const names = execFileSync("unzip", ["-Z1", await zip.path()], { encoding: "utf8" }).trim().split("\n");
    equal(names, ["site.png", "notes.txt"], "files in the zip");
    const q = await page(await signedIn(carl), "/inbox");
    equal(await q.locator(".entry .badge").last().innerText(), "Opened", "state after a preview");
  });

  await test("a video and a sound are played in the page", async () => {
    const cora = await owner("Played", "played");
    const film = await video();
    const sound = Buffer.alloc(44 + 8000, 0x80); // a second of silence, WAV with 8 bits and 8 kHz
    sound.write("RIFF", 0);
    sound.writeUInt32LE(36 + 8000, 4);
    sound.write("WAVEfmt ", 8);
    for (const [at, value] of [[16, 16], [24, 8000], [28, 8000]]) sound.writeUInt32LE(value, at);
    for (const [at, value] of [[20, 1], [22, 1], [32, 1], [34, 8]]) sound.writeUInt16LE(value, at);
    sound.write("data", 36);
    sound.writeUInt32LE(8000, 40);
    await arrive("played", [["site.webm", film], ["noise.wav", sound]], { subject: "Played" });
    const p = await page(await visitor(), new URL((await mail(cora.email, "/t/")).link).pathname);
    await p.getByRole("button", { name: "Show site.webm" }).click();
    await p.waitForFunction(() => document.querySelector(".stage video")?.videoWidth === 64);
    await p.evaluate(() => document.querySelector(".stage video").play());
    await p.waitForFunction(() => document.querySelector(".stage video").currentTime > 0);
    await p.getByRole("button", { name: "Next" }).click();
    await p.waitForFunction(() => Math.round(document.querySelector(".stage audio")?.duration) === 1);
  });

  await test("a long video shows its first frame while the rest is read, and nothing before somebody asks", async () => {
    const cora = await owner("Long", "long.films"), film = Buffer.concat([await video(), Buffer.from([0xec, 0x10, 0x50, 0, 0])]);
    await arrive("long.films", [["long.webm", Buffer.concat([film, Buffer.alloc(0x500000)])]], { subject: "Long" }); // Void: ignored
    const p = await page(await visitor(), new URL((await mail(cora.email, "/t/")).link).pathname);
    const asked = [];
    let go;
    const held = new Promise((resolve) => { go = resolve; });
    await p.route(/content\?preview/, async (route) => {
      const range = route.request().headers().range ?? "";
      asked.push(range);
      if (!range) await held;
      await route.continue();
    });
    await p.reload();
    await p.getByRole("button", { name: "Show long.webm" }).waitFor();
    equal(asked, [], "reads of the file before it is asked for");
    await p.getByRole("button", { name: "Show long.webm" }).click();
    await p.waitForFunction(() => document.querySelector(".stage video.poster")?.videoWidth === 64);
    equal(asked.toSorted(), ["", "bytes=0-999999"], "reads");
    go();
    await p.waitForFunction(() => document.querySelector(".stage video[controls]")?.videoWidth === 64);
    equal(await p.locator(".poster").count(), 0, "posters beside the video");
  });

  await test("the sender sees each recipient; what is new, and a revoked subject", async () => {
    const [dan, eve] = [await person("Dan"), await person("Eve")];
    const token = await access(dan);
    const made = await api("POST", `${transfer}/reservations`,
      { token, json: { subject: "For two", recipients: [eve.email,
        "far@example.com"].map((email) => ({ email, destinationType: "to" })) } });
    const at = `${transfer}/reservations/${made.body.uid}`;
    await api("POST", `${at}/objects`, { token, json: { clientId: "a", name: "a.txt", intendedSize: 3 } });
    await api("PUT", `${at}/objects/a/content`, { token, bytes: Buffer.from("abc"), type: "application/octet-stream" });
    await api("POST", `${at}/confirm`, { token });
    const q = await page(await signedIn(eve), "/inbox");
    equal(await q.locator(".badge").first().innerText(), "New", "state of what arrived");
    await q.getByRole("button", { name: /For two/ }).click();
    await Promise.all([q.waitForEvent("download"), q.getByRole("button", { name: /^Download .*a\.txt$/ }).click()]);
    const p = await page(await signedIn(dan), "/inbox");
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.getByRole("button", { name: /For two/ }).click();
    const people = p.getByRole("list", { name: "Recipients" }).getByRole("listitem");
    await people.filter({ hasText: eve.email }).getByText("Downloaded 1 time").waitFor();
    await people.filter({ hasText: "far@example.com" }).getByText("Not opened yet").waitFor();
    await more(p, "Revoke");
    await p.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await p.locator(".badge.revoked").waitFor();
    await p.waitForTimeout(500); // the list loads again
    equal(await p.locator(".entry .subject").innerText(), "For two", "subject after revoking");
  });

  await test("an unlocked transfer stays unlocked in its tab, and a link that leads nowhere says what to do", async () => {
    const gus = await person("Gus");
    const token = await access(gus);
    const made = await api("POST", `${transfer}/reservations`,
      { token, json: { subject: "Secret", protection: "password", password: "open sesame 7" } });
    const at = `${transfer}/reservations/${made.body.uid}`;
    await api("POST", `${at}/objects`, { token, json: { clientId: "a", name: "a.txt", intendedSize: 0 } });
    const { body: { link } } = await api("POST", `${at}/confirm`, { token });
    const context = await visitor();
    const p = await page(context, new URL(link).pathname);
    await p.getByLabel("Password").fill("open sesame 7");
    await p.getByRole("button", { name: "Open" }).click();
    await p.getByRole("heading", { name: "Secret" }).waitFor();
    await p.reload();
    await p.getByRole("heading", { name: "Secret" }).waitFor();
    equal((await p.evaluate(() => JSON.stringify({ ...sessionStorage }))).includes("sesame"), false, "the password is stored");
    const other = await page(context, new URL(link).pathname);
    await other.getByLabel("Password").waitFor();
    await api("DELETE", `${transfer}/transfers/${(await api("GET", `${transfer}/transfers`, { token })).body.transfers[0].uid}`, { token });
    await p.reload();
    await p.getByRole("heading", { name: "These files are no longer here" }).waitFor();
    await p.getByText("Reply to the email").waitFor();
  });
}
