// Plays the scenes of test/film.sh and keeps what Chromium shows: node scenes.mjs URL DATA_DIR FRAMES. Writes the pictures, list.txt (each
// with its duration, for ffmpeg's concat) and captions.txt (filters for ffmpeg).

import fs from "node:fs";
import path from "node:path";
import { browser, equal, file, finish, page, pictures as frames, settled, slow, visitor, work } from "../web/kit.mjs";
import { choose, receipt } from "../web/mailboxpage.mjs";

const bar = 72, size = { width: 1280, height: 720 - bar }; // the captions are below the page

/** @type {{at: number, name: string}[]} */
const shown = [];
/** @type {{caption: string, most: number, from: number, to: number}[]} */
const scenes = [];

/**
 * Plays a scene. It is on the screen for `most` seconds at most: what takes longer, on a busy machine, is shown faster.
 * @param {string} caption
 * @param {number} most
 * @param {() => Promise<unknown>} play
 */
async function scene(caption, most, play) {
  const from = Date.now() / 1000;
  await play();
  scenes.push({ caption, most, from, to: Date.now() / 1000 });
}

/** Time for people to read. @param {number} seconds */
const look = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** Writes what a person types. */
async function type(p, name, text) {
  await p.locator(`[name=${name}]`).pressSequentially(text, { delay: 45 });
}

/** Begins to keep each picture that the page draws. */
async function record(p) {
  const cdp = await p.context().newCDPSession(p);
  cdp.on("Page.screencastFrame", ({ data, metadata, sessionId }) => {
    const name = `${String(shown.length).padStart(5, "0")}.jpg`;
    fs.writeFileSync(path.join(frames, name), Buffer.from(data, "base64"));
    shown.push({ at: metadata.timestamp, name });
    cdp.send("Page.screencastFrameAck", { sessionId }).catch(() => {}); // the page may be closed
  });
  await cdp.send("Page.startScreencast", { format: "jpeg", quality: 92, maxWidth: size.width, maxHeight: size.height, everyNthFrame: 1 });
}

/** Writes the two files for ffmpeg. */
function cut() {
  const list = [], filters = [`scale=${size.width}:${size.height}`, `pad=${size.width}:${size.height + bar}:0:0:0x0b2f36`];
  let time = 0;
  for (const [i, { caption, most, from, to }] of scenes.entries()) {
    const speed = Math.min(1, most / (to - from)), begin = time;
    const before = shown.findLast(({ at }) => at <= from), within = shown.filter(({ at }) => at > from && at < to);
    const pictures = [...(before ? [{ ...before, at: from }] : []), ...within];
    for (const [n, { at, name }] of pictures.entries()) {
      const seconds = ((pictures[n + 1]?.at ?? to) - at) * speed;
      list.push(`file '${name}'`, `duration ${seconds.toFixed(4)}`);
      time += seconds;
    }
    fs.writeFileSync(path.join(frames, `caption${i}.txt`), caption);
    filters.push(`drawtext=font='DejaVu Sans':textfile='${path.join(frames, `caption${i}.txt`)}':fontsize=28:fontcolor=white`
      + `:x=(w-text_w)/2:y=h-${bar / 2}-th/2:enable='between(t,${begin.toFixed(2)},${(time - 0.04).toFixed(2)})'`);
  }
  list.push(list.at(-2)); // concat takes the last duration only when the picture comes again
  fs.writeFileSync(path.join(frames, "list.txt"), `${list.join("\n")}\n`);
  fs.writeFileSync(path.join(frames, "captions.txt"), filters.join(",\n"));
}

const sent = file("Plans of the bridge.zip", 40_000_000);
const p = await page(await visitor({ viewport: size }), "/m/demo");
/** @type {string[]} */
const ranges = [];
p.on("request", (r) => { if (r.method() === "PUT") ranges.push(r.headers()["content-range"] ?? ""); });
const line = await slow(p, 2_000_000);
await record(p);

await scene("A mailbox is a link. Sam, a stranger, opens it without an account.", 4, () => look(3.5));
await scene("Sam chooses a file of 40 MB. It is sent while Sam writes.", 8, async () => {
  await choose(p, [sent]);
  await p.waitForFunction(() => document.querySelector(".sum progress"));
  await type(p, "anonSender", "Sam Stranger");
  await type(p, "anonEmail", "sam@example.com");
  await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.4);
});
let before = 0;
await scene("The line drops.", 5, async () => {
  await line.cut();
  await p.getByText("The connection is interrupted").evaluate((e) => e.scrollIntoView({ block: "center", behavior: "smooth" }));
  before = ranges.length;
  await look(3);
});
await scene("The line is back: the upload goes on where it stopped.", 8, async () => {
  await line.mend();
  await p.waitForFunction(() => document.querySelector(".sum progress")?.value > 0.6);
  await line.free();
  await p.locator(".details button[type=submit]").click();
  equal(await receipt(p), { [sent.name]: sent.sum }, "the receipt");
});
const resumed = ranges.slice(before).filter((range) => range);
if (!resumed.length || resumed.some((range) => range.startsWith("bytes 0-"))) throw new Error(`did not go on where it stopped: ${ranges}`);

await scene("Delivered. The receipt names what arrived, byte for byte.", 5, async () => {
  await p.locator(".receipt").scrollIntoViewIfNeeded();
  await look(4);
});
const proof = path.join(work, "receipt.consign");
await scene("Its proof has the SHA-256 of each file. The server signs it, Sam keeps it.", 5, async () => {
  await p.getByRole("button", { name: "Proof" }).click();
  await look(2.5);
  const [saved] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "Signed receipt" }).click()]);
  await saved.saveAs(proof);
  await look(1);
});
await scene("Anybody checks receipt and file at /verify. Neither leaves the device.", 9, async () => {
  await p.goto(new URL("/verify", p.url()).href);
  await settled(p);
  await look(2);
  await p.setInputFiles("[data-test=files]", [proof, sent.at]);
  await p.locator("[data-verdict=genuine]").waitFor({ timeout: 60_000 });
  await p.locator("tr[data-state=ok]").waitFor({ timeout: 60_000 });
  await p.locator("[data-verdict=genuine]").scrollIntoViewIfNeeded();
  await look(4);
});
cut();
console.log(`${scenes.length} scenes, ${shown.length} pictures, went on at ${resumed[0]}`);
await browser.contexts().at(-1)?.close();
await finish();
