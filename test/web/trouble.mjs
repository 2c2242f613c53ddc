// Failures during work: vanished files, an unavailable server, other windows, and what is kept then.

import fs from "node:fs";
import { access, api, base, claim, equal, file, held, more, page, person, settle, settled, signedIn, slow, test, unfold,
  visitor } from "./kit.mjs";

const from = async (p) => {
  await p.fill("[name=anonSender]", "Sam Stranger");
  await p.fill("[name=anonEmail]", "sam@example.com");
};
const value = (p, label) => p.getByLabel(label, { exact: true }).inputValue();
const press = async (p, button) => {
  await button.focus();
  await p.keyboard.press("Enter");
};

export async function troubleTests() {
  await test("a form keeps its values after saving and after an error", async () => {
    const who = await person("Vera");
    const p = await page(await signedIn(who), "/account");
    await p.getByLabel("Name", { exact: true }).fill("Vera Vance");
    await p.getByRole("button", { name: "Save" }).first().click();
    await p.getByText("Saved").first().waitFor();
    equal(await value(p, "Name"), "Vera Vance", "name");
    settle(who, await api("POST", "/id/v3/organizations", { token: await access(who), json: { name: "Vances" } }));
    const q = await page(await signedIn(who), "/organization");
    await q.getByLabel("City").fill("Ghent");
    await q.getByLabel("Legal notice (link)").fill("ftp://vances.example/");
    await q.getByLabel("Signature under messages").fill("The Vances");
    await q.getByRole("button", { name: "Save" }).first().click();
    await q.getByText("Please check this.").waitFor();
    equal([await value(q, "City"), await value(q, "Legal notice (link)"), await q.getByLabel("Signature under messages").inputValue()],
      ["Ghent", "ftp://vances.example/", "The Vances"], "organization");
    await q.goto(`${base}/organization#settings`);
    await q.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
    await q.getByLabel("Maximum files").fill("77");
    await q.getByLabel("Senders may set a priority").check();
    await q.getByLabel("Periods to choose from, in days").fill("1, 2");
    await q.getByLabel("Default period, in days").fill("3");
    await q.getByRole("button", { name: "Save" }).first().click();
    await q.locator("[aria-invalid=true]").waitFor();
    equal([await value(q, "Maximum files"), await q.getByLabel("Senders may set a priority").isChecked()], ["77", true], "rules");
    await q.goto(`${base}/organization#groups`);
    await q.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
    await q.getByRole("button", { name: "Add a group" }).click();
    await q.getByLabel("Description").fill("All of us");
    await q.getByLabel("Name", { exact: true }).fill("Family");
    await q.getByLabel("Name in the link").fill("-");
    await q.getByRole("button", { name: "Save" }).click();
    await q.locator("[aria-invalid=true]").waitFor();
    equal([await value(q, "Name"), await q.getByLabel("Description").inputValue(), await q.getByLabel("Name in the link").inputValue()],
      ["Family", "All of us", "-"], "group");
  });

  await test("a file that vanishes after “Deliver” stops the delivery", async () => {
    const p = await page(await visitor(), "/m/demo");
    const good = file("good.bin", 100), gone = file("gone.bin", 6_000_000);
    const line = await slow(p, 1_500_000);
    await p.setInputFiles("[data-test=files]", [good.at, gone.at]);
    await from(p);
    await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.1);
    await p.click(".details button[type=submit]");
    await p.getByText("Delivered as soon as everything has arrived.").waitFor();
    fs.unlinkSync(gone.at);
    await p.getByText("1 file was refused and will not be delivered.").or(p.locator(".receipt")).waitFor();
    await p.waitForTimeout(1000);
    equal(await p.locator(".receipt").count(), 0, "delivered without the file");
    await line.free();
    await p.getByRole("button", { name: "Deliver to Olivia Owner" }).click(); // now the sender accepts it
    await p.waitForSelector(".receipt");
    equal(await p.$$eval(".delivered .name", (all) => all.map((e) => e.textContent)), ["good.bin"], "delivered");
  });

  await test("an upload is kept when the server is unavailable as the page is opened again", async () => {
    const context = await visitor();
    let p = await page(context, "/m/demo");
    const big = file("kept.bin", 8_000_000);
    await slow(p, 2_000_000);
    await p.setInputFiles("[data-test=files]", big.at);
    await p.fill("[name=anonEmail]", "sam@example.com");
    await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.3);
    await p.waitForTimeout(600);
    await p.close();
    const away = [(r) => r.abort(), (r) => r.fulfill({ status: 503, headers: { "Retry-After": "1" },
      json: { error: { code: 503011, message: "", details: [] } } })];
    await context.route(/\/reservations\/[^/]+$/, (route) => (away.length ? away.shift()(route) : route.continue()));
    p = await page(context, "/m/demo");
    await claim(p, "sam@example.com");
    await p.getByText("You have an upload here that is not finished.").waitFor();
    equal(away.length, 0, "answers left");
    if (/, 0 B of/.test(await p.locator(".notice.info").textContent())) throw new Error("nothing is said to have arrived");
    await p.setInputFiles("[data-test=files]", big.at);
    await p.getByText("Uploaded, not delivered yet").first().waitFor();
  });

  await test("leaving the page asks for confirmation until the files are delivered", async () => {
    const p = await page(await visitor(), "/m/demo");
    await p.setInputFiles("[data-test=files]", file("arrived.txt", 10).at);
    await p.getByText("Arrived", { exact: true }).waitFor();
    const asked = () => p.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));
    equal(await asked(), true, "asked before the delivery");
    await from(p);
    await p.click(".details button[type=submit]");
    await p.waitForSelector(".receipt");
    equal(await asked(), false, "asked after it");
  });

  await test("a name that is read late does not undo what was typed", async () => {
    const p = await page(await signedIn(await person("Lars")), "/m/demo");
    let answer = () => {};
    await p.route("**/profile", async (route) => {
      await new Promise((resolve) => { answer = resolve; });
      await route.continue();
    });
    const asked = p.waitForRequest("**/profile");
    await p.setInputFiles("[data-test=files]", file("typed.txt", 10).at);
    await asked;
    await unfold(p);
    await p.fill("[name=subject]", "Typed before");
    await p.fill("[name=message]", "Also typed");
    answer();
    await p.waitForFunction(() => document.querySelector("[name=anonSender]").value === "Lars");
    equal([await p.inputValue("[name=subject]"), await p.inputValue("[name=message]")], ["Typed before", "Also typed"], "what was typed");
  });

  await test("a busy button keeps the focus", async () => {
    const p = await page(await signedIn(await person("Fay")), "/account");
    const save = p.getByRole("button", { name: "Save" }).first();
    await p.getByLabel("Name", { exact: true }).fill("Fay Ferris");
    await press(p, save);
    await p.getByText("Saved").first().waitFor();
    equal(await save.evaluate((e) => e === document.activeElement), true, "focus on the button");
    let calls = 0;
    await p.context().route("**/profile", async (route) => { // the second click comes before the answer to the first
      calls += Number(route.request().method() === "PUT");
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await press(p, save);
    await p.keyboard.press("Enter");
    await p.getByLabel("Name", { exact: true }).press("Enter");
    await p.getByText("Saved").first().waitFor();
    equal(calls, 1, "calls of three presses");
  });

  await test("a sign-out without a connection is completed later", async () => {
    const context = await signedIn(await person("Olin")), p = await page(context, "/account");
    const token = await held(p);
    await context.route("**/auth/logout", (route) => route.abort());
    await p.getByRole("button", { name: "Sign out", exact: true }).click();
    await p.waitForURL(`${base}/`);
    await api("POST", "/id/v3/auth/access", { token });
    await context.unroute("**/auth/logout");
    await p.goto(`${base}/login`);
    for (let tries = 50; await held(p); tries--) {
      if (!tries) throw new Error("the cookie stays");
      await p.waitForTimeout(100);
    }
    await api("POST", "/id/v3/auth/access", { token, expect: 401 });
  });

  await test("an unreadable dropped file is named, and the others are added", async () => {
    const p = await page(await visitor(), "/m/demo");
    await p.waitForSelector(".chooser button:enabled");
    await p.evaluate(async () => {
      const disk = await navigator.storage.getDirectory(), gone = await disk.getFileHandle("gone.txt", { create: true });
      await disk.removeEntry("gone.txt");
      const own = DataTransferItem.prototype.getAsFileSystemHandle;
      DataTransferItem.prototype.getAsFileSystemHandle = function handle() { return this.type === "text/x-gone" ? Promise.resolve(gone)
        : own.call(this); };
      const transfer = new DataTransfer();
      transfer.items.add(new File(["there"], "there.txt"));
      transfer.items.add(new File(["gone"], "gone.txt", { type: "text/x-gone" }));
      dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    });
    await p.getByText("there.txt").waitFor({ timeout: 5000 });
    await p.getByText("This could not be read: gone.txt").waitFor();
  });

  await test("copying works over plain HTTP, where the browser has no clipboard API", async () => {
    const context = await visitor({ permissions: ["clipboard-read", "clipboard-write"] });
    const p = await page(context, "/m/demo");
    await p.setInputFiles("[data-test=files]", file("listed.txt", 10).at);
    await from(p);
    await p.click(".details button[type=submit]");
    await p.waitForSelector(".receipt");
    await p.evaluate(() => {
      window.clipboard = navigator.clipboard;
      Object.defineProperty(navigator, "clipboard", { value: undefined });
    });
    await p.getByRole("button", { name: "Proof" }).click();
    await p.getByRole("button", { name: "Copy the list" }).click();
    await p.getByText("Copied").first().waitFor({ timeout: 5000 });
    equal(/^[0-9a-f]{64} {2}listed\.txt$/.test(await p.evaluate(() => window.clipboard.readText())), true, "in the clipboard");
  });

  await test("a transfer that is revoked while its page is open says so", async () => {
    const token = await access(await person("Gina"));
    const { body, token: pass } = await api("POST", "/transfer/v2/reservations", { token, json: { recipients: [], ttl: 7 } });
    const at = `/transfer/v2/reservations/${body.uid}`;
    await api("POST", `${at}/objects`, { token: pass, json: { clientId: "a", name: "a.txt", intendedSize: 0 } });
    const { body: { link, uid } } = await api("POST", `${at}/confirm`, { token: pass });
    const p = await page(await visitor(), new URL(link).pathname);
    await api("DELETE", `/transfer/v2/transfers/${uid}`, { token });
    await p.getByRole("button", { name: /^Download .*a\.txt$/ }).click();
    await p.getByRole("heading", { name: "These files are no longer here" }).waitFor();
    equal(await p.evaluate(() => document.activeElement.tagName), "H1", "focus");
  });

  await test("the link is shown although the answer to confirm was lost", async () => {
    const p = await page(await signedIn(await person("Lena")), "/send");
    await p.getByText("As a link").click();
    await p.setInputFiles("[data-test=files]", file("lost.txt", 10).at);
    await p.getByText("Uploaded, not delivered yet").first().waitFor();
    let lost = 0;
    await p.route(/\/confirm$/, async (route) => {
      if (lost++ > 0) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await p.click(".details button[type=submit]");
    await p.waitForSelector(".receipt .link-box code");
    equal(lost > 1, true, "asked again");
    const link = await p.locator(".link-box code").textContent();
    const q = await page(await visitor(), new URL(link).pathname);
    await q.getByRole("button", { name: /^Download .*lost\.txt$/ }).waitFor();
  });

  await test("printing shows the recovery codes only", async () => {
    const p = await page(await signedIn(await person("Prisca")), "/account/security");
    await p.getByRole("button", { name: "Create recovery codes" }).click();
    await p.waitForSelector(".codes");
    await p.emulateMedia({ media: "print" });
    equal(await p.locator("h2:visible").allTextContents(), ["Recovery codes"], "printed sections");
    equal(await p.locator("main button:visible").count(), 0, "printed buttons");
  });

  await test("forced colours keep the progress and the chosen tab visible", async () => {
    const p = await page(await signedIn(await person("Hilde"), { forcedColors: "active" }), "/m/demo");
    await p.setInputFiles("[data-test=files]", file("seen.txt", 10).at);
    await p.getByText("Uploaded, not delivered yet").first().waitFor();
    const looks = async (what) => [await what.screenshot(), await what.evaluate((e) => { e.style.opacity = "0"; }),
      await what.screenshot()];
    const [bar, , empty] = await looks(p.locator(".sum progress"));
    if (bar.equals(empty)) throw new Error("the progress is not seen");
    const q = await page(p.context(), "/inbox");
    const ground = (name) => q.getByRole("tab", { name }).evaluate((e) => getComputedStyle(e).backgroundColor);
    if (await ground("Received") === await ground("Sent")) throw new Error("the chosen tab looks like the other");
  });

  await test("a transfer revoked in another window offers no actions", async () => {
    const who = await person("Hanna"), token = await access(who);
    const { body, token: pass } = await api("POST", "/transfer/v2/reservations", { token, json: { recipients: [], ttl: 7 } });
    const at = `/transfer/v2/reservations/${body.uid}`;
    await api("POST", `${at}/objects`, { token: pass, json: { clientId: "a", name: "a.txt", intendedSize: 0 } });
    const { body: { uid } } = await api("POST", `${at}/confirm`, { token: pass });
    const p = await page(await signedIn(who), "/inbox");
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.locator(".entry .head").first().click();
    await more(p, "Revoke");
    await api("DELETE", `/transfer/v2/transfers/${uid}`, { token });
    await p.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await p.getByText("The files are no longer there.").waitFor({ timeout: 5000 });
    equal(await p.locator(".panel button").allTextContents(), ["Activity"], "what is offered");
  });

  await test("the form is not sent with a mistyped address", async () => {
    const p = await page(await signedIn(await person("Mona")), "/send");
    const to = p.getByPlaceholder("name@example.com");
    await to.fill("tom@bidders.example, uma@bidders..example ");
    await p.setInputFiles("[data-test=files]", file("tender.txt", 10).at);
    await p.getByText("Arrived", { exact: true }).waitFor();
    await p.getByRole("button", { name: "Send", exact: true }).click();
    await p.waitForTimeout(1000);
    equal(await p.locator(".receipt").count(), 0, "sent without the second recipient");
    equal(await to.evaluate((e) => e === document.activeElement), true, "focus on what is wrong");
    await to.fill("uma@bidders.example");
    await to.press("Enter");
    await p.getByRole("button", { name: "Send", exact: true }).click();
    await p.waitForSelector(".receipt");
    await p.getByText("to tom@bidders.example and uma@bidders.example").waitFor();
  });
}
