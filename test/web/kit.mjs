// Shared by the tests of the web client: browsers that collect errors of the pages, people with accounts, mails of the server.

import { execFileSync } from "node:child_process";
import { createHmac, createHash, randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { chromium, firefox } from "playwright-core";

const [, , base, data, pictures, only] = process.argv;
export { base, pictures };
export const work = fs.mkdtempSync(path.join(path.dirname(data), "web-"));
const demoText = fs.readFileSync(path.join(data, "demo.txt"), "utf8");
export const demo = { email: /^email: *(.*)$/m.exec(demoText)[1], password: /^password: *(.*)$/m.exec(demoText)[1] };

/** Whether the tests run in Debian's Firefox, by WebDriver BiDi. It has no CDP, no phones and no colour schemes to choose. */
export const inFirefox = process.env.BROWSER === "firefox";
export const browser = await (inFirefox
  ? firefox.launch({ channel: "moz-firefox", executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr" })
  : chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] }));

let complaints = [];
/** Removes the errors that a test has caused on purpose. @param {RegExp} expected */
export const forgive = (expected) => { complaints = complaints.filter((complaint) => !expected.test(complaint)); };

/**
 * What Firefox says of the driver, not of our pages: the style that hides the caret in pictures, and scripts of a page that is left while
 * they are loaded (47DEQ… is the hash of nothing).
 */
const driver = inFirefox ? /blocked an inline style \(style-src-elem\)|hash is “47DEQpj8HBSa|error loading dynamically imported/ : /^$/;

/**
 * Opens a browser context. Any error or warning of its pages fails the test unless the test calls forgive. `also`: an origin, or
 * several, besides the server's that it may request.
 */
export async function visitor({ also = base, ...options } = {}) {
  if (inFirefox) delete options.isMobile;
  const context = await browser.newContext({ locale: "en-US", timezoneId: "Europe/Berlin", viewport: { width: 1280, height: 860 },
    acceptDownloads: true, ...options });
  context.setDefaultTimeout(30_000);
  if (process.env.FRAMES) await lateFrames(context, Number(process.env.FRAMES));
  context.on("page", (page) => {
    page.on("pageerror", (error) => { if (!driver.test(error.message)) complaints.push(`${page.url()}: ${error.message}`); });
    page.on("console", (message) => {
      const text = message.text();
      const ours = ["error", "warning"].includes(message.type()) && !/Failed to load resource/.test(text) && !driver.test(text);
      if (ours) complaints.push(`${page.url()}: ${text}`);
    });
    page.on("request", (request) => {
      const ours = [base, also, "data:", "blob:"].flat().some((start) => request.url().startsWith(start));
      if (!ours && page.url().startsWith(base)) complaints.push(`${page.url()}: asks ${request.url()}`);
    });
  });
  return context;
}

export async function page(context, where) {
  const p = await context.newPage();
  await p.goto(base + where);
  await settled(p);
  return p;
}

/** Waits until a page has loaded its content, and no colour or place changes in steps any more. A spinner turns for ever. */
export async function settled(p) {
  await p.waitForFunction(() => !document.querySelector(".loading, [aria-busy=true]") && [...document.images].every((i) => i.complete)
    && !document.getAnimations().some((a) => a.playState === "running" && a.effect.getComputedTiming().endTime !== Infinity));
}

/**
 * Delays the frames of the pages of a context, so that what must be done before they are drawn is not done by accident. FRAMES does it for
 * all. @param {number} [late] milliseconds
 */
export async function lateFrames(context, late = 200) {
  await context.addInitScript((by) => {
    window.requestAnimationFrame = (f) => setTimeout(() => f(performance.now()), by);
    window.cancelAnimationFrame = clearTimeout;
  }, late);
  return context;
}

/** Chooses an action in the menu of an opened transfer. */
export async function more(p, name) {
  await p.getByRole("button", { name: "More", exact: true }).click();
  await p.getByRole("menuitem", { name, exact: true }).click();
}

/** Claims the unfinished upload of a person without an account, by the address that was typed then. */
export async function claim(p, address) {
  await p.fill("[name=claimed]", address);
  await p.getByRole("button", { name: "Yes, go on" }).click();
}

/** Opens the folded inputs of a form: message, options. */
export async function unfold(p) {
  await p.locator("details.more").first().waitFor();
  await p.locator("details.more").evaluateAll((all) => { for (const details of all) details.open = true; });
}

/**
 * Replaces what is in a field, as a person does it. Playwright's fill() appends in Firefox to fields of the types email and number, because
 * the driver loses their selection.
 */
export async function retype(field, text) {
  await field.press("ControlOrMeta+A");
  await field.pressSequentially(text);
}

