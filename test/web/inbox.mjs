// /t, /inbox and /mailbox: what an owner, a sender or a recipient sees after a delivery.

import fs from "node:fs";
import { access, api, equal, mail, page, person, signedIn, test, visitor } from "./kit.mjs";

const transfer = "/transfer/v2";

const questions = {
  fieldsSchema: { type: "object", title: "About it", required: [], properties: { kind: { type: "string" }, due: { type: "string", format: "date" } } },
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

export async function inboxTests() {
  await test("the answers reach the owner: mail, link, inbox and table", async () => {
    const ann = await owner("Answered", "answered");
    await arrive("answered", [["plan.txt", Buffer.from("x")]], { subject: "The bridge", fields: { kind: "d", due: "2026-12-24" } });
    const { link, plain } = await mail(ann.email, "/t/");
    if (!plain.includes("What is it?: Drawing") || !plain.includes("Needed by: December 24, 2026") || !plain.includes("- plan.txt")) throw new Error(plain);
    const p = await page(await visitor(), new URL(link).pathname);
    await p.getByRole("heading", { name: "The bridge" }).waitFor();
    equal(await p.locator(".facts").first().innerText(), "What is it?\nDrawing\nNeeded by\nDecember 24, 2026", "answers behind the link");
    const q = await page(await signedIn(ann), "/inbox");
    await q.getByRole("button", { name: /The bridge/ }).click();
    await q.getByText("December 24, 2026").waitFor();
    const [table] = await Promise.all([q.waitForEvent("download"), q.getByRole("button", { name: "Download as a table (CSV)" }).click()]);
    const rows = fs.readFileSync(await table.path(), "utf8").trim().split("\r\n");
    if (rows.length !== 2 || !rows[0].includes("What is it?,Needed by,otherAnswers") || !rows[1].includes(",Drawing,2026-12-24,")) throw new Error(rows.join("\n"));
    await q.getByRole("searchbox").fill("drawing"); // the value is d; the search knows what was stored
    await q.getByText("Nothing matches.").waitFor();
    await q.getByRole("searchbox").fill("2026-12-24");
    await q.getByText("The bridge").waitFor();
  });

  await test("refused settings mark their field and move the focus there", async () => {
    const bea = await owner("Refused", "refused");
    await owner("Taken", "taken.name");
    const p = await page(await signedIn(bea), "/mailbox");
    const save = p.getByRole("button", { name: "Save", exact: true });
    const marked = async () => p.evaluate(() => [...document.querySelectorAll('[aria-invalid="true"]')].map((e) => e.name + (e === document.activeElement ? " has the focus" : "")));
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
    equal((await api("GET", `${transfer}/mailbox`, { token: await access(bea) })).body.mimeTypeFilter, ["application/pdf", "image/*"], "filter");
    await p.reload();
    equal(await p.getByLabel("Images", { exact: true }).isChecked(), true, "a family after a reload");
    await p.route("**/transfer/v2/mailbox", (route) => (route.request().method() === "PUT"
      ? route.fulfill({ status: 400, json: { error: { code: 400001, message: "x", details: ['fieldsSchema: needs the type string in "due": x'] } } }) : route.continue()));
    await save.click();
    await p.getByText("Please check this.").waitFor();
    equal(await p.evaluate(() => document.activeElement?.value), "Needed by", "question with the focus");
    equal(await p.locator(".notice.bad").count(), 0, "vague lines");
  });
}
