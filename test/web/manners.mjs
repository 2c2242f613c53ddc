// Behaviour of all pages: languages, keyboard, small windows, size, requests, and the Content-Security-Policy.

import fs from "node:fs";
import path from "node:path";
import { access, api, base, browser, demo, equal, forgive, page, person, settled, signedIn, test, visitor } from "./kit.mjs";
import { world } from "./world.mjs";
import { judge } from "./looks.mjs";
import { operator, pages as consolePages } from "./console.mjs";

const own = ["/inbox", "/requests", "/requests/new", "/device", "/send", "/mailbox", "/account", "/account/security", "/account/devices",
  "/account/privacy", "/organization",
  ...["members", "mailboxes", "groups", "transfers", "settings", "security", "usage", "documents"].map((part) => `/organization#${part}`)];
const open = ["/", "/m/mara.lindqvist", "/m/dmitri", "/m/no-such-box", "/g/harbour", "/login", "/signup", "/reset", "/reset/abc",
  "/confirm/abc", "/invitation/abc", "/t/abc", "/nowhere", "/verify", "/r/abc", "/q/abc", "/undo/abc", "/continue", "/api/"];

/** Opens every page in one language. */
async function everyPage(options, visit) {
  const { mara } = await world();
  for (const [enter, places] of [[() => visitor(options), open], [() => signedIn(mara, options), own]]) {
    const context = await enter();
    for (const where of places) {
      const p = await page(context, where);
      await visit(p, where);
      await p.close();
    }
  }
}

/** Returns the texts of a page and the names of its controls. */
const said = (p) => p.evaluate(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = new Set();
  while (walker.nextNode()) {
    const { parentElement: around, data } = walker.currentNode;
    if (!around.closest("script, noscript, #locale, code, option[lang], [name=timeZone], .avatar, [hidden]")
      && data.trim()) found.add(data.trim());
  }
  for (const e of document.querySelectorAll("[aria-label], [placeholder], [title], [alt]")) {
    for (const name of ["aria-label", "placeholder", "title",
      "alt"]) if (e.getAttribute(name)?.trim()) found.add(e.getAttribute(name).trim());
  }
  return [...found];
});

/** Texts that are the same in every language: written by people, names of products, units, formats. */
const everywhere = new RegExp([
  "^[^a-z]*$", "@", "https?://", "localhost", "^\\S+/\\S+(, \\S+/\\S+)*$", // numbers, addresses, links, media types, time zones
  "Mara|Ben |Stranger|Nair|Chlo|Dmitri|Ingrid|Harbour|harbour|bridge|Wharf|Sons|Invoice|Priya|Soundings|Load cases|Survey|Drawing|Structural|Site |I am on site|Quay|Hamburg|Germany",
  "^(?:mara\\.lindqvist|ben|chloe|dmitri)$", "About the delivery|What is it|Project|Needed by|As it stands|Tender|Test provider",
    "Consign|SHA-256|Chrome|Linux|Carola|load-cases.xlsx|2001:db8:1::/48", "^(?:kB|Cc|Bcc)$",
].join("|"));

