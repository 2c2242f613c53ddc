// Looks at every mail in Chromium, light and dark, at the widths of a window and of a phone. Fails when a mail loads anything from
// elsewhere, is wider than its window, has a picture without alt, or a finding of axe-core, such as too little contrast.
// node test/mails.mjs DIRECTORY PICTURES: what TestWriteMails wrote, and where the pictures go.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const require = createRequire(new URL("web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [, , written, pictures] = process.argv;
fs.mkdirSync(pictures, { recursive: true });

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const problems = [];

/** Returns the HTML of a mail with its picture in place, as mail programs show it. */
function shown(name) {
  const html = fs.readFileSync(path.join(written, `${name}.html`), "utf8");
  const kind = ["png", "jpeg"].find((ending) => fs.existsSync(path.join(written, `${name}.${ending}`)));
  const picture = fs.readFileSync(path.join(written, `${name}.${kind}`)).toString("base64");
  return html.replaceAll("cid:picture", `data:image/${kind};base64,${picture}`);
}

async function look(context, name, mode, width) {
  const page = await context.newPage();
  const complain = (what) => problems.push(`${name} ${mode} ${width}: ${what}`);
  page.on("request", (request) => { if (!/^(data:|about:)/.test(request.url())) complain(`loads ${request.url()}`); });
  await page.setContent(shown(name));
  const { wide, unnamed, broken } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth > innerWidth,
    unnamed: [...document.images].filter((image) => !image.hasAttribute("alt")).length,
    broken: [...document.images].filter((image) => !image.naturalWidth).length,
  }));
  if (wide) complain("wider than its window");
  if (unnamed) complain("a picture without alt");
  if (broken) complain("a picture that is not embedded");
  await page.evaluate(axe);
  // A mail is part of a page of the mail program, which has the landmarks.
  const { violations } = await page.evaluate(() =>
    window.axe.run({ rules: { region: { enabled: false }, "landmark-one-main": { enabled: false } } }));
  for (const v of violations) complain(`${v.id}: ${v.nodes[0].html.slice(0, 150)} ${v.nodes[0].failureSummary.split("\n")[1] ?? ""}`);
  await page.screenshot({ path: path.join(pictures, `${name}-${mode}-${width}.png`), fullPage: true });
  await page.close();
}

const names = fs.readdirSync(written).filter((file) => file.endsWith(".html")).map((file) => file.slice(0, -5));
for (const mode of ["light", "dark"]) {
  for (const width of [600, 390]) {
    const context = await browser.newContext({ colorScheme: mode, viewport: { width, height: 800 } });
    for (const name of names) await look(context, name, mode, width);
    await context.close();
  }
}
await browser.close();
for (const problem of problems) console.log(`FAIL  ${problem}`);
if (!names.length || problems.length) process.exit(1);
console.log(`ok    ${names.length} mails, light and dark, 600 and 390 pixels wide; pictures in ${pictures}`);
