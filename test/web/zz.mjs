// exploration: refusals in each step of the drop page, many files, names, sleep, offline flips
import fs from "node:fs";
import { page, signedIn, visitor, base, browser, demo, file, slow, work } from "./kit.mjs";
const pics = process.argv[4];
const log = (...a) => console.log(...a);
const only = process.argv[5] ?? ".";
async function t(name, f) { if (!new RegExp(only).test(name)) return; const began = Date.now(); try { await f(); } catch (e) { log(name, "EXC", String(e).slice(0, 300)); const open = browser.contexts().flatMap((c) => c.pages()).at(-1); await open?.screenshot({ path: `${pics}/exc-${name}.png`, fullPage: true }).catch(()=>{}); } finally { log(`-- ${name} ${(Date.now()-began)/1000}s`); for (const c of browser.contexts()) await c.close(); } }
const notices = (p) => p.$$eval(".notice, .state, .wrong", (all) => [...new Set(all.map((e) => `[${e.className}] ${e.textContent.trim()}`))].slice(0, 8));
const fillin = async (p) => { await p.fill("[name=anonSender]", "Sam"); await p.fill("[name=anonEmail]", "sam@example.com"); };

await t("refusals", async () => {
  const c = await visitor();
  for (const [step, method, re] of [["mailbox", "GET", /public\/mailbox\/demo$/], ["reserve", "POST", /public\/mailbox\/demo$/], ["attach", "POST", /\/objects$/], ["put", "PUT", /\/content$/], ["patch", "PATCH", /\/reservations\/[^/]+$/], ["confirm", "POST", /\/confirm$/]])
    for (const status of [503, 429, 413, 409, 401]) {
      const p = await c.newPage();
      let n = 0;
      await p.route(re, (r) => { if (r.request().method() !== method) return r.continue(); n++; return r.fulfill({ status, headers: status === 503 || status === 429 ? { "Retry-After": "7" } : {}, contentType: status === 413 ? "text/html" : "application/json", body: status === 413 ? "<html><h1>413 Request Entity Too Large</h1></html>" : JSON.stringify({ error: { code: status * 1000 + 1, message: "x", details: [] } }) }); });
      await p.goto(`${base}/m/demo`);
      try {
        await p.waitForTimeout(500);
        if (step !== "mailbox") {
          await p.waitForSelector(".chooser button:enabled", { timeout: 5000 });
          await p.setInputFiles("[data-test=files]", { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
          if (step !== "reserve") { await p.waitForSelector("[name=anonSender]", {timeout: 5000}).then(() => fillin(p)); await p.click(".details button[type=submit]", {timeout: 3000}).catch(() => log("   no submit")); }
          await p.waitForTimeout(1200);
        }
      } catch (e) { log("   exc", String(e).slice(0, 120)); }
      log(step, status, n, JSON.stringify(await notices(p)), "buttons:", (await p.$$eval("main button", (b) => b.map((x) => (x.ariaLabel || x.textContent.trim()) + (x.disabled ? "(dis)" : "") + (x.ariaBusy ? "(busy)" : "")))).join(" | "));
      await p.screenshot({ path: `${pics}/ref-${step}-${status}.png`, fullPage: true });
      await p.evaluate(() => { for (const d of [indexedDB]) d.deleteDatabase("consign"); });
      await p.close();
    }
});
await t("names", async () => {
  const p = await page(await visitor({ viewport: { width: 320, height: 700 } }), "/m/demo");
  const names = ["😀👩‍👩‍👧‍👦 party.txt", "شهادة الميلاد.pdf", "Über.txt", "Über.txt", "x".repeat(240) + ".txt", "a‮gpj.exe", "con", "-rf", "tab\tname.txt", "..", "名前の長いファイル名がここにあります".repeat(5) + ".txt", "dir/../up.txt", "zero.txt"];
  await p.waitForSelector(".chooser button:enabled");
  await p.evaluate((names) => { const d = new DataTransfer(); for (const n of names) d.items.add(new File([n === "zero.txt" ? "" : "hello " + n], n)); dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true })); }, names);
  await p.waitForTimeout(4000);
  log(JSON.stringify(await p.$$eval(".item", (all) => all.map((e) => e.querySelector(".name").textContent.trim().slice(0, 60) + " => " + e.querySelector(".state").textContent))));
  log(JSON.stringify(await notices(p)));
  await p.screenshot({ path: `${pics}/names.png`, fullPage: true });
  await fillin(p); await p.click(".details button[type=submit]"); await p.waitForSelector(".receipt"); await p.screenshot({ path: `${pics}/names-receipt.png`, fullPage: true });
  log(await p.evaluate(() => document.documentElement.scrollWidth - innerWidth));
});
await t("five", async () => {
  const p = await page(await visitor(), "/m/demo");
  await p.waitForSelector(".chooser button:enabled");
  const c0 = Date.now();
  await p.evaluate(() => { window.longest = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({ type: "longtask", buffered: true });
    const input = document.querySelector("[data-test=files]"); const d = new DataTransfer(); for (let i = 0; i < 5000; i++) d.items.add(new File(["n" + i], `f-${i}.txt`)); input.files = d.files; input.dispatchEvent(new Event("change", { bubbles: true })); });
  await p.waitForSelector(".files"); log("listed", Date.now() - c0);
  await p.waitForTimeout(20000);
  log(await p.locator(".sum").textContent(), "longest task", await p.evaluate(() => window.longest));
});
await browser.close(); process.exit();
