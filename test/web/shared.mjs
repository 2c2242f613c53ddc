// Computers that several people use: what one person leaves in the browser is not there for the next.

import path from "node:path";
import { api, base, claim, closeBrowser, equal, file, mail, page, person, slow, test, unfold, visitor, work } from "./kit.mjs";

async function signIn(p, who) {
  await p.goto(`${base}/login`);
  await p.fill("[name=email]", who.email);
  await p.fill("[name=password]", who.password);
  await p.getByRole("button", { name: "Sign in", exact: true }).click();
  await p.waitForURL(`${base}/inbox`);
}

/** Sends a file by /send as a link. */
async function send(p, subject) {
  await p.goto(`${base}/send`);
  await p.getByText("As a link").click();
  await p.setInputFiles("[data-test=files]", file(`${subject}.txt`, 10).at);
  await p.getByLabel("Subject").fill(subject);
  await p.locator(".details button[type=submit]").click();
  await p.waitForSelector(".receipt");
}

/** Begins an upload and leaves it unfinished. Returns the uid and the token of its reservation. */
async function begin(p, where, name, fill) {
  const opened = p.waitForResponse((r) => r.request().method() === "POST"
    && /\/(reservations|mailbox\/\w+)$/.test(new URL(r.url()).pathname));
  opened.catch(() => {}); // awaited below
  await p.goto(base + where);
  await slow(p, 500_000);
  if (where === "/send") await p.getByText("As a link").click();
  await p.setInputFiles("[data-test=files]", file(name, 6_000_000).at);
  await fill(p);
  await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.05);
  await p.waitForTimeout(600); // the record is written
  const response = await opened;
  return { uid: response.headers().location.split("/").pop(), token: response.headers().authorization.replace("Bearer ", "") };
}

/** Returns all that the browser stores for this origin, in one text. */
const stored = (p) => p.evaluate(async () => {
  const db = await new Promise((resolve) => { indexedDB.open("consign").onsuccess = (event) => resolve(event.target.result); });
  const all = (what) => new Promise((resolve) => { db.transaction("uploads").objectStore("uploads")[what]()
    .onsuccess = (event) => resolve(event.target.result); });
  const records = [await all("getAllKeys"), await all("getAll")];
  db.close();
  return JSON.stringify([{ ...sessionStorage }, { ...localStorage }, records]);
});

/** Fails when the pages or the storage of a browser contain a text. */
async function knowsNothing(p, words) {
  for (const where of ["/send", "/m/demo"]) {
    await p.goto(base + where);
    await p.waitForSelector(".chooser button:enabled");
    await p.waitForTimeout(500); // a record would have been read
    equal(await p.locator(".receipt, .item").count(), 0, `receipts and files on ${where}`);
    equal(await p.getByText("You have an upload here").count(), 0, `unfinished uploads on ${where}`);
    const text = await p.locator("main").textContent()
      + await p.locator("input, textarea").evaluateAll((all) => all.map((e) => e.value).join(" ")) + await stored(p);
    for (const word of words) if (text.includes(word)) throw new Error(`${where} knows ${word}`);
  }
}

