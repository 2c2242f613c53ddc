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
}
