// Requests for documents: what a party does on a phone and goes on with on a laptop, by the link in the mail.

import fs from "node:fs";
import path from "node:path";
import { access, api, equal, file, inFirefox, mail, more, page, person, picture, signedIn, test, unfold, visitor, work } from "./kit.mjs";
import { judge } from "./looks.mjs";

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** Asks somebody for documents, and returns the request with the path of the party's page. */
async function asked(owner, email, items) {
  const token = await access(owner), due = new Date(Date.now() + 4 * 864e5).toISOString();
  const { body } = await api("POST", "/transfer/v2/requests", { token, json: {
    title: "Statement 2026", message: "Please by Friday.", due, timeZone: "Europe/Berlin", items,
    parties: [{ email, name: "Bob Builder" }] } });
  return { token, body, where: new URL(body.parties[0].link).pathname };
}

const tally = (p, text) => p.waitForFunction((want) => document.querySelector("[data-test=tally]")?.textContent?.trim() === want, text);
const choose = (p, nth, files) => p.locator("[data-test=item]").nth(nth).locator("[data-test=files]").setInputFiles(files.map((f) => f.at));

/** Waits until what has that name has the focus. */
const named = (p, name) => p.waitForFunction((want) => {
  const at = document.activeElement;
  return (at?.getAttribute("aria-label") ?? at?.closest("label")?.textContent ?? "").trim() === want;
}, name, { polling: 50, timeout: 5000 });

/** Saves what a click downloads, and returns where. Firefox's driver does not see the download of a blob: the page's blob is read. */
async function saved(p, click, name) {
  const at = path.join(work, `${Date.now()}-${name}`);
  if (!inFirefox) {
    const [download] = await Promise.all([p.waitForEvent("download"), click()]);
    fs.copyFileSync(await download.path(), at);
    return at;
  }
  await p.evaluate(() => {
    const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => { window.kept = blob; return make.call(URL, blob); };
  });
  await click();
  await p.waitForFunction(() => window.kept);
  fs.writeFileSync(at, Buffer.from(await p.evaluate(async () => [...new Uint8Array(await window.kept.arrayBuffer())])));
  return at;
}

/** Uploads a file of a party for an item by the API. */
async function sent({ body }, party, item, name, bytes) {
  const link = `/transfer/v2/public/requests/${body.parties[party].link.split("/").pop()}`;
  const { body: { reservation }, token } = await api("POST", link), at = `/transfer/v2/reservations/${reservation}/objects`;
  await api("POST", `${at}?item=${body.items[item].uid}`, { token, json: { clientId: name, name, intendedSize: bytes.length } });
  await api("PUT", `${at}/${name}/content`, { token, bytes, type: "application/octet-stream" });
  return () => api("POST", `${link}/handin`, { json: { partly: true } });
}

