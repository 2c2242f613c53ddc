// Files in parts at once, which the upload pages send on long lines.

import fs from "node:fs";
import net from "node:net";
import { access, api, base, claim, equal, file, page, person, test, visitor } from "./kit.mjs";
import { choose, fill, receipt } from "./mailboxpage.mjs";

const MiB = 1024 * 1024, part = 16 * MiB;

/**
 * A line between browsers and the server, as a proxy: a byte takes `delay` milliseconds in each direction, and each connection carries
 * `rate` bytes a second. `cut` breaks all connections.
 */
async function longLine({ delay, rate }) {
  const open = new Set();
  const server = net.createServer((near) => {
    const far = net.connect(Number(new URL(base).port), "127.0.0.1");
    for (const [from, to] of [[near, far], [far, near]]) {
      open.add(from);
      from.on("error", () => {}).on("close", () => open.delete(from));
      carry(from, to, delay, rate);
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => open.forEach((socket) => socket.destroy());
  return { proxy: { server: `http://127.0.0.1:${server.address().port}` }, cut, close: () => { server.close(); cut(); } };
}

/** Passes bytes on, later. The sender waits when as much as the line holds is under way. */
function carry(from, to, delay, rate) {
  const queue = [], most = (rate * delay) / 1000 + 256 * 1024;
  let free = 0, underWay = 0, timer;
  const pass = () => {
    timer = undefined;
    for (; queue.length && queue[0].at <= Date.now(); queue.shift()) {
      const { chunk } = queue[0];
      if (!chunk) to.end();
      else if (!to.destroyed) to.write(chunk);
      underWay -= chunk?.length ?? 0;
    }
    if (queue.length) timer = setTimeout(pass, queue[0].at - Date.now());
    if (underWay < most) from.resume();
  };
  const later = (at, chunk) => {
    queue.push({ at, chunk });
    timer ??= setTimeout(pass, queue[0].at - Date.now());
  };
  from.on("data", (chunk) => {
    free = Math.max(free, Date.now()) + (chunk.length / rate) * 1000;
    underWay += chunk.length;
    if (underWay >= most) from.pause();
    later(free + delay, chunk);
  });
  from.on("close", () => later(Math.max(free, Date.now()) + delay)); // after what is under way
}

/** Runs a test on a long line. */
async function onLine(line, work) {
  const the = await longLine(line);
  try {
    await work(the);
  } finally {
    the.close();
  }
}

/** Notes the requests of a page that have content: the most of them at once, the parts, and the bytes of parts that the server has held. */
function watch(p) {
  const seen = { parts: [], stream: 0, most: 0, plans: 0, held: 0 }, open = new Map();
  p.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith("/parts")) seen.plans++;
    if (request.method() !== "PUT") return;
    const [, number] = /\/parts\/(\d+)$/.exec(request.url()) ?? [], [, from,
      to] = /bytes (\d+)-(\d+)/.exec(request.headers()["content-range"]) ?? [];
    if (number) seen.parts.push({ number: Number(number), from: Number(from), bytes: to - from + 1 });
    else seen.stream++;
    open.set(request, number ? to - from + 1 : 0);
    seen.most = Math.max(seen.most, open.size);
  });
  p.on("response", (response) => { if (response.ok()) seen.held += open.get(response.request()) ?? 0; });
  for (const end of ["requestfinished", "requestfailed"]) p.on(end, (request) => open.delete(request));
  return seen;
}

const share = (p, least) => p.waitForFunction((wanted) => document.querySelector(".sum progress")?.value > wanted, least,
  { timeout: 60_000 });
/** Waits until a condition of the test is true. */
async function until(p, condition) {
  for (let tries = 600; !condition(); tries--) {
    if (!tries) throw new Error(`not within a minute: ${condition}`);
    await p.waitForTimeout(100);
  }
}
const deliver = (p) => p.click(".details button[type=submit]");
const uploaded = (p) => p.getByText("Uploaded, not delivered yet").first().waitFor({ timeout: 90_000 });

/** Makes a page's server answer requests for plans as one that takes no parts. */
const refuseParts = (context, status, code) => context.addInitScript(([withStatus, withCode]) => {
  const real = window.fetch;
  window.fetch = (url, options) => (String(url).endsWith("/parts")
    ? Promise.resolve(Response.json({ error: { code: options.method === "POST" ? withCode : 404001, message: "", details: [] } },
      { status: options.method === "POST" ? withStatus : 404 }))
    : real(url, options));
}, [status, code]);

