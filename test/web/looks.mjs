// A picture of every page and state in light, in dark and at 360 pixels, each checked with axe.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { api, file, inFirefox, mail, page, person, pictures, settled, signedIn, slow, test, totp, unfold, visitor } from "./kit.mjs";
import { world } from "./world.mjs";

const engine = (name) => fs.readFileSync(createRequire(import.meta.url).resolve(name), "utf8");
const axe = engine("axe-core/axe.min.js"), ace = `${engine("accessibility-checker-engine/ace.js")}; window.ace = ace; undefined`;
const patience = 20_000; // milliseconds for the second engine on one page

const looks = [["light", { colorScheme: "light" }],
  ["360", { viewport: { width: 360, height: 740 }, colorScheme: "light", hasTouch: true, isMobile: true }],
  ["dark", { colorScheme: "dark" }]];

/**
 * Returns what IBM's Equal Access finds to be against WCAG 2.1. Its "potential" findings are questions to people, such as whether a colour
 * alone says something. It does not read colours in oklch, whose contrast axe judges. It does not know that the HTML standard allows
 * autocomplete="username webauthn", on fields of addresses, too. It misses the labels in folded parts, which other tests unfold.
 */
async function secondOpinion(p) {
  await p.evaluate(ace);
  const checked = p.evaluate(async () => {
    const at = ({ path: { dom } }) => document.evaluate(dom, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
    const folded = (r) => at(r)?.closest("details:not([open]) > :not(summary)");
    const unread = (r) => r.ruleId === "text_contrast_sufficient" && getComputedStyle(at(r)).backgroundColor.startsWith("oklch");
    // What is folded is not judged. The API reference folds so much that the engine takes minutes: it is out of the page meanwhile.
    const away = [...document.querySelectorAll("details:not([open])")].slice(20)
      .map((fold) => [fold, [...fold.children].filter(({ tagName }) => tagName !== "SUMMARY")]);
    for (const [, parts] of away) for (const part of parts) part.remove();
    const { results } = await new window.ace.Checker().check(document, ["WCAG_2_1"]);
    for (const [fold, parts] of away) fold.append(...parts);
    return results.filter((r) => r.value.join() === "VIOLATION,FAIL" && !folded(r) && !unread(r)
      && !(r.ruleId === "input_autocomplete_valid" && / autocomplete="username( webauthn)?".* type="email"/.test(r.snippet)))
      .map((r) => `${r.ruleId} ${r.reasonId} (${r.path.dom}): ${r.message}; ${r.snippet}`);
  });
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(reject, patience, new Error("the second engine does not end")); });
  return Promise.race([checked, late]).finally(() => clearTimeout(timer));
}