let failed = 0;
/** Runs one test. A failure is printed, and the next test runs. */
export async function test(name, work_) {
  if (only && !new RegExp(only).test(name)) return;
  const began = Date.now();
  complaints.length = 0;
  try {
    await work_();
    if (complaints.length) throw new Error(complaints.join("\n"));
    console.log(`ok    ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n      ${String(error.stack ?? error).split("\n").slice(0, 8).join("\n      ")}`);
    const open = browser.contexts().flatMap((context) => context.pages());
    console.log(`      open: ${open.map((p) => p.url()).join(" ")}`);
    await open.at(-1)?.screenshot({ path: path.join(work, `failed-${failed}.png`), fullPage: true }).catch(() => {});
    if (process.env.KEEP) fs.cpSync(work, process.env.KEEP, { recursive: true });
  } finally {
    for (const context of browser.contexts()) await context.close();
  }
}

const album = [];
/** For `make demo-journeys`: keeps a picture of a page in a phone's window, with a sentence. Other runs keep none. */
export async function picture(p, name, sentence) {
  if (!process.env.JOURNEYS) return;
  const was = p.viewportSize();
  await p.setViewportSize({ width: 390, height: 800 });
  await settled(p);
  await p.screenshot({ path: path.join(pictures, `journey-${name}.png`), fullPage: true });
  await p.setViewportSize(was);
  album.push({ name, sentence });
}

/** Writes index.html with the pictures and their sentences. */
function bind() {
  const shown = album.map(({ name,
    sentence }) => `<figure><img src="journey-${name}.png" alt="" width="390"><figcaption>${sentence}</figcaption></figure>`);
  fs.writeFileSync(path.join(pictures, "index.html"), `<!doctype html><html lang="en"><meta charset="utf-8"><title>Journeys</title>
<style>body { font: 16px sans-serif; margin: 2em } figure { display: inline-block; vertical-align: top; width: 390px; margin: 1em } img { border: 1px solid #999 }</style>
<h1>Journeys</h1>${shown.join("\n")}</html>\n`);
}

export async function finish() {
  if (process.env.JOURNEYS) bind();
  await browser.close();
  fs.rmSync(work, { recursive: true, force: true });
  process.exit(failed ? 1 : 0);
}

