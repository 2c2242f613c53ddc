// What recipients do with what they received: forward, notes, pins, read state, filters, several at once.

import { access, api, equal, focused, more, page, person, signedIn, test } from "./kit.mjs";

const transfer = "/transfer/v2";
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** Sends a file to a person. Returns the transfer. */
const send = async (who, to, subject) => deliver(`${transfer}/reservations`,
  { token: await access(who), json: { recipients: [{ email: to.email, destinationType: "to" }] } }, subject);

/** Delivers a file. Returns the transfer. */
async function deliver(where, { token: caller, json }, subject) {
  const { body, token } = await api("POST", where, { token: caller, json: { subject, ...json } });
  const at = `${transfer}/reservations/${body.uid}`;
  await api("POST", `${at}/objects`, { token, json: { clientId: "a", name: `${subject}.txt`, intendedSize: 4 } });
  await api("PUT", `${at}/objects/a/content`, { token, bytes: Buffer.from("plan"), type: "application/octet-stream" });
  return (await api("POST", `${at}/confirm`, { token })).body;
}

export async function receivedTests() {
  await test("received: forwarded in two taps on a phone, with notes, and marked as unread", async () => {
    const [ann, bea, cleo] = [await person("Ann"), await person("Bea"), await person("Cleo")];
    await send(ann, bea, "Bridge");
    const p = await page(await signedIn(bea, phone), "/inbox");
    equal(await p.locator(".badge").first().innerText(), "New", "state of what arrived");
    await p.getByRole("button", { name: /Bridge/ }).click();
    await p.getByRole("button", { name: "Forward", exact: true }).click();
    await p.getByRole("textbox", { name: /Recipients|To/ }).first().fill(`${cleo.email} `);
    await p.getByLabel(/^Message/).fill("For you as well.");
    await p.getByText("Options", { exact: true }).click();
    await p.getByLabel("Available for").selectOption("30");
    await p.getByLabel("Protection").selectOption("password");
    await p.getByLabel("Password for the recipients").fill("opensesame-42-lagoon");
    const width = await p.evaluate(() => document.documentElement.scrollWidth);
    if (width > 360) throw new Error(`the page is ${width} wide`);
    await p.locator(".card").getByRole("button", { name: "Forward" }).click();
    await p.getByText(`Forwarded to ${cleo.email}`).first().waitFor();
    const token = await access(cleo);
    const { body } = await api("GET", `${transfer}/transfers?filter=new`, { token });
    equal(body.transfers.map((t) => [t.locked, t.protection, t.sender.email]), [[true, "password", bea.email]], "what was forwarded");
    const sent = (await api("GET", `${transfer}/transfers?location=sent`, { token: await access(bea) })).body.transfers[0];
    equal([sent.subject, sent.message], ["Bridge", "For you as well."], "its words");
    equal(Math.round((Date.parse(sent.expiresAt) - Date.parse(sent.createdAt)) / 864e5), 30, "days until its end");
    await p.getByRole("button", { name: "Notes" }).click();
    await p.getByLabel(/^Your notes/).fill("Ask Carl about the span.");
    await p.getByRole("button", { name: "Save" }).click();
    await p.locator(".notes").getByText("Ask Carl about the span.").waitFor();
    equal(await p.locator(".badge").first().innerText(), "Opened", "state after reading");
    const q = await page(await signedIn(bea), "/inbox"); // another session
    equal(await q.locator(".badge").first().innerText(), "Opened", "state in another session");
    await more(p, "Mark as unread");
    await q.locator(".entry.new").waitFor();
    await q.getByRole("searchbox").fill("carl about");
    await q.getByRole("button", { name: /Bridge/ }).waitFor();
  });

  await test("received: rows say what is in them, all are chosen and read at once, and keys go through them", async () => {
    const owner = await person("Rosa");
    const { body: mailbox } = await api("PUT", `${transfer}/mailbox`, { token: await access(owner),
      json: { vanityLink: `rosa${Date.now()}`, fieldsSchema: { type: "object", title: "Questions", required: [],
        properties: { patient: { type: "string", title: "Patient" } } } } });
    const public_ = `${transfer}/public/mailbox/${mailbox.uid}`, json = { anonSender: "Sam", anonEmail: "sam@example.com" };
    await deliver(public_, { json }, "With a subject");
    const { body, token } = await api("POST", public_, { json });
    const at = `${transfer}/reservations/${body.uid}`;
    for (const name of ["x-ray.png", "report.pdf"]) {
      await api("POST", `${at}/objects`, { token, json: { clientId: name, name, intendedSize: 0 } });
    }
    await api("PATCH", at, { token, json: { fields: { patient: "4711" } } });
    await api("POST", `${at}/confirm`, { token });
    const p = await page(await signedIn(owner), "/inbox");
    await p.locator(".entry.new").nth(1).waitFor();
    const row = p.locator(".entry").first();
    equal(await row.locator(".subject").innerText(), "4711", "the first answer");
    equal(await row.locator(".what .dim").innerText(), "x-ray.png and 1 more", "its files");
    equal(await p.getByText("address not checked").count(), 0, "doubts in the list");
    if (!/now|this minute|seconds|minute/.test(await row.locator(".when").innerText())) throw new Error("the date is not relative");
    await p.getByRole("button", { name: "Select", exact: true }).click();
    await p.getByLabel("Select all").check();
    await p.getByText("2 selected").waitFor();
    await p.getByRole("button", { name: "Mark as read" }).click();
    await p.waitForFunction(() => !document.querySelector(".entry.new"));
    await p.keyboard.press("j");
    await p.keyboard.press("j");
    equal(await p.evaluate(() => document.activeElement?.textContent?.includes("With a subject")), true, "second row has the focus");
    await p.keyboard.press("k");
    await p.keyboard.press("o");
    await p.locator(".entry.open").getByText("Patient").waitFor();
    equal(await p.evaluate(() => { // the answers stand before the files
      const [answers, files] = [document.querySelector(".panel .facts"), document.querySelector(".panel .contents")];
      return Boolean(answers && files && answers.compareDocumentPosition(files) & Node.DOCUMENT_POSITION_FOLLOWING);
    }), true, "answers before files");
    equal(await p.getByText("address not checked").count(), 1, "doubts in the details");
  });

  await test("received: filters, order, and several transfers deleted at once", async () => {
    const [dora, emil] = [await person("Dora"), await person("Emil")];
    for (const subject of ["One", "Two", "Three"]) await send(dora, emil, subject);
    const p = await page(await signedIn(emil), "/inbox");
    const subjects = async () => p.locator(".entry > .head .subject").allInnerTexts();
    await p.locator(".entry").nth(2).waitFor();
    equal(await subjects(), ["Three", "Two", "One"], "newest first");
    await p.getByLabel("Order").selectOption("oldest");
    await p.waitForFunction(() => document.querySelector(".entry .subject")?.textContent === "One");
    await p.getByRole("button", { name: /Two/ }).click();
    await p.locator(".entry.open .badge", { hasText: "Opened" }).waitFor();
    await p.getByLabel("Show", { exact: true }).selectOption("new");
    await p.waitForFunction(() => document.querySelectorAll(".entry").length === 2);
    equal(await subjects(), ["One", "Three"], "not read");
    await p.getByLabel("Show", { exact: true }).selectOption("");
    await p.locator(".entry").nth(2).waitFor();
    await p.getByRole("button", { name: "Select" }).click();
    for (const n of [0, 2]) await p.locator(".pick input").nth(n).check();
    await p.getByText("2 selected").waitFor();
    await p.locator(".chosen").getByRole("button", { name: "Delete" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await p.waitForFunction(() => document.querySelectorAll(".entry").length === 1);
    equal(await subjects(), ["Two"], "what is left");
    await p.getByLabel("Show", { exact: true }).selectOption("expired");
    await p.getByText("Nothing matches.").waitFor();
  });

  await test("received: kept, several downloaded at once, and the menu by the keyboard", async () => {
    const owner = await person("Keeper");
    const token = await access(owner);
    const { body: mailbox } = await api("PUT", `${transfer}/mailbox`, { token, json: { vanityLink: `keeper${Date.now()}` } });
    for (const subject of ["First", "Second", "Third"]) await deliver(`${transfer}/public/mailbox/${mailbox.uid}`,
      { json: { anonSender: "Sam", anonEmail: "sam@example.com" } }, subject);
    const p = await page(await signedIn(owner, phone), "/inbox");
    await p.getByRole("button", { name: /Second/ }).click();
    await p.getByRole("button", { name: "Keep", exact: true }).click();
    await p.locator(".entry.open .badge", { hasText: "Kept" }).waitFor();
    await p.getByText("You keep it").waitFor();
    await p.getByLabel("Show", { exact: true }).selectOption("pinned");
    await p.waitForFunction(() => document.querySelectorAll(".entry").length === 1, null, { polling: 200 });
    await p.getByLabel("Show", { exact: true }).selectOption("");
    await p.locator(".entry").nth(2).waitFor();
    await p.getByRole("button", { name: "Don’t keep" }).click();
    await p.getByRole("button", { name: "Keep", exact: true }).waitFor();
    equal((await api("GET", `${transfer}/transfers?filter=pinned`, { token })).body.transfers.length, 0, "kept transfers");

    await p.getByRole("button", { name: "More", exact: true }).focus();
    await p.keyboard.press("Enter");
    await focused(p, "Notes");
    await p.keyboard.press("End");
    await focused(p, "Delete");
    await p.keyboard.press("ArrowDown");
    await focused(p, "Notes");
    await p.keyboard.press("Escape");
    await focused(p, "More");
    await p.getByRole("menu").waitFor({ state: "detached" });
    await p.keyboard.press("Enter");
    await focused(p, "Notes");
    await p.keyboard.press("Tab");
    await p.getByRole("menu").waitFor({ state: "detached" });
    await more(p, "Notes");
    await p.getByRole("button", { name: "Close" }).click();
    await focused(p, "More");

    await p.getByRole("button", { name: "Select" }).click();
    for (const n of [0, 2]) await p.locator(".pick input").nth(n).check();
    const saved = [];
    p.on("download", (d) => saved.push(d));
    await Promise.all([p.waitForEvent("download", { predicate: () => saved.length === 2 }),
      p.locator(".chosen").getByRole("button", { name: "Download" }).click()]);
    await p.locator(".chosen").waitFor({ state: "detached" });
    await Promise.all(saved.map((d) => d.path()));
    equal(saved.length, 2, "downloads");
  });
}
