// Previews of PDFs, which a worker reads and draws.

import { deflateSync } from "node:zlib";
import { equal, mail, page, test, visitor } from "./kit.mjs";
import { arrive, owner } from "./inbox.mjs";

/** An object with content. @param {[string, string]} of its dictionary and stream */
function stream([dictionary, text]) {
  const bytes = deflateSync(text);
  return Buffer.concat([Buffer.from(`<<${dictionary}/Filter/FlateDecode/Length ${bytes.length}>>stream\n`), bytes,
    Buffer.from("\nendstream")]);
}

/**
 * A PDF of one page of 600 by 400 points. `more`: objects from number 6.
 * @param {string} drawing @param {[string, string][]} more [dictionary, stream]
 */
const document_ = (drawing, more = []) => assembled(
  ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 400]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/ExtGState<</Half<</SMask<</S/Luminosity/G 6 0 R>>>>>>>>>>",
    stream(["", drawing]), "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>", ...more.map(stream)]);

/** A PDF of pages of one colour each. @param {string[]} colours */
const coloured = (...colours) => assembled(["<</Type/Catalog/Pages 2 0 R>>",
  `<</Type/Pages/Kids[${colours.map((_, i) => `${2 * i + 3} 0 R`).join(" ")}]/Count ${colours.length}>>`,
  ...colours.flatMap((colour, i) => [`<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 400]/Contents ${2 * i + 4} 0 R/Resources<<>>>>`,
    stream(["", `${colour} rg 0 0 600 400 re f`])])]);

/** Returns a file of objects. @param {(string | Buffer)[]} objects from number 1 */
function assembled(objects) {
  let file = Buffer.from("%PDF-1.4\n"), table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  for (const [i, object] of objects.entries()) {
    table += `${String(file.length).padStart(10, "0")} 00000 n \n`;
    file = Buffer.concat([file, Buffer.from(`${i + 1} 0 obj\n`), Buffer.from(object), Buffer.from("\nendobj\n")]);
  }
  return Buffer.concat([file,
    Buffer.from(`${table}trailer\n<</Root 1 0 R/Size ${objects.length + 1}>>\nstartxref\n${file.length}\n%%EOF\n`)]);
}

const plan = document_("1 0 0 rg 0 0 300 400 re f 0 g BT /F 60 Tf 330 300 Td (Plan) Tj ET q /Half gs 0 0 1 rg 300 0 300 200 re f Q",
  [["/Type/XObject/Subtype/Form/BBox[0 0 600 400]/Group<</S/Transparency/CS/DeviceGray>>",
    "0.5 g 300 0 150 200 re f 1 g 450 0 150 200 re f"]]);
const hostile = document_(`[1 1] 0 d 9 w 0 0 m\n${Array.from({ length: 400_000 },
  (_, i) => `${i * 7919 % 600} ${i * 104_729 % 400} l`).join("\n")}\nS\n`);

/** Opens the link of a mail about a PDF, in a page that counts its workers. `adapt` prepares the page. */
async function opened(link, name, pdf, adapt = async (_) => {}) {
  const who = await owner(link, link);
  await arrive(link, [[name, pdf]], { subject: "A PDF" });
  const p = await (await visitor()).newPage();
  await p.addInitScript(() => {
    window.workers = { started: [], ended: 0 };
    window.Worker = class extends Worker {
      constructor(...how) { super(...how); window.workers.started.push(String(how[0])); }
      terminate() { window.workers.ended++; super.terminate(); }
    };
  });
  await adapt(p);
  await p.goto((await mail(who.email, "/t/")).link);
  await p.getByRole("button", { name: `Show ${name}` }).click();
  return p;
}

const ended = (p) => p.waitForFunction(() => window.workers.ended === 1 && window.workers.started.length === 1, null, { polling: 200 });

/** Waits for a time, and fails when the page stands still for longer than two seconds. */
async function answers(p, time) {
  for (const end = Date.now() + time; Date.now() < end;) {
    const asked = Date.now();
    await p.evaluate(() => 1);
    if (Date.now() - asked > 2000) throw new Error(`the page stood still for ${Date.now() - asked} ms`);
  }
}