export async function partsTests() {
  await test("parts: a long line carries a large file in parts, faster than one stream",
    () => onLine({ delay: 60, rate: 4_000_000 }, async ({ proxy }) => {
    const big = file("long.bin", 5 * part), took = {};
    for (const way of ["parts", "stream"]) {
      const context = await visitor({ proxy });
      if (way === "stream") await refuseParts(context, 409, 409023);
      const p = await page(context, "/m/demo"), seen = watch(p);
      await p.reload(); // scripts come from the cache
      const began = Date.now();
      await choose(p, [big]);
      await uploaded(p);
      took[way] = (Date.now() - began) / 1000;
      await fill(p);
      await deliver(p);
      equal(await receipt(p), { [big.name]: big.sum }, `receipt of ${way}`);
      equal(way === "parts" ? [seen.stream, seen.most > 3] : [seen.parts.length, seen.most < 3], [0, true], `requests of ${way}`);
      await context.close();
    }
    const ratio = took.stream / took.parts;
    console.log(`      ${big.size / MiB} MiB, 120 ms, 4 MB/s a connection: one stream ${took.stream.toFixed(1)} s, parts ${took.parts.toFixed(1)} s, ${ratio.toFixed(1)} times as fast`);
    if (ratio < 2) throw new Error("parts are not twice as fast");
  }));

  await test("parts: a short line carries large files in one stream, also under load", async () => {
    const p = await page(await visitor(), "/m/demo"), seen = watch(p);
    const files = [1, 2, 3].map((n) => file(`short-${n}.bin`, 65 * MiB));
    await choose(p, files.slice(0, 2));
    await share(p, 0.1);
    await choose(p, files.slice(2));
    await fill(p);
    await deliver(p);
    equal(await receipt(p), Object.fromEntries(files.map((f) => [f.name, f.sum])), "receipt");
    equal([seen.plans, seen.parts], [0, []], "parts");
  });

  await test("parts: an upload goes on after a cut, and after the page was closed",
    () => onLine({ delay: 30, rate: 4_000_000 }, async ({ proxy, cut }) => {
    const context = await visitor({ proxy }), big = file("cut.bin", 8 * part); // four at once on this line
    let p = await page(context, "/m/demo"), seen = watch(p);
    await choose(p, [big]);
    await p.fill("[name=anonEmail]", "sam@example.com");
    await until(p, () => seen.held > big.size * 0.04);
    cut();
    await until(p, () => seen.held > big.size * 0.4);
    const before = seen.held;
    await p.close();
    p = await page(context, "/m/demo");
    seen = watch(p);
    await claim(p, "sam@example.com");
    const text = await p.locator(".notice.info", { hasText: "You have an upload here that is not finished." }).textContent();
    const [, arrived] = /, ([\d.]+)\sMB of/.exec(text) ?? [];
    if (!(arrived * 1e6 > before - 100_000)) throw new Error(`what is told: ${text}`);
    await choose(p, [big]);
    await fill(p);
    await deliver(p);
    equal(await receipt(p), { [big.name]: big.sum }, "receipt");
    const sent = seen.parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const rounded = 600_000; // of the megabytes that are told
    if (!sent || sent > big.size - arrived * 1e6 + rounded)
      throw new Error(`${arrived} MB had arrived, and ${sent} bytes were sent: ${JSON.stringify(seen.parts)}`);
  }));

  await test("parts: pause, resume and remove, beside another tab", () => onLine({ delay: 30, rate: 2_000_000 }, async ({ proxy }) => {
    const context = await visitor({ proxy }), p = await page(context, "/m/demo"), seen = watch(p);
    const big = file("held.bin", 65 * MiB), other = file("dropped.bin", 65 * MiB);
    await choose(p, [big, other]);
    await share(p, 0.1);
    const q = await page(context, "/m/demo");
    equal(await q.getByText("You have an upload here").count(), 0, "offered to the other tab");
    await p.getByRole("button", { name: "Remove dropped.bin" }).click();
    await p.getByRole("button", { name: "Pause held.bin" }).click();
    const paused = await p.getByText(/^Paused at/).textContent(), sent = seen.parts.length;
    await p.waitForTimeout(1000);
    equal([await p.getByText(/^Paused at/).textContent(), seen.parts.length], [paused, sent], "while it is paused");
    await p.getByRole("button", { name: "Resume held.bin" }).click();
    await fill(p);
    await deliver(p);
    equal(await receipt(p), { [big.name]: big.sum }, "receipt");
    equal([seen.stream, seen.most <= 5], [0, true], "requests");
  }));

  await test("parts: more are sent at once while that helps, beside a small file",
    () => onLine({ delay: 15, rate: 2_000_000 }, async ({ proxy }) => {
    const p = await page(await visitor({ proxy }), "/m/demo"), seen = watch(p), files = [file("more.bin", 10 * part),
      file("small.bin", 100_000)];
    await choose(p, files);
    await until(p, () => seen.held > 0);
    if (seen.most > 5) throw new Error(`${seen.most} requests at once at the beginning`);
    await until(p, () => seen.most > 4); // requests are told some milliseconds after they have ended, so four may be three
    await fill(p);
    await deliver(p);
    equal(await receipt(p), Object.fromEntries(files.map((f) => [f.name, f.sum])), "receipt");
    equal([seen.parts.length > 10, seen.most < 8], [true, true], `requests, ${seen.most} at once`);
  }));

  await test("parts: a server without parts, and a page that cannot load the script, send one stream",
    () => onLine({ delay: 30, rate: 30_000_000 }, async ({ proxy }) => {
    for (const spoil of [(context) => refuseParts(context, 404, 404001),
      (context) => context.route(/\/parts\.js$/, (route) => route.abort())]) {
      const context = await visitor({ proxy }), big = file("older.bin", 65 * MiB);
      await spoil(context);
      const p = await page(context, "/m/demo"), seen = watch(p);
      await choose(p, [big]);
      await fill(p);
      await deliver(p);
      equal(await receipt(p), { [big.name]: big.sum }, "receipt");
      equal([seen.parts, seen.stream > 0], [[], true], "requests");
    }
  }));

  await test("parts: requests become smaller behind a proxy that answers 413, and a failing part is repeated",
    () => onLine({ delay: 30, rate: 30_000_000 }, async ({ proxy }) => {
    const p = await page(await visitor({ proxy }), "/m/demo"), seen = watch(p), big = file("limited.bin", 65 * MiB);
    let failures = 0;
    await p.route(/\/parts\/\d+$/, (route) => {
      const [, from, to] = /bytes (\d+)-(\d+)/.exec(route.request().headers()["content-range"]);
      if (to - from >= 3 * MiB) return route.fulfill({ status: 413, body: "too large" });
      if (/\/2$/.test(route.request().url()) && failures++ < 2) return failures > 1 ? route.abort()
        : route.fulfill({ status: 502, body: "" });
      return route.continue();
    });
    await choose(p, [big]);
    await fill(p);
    await deliver(p);
    equal(await receipt(p), { [big.name]: big.sum }, "receipt");
    equal([seen.stream, failures > 2], [0, true], "requests");
  }));

  await test("parts: the page waits while the server joins them, and says so",
    () => onLine({ delay: 30, rate: 30_000_000 }, async ({ proxy }) => {
    const context = await visitor({ proxy }), p = await page(context, "/m/demo"), big = file("joined.bin", 65 * MiB);
    const sentence = "All parts have arrived. The server is putting the file together, which can take a moment.";
    await p.evaluate(() => { // as if joining took longer: page.route would change the times that the page measures
      const real = window.fetch;
      window.looks = 0;
      window.fetch = async (url, options) => {
        const answer = await real(url, options);
        if (!String(url).endsWith("/parts") || !answer.ok) return answer;
        const { sha256, ...plan } = await answer.json();
        return Response.json(sha256 && window.looks++ > 1 ? { ...plan, sha256 } : plan);
      };
    });
    await choose(p, [big]);
    await p.locator(".item .state", { hasText: sentence }).waitFor();
    await uploaded(p);
    equal([await p.getByText(sentence).count(), await p.evaluate(() => window.looks)], [0, 3],
      "told when it is joined, and answers until then");
    let confirms = 0;
    await p.route(/\/confirm$/, (route) => (confirms++ < 2
      ? route.fulfill({ status: 409, headers: { "Retry-After": "1" }, json: { error: { code: 409022, message: "", details: [] } } })
        : route.continue()));
    await fill(p);
    await deliver(p);
    await p.locator(".notice", { hasText: sentence }).waitFor();
    equal(await receipt(p), { [big.name]: big.sum }, "receipt");
    equal(confirms, 3, "confirms");
  }));

  await test("parts: a cancelled reservation and a refused file end as in one stream",
    () => onLine({ delay: 30, rate: 3_000_000 }, async ({ proxy }) => {
    const p = await page(await visitor({ proxy }), "/m/demo");
    let object;
    p.on("request", (request) => { if (/\/parts\/\d+$/.test(request.url())) object = request; });
    await choose(p, [file("ended.bin", 65 * MiB)]);
    await share(p, 0.1);
    await api("DELETE", new URL(object.url()).pathname.replace(/\/objects\/.*/, ""),
      { token: object.headers().authorization.replace("Bearer ", "") });
    await p.getByText("This upload can’t be finished anymore.").waitFor();
    const pia = await person("Pia");
    await api("PUT", "/transfer/v2/mailbox", { token: await access(pia),
      json: { vanityLink: "pia.texts", mimeTypeFilter: ["application/pdf", "text/plain"] } });
    const q = await page(await visitor({ proxy }), "/m/pia.texts"), small = file("kept.txt", 3);
    fs.writeFileSync(small.at, "abc");
    const wrong = file("wrong.pdf", 65 * MiB);
    fs.writeSync(fs.openSync(wrong.at, "r+"), "\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0>\0");
    await choose(q, [wrong, small]);
    await q.locator(".item.failed .state", { hasText: "This mailbox doesn’t accept this file type." }).waitFor();
    await fill(q);
    await deliver(q);
    equal(Object.keys(await receipt(q)), [small.name], "delivered");
  }));
}
