// Devices: layout shifts in small windows, wrong clocks, blocked storage, proxies.

import { access, api, base, demo, equal, file, held, more, page, person, signedIn, test, visitor } from "./kit.mjs";

export async function devicesTests() {
  await test("no layout shifts while a page loads", async () => {
    const viewport = { width: 360, height: 740 };
    for (const [context, places] of [[await visitor({ viewport }), ["/", "/m/demo"]],
      [await signedIn(demo, { viewport }), ["/inbox", "/send", "/mailbox", "/account", "/account/security", "/account/devices",
        "/account/privacy"]]]) {
      await context.addInitScript(() => {
        window.shifted = [];
        new PerformanceObserver((list) => {
          for (const { value, sources } of list.getEntries()) window.shifted.push([value,
            ...sources.map((s) => `${s.node?.nodeName} ${s.node?.className ?? ""}`)]);
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

  await test("the start page opens a mailbox by name, and any pasted link", async () => {
    const { host } = new URL(base), elsewhere = base.replace("localhost", "127.0.0.1"); // organizations have hosts of their own
    const p = await page(await visitor({ also: elsewhere }), "/");
    for (const pasted of [" Demo/ ", `${base.toUpperCase()}/M/DEMO/`, `  ${host}/m/demo?from=mail#top`,
      `Leave them at <${base}/m/demo>.`]) {
      await p.goto(base);
      await p.getByLabel("Name of the mailbox").fill(pasted);
      await p.getByRole("button", { name: "Open" }).click();
      await p.getByRole("heading", { name: "Olivia Owner" }).waitFor({ timeout: 5000 })
        .catch(() => { throw new Error(`“${pasted}” leads to ${p.url()}`); });
    }
    for (const [pasted, path] of [[`${base}/G/Harbour/`, "/g/harbour"], [`${base}/t/AbC-_9`, "/t/AbC-_9"],
      ["https://example.com/what?", `/m/${encodeURIComponent("https://example.com/what?")}`]]) {
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
    for (const json of [{ anonEmail: "sam@example.com" }, { anonEmail: "pam@example.com" }, {}]) await api("POST",
      "/transfer/v2/public/mailbox/nora.box", { json });
    await api("POST", "/id/v3/auth/login", { json: { email: who.email, type: "bcrypt", key: who.password } });
    const context = await signedIn(who);
    for (const [where, word] of [["/mailbox", "Cancel"], ["/account/devices", "Sign out"]]) {
      const p = await page(context, where), buttons = p.locator("main").getByText(word, { exact: true });
      await buttons.first().waitFor();
      const names = await buttons.evaluateAll((all) => all.map((e) => e.ariaLabel || e.textContent));
      equal(names.length > 1, true, `several to end on ${where}`);
      for (const name of names) if (!/@|\d, .*:/.test(name)) throw new Error(`${where}: “${name}” does not say what it ends`);
    }
  });

  await test("a page has one primary button at most", async () => {
    const filled = (/** @type {import("playwright").Page} */ p) =>
      p.locator("main button.button:visible, main a.button:visible").evaluateAll((all) => {
      const mark = document.body.appendChild(document.createElement("i"));
      mark.style.color = "var(--accent)";
      const accent = getComputedStyle(mark).color;
      return all.filter((e) => getComputedStyle(e).backgroundColor === accent).map((e) => e.textContent.trim());
    });
    const own = ["/", "/inbox", "/send", "/mailbox", "/account", "/account/security", "/account/devices", "/account/privacy",
      ...["profile", "members", "mailboxes", "groups", "transfers", "settings", "security", "usage",
        "documents"].map((part) => `/organization#${part}`)];
    for (const [context, places] of [[await visitor(), ["/", "/m/demo", "/login", "/signup", "/reset", "/verify"]],
      [await signedIn(demo), own]]) {
      const p = await page(context, "/");
      for (const where of places) {
        await p.goto(base + where);
        if (where.includes("#")) await p.reload();
        await p.locator("main h1").first().waitFor();
        await p.waitForTimeout(500); // for its lists
        const names = await filled(p);
        if (names.length > 1) throw new Error(`${where}: ${names.join(", ")}`);
      }
    }
    const context = await signedIn(demo);
    for (const [where, name] of [["/account/security", "Change password"], ["/account", "Save"]]) {
      const p = await page(context, where);
      await p.getByRole("button", { name, exact: true }).focus();
      await p.waitForTimeout(250); // the transition of colours
      equal(await filled(p), [name], "the section with the focus");
    }
  });

  await test("a wrong clock does not end the session, and each access token is requested once per lifetime", async () => {
    const who = await person("Tick");
    for (const years of [-20, 20]) {
      const p = await (await visitor()).newPage();
      const asked = [];
      p.on("request", (r) => { if (r.url().endsWith("/auth/access")) asked.push(r.url()); });
      await p.clock.install({ time: Date.now() + years * 365 * 86400_000 });
      await p.goto(`${base}/login`);
      await p.fill("[name=email]", who.email);
      await p.fill("[name=password]", who.password);
      await p.locator("form [type=submit]").click();
      await p.waitForURL("**/inbox");
      await p.getByRole("tab", { name: "Sent" }).click();
      await p.getByText("You haven’t sent anything yet.").waitFor();
      equal(asked.length, 1, `tokens asked for, ${years} years off`);
      await p.clock.fastForward("11:00"); // the lifetime of an access token and one minute
      await p.getByRole("tab", { name: "Received" }).click();
      await p.getByText("Nothing has arrived yet.").waitFor();
      equal(asked.length, 2, `tokens asked for after it has ended, ${years} years off`);
      await p.close();
    }
  });

  await test("an access token that expired while the device slept is renewed, and an ended session leads to sign-in", async () => {
    const context = await signedIn(await person("Nap"));
    const p = await page(context, "/inbox"), q = await page(context, "/m/demo");
    const refuse = (token) => async (route) => (route.request().headers().authorization === token
      ? route.fulfill({ status: 401, json: { error: { code: 401903, message: "", details: [] } } }) : route.continue());
    let feed = "";
    await context.route("**/events", async (route) => { // the first token is rejected
      feed ||= route.request().headers().authorization;
      await refuse(feed)(route);
    });
    await p.reload();
    const again = p.waitForRequest((r) => r.url().endsWith("/events") && r.headers().authorization !== feed);
    await again;
    let first = "";
    await context.route("**/public/mailbox/demo", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      first ||= route.request().headers().authorization;
      return refuse(first)(route);
    });
    await q.setInputFiles("[data-test=files]", file("awake.txt", 10).at);
    await q.getByText("Arrived", { exact: true }).waitFor();
    equal(Boolean(await held(q)), true, "still signed in");
    await context.unroute("**/events");
    await api("POST", "/id/v3/auth/logout?jti=all", { token: await held(p) });
    await p.waitForURL("**/login?next=%2Finbox");
  });

  await test("a wrong password for a transfer is sent once, also when signed in", async () => {
    const token = await access(await person("Olga"));
    const { body, token: pass } = await api("POST", "/transfer/v2/reservations",
      { token, json: { recipients: [], ttl: 7, protection: "password", password: "opensesame-42" } });
    const at = `/transfer/v2/reservations/${body.uid}`;
    await api("POST", `${at}/objects`, { token: pass, json: { clientId: "a", name: "a.txt", intendedSize: 0 } });
    const { body: { link } } = await api("POST", `${at}/confirm`, { token: pass });
    const p = await page(await signedIn(await person("Rex")), new URL(link).pathname);
    let tries = 0;
    p.on("request", (r) => { tries += Number(r.url().endsWith("/access") && r.url().includes("/public/")); });
    await p.fill("[name=password]", "not this one");
    await p.getByRole("button", { name: "Open" }).click();
    await p.getByText("This password is not right.").waitFor();
    equal(tries, 1, "tries");
    equal(Boolean(await held(p)), true, "still signed in");
  });

  await test("a transfer that is revoked in one window is revoked in the sender's others", async () => {
    const who = await person("Wim"), token = await access(who);
    const { body, token: pass } = await api("POST", "/transfer/v2/reservations", { token, json: { recipients: [], ttl: 7 } });
    const at = `/transfer/v2/reservations/${body.uid}`;
    await api("POST", `${at}/objects`, { token: pass, json: { clientId: "a", name: "a.txt", intendedSize: 0 } });
    await api("POST", `${at}/confirm`, { token: pass });
    const context = await signedIn(who);
    const [p, q] = [await page(context, "/inbox"), await page(context, "/inbox")];
    for (const window of [p, q]) {
      await window.getByRole("tab", { name: "Sent" }).click();
      await window.locator(".entry .head").first().click();
    }
    await more(p, "Revoke");
    await p.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await q.getByText("The files are no longer there.").waitFor({ timeout: 10_000 });
    equal(await q.locator(".panel button").allTextContents(), ["Activity"], "what the other window offers");
  });

  await test("a browser without storage delivers files and opens links, and says why it cannot sign in", async () => {
    const token = await access(await person("Kip"));
    const { body, token: pass } = await api("POST", "/transfer/v2/reservations", { token, json: { recipients: [], ttl: 7 } });
    const at = `/transfer/v2/reservations/${body.uid}`;
    await api("POST", `${at}/objects`, { token: pass, json: { clientId: "a", name: "a.txt", intendedSize: 0 } });
    const { body: { link } } = await api("POST", `${at}/confirm`, { token: pass });
    const context = await visitor();
    await context.addInitScript(() => {
      const refuse = { get() { throw new DOMException("Access is denied for this document.", "SecurityError"); } };
      for (const name of ["sessionStorage", "localStorage"]) Object.defineProperty(window, name, refuse);
      IDBFactory.prototype.open = refuse.get;
      if (navigator.locks) navigator.locks.request = async () => refuse.get();
    });
    const p = await page(context, "/m/demo");
    await p.setInputFiles("[data-test=files]", file("private.txt", 10).at);
    await p.fill("[name=anonSender]", "Sam Stranger");
    await p.fill("[name=anonEmail]", "sam@example.com");
    await p.click(".details button[type=submit]");
    await p.waitForSelector(".receipt");
    await p.goto(link);
    await p.getByText("a.txt").waitFor();
    await p.goto(`${base}/inbox`);
    await p.getByText("Your browser does not let this page keep who is signed in.").waitFor();
  });

  await test("an expired upload stops its requests, says so, and keeps the form for the next one", async () => {
    const begin = async () => {
      const p = await page(await visitor(), "/m/demo");
      await p.setInputFiles("[data-test=files]", file("small.txt", 10).at);
      await p.fill("[name=anonSender]", "Sam Stranger");
      return p;
    };
    const over = (r) => r.fulfill({ status: 401, json: { error: { code: 401903, message: "", details: [] } } });
    let p = await page(await visitor(), "/m/demo"), asked = 0;
    await p.route("**/content", (r) => { asked++; return over(r); });
    await p.setInputFiles("[data-test=files]", file("late.txt", 10).at);
    await p.getByText("This upload can’t be finished anymore.").waitFor();
    await p.waitForTimeout(1000);
    if (asked > 5) throw new Error(`${asked} requests`);
    p = await begin();
    await p.getByText("Arrived", { exact: true }).waitFor();
    await p.fill("[name=anonEmail]", "sam@example.com");
    await p.route("**/confirm", over);
    await p.click(".details button[type=submit]");
    await p.getByText("This upload can’t be finished anymore.").waitFor();
    await p.getByRole("button", { name: "Start over" }).click();
    await p.setInputFiles("[data-test=files]", file("again.txt", 10).at);
    equal(await p.inputValue("[name=anonSender]"), "Sam Stranger", "what was typed");
  });

  await test("chosen files are kept when the reservation fails", async () => {
    const p = await page(await visitor(), "/m/demo");
    const away = [(r) => r.abort(), (r) => r.fulfill({ status: 503, json: { error: { code: 503011, message: "", details: [] } } })];
    await p.route("**/public/mailbox/demo", (r) => (r.request().method() === "POST" && away.length ? away.shift()(r) : r.continue()));
    await p.setInputFiles("[data-test=files]", file("first.txt", 10).at);
    await p.getByText("The server could not be reached.").waitFor();
    await p.setInputFiles("[data-test=files]", file("second.txt", 10).at);
    await p.getByText("The service is down for maintenance").waitFor();
    await p.getByRole("button", { name: "Try again" }).click();
    await p.getByText("Arrived", { exact: true }).nth(1).waitFor();
    equal(await p.locator(".item .name").evaluateAll((all) => all.map((e) => e.firstChild.textContent.trim())), ["first.txt", "second.txt"],
      "files");
  });

  await test("parts become smaller behind a proxy that answers 413", async () => {
    const p = await page(await visitor(), "/m/demo");
    let refused = 0;
    await p.route("**/content", (r) => {
      const [, from, to] = /bytes (\d+)-(\d+)/.exec(r.request().headers()["content-range"] ?? "") ?? [];
      if (to - from < 2 ** 20) return r.continue();
      refused++;
      return r.fulfill({ status: 413, contentType: "text/html", body: "<h1>413 Request Entity Too Large</h1>" });
    });
    await p.setInputFiles("[data-test=files]", [1, 2, 3, 4, 5].map((n) => file(`parts-${n}.bin`, 3_000_000).at));
    await p.getByText("Arrived", { exact: true }).nth(4).waitFor();
    if (!(refused > 0 && refused <= 5)) throw new Error(`${refused} refusals`);
  });

  await test("the inbox reloads when the network returns", async () => {
    const context = await signedIn(await person("Ona"));
    const p = await page(context, "/inbox");
    await context.setOffline(true);
    await p.getByRole("tab", { name: "Sent" }).click();
    await p.getByText("The server could not be reached.").waitFor();
    await context.setOffline(false);
    await p.getByText("You haven’t sent anything yet.").waitFor({ timeout: 10_000 });
  });
}