export async function pdfTests() {
  await test("a PDF is drawn in a worker, which ends", async () => {
    const p = await opened("drawn", "plan.pdf", plan);
    await p.getByRole("img", { name: "Page 1 of plan.pdf" }).waitFor();
    await ended(p);
    equal((await p.evaluate(() => window.workers.started[0])).endsWith("/pdfpage.js"), true, "script of the worker");
    const seen = () => p.evaluate(() => {
      const from = document.querySelector(".stage canvas"), { width, height } = from,
        to = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
      to.drawImage(from, 0, 0);
      const near = ([x, y]) => [...to.getImageData(width * x, height * y, 1, 1).data].map((value) => Math.round(value / 16) * 16);
      const text = to.getImageData(width * 0.55, height * 0.1, width * 0.3, height * 0.2).data.filter((value,
        i) => i % 4 === 0 && value < 64).length;
      return { size: [width, height], colours: [[0.25, 0.5], [0.6, 0.75], [0.9, 0.75], [0.97, 0.1]].map(near), text: text > 1000 };
    });
    const want = { size: [1400, 934], colours: [[256, 0, 0, 256], [128, 128, 256, 256], [0, 0, 256, 256], [256, 256, 256, 256]],
      text: true };
    for (let i = 0; i < 50 && JSON.stringify(await seen()) !== JSON.stringify(want); i++) await p.waitForTimeout(100);
    equal(await seen(), want, "drawing: red, half of blue, blue, white");
  });

  await test("a PDF is read once, and its pages are turned", async () => {
    const reads = [];
    const p = await opened("turned", "three.pdf", coloured("1 0 0", "0 1 0", "0 0 1"),
      (fresh) => fresh.on("request", (request) => { if (/\/content\?/.test(request.url())) reads.push(request.url()); }));
    const turn = (name) => p.getByRole("button", { name });
    const shows = async (page, colour) => {
      await p.getByText(`Page ${page} of 3`, { exact: true }).waitFor();
      await p.getByRole("img", { name: `Page ${page} of three.pdf` }).waitFor();
      await p.waitForFunction((want) => {
        const from = document.querySelector(".stage canvas"), to = from && new OffscreenCanvas(from.width, from.height).getContext("2d");
        to?.drawImage(from, 0, 0);
        return String(to?.getImageData(from.width / 2, from.height / 2, 1, 1).data.slice(0, 3)) === want;
      }, colour);
    };
    await shows(1, "255,0,0");
    equal(await turn("Previous page").isDisabled(), true, "a page before the first");
    await turn("Following page").click();
    await shows(2, "0,255,0");
    await turn("Following page").click();
    await shows(3, "0,0,255");
    equal(await turn("Following page").isDisabled(), true, "a page after the last");
    await turn("Previous page").click();
    await shows(2, "0,255,0");
    equal(reads.length, 1, "reads of the file");
  });

  await test("a hostile PDF does not freeze the page", async () => {
    const p = await opened("patient", "slow.pdf", hostile);
    await answers(p, 4000);
    equal(await p.evaluate(() => window.workers), { started: [await p.evaluate(() => window.workers.started[0])], ended: 0 },
      "workers while it is drawn");
    await p.getByRole("button", { name: "Close" }).click();
    await ended(p);
    await answers(p, 1000);
  });

  await test("a PDF that is not drawn in time has no preview", async () => {
    const p = await opened("late", "slow.pdf", hostile, (fresh) => fresh.clock.install());
    await p.waitForFunction(() => window.workers.started.length === 1, null, { polling: 200 });
    await p.clock.fastForward(20_000);
    await p.getByText("No preview for this file.").waitFor();
    await ended(p);
  });

  await test("a browser whose workers cannot draw shows no PDF", async () => {
    const p = await opened("plain", "plan.pdf", plan, (fresh) => fresh.route("**/pdfpage.js", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: `${await response.text()}\ndelete globalThis.OffscreenCanvas;\n` });
    }));
    await p.getByText("No preview for this file.").waitFor();
    await ended(p);
  });
}
