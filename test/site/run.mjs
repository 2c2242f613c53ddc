// Judges the built documents site (test/site.sh): serves it on the loopback and opens each page in Chromium. At the end it judges a
// planted page that has one fault of each kind, and fails unless it finds them all.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const site = path.resolve(process.argv[2]);
const pictures = process.env.SITE_PICTURES;
const axe = fs.readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const git = (...args) => execFileSync("git", args, { encoding: "utf8" }).trim().split("\n");
const [, forge] = /^module (\S+)$/m.exec(fs.readFileSync("go.mod", "utf8"));

const planted = `<!doctype html><html lang="en"><title>Planted</title><main><h1 id="here">Planted</h1><img src="/missing.png">
  <a href="/nowhere.html">broken</a> <a href="#lost">lost</a> <a href="https://${forge}/blob/HEAD/none.go">none</a>
  <script src="https://third-party.test/a.js"></script><p style="width: 2000px">wide</p></main></html>`;
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png",
  ".woff2": "font/woff2" };
const server = http.createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://localhost");
  const file = path.join(site, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
  if (pathname === "/planted.html") return response.writeHead(200, { "Content-Type": "text/html" }).end(planted);
  if (!fs.existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": types[path.extname(file)] ?? "text/plain" }).end(fs.readFileSync(file));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const origin = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

let complaints = [];
const complain = (where, what) => complaints.push(`${where}: ${what}`);
const anchors = new Map(); // page → its ids
const links = []; // [page, href]

/** Opens a browser with a colour scheme, whose pages are refused what is not of this origin. */
async function visitor(colorScheme) {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 860 } });
  await context.route((url) => url.origin !== origin, (route) => {
    complain(route.request().frame().url(), `asks ${route.request().url()}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => complain(page.url(), error.message));
  page.on("response", (response) => { if (response.status() >= 400) complain(page.url(), `${response.status()} for ${response.url()}`); });
  await page.addInitScript(axe);
  return page;
}

/** Judges one page as it is shown; the first time, its links are noted. */
async function judge(page, where) {
  await page.goto(origin + where, { waitUntil: "networkidle" });
  await page.evaluate(() => document.fonts.ready);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, nodes } of violations) complain(where, `axe: ${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 200)}`);
  if (anchors.has(where)) return;
  const found = await page.evaluate(() => ({ ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
    hrefs: [...document.querySelectorAll("a[href]")].map((a) => a.href),
    broken: [...document.images].filter((i) => !i.naturalWidth).map((i) => i.src) }));
  anchors.set(where, found.ids);
  links.push(...[...new Set(found.hrefs)].map((href) => [where, href]));
  for (const image of found.broken) complain(where, `${image} is no picture`);
  await page.setViewportSize({ width: 360, height: 740 });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > 360) complain(where, `is ${width} pixels wide in a window of 360`);
  await page.setViewportSize({ width: 1280, height: 860 });
}

/** Checks that each link leads to a page and an id in it, or to a file in git at the forge. */
function judgeLinks() {
  const files = new Set();
  for (let file of git("ls-files")) for (; file !== "."; file = path.dirname(file)) files.add(file);
  for (const [where, href] of links) {
    const { origin: host, pathname, hash } = new URL(href);
    if (host === origin) {
      const ids = anchors.get(pathname.replace(/index\.html$/, ""));
      if (!ids) complain(where, `links to ${pathname}, which is not there`);
      else if (hash && !ids.includes(decodeURIComponent(hash.slice(1)))) complain(where, `links to ${pathname}${hash}: no such heading`);
    } else if (href.startsWith(`https://${forge}/`)) {
      const [, file] = /\/(?:blob|tree)\/[^/]+\/(.+)$/.exec(pathname) ?? [, pathname];
      if (!files.has(file)) complain(where, `links to ${file} at the forge, which is not in git`);
    }
  }
}

/** Checks that the search finds a word of a page and leads there. */
async function judgeSearch(page, word, where) {
  await page.goto(`${origin}/`, { waitUntil: "networkidle" });
  await page.keyboard.press("ControlOrMeta+k");
  await page.getByRole("searchbox").fill(word);
  const result = page.locator(`#localsearch-list a[href^="${where}"]`).first();
  await result.waitFor({ timeout: 15_000 }).catch(() => complain("search", `does not find ${word} in ${where}`));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, nodes } of violations) complain("search", `axe: ${id}: ${nodes[0].html.slice(0, 200)}`);
  await result.click({ timeout: 5_000 }).catch(() => complain("search", "its result cannot be clicked"));
  await page.waitForURL(`${origin}${where}**`, { timeout: 15_000 }).catch(() => complain("search", `leads to ${page.url()}`));
}

const pages = fs.readdirSync(site, { recursive: true }).filter((file) => file.endsWith(".html") && file !== "404.html")
  .map((file) => `/${file.replace(/^index\.html$/, "")}`).sort();
const documents = git("ls-files", "*.md", ":!.*", ":!changes", ":!internal");
for (const file of documents) {
  const where = file === "README.md" ? "/" : `/${file.replace(/\.md$/, ".html")}`;
  if (!pages.includes(where)) complain(file, "is not in the site");
}
if (pages.length !== documents.length) complain("site", `has ${pages.length} pages for ${documents.length} documents`);

for (const scheme of ["light", "dark"]) {
  const page = await visitor(scheme);
  for (const where of pages) await judge(page, where);
  await judgeSearch(page, "porcupine", "/CONTRIBUTING.html");
  if (pictures) {
    await page.goto(`${origin}/docs/use/receipts.html`, { waitUntil: "networkidle" });
    await page.screenshot({ path: path.join(pictures, `site-${scheme}.png`) });
  }
  if (pictures && scheme === "light") {
    await page.setViewportSize({ width: 390, height: 800 });
    await page.reload({ waitUntil: "networkidle" });
    await page.screenshot({ path: path.join(pictures, "site-narrow.png") });
  }
  await page.context().close();
}
judgeLinks();
const reached = new Set(links.filter(([where]) => where === "/").map(([, href]) => new URL(href).pathname));
for (const where of pages) if (!reached.has(where) && where !== "/") complain(where, "is not in the sidebar");

const faults = complaints;
complaints = [];
links.length = 0;
await judge(await visitor("light"), "/planted.html");
judgeLinks();
for (const kind of [/axe: image-alt/, /asks https:\/\/third-party/, /404 for/, /is no picture/, /pixels wide/, /#lost: no such heading/,
  /nowhere\.html, which is not there/, /none\.go at the forge/]) {
  if (!complaints.some((complaint) => kind.test(complaint))) faults.push(`the fault ${kind} of the planted page was not found`);
}
await browser.close();
server.close();
for (const fault of faults) console.log(`FAIL  ${fault}`);
if (faults.length) process.exit(1);
console.log(`ok    ${pages.length} pages, light and dark`);