export async function requestTests() {
  await test("requests: the owner checks what was handed in by keyboard only", async () => {
    const ann = await person("Ann"), stamp = Date.now(), token = await access(ann);
    const parties = [0, 1].map((n) => ({ email: `keys${n}-${stamp}@example.org`, name: ["Bob Builder", "Carol Cutter"][n] }));
    const made = await api("POST", "/transfer/v2/requests", { token, json: { title: "Statement 2026",
      due: new Date(Date.now() + 4 * 864e5).toISOString(), items: [{ name: "Lease" }, { name: "Letter" }], parties } });
    await sent(made, 0, 0, "lease.txt", Buffer.from("the lease of Bob"));
    await (await sent(made, 0, 1, "letter.txt", Buffer.from("the letter of Bob")))();
    await (await sent(made, 1, 0, "lease.txt", Buffer.from("the lease of Carol")))();
    const p = await page(await signedIn(ann), "/requests");
    await judge(p, "the list of requests");
    const to = async (/** @type {string} */ name) => {
      for (let i = 0; i < 60; i++) {
        if (await p.evaluate((want) => (document.activeElement?.getAttribute("aria-label") || document.activeElement?.textContent || "").trim()
          .startsWith(want), name)) return;
        await p.keyboard.press("Tab");
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    await to("Statement 2026");
    await p.keyboard.press("Enter");
    await p.locator(".matrix").waitFor();
    await judge(p, "a request");
    await to("Bob Builder, Lease");
    await p.keyboard.press("ArrowDown");
    await named(p, "Carol Cutter, Lease: to be checked");
    await p.keyboard.press("ArrowUp");
    await p.keyboard.press("ArrowRight");
    await named(p, "Bob Builder, Letter: to be checked");
    await p.keyboard.press("Home");
    await p.keyboard.press("Enter");
    await p.getByText("the lease of Bob").waitFor();
    await judge(p, "a document");
    equal(/\?cell=/.test(p.url()), true, "the document has an address");
    await p.keyboard.press("a");
    await p.getByText("the letter of Bob").waitFor();
    await p.keyboard.press("ArrowLeft");
    await p.getByText("the lease of Bob").waitFor();
    await p.keyboard.press("ArrowRight");
    await p.getByText("the letter of Bob").waitFor();
    await p.keyboard.press("r");
    await named(p, "It can’t be read.");
    await judge(p, "the reasons");
    await p.keyboard.press("Tab");
    await p.keyboard.press("Space");
    await p.keyboard.press("Enter");
    await p.getByText("the lease of Carol").waitFor();
    await p.keyboard.press("a");
    await p.waitForFunction(() => !document.querySelector("dialog"));
    const { body: seen } = await api("GET", `/transfer/v2/requests/${made.body.uid}`, { token });
    equal(seen.parties.map((party) => party.items.map((i) => [i.state, i.reason].filter(Boolean).join(": "))),
      [["accepted", "returned: A page is missing."], ["accepted", "open"]], "decided");
    await p.getByRole("tab", { name: "Missing (2)" }).click();
    await p.getByRole("button", { name: "Remind 2 people" }).click();
    await p.getByText("2 people were reminded.").waitFor();
    await mail(parties[1].email, "Letter");
    const [zip] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "Download all" }).click()]);
    equal(fs.readFileSync(await zip.path(), "latin1").includes("Bob Builder/Builder - Lease.txt"), true, "a file of the archive");
    const q = await page(p.context(), new URL(p.url()).pathname + "?cell=" + `${seen.parties[1].uid}.${seen.items[0].uid}`);
    await q.getByText("the lease of Carol").waitFor(); // a link to a document
    await q.keyboard.press("Escape");
    await q.waitForFunction(() => !document.querySelector("dialog"));
  });

  await test("requests: a new one from a pasted list, presets and a table, saved as a template and used again", async () => {
    const ann = await person("Ann"), stamp = Date.now(), token = await access(ann);
    const p = await page(await signedIn(ann), "/requests");
    await p.getByRole("link", { name: "New request" }).first().click();
    await p.locator("[data-item]").waitFor();
    await p.getByLabel("What is it about?").fill("Statement 2026");
    await p.evaluate(() => {
      const event = new Event("paste", { bubbles: true, cancelable: true }); // Firefox empties the data of a ClipboardEvent
      Object.defineProperty(event, "clipboardData", { value: { getData: () => "- Letter\n2. Insurance\n\n\u2022 Contract" } });
      document.querySelector("[data-item]")?.dispatchEvent(event);
    });
    const items = () => p.locator("[data-item]").evaluateAll((all) => all.map((i) => i.value).filter(Boolean));
    equal(await items(), ["Letter", "Insurance", "Contract"], "items of a pasted list");
    await p.getByRole("button", { name: "+ Identity card, both sides" }).click();
    await p.getByRole("button", { name: "Remove Insurance" }).click();
    await p.locator("[data-item]").nth(1).focus();
    await p.getByLabel("Note about Contract").fill("Signed, please.");
    await p.getByLabel("required").nth(1).uncheck();
    await p.getByLabel("Due date").fill(new Date(Date.now() + 3 * 864e5).toISOString().slice(0, 16));
    await p.setInputFiles("[data-test=people]", { name: "people.csv", mimeType: "text/csv",
      buffer: Buffer.from(`name;mail\nBob Builder;bob${stamp}@example.org\nnobody;nowhere\n`) });
    await p.getByText("This is not an email address: nobody;nowhere").waitFor();
    equal(await p.getByRole("button", { name: "Ask 1 person" }).isDisabled(), true, "asks nobody while an address is wrong");
    const three = `Bob Builder;bob${stamp}@example.org\nCarol <carol${stamp}@example.org>, dan${stamp}@example.org`;
    await p.getByRole("textbox", { name: "People" }).fill(three);
    const look = p.locator(".look");
    equal([await look.locator(".kicker").first().textContent(), await look.locator("[data-test=item]").count(),
      (await look.locator("[data-test=tally]").textContent()).trim()],
      ["What Bob Builder will see", 4, "0 of 4"], "the page of the people");
    await judge(p, "a new request");
    await p.getByRole("button", { name: "Save as a template" }).click();
    await p.waitForURL(/state=template/);
    await p.getByRole("link", { name: /Statement 2026/ }).click();
    await p.locator("[data-item]").first().waitFor();
    equal(await items(), ["Letter", "Contract", "Identity card, front", "Identity card, back"], "items of the template");
    await p.getByRole("textbox", { name: "People" }).fill(three);
    await p.getByRole("button", { name: "Ask 3 people" }).click();
    await p.locator(".matrix").waitFor();
    equal(await p.locator(".matrix tbody th .name").allTextContents().then((all) => all.map((one) => one.replace(/\s+/g, " ").trim())),
      [`Bob Builder bob${stamp}@example.org`, `Carol carol${stamp}@example.org`, `dan${stamp}@example.org`], "asked");
    await mail(`dan${stamp}@example.org`, "Identity card, front");
    const { body: { requests: [made] } } = await api("GET", "/transfer/v2/requests", { token });
    equal([made.partyCount, made.itemCount], [3, 4], "the request");
    await more(p, "Ask more people");
    await p.getByRole("textbox", { name: "People" }).fill(`eve${stamp}@example.org`);
    await p.getByRole("button", { name: "Ask 1 person" }).click();
    await p.getByText(`eve${stamp}@example.org`).waitFor();
    await more(p, "Change the due date");
    await p.getByRole("textbox", { name: "Due date" }).fill(new Date(Date.now() + 9 * 864e5).toISOString().slice(0, 16));
    await p.getByRole("button", { name: "Save", exact: true }).click();
    await p.getByText("in 8 days").waitFor();
    await p.setViewportSize({ width: 360, height: 740 });
    await judge(p, "a request at 360 pixels");
    await p.goto(new URL("/requests/new", p.url()).href);
    await p.locator("[data-item]").waitFor();
    await unfold(p);
    await judge(p, "a new request at 360 pixels");
  });

  await test("journey: a law firm asks for five documents; a phone, a laptop, one sent back, complete, both verify a receipt", async () => {
    const ann = await person("Ann"), email = `bob${Date.now()}@example.org`;
    const items = ["Identity card", "Lease", "Pay slips", "Bank statements", "Letter"]
      .map((name) => ({ name, required: name !== "Letter" }));
    const { token, body, where } = await asked(ann, email, items);
    const small = await page(await visitor(phone), where);
    await tally(small, "0 of 5");
    for (const [n, name] of ["front.pdf", "lease.pdf", "slips.pdf"].entries()) await choose(small, n, [file(name, 20_000)]);
    await tally(small, "3 of 5");
    equal((await small.locator("[data-test=handin]").textContent()).trim(), "Hand in what I have", "the button on the phone");
    await judge(small, "what a party is asked for, on a phone");
    await picture(small, "request-phone", "Five documents are asked for, three are saved.");

    const large = await page(await visitor(), where);
    await tally(large, "3 of 5");
    await choose(large, 3, [file("bank.pdf", 3_000_000)]);
    await choose(large, 4, [file("letter.txt", 200)]);
    await tally(large, "5 of 5");
    await large.locator("[data-test=handin]").focus();
    await large.keyboard.press("Enter");
    await large.locator("[data-test=handed]").waitFor();
    await picture(large, "request-handed", "All are handed in. The receipt can be saved, at each visit.");

    const o = await page(await signedIn(ann), `/requests/${body.uid}`);
    await o.getByRole("button", { name: "Check 5 documents" }).click();
    await o.getByText("1 of 5").waitFor();
    await o.keyboard.press("r");
    await named(o, "It can’t be read.");
    await o.keyboard.press("Space");
    await o.getByLabel("Further words").fill("The back, too.");
    await picture(o, "request-return", "The firm sends a document back, and says why.");
    await o.getByRole("button", { name: "Send back", exact: true }).click();
    for (let n = 2; n <= 5; n++) {
      await o.getByText(`${n} of 5`).waitFor();
      await o.keyboard.press("a");
    }
    await o.waitForFunction(() => !document.querySelector("dialog"));
    await picture(o, "request-table", "The table of people and documents.");

    const again = await page(await visitor(phone), where);
    await again.getByText("It can’t be read. The back, too.").waitFor();
    const receipt = await saved(again, () => again.getByRole("button", { name: "Signed receipt" }).click(), "party.consign");
    await choose(again, 0, [file("both.pdf", 30_000)]);
    await again.locator("[data-test=handin]").click();
    await again.waitForFunction(() => document.querySelector("[data-test=handed]")?.textContent?.includes("1 file"));
    await o.getByRole("button", { name: "Check 1 document" }).click(); // the page has learnt of it
    await o.locator("dialog.checking").waitFor();
    await o.keyboard.press("a");
    await o.locator(".steps .complete").waitFor();
    await mail(email, "Complete: Statement 2026");
    await mail(ann.email, "Complete: Statement 2026");
    await again.reload();
    await again.getByText("Everything is accepted.").waitFor();
    await picture(again, "request-complete", "There is nothing left to do.");

    const { body: seen } = await api("GET", `/transfer/v2/requests/${body.uid}`, { token });
    const last = seen.parties[0].items[0].files[0].transfer;
    await o.goto(new URL(`/inbox/${last}`, o.url()).href);
    await o.getByRole("button", { name: "More", exact: true }).click();
    const own = await saved(o, () => o.getByRole("menuitem", { name: "Signed receipt" }).click(), "owner.consign");
    for (const [at, subject] of [[receipt, "lease.pdf"], [own, "both.pdf"]]) {
      const v = await page(await visitor(), "/verify");
      await v.setInputFiles("[data-test=files]", [at]);
      await v.locator("[data-verdict=genuine]").waitFor();
      await v.getByText(subject).first().waitFor();
    }
  });

  if (!inFirefox) await test("requests: 50 people and 20 documents are shown within a second of the answer on a processor four times slower", async () => {
    const { body } = await asked(await person("Ann"), `many${Date.now()}@example.org`, [{ name: "Lease" }]);
    const owner = await person("Olga"), id = (n) => `0194a001-0000-7000-8000-${String(n).padStart(12, "0")}`;
    const items = Array.from({ length: 20 }, (_, n) => ({ ...body.items[0], uid: id(n), name: `Document ${n}` }));
    const states = ["open", "uploaded", "accepted", "returned"];
    const parties = Array.from({ length: 50 }, (_, n) => ({ ...body.parties[0], uid: id(100 + n), name: `Person ${n}`,
      handedInAt: body.createdAt, items: items.map((item, i) => ({ item: item.uid, state: states[(n + i) % 4], files: (n + i) % 4
        ? [{ uid: id(1000 + n * 20 + i), transfer: id(9), name: "a.pdf", contentLength: 9, intendedSize: 9 }] : [] })) }));
    const p = await page(await signedIn(owner), "/requests");
    await p.route(`**/requests/${id(1)}`, (route) => (route.request().resourceType() === "fetch"
      ? route.fulfill({ json: { ...body, uid: id(1), items, parties } }) : route.continue()));
    const cdp = await p.context().newCDPSession(p);
    await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    const took = []; // from the answer to the table, and from the begin of the navigation
    for (let n = 0; n < 3; n++) {
      await p.goto(new URL(`/requests/${id(1)}`, p.url()).href, { waitUntil: "commit" });
      took.push(await p.evaluate((of) => new Promise((done) => {
        const look = () => {
          if (document.querySelectorAll(".matrix td").length !== 1000) return requestAnimationFrame(look);
          const answer = performance.getEntriesByType("resource").find((e) => e.name.endsWith(`/transfer/v2/requests/${of}`));
          return done([performance.now() - answer.responseEnd, performance.now()]);
        };
        look();
      }), id(1)));
    }
    console.log(`      shown after ${took.map(([table, all]) => `${Math.round(table)} of ${Math.round(all)} ms`).join(", ")}`);
    if (Math.min(...took.map(([table]) => table)) > 1000) throw new Error(`shown ${took} ms after the answer`);
  });

  await test("journey: a tender of twelve, one is late", async () => {
    const ann = await person("Ann"), stamp = Date.now(), token = await access(ann), due = Date.now() + 15_000;
    const parties = Array.from({ length: 12 }, (_, n) => ({ email: `firm${n}-${stamp}@example.org`, name: `Firm ${n}` }));
    const made = await api("POST", "/transfer/v2/requests", { token, json: { title: "Windows of the town hall",
      due: new Date(due).toISOString(), items: [{ name: "Offer" }], parties } });
    for (let n = 0; n < 11; n++) await (await sent(made, n, 0, "offer.txt", Buffer.from(`offer ${n}`)))();
    equal(Date.now() < due, true, "eleven are in time");
    const q = await page(await visitor(phone), new URL(made.body.parties[11].link).pathname);
    await q.locator("[data-test=clock]").waitFor(); // the server's, in the last hour
    await choose(q, 0, [file("late-offer.txt", 500)]);
    await q.getByText("It was due on").waitFor();
    await q.locator("[data-test=handin]").click();
    await q.locator("[data-test=handed]").getByText("late").waitFor();
    await picture(q, "tender-late", "The twelfth hands in after the due time, and the page says so.");
    const o = await page(await signedIn(ann), `/requests/${made.body.uid}`);
    equal(await o.locator(".matrix tbody tr").evaluateAll((rows) => rows.map((row) => Boolean(row.querySelector(".late")))),
      [...Array(11).fill(false), true], "late in the table");
    await o.getByText("No outage around the due time.").waitFor();
    const around = `**/requests/${made.body.uid}/availability`;
    const from = new Date(due - 200e3).toISOString(), until = new Date(due - 20e3).toISOString();
    await o.route(around, (route) => route.fulfill({ json: { from, until, heartbeats: 9, gaps: [{ from, until, seconds: 180 }] } }));
    await o.reload();
    await o.getByText(/^The service did not answer from /).waitFor(); // three minutes
    const proof = await saved(o, () => o.getByRole("button", { name: "Save the proof" }).click(), "outage.json");
    equal(JSON.parse(fs.readFileSync(proof, "utf8")).gaps.length, 1, "outages in the proof");
    await judge(o, "a request with an outage");
    await picture(o, "tender-outage", "The page says when the service did not answer before the due time.");
    await o.getByRole("button", { name: "Check 12 documents" }).click();
    for (let n = 1; n <= 12; n++) {
      await o.getByText(`${n} of 12`).waitFor();
      await o.keyboard.press("a");
    }
    await o.getByText("12 complete").waitFor();
    const table = await saved(o, () => o.getByRole("button", { name: "Table (CSV)" }).click(), "table.csv");
    equal(fs.readFileSync(table, "utf8").split("\r\n").filter((row) => row.includes(",true,accepted,")).length, 12, "rows");
  });
}