/** Fails when axe or Equal Access finds a problem, or the page is wider than its window. */
export async function judge(p, what) {
  await settled(p);
  await p.evaluate(axe);
  const { violations } = await p.evaluate(() => window.axe.run(document,
    { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
  const told = violations.map(({ id, help, nodes }) =>
    `${id} (${nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}): ${help}; ${nodes[0].failureSummary?.replace(/\s+/g, " ")}`);
  if (!inFirefox) told.push(...await secondOpinion(p)); // does not end there; Chromium judges the same markup
  if (told.length) throw new Error(`${what}: ${told.join("\n")}`);
  const wide = await p.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) throw new Error(`${what}: ${wide} pixels wider than the window`);
}

/** Judges a state of a page in light, in dark and in a narrow window, and keeps pictures of it. */
export async function looked(p, name, narrow = 360) {
  const wide = { width: 1280, height: 860 };
  for (const [look, size, colorScheme] of [["light", wide, "light"], ["dark", wide, "dark"],
    [String(narrow), { width: narrow, height: 740 }, "light"]]) {
    await p.setViewportSize(size);
    await p.emulateMedia({ colorScheme });
    await judge(p, `${name} ${look}`);
    await p.screenshot({ path: path.join(pictures, `${name}-${look}.png`), fullPage: true });
  }
  await p.setViewportSize(wide);
  await p.emulateMedia({ colorScheme: "light" });
}

/** Pictures of the window only, not of the whole page. */
const inWindow = ["api", "dialog", "crop", "inbox-menu", "second-factor-setup"];

/** Opens the first transfer of the inbox and its menu. */
export async function openMenu(p) {
  await p.locator(".entry .head").first().click();
  await p.getByRole("button", { name: "More", exact: true }).click();
  await p.getByRole("menuitem").first().waitFor();
}

/** The public pages: name, path, and the steps to the state of the picture. */
const strangers = (w) => [
  ["home", "/"],
  ["mailboxpage", "/m/mara.lindqvist"],
  ["mailboxpage-absent", "/m/dmitri"],
  ["mailboxpage-unknown", "/m/no-such-box"],
  ["group", "/g/harbour"],
  ["receipt-asked", w.receiptAsked],
  ["receipt-sent", w.receiptSent, (p) => p.waitForSelector(".receipt")],
  ["login", "/login"],
  ["second-factor", "/login", async (p) => {
    await p.fill("[name=email]", w.careful.email);
    await p.fill("[name=password]", w.careful.password);
    await p.locator("form [type=submit]").click();
    await p.waitForSelector("[name=code]");
  }],
  ["continue", "/continue", async (p) => { // external.mjs has the real sign-in
    await p.route("**/oidc/auth/confirmation", (route) =>
      route.fulfill({ json: { name: "Nora New", address: "nora@elsewhere.example", host: "files.fern.example",
        organization: "Fern Works" } }));
    await p.reload();
    await p.getByRole("button", { name: "Continue" }).waitFor();
  }],
  ["signup", "/signup"],
  ["reset", "/reset"],
  ["reset-sent", "/reset", async (p) => {
    await p.fill("[name=address]", (await person("Rosa")).email);
    await p.locator("form [type=submit]").click();
    await p.waitForSelector("form", { state: "detached" });
  }],
  ["newpassword", "/reset/abc"],
  ["confirm", "/confirm/abc"],
  ["transfer-password", new URL(w.locked.link).pathname],
  ["transfer-code", w.codeLink, async (p) => {
    await p.getByRole("button").filter({ hasText: "code" }).click();
    await p.waitForSelector("[name=code]");
  }],
  ["transfer-gone", "/t/abc"],
  ["verify", "/verify"],
  ["not-found", "/nowhere"],
  ["api", "/api/"],
];

/** The pages of a signed-in person. */
const owners = (w) => [
  ["inbox", "/inbox", async (p) => {
    await p.locator(".entry .head").first().click();
    await p.waitForSelector(".contents");
  }],
  ["inbox-menu", "/inbox", openMenu],
  ["inbox-sent", "/inbox", async (p) => {
    await p.locator("#tab-sent").click();
    await p.getByText("uma@bidders.example").waitFor();
  }],
  ["send", "/send", async (p) => {
    await p.getByPlaceholder("name@example.com").fill("tom@bidders.example, uma@bidders.example ");
    await unfold(p);
    await p.locator("textarea").fill("Closing date is the 11th.");
  }],
  ["mailbox", "/mailbox"],
  ["verify-signed-in", "/verify"],
  ["account", "/account"],
  ["account-security", "/account/security"],
  ["account-devices", "/account/devices"],
  ["account-privacy", "/account/privacy"],
  ["dialog", "/account/privacy", async (p) => {
    await p.locator(".button.danger").last().click();
    await p.waitForSelector("dialog[open]");
  }],
  ["crop", "/account", async (p) => {
    await p.setInputFiles("[data-test=picture]", { name: "me.jpg", mimeType: "image/jpeg", buffer: w.photograph });
    await p.waitForSelector(".crop canvas");
  }],
  ["device", "/device", async (p) => {
    const begun = await fetch(new URL("/id/v3/device/authorization", p.url()),
      { method: "POST", body: new URLSearchParams({ client_id: "consign on build-7" }) });
    await p.goto((await begun.json()).verification_uri_complete);
    await p.getByText("consign on build-7").waitFor();
  }],
  ["organization", "/organization"], ["organization-members", "/organization#members"],
    ["organization-mailboxes", "/organization#mailboxes"], ["organization-groups", "/organization#groups"],
      ["organization-transfers", "/organization#transfers"], ["organization-holds", "/organization#holds"],
  ["organization-settings", "/organization#settings"], ["organization-usage", "/organization#usage"],
    ["organization-documents", "/organization#documents"],
];

/** The pages of new accounts. */
const beginners = (w) => [
  ["inbox-empty", "/inbox"],
  ["mailbox-new", "/mailbox"],
  ["invitation", `/invitation/${w.invitation}`],
  ["second-factor-setup", "/account/security", async (p) => {
    await p.getByRole("button", { name: "Set up" }).click();
    await p.waitForSelector(".qr img");
  }],
];

/** Prepares what the pictures need besides the world: a person with a second factor, a picture to crop, an invitation. */
async function prepare() {
  const w = await world();
  const careful = await person("Carola"), newcomer = await person("Ingrid", "ingrid@harbour.example");
  const p = await page(await signedIn(careful), "/account/security");
  await p.getByRole("button", { name: "Set up" }).click();
  const key = await p.textContent(".qr .key");
  await p.fill("[name=code]", totp(key));
  await p.getByRole("button", { name: "Turn on" }).click();
  await p.getByText("The second factor is on.").first().waitFor();
  const photograph = await p.evaluate(() => {
    const c = Object.assign(document.createElement("canvas"), { width: 900, height: 600 }), d = c.getContext("2d");
    const sky = d.createLinearGradient(0, 0, 0, 600);
    sky.addColorStop(0, "#7fb7d6");
    sky.addColorStop(1, "#f6dfc0");
    d.fillStyle = sky;
    d.fillRect(0, 0, 900, 600);
    d.fillStyle = "#33566b";
    d.fillRect(0, 430, 900, 170);
    d.fillStyle = "#b4452f";
    d.fillRect(430, 120, 26, 320);
    d.fillRect(300, 130, 380, 18);
    return c.toDataURL("image/jpeg", 0.9).split(",")[1];
  });
  const { link } = await mail(newcomer.email, "/invitation/");
  const coded = await mail("lena@bidders.example", "/t/");
  const [receiptAsked, receiptSent] = await Promise.all(["priya@survey.example", "office@wharf.example"].map(async (address) =>
    new URL((await mail(address, "/r/")).link).pathname));
  await api("POST", receiptSent.replace("/r/", "/transfer/v2/public/receipts/"));
  return { ...w, careful, newcomer, photograph: Buffer.from(photograph, "base64"), invitation: link.split("/").pop(),
    codeLink: new URL(coded.link).pathname, receiptAsked, receiptSent };
}

export async function looksTests() {
  /** @type {any} */
  let w;
  await test("picture: the world of the pictures", async () => { w = await prepare(); });
  if (!w) return;
  for (const [look, options] of looks) {
    const still = { ...options, reducedMotion: "reduce" };
    const take = async (p, name) => {
      await judge(p, name);
      const size = p.viewportSize(), height = inWindow.includes(name) ? 0 : await p.evaluate(() => document.documentElement.scrollHeight);
      await p.setViewportSize({ ...size, height: Math.max(size.height, height) }); // what stays in the window is at its end
      await p.screenshot({ path: path.join(pictures, `${name}-${look}.png`), fullPage: height > 0 });
      await p.setViewportSize(size);
    };
    /** Opens a page twice: the second time, the typeface is in the cache. */
    const opened = async (context, where) => {
      const p = await page(context, where);
      await p.reload();
      await settled(p);
      return p;
    };
    const round = async (places, enter) => {
      for (const [name, where, arrange] of places) {
        await test(`picture: ${name}, ${look}`, async () => {
          const p = await opened(await enter(), where);
          await arrange?.(p);
          await take(p, name);
        });
      }
    };
    await round(strangers(w), () => visitor(still));
    await round(owners(w), () => signedIn(w.mara, still));
    await round(beginners(w), () => signedIn(w.newcomer, still));
    await test(`picture: a sign-up, ${look}`, async () => {
      const p = await opened(await visitor(still), "/signup");
      await p.fill("[name=address]", `new-${look}@example.com`);
      await p.fill("[name=password]", "violet-anchor-92-meadow");
      await p.locator("form [type=submit]").click();
      await p.waitForSelector("form", { state: "detached" });
      await take(p, "signup-sent");
    });
    await test(`picture: an upload, its receipt and the transfer, ${look}`, async () => {
      const p = await opened(await visitor(still), "/m/mara.lindqvist");
      const line = await slow(p, 1_500_000);
      await p.setInputFiles("[data-test=files]", [file("Bridge, sheet 1.pdf", 9_000_000), file("Notes.txt", 2_000),
        file("Photographs.zip", 14_000_000)].map((f) => f.at));
      await p.fill("[name=anonSender]", "Sam Stranger");
      await p.fill("[name=anonEmail]", `sam-${look}@example.com`);
      await p.selectOption('[name="field.kind"]', "Drawing");
      await unfold(p);
      await p.fill("[name=subject]", "Plans of the bridge");
      await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.15);
      await take(p, "upload");
      await line.free();
      await p.click(".details button[type=submit]");
      await p.waitForSelector(".receipt", { timeout: 30_000 });
      await take(p, "receipt");
      await p.emulateMedia({ media: "print", colorScheme: "light" });
      if (look === "light") await p.screenshot({ path: path.join(pictures, "receipt-print.png"), fullPage: true });
      await p.emulateMedia({ media: "screen", colorScheme: options.colorScheme });
      const { link } = await mail(w.mara.email, "/t/");
      await p.goto(link);
      await p.waitForSelector(".contents");
      await take(p, "transfer");
    });
    await test(`picture: a link that was made, ${look}`, async () => {
      const p = await opened(await signedIn(w.mara, still), "/send");
      await p.getByText("As a link").click();
      await p.setInputFiles("[data-test=files]", file("Tender.pdf", 40_000).at);
      await p.locator(".details button[type=submit]").click();
      await p.waitForSelector(".link-box", { timeout: 30_000 });
      await take(p, "send-done");
    });
  }
}