export async function sharedTests() {
  await test("the next person at a computer finds nothing of the one who signed out", async () => {
    const anna = await person("Anna"), bert = await person("Bert"), context = await visitor();
    const p = await page(context, "/");
    await signIn(p, anna);
    await send(p, "Confidential-A");
    await p.reload();
    await p.waitForSelector(".receipt"); // her own, in the same visit
    const left = await begin(p, "/send", "unfinished-A.bin", (q) => q.getByLabel("Subject").fill("Half-A"));
    if (!/unfinished-A/.test(await stored(p))) throw new Error("nothing was stored to resume from");
    await p.getByRole("button", { name: "Sign out", exact: true }).click();
    await p.waitForURL(`${base}/`);
    const words = ["Confidential-A", "unfinished-A", "Half-A", left.uid, left.token, anna.email];
    for (const word of words) if ((await stored(p)).includes(word)) throw new Error(`stored after the sign-out: ${word}`);
    await api("GET", `/transfer/v2/reservations/${left.uid}`, { token: left.token, expect: 404 }); // cancelled
    await signIn(p, bert);
    await knowsNothing(p, words);
    const q = await page(context, "/"); // another tab
    await signIn(q, bert);
    await knowsNothing(q, words);
  });

  await test("the next person at a computer finds nothing of the one who closed the browser", async () => {
    const anna = await person("Anna"), bert = await person("Bert"), context = await visitor();
    let p = await page(context, "/");
    await signIn(p, anna);
    const left = await begin(p, "/send", "closed-A.bin", (q) => q.getByLabel("Subject").fill("Half-A"));
    await closeBrowser(context);
    p = await page(context, "/");
    await knowsNothing(await page(context, "/m/demo").then(async (q) => { await signIn(q, bert); return q; }),
      ["closed-A", "Half-A", left.uid, left.token]);
    await signIn(p, anna); // what Bert's sign-in has removed does not come back
    await knowsNothing(p, ["closed-A", left.uid]);
  });

  await test("an unfinished upload is its owner's after the next sign-in, and not a stranger's before it", async () => {
    const anna = await person("Anna"), context = await visitor();
    let p = await page(context, "/");
    await signIn(p, anna);
    await begin(p, "/m/demo", "returning-A.bin", async (q) => { await unfold(q); await q.fill("[name=subject]", "Half-A"); });
    await closeBrowser(context);
    p = await page(context, "/m/demo");
    await p.waitForSelector(".chooser button:enabled");
    equal(await p.getByText(/You have an upload here|returning-A/).count(), 0, "shown to a stranger");
    await signIn(p, anna);
    await p.goto(`${base}/m/demo`);
    await p.getByText("You have an upload here that is not finished.").waitFor();
    equal(await p.inputValue("[name=subject]"), "Half-A", "subject");
  });

  await test("shared: a stranger sees nothing of another one’s upload before the address that was typed then", async () => {
    const context = await visitor();
    let p = await page(context, "/m/demo");
    const left = await begin(p, "/m/demo", "private-S.bin", async (q) => {
      await unfold(q);
      for (const [name, value] of Object.entries({ anonSender: "Sandra Secret", anonEmail: "sandra@example.com", message: "Diagnosis" })) {
        await q.fill(`[name=${name}]`, value);
      }
    });
    await p.reload(); // the same person: the tab need not ask
    await p.getByText("You have an upload here that is not finished.").waitFor();
    equal(await p.inputValue("[name=message]"), "Diagnosis", "after a reload");
    await p.close();
    p = await page(context, "/m/demo");
    await p.getByText(/An upload of \d+:\d\d [AP]M on this device, 1 file. Is it yours\?/).waitFor();
    const shows = await p.textContent("main") + await p.locator("input, textarea").evaluateAll((all) => all.map((e) => e.value).join(" "));
    for (const word of ["Sandra", "sandra@", "Diagnosis", "private-S"]) if (shows.includes(word)) throw new Error(`shown: ${word}`);
    const kept = await stored(p);
    for (const word of ["Sandra", "sandra@", "Diagnosis", "private-S", left.uid, left.token]) {
      if (kept.includes(word)) throw new Error(`stored: ${word}`);
    }
    await claim(p, "somebody@example.com");
    await p.getByText("Another address was entered then.").waitFor();
    await claim(p, "Sandra@example.com");
    equal(await p.inputValue("[name=message]"), "Diagnosis", "her own");
    await p.close();
    p = await page(context, "/m/demo");
    await p.getByRole("button", { name: "No, start over" }).click();
    await p.getByText("Is it yours?").waitFor({ state: "detached" });
    await api("GET", `/transfer/v2/reservations/${left.uid}`, { token: left.token }); // another person cannot cancel it
    await p.goto(`${base}/m/demo`);
    await p.waitForSelector(".chooser button:enabled");
    for (const word of ["Sandra", "private-S"]) if ((await stored(p)).includes(word)) throw new Error(`stored after it: ${word}`);
  });

  await test("shared: without an address, one of the same files claims an upload, and another starts over", async () => {
    const context = await visitor();
    for (const own of [true, false]) {
      let p = await page(context, "/m/demo");
      await begin(p, "/m/demo", `nameless-${own}.bin`, (q) => q.fill("[name=anonSender]", "Nora Nameless"));
      await p.close();
      p = await page(context, "/m/demo");
      await p.getByText("choose the same files again").waitFor();
      const other = file("other.bin", 100);
      if (own) await p.setInputFiles("[data-test=files]", path.join(work, "nameless-true.bin"));
      else await p.setInputFiles("[data-test=files]", other.at);
      await p.locator(".item", { hasText: own ? "nameless-true.bin" : "other.bin" }).waitFor();
      equal([await p.locator(".item").count(), await p.inputValue("[name=anonSender]")], [1, ""], "files and name");
      await p.getByRole("button", { name: /Remove/ }).first().click();
      await p.close();
      await context.clearCookies();
      const q = await page(context, "/m/demo");
      await q.evaluate(() => new Promise((done) => { indexedDB.deleteDatabase("consign").onsuccess = done; }));
      await q.close();
    }
  });

  await test("shared: a kiosk keeps nothing, and starts over after the receipt", async () => {
    const context = await visitor(), p = await context.newPage();
    await p.clock.install();
    await p.goto(`${base}/m/demo?shared`);
    await p.setInputFiles("[data-test=files]", file("kiosk-K.txt", 10).at);
    await p.fill("[name=anonSender]", "Kim Kiosk");
    await p.fill("[name=anonEmail]", "kim@example.com");
    await p.clock.runFor(3000);
    const kept = () => p.evaluate(async () => JSON.stringify([{ ...sessionStorage }, await indexedDB.databases()]));
    equal(await kept(), "[{},[]]", "stored during the upload");
    await p.click(".details button[type=submit]");
    await p.waitForSelector(".receipt");
    equal(await kept(), "[{},[]]", "stored after it");
    await p.clock.runFor(61_000);
    await p.waitForSelector(".chooser button:enabled");
    equal(await p.locator(".receipt").count(), 0, "receipts");
  });

  await test("an answer that is cut off does not end the session", async () => {
    const anna = await person("Anna"), context = await visitor();
    await signIn(await page(context, "/"), anna);
    await context.addInitScript(() => { // as when the page is left while the body arrives
      const read = Response.prototype.json;
      Response.prototype.json = function json() { return this.url.endsWith("/auth/access") ? Promise.reject(new TypeError("cut off"))
        : read.call(this); };
    });
    const p = await page(context, "/inbox");
    await p.locator(".notice.bad").waitFor();
    equal(await p.evaluate(() => document.cookie.includes("who=")), true, "signed in");
    equal(new URL(p.url()).pathname, "/inbox", "page");
  });

  await test("pages of a person leave other windows at the sign-out", async () => {
    const anna = await person("Anna"), bert = await person("Bert"), context = await visitor();
    const p = await page(context, "/login");
    const stay = async (who) => {
      await p.goto(`${base}/login`);
      await p.fill("[name=email]", who.email);
      await p.fill("[name=password]", who.password);
      await p.getByLabel("Stay signed in on this device").check();
      await p.getByRole("button", { name: "Sign in", exact: true }).click();
      await p.waitForURL(`${base}/inbox`);
    };
    await stay(anna);
    const other = await page(context, "/send");
    await begin(other, "/send", "window-A.bin", (q) => q.getByLabel("Subject").fill("Half-A"));
    await p.getByRole("button", { name: "Sign out", exact: true }).click();
    await other.waitForURL(`${base}/`);
    await p.waitForURL(`${base}/`);
    await stay(anna);
    await send(other, "Second-A");
    await stay(bert); // without a sign-out
    await other.waitForURL(`${base}/`);
    await knowsNothing(other, ["window-A", "Half-A", "Second-A"]);
  });

  await test("a request that is refused after the sign-out in another tab leads to the start page", async () => {
    const anna = await person("Anna"), context = await visitor();
    const p = await page(context, "/login");
    await signIn(p, anna);
    const other = await page(context, "/mailbox");
    const out = () => other.evaluate(() => !document.cookie.includes("who="));
    let refuse = () => {}, asked;
    await context.route("**/transfer/v2/transfers?**", async (route) => { // answered after the sign-out
      const refused = new Promise((done) => { refuse = done; });
      asked?.();
      await refused;
      await route.continue().catch(() => {});
    });
    await context.route(`${base}/`, async (route) => { // the start page is slow: the answer comes first
      if (route.request().frame().page() === p) {
        refuse();
        await p.waitForTimeout(500);
      }
      await route.continue().catch(() => {});
    });
    const loading = new Promise((done) => { asked = done; });
    await p.reload();
    await loading;
    await other.getByRole("button", { name: "Sign out", exact: true }).click();
    await p.waitForURL(`${base}/`);
    await other.waitForURL(`${base}/`);
    equal(await out(), true, "signed out");
  });

  await test("an answer from before the confirmation in another tab does not stay", async () => {
    const address = "early@example.com", context = await visitor();
    const p = await page(context, "/signup");
    await p.fill("[name=address]", address);
    await p.fill("[name=password]", "violet-anchor-92-meadow");
    await p.locator("form [type=submit]").click();
    await p.getByText(address).waitFor();
    const { link } = await mail(address, "/confirm/");
    let release = () => {};
    const late = new Promise((done) => { release = done; });
    const early = await context.newPage();
    const answers = [];
    await early.route("**/id/v3/events", (route) => route.abort());
    await early.route(/\/(transfer\/v2|id\/v3\/invitations)/, async (route) => {
      const response = await route.fetch();
      answers.push(`${response.status()} ${new URL(response.url()).pathname}`);
      await late;
      await route.fulfill({ response });
    });
    await early.goto(`${base}/inbox`);
    await early.evaluate(() => { new BroadcastChannel("consign.session").onmessage = () => { window.told = true; }; });
    for (let i = 0; i < 100 && !answers.includes("403 /transfer/v2/transfers"); i++) await early.waitForTimeout(100);
    equal(answers.includes("403 /transfer/v2/transfers"), true, `answers from before the confirmation: ${answers}`);
    const confirming = await page(context, new URL(link).pathname);
    await confirming.getByRole("button", { name: "Confirm the address" }).click();
    await confirming.getByText("Your email address is confirmed.").waitFor();
    await early.waitForFunction(() => window.told, null, { polling: 200 });
    await early.unroute(/\/(transfer\/v2|id\/v3\/invitations)/);
    release();
    await early.getByText("Nothing has arrived yet.").waitFor();
  });

  await test("a receipt survives a reload, not a new visit, and ends with “Done”", async () => {
    const anna = await person("Anna"), context = await visitor();
    const p = await page(context, "/m/demo");
    const deliver = async () => {
      await p.goto(`${base}/m/demo`);
      await p.setInputFiles("[data-test=files]", file("strange.txt", 10).at);
      await p.fill("[name=anonSender]", "Sam Stranger");
      await p.fill("[name=anonEmail]", "sam.strange@example.com");
      await p.click(".details button[type=submit]");
      await p.waitForSelector(".receipt");
    };
    const words = ["strange.txt", "Sam Stranger", "sam.strange"];
    await deliver();
    await p.reload();
    await p.waitForSelector(".receipt");
    const tab = await page(context, "/m/demo"); // another tab
    await tab.waitForSelector(".chooser button:enabled");
    equal(await tab.locator(".receipt").count(), 0, "receipt in another tab");
    await p.goto(`${base}/m/demo`);
    await p.waitForSelector(".chooser button:enabled");
    equal(await p.locator(".receipt").count(), 0, "receipt in a new visit");
    await deliver();
    await p.getByRole("button", { name: "Done" }).click();
    await p.waitForURL(`${base}/`);
    for (const word of words) if ((await stored(p)).includes(word)) throw new Error(`stored after “Done”: ${word}`);
    await p.goBack();
    await p.waitForSelector(".chooser button:enabled");
    equal(await p.locator(".receipt").count(), 0, "receipt after going back");
    await deliver();
    await signIn(p, anna);
    await knowsNothing(p, words);
    await send(p, "Own-A");
    await p.getByRole("link", { name: "Send", exact: true }).click();
    await p.waitForSelector(".chooser button:enabled");
    equal(await p.locator(".receipt").count(), 0, "own receipt in a new visit");
    await send(p, "Own-B");
    await p.getByRole("button", { name: "Done" }).click();
    await p.waitForURL(`${base}/inbox`);
  });
}