export async function mannersTests() {
  await test("no page asks for what is not there, and none writes to the console", async () => {
    const failed = [], dead = /\/(?:no-such-box|abc|nowhere)\b|\/oidc\/auth\/confirmation$/; // lead nowhere
    const none = /\/transfer\/v2\/mailbox$/; // so the API says that a person has no mailbox
    const visit = async (p, where) => {
      p.on("response", (r) => {
        if (r.status() >= 400 && ![dead, none].some((e) => e.test(r.url()))) failed.push(`${where}: ${r.status()} ${r.url()}`);
      });
      await p.reload();
      await settled(p);
    };
    await everyPage({}, visit);
    const olga = await signedIn(await operator("Odile")); // without a picture, a mailbox or an organization
    for (const where of [...own, ...consolePages.map(([, where_]) => where_)]) {
      const p = await page(olga, where);
      await visit(p, where);
      await p.close();
    }
    equal(failed, [], "requests that failed");
  });

  await test("the smallest window, 320 pixels, and the longest words", async () => {
    await everyPage({ locale: "de-DE", viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true }, async (p, where) => {
      await p.locator("details").evaluateAll((all) => { for (const details of all) details.open = true; });
      const wide = await p.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) throw new Error(`${where}: ${wide} pixels too wide`);
      const cut = await p.evaluate(() => [...document.querySelectorAll("button, a, label, h1, h2, th, .badge, p")]
        .filter((e) => e.getClientRects().length && getComputedStyle(e).display !== "inline" && e.scrollWidth > e.clientWidth + 1
          && !e.matches(".hidden, .skip, .what *"))
        .map((e) => `${e.className || e.tagName} “${e.textContent.trim().slice(0, 40)}”`));
      if (cut.length) throw new Error(`${where}: cut off: ${cut.join("; ")}`);
    });
  });

  // internal/i18n checks that the catalogues are complete. This test finds sentences that are in no catalogue.
  await test("no page leaves anything in English, and none makes markup from strings", async () => {
    const english = new Map(), left = [];
    await everyPage({ locale: "en-US" }, async (p, where) => { english.set(where, new Set(await said(p))); });
    await everyPage({ locale: "ja-JP" }, async (p, where) => {
      if (where === "/api/") return; // the reference is the OpenAPI documents, in English
      const same = (await said(p)).filter((text) => english.get(where).has(text) && !everywhere.test(text));
      if (same.length) left.push(`${where}: ${same.join(" | ")}`);
      const made = await p.evaluate(() => {
        try {
          document.createElement("div").innerHTML = "<b>x</b>";
          return true;
        } catch {
          return false; // Trusted Types
        }
      });
      if (made) throw new Error(`${where}: markup from a string`);
    });
    forgive(/requires 'TrustedHTML' assignment/);
    if (left.length) throw new Error(left.join("\n"));
  });

  await test("all languages, by browser and by choice", async () => {
    const words = { "en-US": "Files for", "de-DE": "Dateien für", "fr-FR": "Fichiers pour", "ru-RU": "Файлы для", "ko-KR": "받는 사람",
      "zh-CN": "文件收件人", "zh-TW": "檔案收件人", "ja-JP": "ファイルの宛先" };
    for (const [locale, word] of Object.entries(words)) {
      const p = await page(await visitor({ locale }), "/m/demo");
      await p.getByRole("heading", { name: word }).waitFor();
      equal(await p.getAttribute("html", "lang"), locale, "lang");
    }
    const p = await page(await visitor(), "/m/demo");
    await p.selectOption("#locale", "de_DE");
    await p.getByRole("heading", { name: "Dateien für" }).waitFor();
    await judge(p, "German");
    await p.goto(`${base}/login`);
    await p.getByRole("heading", { name: "Anmelden" }).waitFor(); // kept
  });

  await test("a file is delivered with the keyboard alone", async () => {
    const p = await page(await visitor(), "/m/demo");
    await p.getByRole("button", { name: "Choose files" }).waitFor(); // before, Tab would go to the footer
    const focused = () => p.evaluate(() => document.activeElement.textContent.trim());
    await p.keyboard.press("Tab");
    equal(await p.evaluate(() => document.activeElement.className), "skip", "first stop");
    await p.keyboard.press("Enter");
    await p.keyboard.press("Tab");
    equal(await focused(), "Choose files", "after the skip link");
    await p.keyboard.press("Tab");
    equal(await focused(), "Choose a folder", "after that");
    await p.setInputFiles("[data-test=files]", { name: "keys.txt", mimeType: "text/plain", buffer: Buffer.from("typed") });
    await p.getByText("Arrived", { exact: true }).waitFor();
    for (let i = 0; i < 20 && await p.evaluate(() => document.activeElement.name) !== "anonSender"; i++) await p.keyboard.press("Tab");
    await p.keyboard.type("Kay Board");
    await p.keyboard.press("Tab");
    await p.keyboard.type("kay@example.com");
    await p.keyboard.press("Enter");
    await p.waitForSelector(".receipt");
    equal(await p.evaluate(() => document.activeElement.id), "main", "focus on the receipt");
  });

  await test("a dialog keeps the keyboard and gives it back", async () => {
    const p = await page(await signedIn(await person("Kim")), "/account/privacy");
    const opener = p.getByRole("button", { name: "Delete account" });
    await opener.focus();
    await p.keyboard.press("Enter");
    await p.getByRole("dialog").waitFor();
    for (let i = 0; i < 5; i++) {
      const where = await p.evaluate(() => (document.activeElement === document.body ? "browser"
        : document.activeElement.closest("dialog") ? "dialog" : "page"));
      if (where === "page") throw new Error("the focus has left the dialog");
      await p.keyboard.press("Tab");
    }
    await p.keyboard.press("Escape");
    await p.getByRole("dialog").waitFor({ state: "detached" });
    equal(await opener.evaluate((e) => e === document.activeElement), true, "focus returned");
  });

  await test("the menu of a small window", async () => {
    const p = await page(await signedIn(demo, { viewport: { width: 360, height: 700 } }), "/inbox");
    const menu = p.getByRole("button", { name: "Menu" });
    equal(await menu.getAttribute("aria-expanded"), "false", "closed at first");
    await menu.press("Enter");
    await p.keyboard.press("Tab");
    await p.keyboard.press("Tab");
    await p.keyboard.press("Enter");
    await p.waitForURL("**/send");
    await p.getByRole("button", { name: "Menu" }).press("Enter");
    await p.keyboard.press("Escape");
    equal(await p.getByRole("button", { name: "Menu" }).getAttribute("aria-expanded"), "false", "closed by Escape");
  });

  await test("the page of a mailbox is small and waits for one call only", async () => {
    const context = await visitor();
    const p = await context.newPage();
    const script = [], calls = [];
    p.on("response", (r) => { if (/\.js$/.test(r.url())) script.push(r.request().sizes()); });
    p.on("request", (r) => { if (/\/(?:id|transfer)\//.test(r.url())) calls.push(`${r.method()} ${new URL(r.url()).pathname}`); });
    await context.route("**/id/v3/environment", () => {}); // never answered
    await p.goto(`${base}/m/demo`);
    await p.waitForSelector(".chooser");
    const size = (await Promise.all(script)).reduce((sum, s) => sum + s.responseBodySize, 0);
    console.log(`      scripts of the mailbox page: ${(size / 1000).toFixed(1)} kB compressed, ${script.length} modules; calls: ${calls.join(", ")}`);
    if (!(size > 10_000 && size < 150_000)) throw new Error(`${size} bytes of script`);
  });

  await test("without JavaScript a sentence says so", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, locale: "en-US" });
    const p = await context.newPage();
    await p.goto(`${base}/m/demo`);
    const sentence = p.locator("noscript p"); // getByText does not search noscript
    await sentence.waitFor({ timeout: 5000 });
    equal((await sentence.textContent()).startsWith("This page needs JavaScript."), true, "sentence");
  });

  await test("the theme of an organization colours its pages", async () => {
    const token = await access(demo);
    const { body: { membership } } = await api("GET", "/id/v3/profile", { token });
    const at = `/id/v3/organizations/${membership.organization.uid}/theme`;
    await api("PUT", at, { token, json: { primaryColor: "#f2c200", backgroundColor: "#fffaf0" } });
    try {
      for (const colorScheme of ["light", "dark"]) {
        const p = await page(await visitor({ colorScheme }), "/m/demo");
        await p.waitForFunction(() => document.documentElement.style.getPropertyValue("--brand") === "#f2c200");
        await judge(p, `a yellow theme, ${colorScheme}`);
      }
    } finally {
      await api("DELETE", at, { token });
    }
  });

  await test("the vendored libraries are listed with version and licence", async () => {
    const root = path.resolve(import.meta.dirname, "../..");
    const listed = fs.readFileSync(path.join(root, "CONTRIBUTING.md"), "utf8");
    for (const name of fs.readdirSync(path.join(root, "internal/web/assets/thirdparty"))) {
      if (/\.(?:js|woff2)$/.test(name) && !listed.includes(`thirdparty/${name}`)) throw new Error(`${name} is not in CONTRIBUTING.md`);
    }
  });
}
