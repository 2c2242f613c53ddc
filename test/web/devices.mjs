// What people's devices bring along: small windows that must not jump, clocks that are wrong, storage that is refused.

import { access, api, base, demo, equal, file, page, person, signedIn, test, visitor } from "./kit.mjs";

export async function devicesTests() {
  await test("nothing on a page jumps while it loads", async () => {
    const viewport = { width: 360, height: 740 };
    for (const [context, places] of [[await visitor({ viewport }), ["/", "/m/demo"]], [await signedIn(demo, { viewport }), ["/inbox", "/send", "/mailbox", "/account"]]]) {
      await context.addInitScript(() => {
        window.shifted = [];
        new PerformanceObserver((list) => {
          for (const { value, sources } of list.getEntries()) window.shifted.push([value, ...sources.map((s) => `${s.node?.nodeName} ${s.node?.className ?? ""}`)]);
        }).observe({ type: "layout-shift", buffered: true });
      });
      for (const where of places) {
        const p = await page(context, where);
        await p.waitForTimeout(200);
        const shifted = await p.evaluate(() => window.shifted);
        if (shifted.reduce((sum, [value]) => sum + value, 0) > 0.015) throw new Error(`${where}: ${JSON.stringify(shifted)}`);
        await p.close();
      }
    }
  });

  await test("the start page opens a mailbox by its name, and whatever link was pasted", async () => {
    const { host } = new URL(base), elsewhere = base.replace("localhost", "127.0.0.1"); // organizations have hosts of their own
    const p = await page(await visitor({ also: elsewhere }), "/");
    for (const pasted of [" Demo/ ", `${base.toUpperCase()}/M/DEMO/`, `  ${host}/m/demo?from=mail#top`, `Leave them at <${base}/m/demo>.`]) {
      await p.goto(base);
      await p.getByLabel("Name of the mailbox").fill(pasted);
      await p.getByRole("button", { name: "Open" }).click();
      await p.getByRole("heading", { name: "Olivia Owner" }).waitFor({ timeout: 5000 }).catch(() => { throw new Error(`“${pasted}” leads to ${p.url()}`); });
    }
    for (const [pasted, path] of [[`${base}/G/Harbour/`, "/g/harbour"], [`${base}/t/AbC-_9`, "/t/AbC-_9"], ["https://example.com/what?", `/m/${encodeURIComponent("https://example.com/what?")}`]]) {
      await p.goto(base);
      await p.getByLabel("Name of the mailbox").fill(pasted);
      await p.getByRole("button", { name: "Open" }).click();
      await p.waitForURL(base + path, { timeout: 5000 });
    }
    await p.goto(base);
    await p.getByLabel("Name of the mailbox").fill(`${elsewhere}/m/demo`);
    await p.getByRole("button", { name: "Open" }).click();
    await p.waitForURL(`${elsewhere}/m/demo`, { timeout: 5000 });
  });

  await test("buttons that end something say what", async () => {
    const who = await person("Nora"), token = await access(who);
    await api("PUT", "/transfer/v2/mailbox", { token, json: { vanityLink: "nora.box" } });
    for (const json of [{ anonEmail: "sam@example.com" }, { anonEmail: "pam@example.com" }, {}]) await api("POST", "/transfer/v2/public/mailbox/nora.box", { json });
    await api("POST", "/id/v3/auth/login", { json: { email: who.email, type: "bcrypt", key: who.password } });
    const context = await signedIn(who);
    for (const where of ["/mailbox", "/account"]) {
      const p = await page(context, where);
      await p.getByText("End", { exact: true }).first().waitFor();
      const names = await p.getByText("End", { exact: true }).evaluateAll((all) => all.map((e) => e.ariaLabel || e.textContent));
      equal(names.length > 1, true, `several to end on ${where}`);
      for (const name of names) if (!/@|\d, .*:/.test(name)) throw new Error(`${where}: “${name}” does not say what it ends`);
    }
  });
}
