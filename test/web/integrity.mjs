// Scripts whose bytes changed on their way, and scripts whose hash no page states, do not run.

import { base, equal, forgive, page, test, visitor } from "./kit.mjs";

/** Opens a page of which one script is sent with `change` made. Tells whether its content appears, and what the console says. */
async function withChanged(where, script, change) {
  const context = await visitor();
  const p = await context.newPage(), said = [];
  p.on("console", (message) => said.push(message.text()));
  let changed = 0;
  await p.route(`**/assets/*/${script}`, async (route) => {
    const response = await route.fetch();
    changed += 1;
    await route.fulfill({ response, body: change(await response.text()) });
  });
  await p.goto(base + where);
  const shown = await p.waitForFunction(() => !document.querySelector(".loading"), null, { timeout: 3000 }).then(() => true, () => false);
  equal(changed > 0, true, `${script} was asked for`);
  const refused = said.some((text) => /digest|integrity/i.test(text));
  await context.close();
  forgive(/digest|integrity/i);
  return { shown, refused };
}

const same = (text) => text, oneByte = (text) => text.replace(" ", "\t"); // means the same, has another hash

export async function integrityTests() {
  await test("integrity: one changed byte of a script is refused", async () => {
    for (const script of ["login.js", "ui.js", "thirdparty/preact.js"]) { // the page's own, an imported one, one that others import
      equal(await withChanged("/login", script, same), { shown: true, refused: false }, `/login with ${script}`);
      equal(await withChanged("/login", script, oneByte), { shown: false, refused: true }, `/login with another byte in ${script}`);
    }
  });

  await test("integrity: one changed byte of a script that is imported later is refused", async () => {
    for (const [change, outcome] of [[same, "runs"], [oneByte, "is refused"]]) {
      const p = await page(await visitor(), "/m/demo");
      await p.route("**/assets/*/mailboxform.js", async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: change(await response.text()) });
      });
      equal(await later(p, "mailboxform.js"), outcome, "mailboxform.js");
      forgive(/digest|integrity/i);
    }
  });

  await test("integrity: a script whose hash the page does not state is refused", async () => {
    const p = await page(await visitor(), "/login");
    equal(await later(p, "ui.js"), "runs", "a script of the page");
    equal(await later(p, "chart.js"), "is refused", "a script of another page");
    forgive(/integrity/i);
    const context = await visitor(), without = await context.newPage();
    await without.route("**/login", async (route) => { // without the header the policy of contents alone lets it run
      const response = await route.fetch(), headers = response.headers();
      delete headers["integrity-policy"];
      await route.fulfill({ response, headers });
    });
    await without.goto(`${base}/login`);
    equal(await later(without, "chart.js"), "runs", "without the Integrity-Policy");
  });
}

/** Imports a script of the pages in a page. */
const later = (p, name) => p.evaluate(async (file) => {
  const assets = document.querySelector("script[type=module]").src.replace(/(\/assets\/[^/]+\/).*/, "$1");
  return import(assets + file).then(() => "runs", () => "is refused");
}, name);