export function equal(got, want, what) {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

// ---- files

/** Waits until the element with that text has the focus: pages move it after they have drawn. */
export const focused = (p, name) => p.waitForFunction((want) => document.activeElement?.textContent?.trim() === want, name,
  { polling: 50, timeout: 5000 });

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** A file of random bytes. */
export function file(name, size) {
  const bytes = randomBytes(size), at = path.join(work, name);
  fs.mkdirSync(path.dirname(at), { recursive: true });
  fs.writeFileSync(at, bytes);
  return { at, name: path.basename(name), size, sum: sha256(bytes) };
}

/** Limits the upload rate in bytes per second. In Firefox every part waits for as long as that rate takes. */
export async function slow(p, rate) {
  if (inFirefox) return slowParts(p, rate);
  const cdp = await p.context().newCDPSession(p);
  await cdp.send("Network.enable");
  const set = (offline, upload) => cdp.send("Network.emulateNetworkConditions",
    { offline, latency: 5, downloadThroughput: -1, uploadThroughput: upload });
  await set(false, rate);
  return { cut: () => set(true, rate), mend: () => set(false, rate), free: () => set(false, -1) };
}

async function slowParts(p, rate) {
  let cut = false, free = false;
  await p.route(/\/content$/, async (route) => {
    const [, from, to] = /bytes (\d+)-(\d+)/.exec(route.request().headers()["content-range"] ?? "") ?? [];
    if (!free && to) await new Promise((done) => setTimeout(done, 1000 * (to - from) / rate));
    await (cut ? route.abort() : route.continue()).catch(() => {}); // the page may be closed
  });
  return { cut: async () => { cut = true; }, mend: async () => { cut = false; }, free: async () => { free = true; } };
}

// ---- the API, for state that a test needs

const agent = await browser.newPage().then(async (p) => { const agent = await p.evaluate(() =>
  navigator.userAgent); await p.close(); return agent; });

/** Sends a request. Fails unless the status is 2xx or the expected one. */
export async function api(method, where, { token, json, bytes, type, expect } = {}) {
  const headers = { Accept: "application/json", "User-Agent": agent.replace("Headless", "") };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (json || type) headers["Content-Type"] = type ?? "application/json";
  if (type?.startsWith("image/")) headers.Accept = "image/jpeg, application/json";
  const response = await fetch(base + where, { method, headers, body: bytes ?? (json && JSON.stringify(json)) });
  const body = await response.json().catch(() => ({}));
  if (expect ? response.status !== expect : !response.ok) throw new Error(`${method} ${where}: ${response.status} ${JSON.stringify(body)}`);
  const location = response.headers.get("Location") ?? "";
  return { body, location, token: (response.headers.get("Authorization") ?? "").replace("Bearer ", "") };
}

/** Runs the consign command. */
export function consign(...args) {
  const env = { ...process.env, CONSIGN_PUBLIC_URL: base, CONSIGN_DATA_DIR: data };
  return execFileSync(path.resolve(import.meta.dirname, "../../bin/consign"), args, { env, encoding: "utf8", stdio: "pipe" });
}

const sessions = new Map();
/** Returns the ID token of a person. All tests share it, because the login rate limit stays on. */
export async function idToken({ email, password }) {
  if (!sessions.has(email)) sessions.set(email, (await api("POST", "/id/v3/auth/login",
    { json: { email, type: "bcrypt", key: password } })).body.token);
  return sessions.get(email);
}
/** Stores the ID token in an answer for a person. */
export const settle = (person, { token }) => { if (token) sessions.set(person.email, token); };
export const access = async (person) => (await api("POST", "/id/v3/auth/access", { token: await idToken(person) })).body.token;

/** Opens a browser in which a person is signed in until it is closed. */
export async function signedIn(person, options) {
  const context = await visitor(options), token = await idToken(person);
  const response = await context.request.post(`${base}/id/v3/auth/session`,
    { headers: { Authorization: `Bearer ${token}`, Origin: base, "Sec-Fetch-Site": "same-origin" }, data: { stay: false } });
  if (!response.ok()) throw new Error(`POST /auth/session: ${response.status()} ${await response.text()}`);
  const of = JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
  const organization = Object.entries(of).find(([claim]) => claim.endsWith("/org_id"))?.[1] ?? "";
  // as remember() in session.js
  const who = { uid: of.sub, email: of.email, organization, sid: of.sid, jti: of.jti, until: of.exp * 1000, stay: false };
  await context.addCookies([{ name: "who", value: encodeURIComponent(JSON.stringify(who)), url: base, sameSite: "Strict" }]);
  return context;
}

/** Returns the ID token in the session cookie of a page's browser, or "". */
export async function held(p) {
  const cookies = await p.context().cookies(p.url());
  return cookies.find((c) => c.name === "id")?.value.replace("stay~", "") ?? "";
}
/** Removes from a browser what ends when it is closed. */
export async function closeBrowser(context) {
  for (const p of context.pages()) await p.close();
  for (const c of await context.cookies()) if (c.expires === -1) await context.clearCookies({ name: c.name });
}

let people = 0;
/** Creates a person with a confirmed address through the API. */
export async function person(name, email = `${name.toLowerCase()}${++people}@example.com`) {
  const who = { email, password: "quiet-heron-17-lagoon", name };
  const { body } = await api("POST", "/id/v3/signup", { json: { address: who.email, password: who.password, name } });
  const { body: { token } } = await api("POST", "/id/v3/auth/access", { token: body.token });
  const key = (await mail(who.email, "/confirm/")).link.split("/").pop();
  const confirmed = await api("POST", `/id/v3/confirm/${key}`, { token });
  sessions.set(who.email, confirmed.token || body.token);
  return who;
}

// ---- mails

/** Waits for the newest mail to an address that contains a text. Returns its plain part and the link with that text. */
export async function mail(to, text, { after = 0 } = {}) {
  for (let i = 0; i < 100; i++) {
    const dir = path.join(data, "mail");
    const names = fs.existsSync(dir) ? fs.readdirSync(dir).filter((n) => n.endsWith(".eml")).sort().reverse() : [];
    for (const name of names) {
      const raw = fs.readFileSync(path.join(dir, name), "utf8");
      if (!raw.includes(to) || fs.statSync(path.join(dir, name)).mtimeMs < after) continue;
      const plain = raw.replace(/=\r?\n/g, "").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
      if (!new RegExp(`^To:.*${to.replace(/[.+]/g, "\\$&")}`, "m").test(plain)) continue;
      const link = new RegExp(`https?://[^\\s"<]*${text}[^\\s"<]*`).exec(plain)?.[0];
      if (plain.includes(text)) return { plain, link };
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no mail to ${to} with ${text}`);
}

// ---- codes (RFC 6238)

export function totp(secret, at = Date.now()) {
  const bits = [...secret.replace(/\s|=/g, "")].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0"))
    .join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const sum = createHmac("sha1", key).update(counter).digest();
  const from = sum[19] & 15;
  return String((sum.readUInt32BE(from) & 0x7fffffff) % 1e6).padStart(6, "0");
}
