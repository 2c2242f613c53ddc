// Every page as it looks and sounds: axe, languages, light and dark, 360 pixels, size, no script at all.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { access, api, base, demo, equal, file, mail, page, person, pictures, signedIn, slow, test, visitor } from "./kit.mjs";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const looks = [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["360", { viewport: { width: 360, height: 740 }, colorScheme: "light" }]];

async function judge(p, what) {
  await p.waitForLoadState("networkidle", { timeout: 1500 }).catch(() => {});
  await p.evaluate(axe);
  const { violations } = await p.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
  if (violations.length) throw new Error(`${what}: ${violations.map((v) => `${v.id} (${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}): ${v.help}; ${v.nodes[0].failureSummary?.replace(/\s+/g, " ")}`).join("\n")}`);
  const wide = await p.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) throw new Error(`${what}: ${wide} pixels wider than the window`);
}

export async function looksTests() {
  const strangerPages = { home: "/", drop: "/m/demo", login: "/login", signup: "/signup", reset: "/reset", newpassword: "/reset/abc", confirm: "/confirm/abc", invitation: "/invitation/abc", "transfer-gone": "/t/abc", api: "/api/" };
  const ownPages = { inbox: "/inbox", send: "/send", mailbox: "/mailbox", account: "/account", organization: "/organization", "organization-members": "/organization#members", "organization-groups": "/organization#groups", "organization-settings": "/organization#settings", "organization-usage": "/organization#usage", "organization-documents": "/organization#documents" };
  for (const [look, options] of looks) {
    for (const [name, where] of Object.entries(strangerPages)) {
      await test(`axe and picture: ${name}, ${look}`, async () => {
        const p = await page(await visitor({ ...options, reducedMotion: "reduce" }), where);
        await judge(p, name);
        await p.screenshot({ path: path.join(pictures, `${name}-${look}.png`), fullPage: name !== "api" });
      });
    }
    for (const [name, where] of Object.entries(ownPages)) {
      await test(`axe and picture: ${name}, ${look}`, async () => {
        const p = await page(await signedIn(demo, { ...options, reducedMotion: "reduce" }), where);
        await p.waitForLoadState("networkidle", { timeout: 1500 }).catch(() => {});
        if (name === "inbox") await p.locator(".entry .head").first().click({ timeout: 3000 }).catch(() => {});
        await p.waitForTimeout(300);
        await judge(p, name);
        await p.screenshot({ path: path.join(pictures, `${name}-${look}.png`), fullPage: true });
      });
    }
    await test(`axe and picture: an upload and its receipt, ${look}`, async () => {
      const p = await page(await visitor({ ...options, reducedMotion: "reduce" }), "/m/demo");
      const line = await slow(p, 1_500_000);
      await p.setInputFiles("[data-test=files]", [file("Bridge, sheet 1.pdf", 9_000_000), file("Notes.txt", 2_000), file("Photographs.zip", 14_000_000)].map((f) => f.at));
      await p.fill("[name=anonSender]", "Sam Stranger");
      await p.fill("[name=anonEmail]", "sam@example.com");
      await p.fill("[name=subject]", "Plans of the bridge");
      await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.1);
      await p.waitForTimeout(700);
      await judge(p, "upload");
      await p.screenshot({ path: path.join(pictures, `upload-${look}.png`), fullPage: true });
      await line.free();
      await p.click(".details button[type=submit]");
      await p.waitForSelector(".receipt", { timeout: 30_000 });
      await judge(p, "receipt");
      await p.screenshot({ path: path.join(pictures, `receipt-${look}.png`), fullPage: true });
      const { link } = await mail(demo.email, "/t/");
      await p.goto(link);
      await p.waitForSelector(".contents");
      await judge(p, "transfer");
      await p.screenshot({ path: path.join(pictures, `transfer-${look}.png`), fullPage: true });
    });
  }

  await test("the smallest window, 320 pixels", async () => {
    for (const where of Object.values(ownPages)) {
      const p = await page(await signedIn(demo, { viewport: { width: 320, height: 640 } }), where);
      await p.waitForLoadState("networkidle", { timeout: 1500 }).catch(() => {});
      const wide = await p.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) throw new Error(`${where}: ${wide} pixels too wide`);
    }
  });

  await test("all languages, by browser and by choice", async () => {
    const words = { "de-DE": "Dateien für", "fr-FR": "Fichiers pour", "ru-RU": "Файлы для", "ko-KR": "받는 사람", "zh-CN": "文件收件人", "zh-TW": "檔案收件人", "ja-JP": "ファイルの宛先" };
    for (const [locale, word] of Object.entries(words)) {
      const p = await page(await visitor({ locale }), "/m/demo");
      await p.getByRole("heading", { name: word }).waitFor();
      equal(await p.getAttribute("html", "lang"), locale, "lang");
      await judge(p, locale);
    }
    const p = await page(await visitor(), "/m/demo");
    await p.selectOption("#locale", "de_DE");
    await p.getByRole("heading", { name: "Dateien für" }).waitFor();
    await p.goto(`${base}/login`);
    await p.getByRole("heading", { name: "Anmelden" }).waitFor(); // kept
  });

  await test("the keyboard alone drops a file", async () => {
    const p = await page(await visitor(), "/m/demo");
    await p.keyboard.press("Tab");
    equal(await p.evaluate(() => document.activeElement.className), "skip", "first stop");
    await p.keyboard.press("Enter");
    await p.keyboard.press("Tab");
    equal(await p.evaluate(() => document.activeElement.textContent), "Choose files", "after the skip link");
  });

  await test("the drop page is small and asks nobody else", async () => {
    const context = await visitor();
    const p = await context.newPage();
    let script = 0;
    p.on("response", async (r) => { if (/\.js$/.test(r.url())) script += Number(r.headers()["content-length"]); });
    await p.goto(`${base}/m/demo`);
    await p.waitForSelector(".chooser");
    console.log(`      script of the drop page: ${(script / 1000).toFixed(1)} kB compressed`);
    if (!script || script > 150_000) throw new Error(`${script} bytes of script`);
  });

  await test("without JavaScript a sentence says so", async () => {
    const context = await visitor({ javaScriptEnabled: false });
    const p = await context.newPage();
    await p.goto(`${base}/m/demo`);
    await p.getByText("This page needs JavaScript.").waitFor();
  });

  await test("the theme of an organization colours its pages", async () => {
    const token = await access(demo);
    const { body: { membership } } = await api("GET", "/id/v3/profile", { token });
    const at = `/id/v3/organizations/${membership.organization.uid}/theme`;
    await api("PUT", at, { token, json: { primaryColor: "#f2c200", backgroundColor: "#fffaf0" } });
    try {
      const p = await page(await visitor(), "/m/demo");
      await p.waitForFunction(() => document.documentElement.style.getPropertyValue("--brand") === "#f2c200");
      await judge(p, "a yellow theme");
    } finally {
      await api("DELETE", at, { token });
    }
  });
}
