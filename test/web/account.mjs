// Accounts: from the first sign-up to the second factor, by page and mail.

import fs from "node:fs";
import path from "node:path";
import { access, api, base, closeBrowser, demo, equal, held, lateFrames, mail, page, person, pictures, retype, settled, signedIn,
  test, totp, visitor } from "./kit.mjs";
import { judge } from "./looks.mjs";

const password = "violet-anchor-92-meadow";

export async function accountTests() {
  await test("sign up, confirm by the mailed link, set up a mailbox", async () => {
    const context = await visitor();
    const p = await page(context, "/signup");
    await p.fill("[name=name]", "Nora New");
    await p.fill("[name=address]", "nora@example.com");
    await p.fill("[name=password]", "password1234");
    await p.getByRole("button", { name: "Create an account" }).click();
    await p.getByText("too common").waitFor();
    equal(await p.locator("form .notice").count(), 0, "the refusal is said once, beside the field");
    await p.fill("[name=password]", password);
    await p.getByRole("button", { name: "Create an account" }).click();
    await p.getByText("We’ve sent an email to nora@example.com").waitFor();
    const { link } = await mail("nora@example.com", "/confirm/");
    const q = await page(context, new URL(link).pathname); // another tab, which has the same session
    await q.getByRole("button", { name: "Confirm the address" }).click();
    await q.getByText("Your email address is confirmed.").waitFor();
    await p.waitForURL("**/inbox"); // by itself
    const box = `${base}/m/nora.new`; // from the name
    for (const r of [p, q]) await r.getByRole("link", { name: box }).waitFor();
    const mailto = new URL(await p.getByRole("link", { name: "Share by email" }).getAttribute("href"));
    equal([mailto.protocol, mailto.searchParams.get("body").includes(`\r\n${box}\r\n`)], ["mailto:", true], "email with the link");
    await p.getByRole("button", { name: "QR code" }).click();
    await p.waitForFunction(() => document.querySelector(".qr-code img")?.naturalWidth > 0);
    const [code] = await Promise.all([p.waitForEvent("download"), p.getByRole("link", { name: "Download as SVG" }).click()]);
    equal([code.suggestedFilename(), fs.readFileSync(await code.path(), "utf8").includes("<svg")], ["nora.new.svg", true], "QR code");
    await p.getByRole("button", { name: "Add to a website" }).click();
    equal((await p.locator(".snippet").textContent()).startsWith(`<a href="${box}" style="background:#`), true, "HTML of the button");
    await (await page(await visitor(), "/m/nora.new")).getByRole("heading", { name: "Nora New" }).waitFor();
    await q.getByRole("link", { name: "Open your inbox" }).click();
    await q.waitForURL("**/inbox");
    await q.getByRole("link", { name: "Mailbox", exact: true }).click();
    await q.getByLabel("Name in the link").fill("nora");
    await q.getByRole("button", { name: "Add a question" }).click();
    await q.getByLabel("Question", { exact: true }).fill("Order number");
    await q.getByLabel("An answer is required").check(); // the empty preview does not block saving
    await q.locator(".beside-preview").getByLabel("Order number").waitFor();
    await q.getByRole("button", { name: "Save" }).click();
    await q.getByText(`${base}/m/nora`, { exact: true }).waitFor(); // saved
    const { body } = await api("GET", "/transfer/v2/public/mailbox/nora");
    equal(body.uiSchema.field1["ui:title"], "Order number", "question");
    const again = await page(context, new URL(link).pathname);
    await again.getByRole("button", { name: "Confirm the address" }).click();
    await again.locator(".notice.bad").waitFor(); // the key is consumed, or the rate limit is reached
  });

  await test("an inbox without a mailbox creates one, with a free link", async () => {
    for (const want of ["mia.moeller", "mia.moeller.2"]) {
      const who = await person("Mia Mœller", `${want.replace(/\W/g, "-")}@example.com`);
      const p = await page(await signedIn(who), "/inbox");
      await p.getByRole("button", { name: "Create my mailbox" }).click();
      await p.getByRole("link", { name: `${base}/m/${want}`, exact: true }).waitFor();
      await p.reload();
      await p.getByRole("link", { name: `${base}/m/${want}`, exact: true }).waitFor();
    }
  });

  await test("unsaved settings ask before the page is left", async () => {
    const p = await page(await signedIn(demo), "/account");
    const asked = () => p.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));
    equal(await asked(), false, "asked without a change");
    const name = await p.locator("[name=name]").inputValue();
    await p.fill("[name=name]", `${name} `);
    equal(await asked(), true, "asked after a change");
    await p.locator("form", { has: p.locator("[name=name]") }).getByRole("button", { name: "Save" }).click();
    await p.locator(".saved").waitFor();
    equal(await asked(), false, "asked after saving");
    await p.goto(`${base}/organization#settings`); // parts of one page
    await settled(p);
    await p.getByRole("link", { name: "Profile" }).click();
    const city = p.getByLabel("City");
    await city.fill("Bern");
    await p.getByRole("link", { name: "Members" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    equal([await city.inputValue(), new URL(p.url()).hash], ["Bern", "#profile"], "kept");
    await p.getByRole("link", { name: "Members" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
    await p.getByRole("heading", { name: "Invite" }).waitFor();
    equal([await asked(), new URL(p.url()).hash], [false, "#members"], "left");
  });

  await test("keyboard shortcuts: listed, never while typing, and switched off", async () => {
    const p = await page(await lateFrames(await signedIn(demo)), "/account");
    await p.getByRole("button", { name: "Keyboard shortcuts" }).waitFor(); // the script is there
    await p.keyboard.press("?");
    const list = p.getByRole("dialog", { name: "Keyboard shortcuts" });
    await list.getByText("Your mailbox").waitFor();
    await p.keyboard.press("n"); // not in a dialog
    await list.getByRole("button", { name: "Close" }).click();
    await p.locator("[name=name]").focus();
    await p.keyboard.press("?");
    equal([await list.count(), new URL(p.url()).pathname], [0, "/account"], "while typing");
    await p.goto(`${base}/inbox`);
    await settled(p);
    await p.getByRole("button", { name: "Keyboard shortcuts" }).waitFor();
    await p.keyboard.press("/");
    equal(await p.evaluate(() => document.activeElement?.getAttribute("type")), "search", "focus");
    await p.evaluate(() => /** @type {any} */ (document.activeElement).blur());
    await p.keyboard.press("g");
    await p.keyboard.press("m");
    await p.waitForURL("**/mailbox");
    await settled(p);
    await p.getByRole("button", { name: "Keyboard shortcuts" }).press("Enter");
    await list.getByLabel("Use keyboard shortcuts").uncheck();
    await list.getByRole("button", { name: "Close" }).click();
    await p.reload();
    await settled(p);
    await p.keyboard.press("?");
    await p.keyboard.press("n");
    equal([await list.count(), new URL(p.url()).pathname], [0, "/mailbox"], "switched off");
    await p.getByRole("button", { name: "Keyboard shortcuts" }).press("Enter");
    await list.getByLabel("Use keyboard shortcuts").check();
    await list.getByRole("button", { name: "Close" }).click();
    await p.keyboard.press("n");
    await p.waitForURL("**/send");
  });

  await test("a wrong password, and the page after signing in", async () => {
    const who = await person("Wendy");
    const p = await page(await visitor(), "/account");
    await p.waitForURL("**/login?next=%2Faccount");
    await p.fill("[name=email]", who.email);
    await p.fill("[name=password]", "not the password");
    await p.getByRole("button", { name: "Sign in", exact: true }).click();
    await p.getByText("don’t match").waitFor();
    await p.fill("[name=password]", who.password);
    await p.getByRole("button", { name: "Sign in", exact: true }).click();
    await p.waitForURL("**/account");
    const [id] = (await p.context().cookies()).filter((c) => c.name === "id");
    equal([id.httpOnly, id.sameSite, id.expires], [true, "Strict", -1], "session cookie");
    equal(await p.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie]).includes("eyJ")), false,
      "a token that scripts can read");
    await p.getByRole("button", { name: "Sign out", exact: true }).click();
    await p.waitForURL(`${base}/`);
  });

  await test("the page after signing in is a path of the same origin", async () => {
    const source = fs.readFileSync(new URL("../../internal/web/assets/next.js", import.meta.url), "utf8");
    const { localPath } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
    const origin = "https://consign.test";
    for (const path of ["/", "/inbox", "/m/%C3%BC?a=//b#//c", "/t/AbC-_9", "/account?next=https://evil.test/", "/a%2F%2Fb",
      "/%09/evil.test"]) equal(localPath(path, origin), path, "local");
    equal(localPath("/a/../inbox", origin), "/inbox", "dot segments");
    const evil = ["", "inbox", "evil.test", "//evil.test", "///evil.test", "/\\evil.test", "\\\\evil.test", "/\t/evil.test",
      "\t//evil.test", "/\n/evil.test", "/\r\n/evil.test", "/\u0000/evil.test",
      " //evil.test", "/ /evil.test", "/.//evil.test", "/..//evil.test", "/%2e//evil.test", "/a/..//evil.test",
        "//user:secret@consign.test/", "@evil.test/", ":80@evil.test", "/a//b", "/?\t",
      "javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "https://evil.test/", "https:evil.test", "https:/evil.test",
        "https://consign.test/inbox", "https://user:secret@consign.test/", "blob:https://consign.test/1"];
    for (const path of evil) equal(localPath(path, origin), "", JSON.stringify(path));
    const who = await person("Eve"), context = await signedIn(who);
    for (const next of ["/%09/127.0.0.1:1/", "/%5C127.0.0.1:1/", "javascript:document.title=1", "/.//127.0.0.1:1/"]) {
      const p = await page(context, `/login?next=${next}`);
      equal(await p.evaluate(() => import([...document.querySelectorAll("link[rel=modulepreload]")].find((l) => l.href.endsWith("/api.js"))
        .href).then((m) => m.afterSignIn())), "/inbox", next);
    }
    const p = await page(await visitor(), "/login?next=%2F%09%2F127.0.0.1%3A1%2F");
    await p.fill("[name=email]", who.email);
    await p.fill("[name=password]", who.password);
    await p.getByRole("button", { name: "Sign in", exact: true }).click();
    await p.waitForURL(`${base}/inbox`);
  });

  await test("stay signed in", async () => {
    const who = await person("Stella");
    const context = await visitor();
    const p = await page(context, "/login");
    await p.fill("[name=email]", who.email);
    await p.fill("[name=password]", who.password);
    await p.getByLabel("Stay signed in on this device").check();
    await p.getByRole("button", { name: "Sign in", exact: true }).click();
    await p.waitForURL("**/inbox");
    const [id] = (await context.cookies()).filter((c) => c.name === "id");
    equal(id.expires > Date.now() / 1000 + 29 * 86400, true, "life of the session cookie");
    await closeBrowser(context);
    const q = await page(context, "/account");
    await q.getByRole("heading", { name: "Your account" }).waitFor();
  });

  await test("reset the password", async () => {
    const who = await person("Rita");
    const p = await page(await visitor(), "/reset");
    await p.fill("[name=address]", who.email);
    await p.getByRole("button", { name: "Send the link" }).click();
    await p.getByText("sent an email with a link").waitFor();
    const { link } = await mail(who.email, "/reset/");
    const q = await page(await visitor(), new URL(link).pathname);
    await q.reload(); // opening the page does not consume the key
    await q.fill("[name=password]", password);
    await q.getByRole("button", { name: "Set password" }).click();
    await q.getByText("Your new password is set").waitFor();
    await api("POST", "/id/v3/auth/login", { json: { email: who.email, type: "bcrypt", key: password } });
    const again = await page(await visitor(), new URL(link).pathname);
    await again.fill("[name=password]", password);
    await again.getByRole("button", { name: "Set password" }).click();
    await again.getByText("This link is unknown, was already used, or has expired.").waitFor();
  });

  await test("second factor and recovery codes", async () => {
    const who = await person("Tara");
    const p = await page(await signedIn(who), "/account/security");
    await p.getByRole("button", { name: "Set up" }).click();
    await p.getByAltText("QR code for your authenticator app").waitFor();
    const key = await p.textContent(".qr .key");
    await p.fill("[name=code]", "000000");
    await p.getByRole("button", { name: "Turn on" }).click();
    await p.getByText("This code is not right").waitFor();
    await p.fill("[name=code]", totp(key, Date.now() - 30_000));
    await p.getByRole("button", { name: "Turn on" }).click();
    await p.getByText("The second factor is on.").first().waitFor();
    await p.getByRole("button", { name: "Create recovery codes" }).click();
    await p.waitForSelector(".codes code");
    const codes = await p.$$eval(".codes code", (all) => all.map((c) => c.textContent));
    equal(codes.length, 10, "codes");
    for (const [kind, code] of [["app", totp(key)], ["recovery", codes[3]]]) {
      const q = await page(await visitor(), "/login");
      await q.fill("[name=email]", who.email);
      await q.fill("[name=password]", who.password);
      await q.getByRole("button", { name: "Sign in", exact: true }).click();
      await q.fill("[name=code]", code);
      await q.getByRole("button", { name: "Continue" }).click();
      await q.waitForURL("**/inbox", { timeout: 10_000 }).catch(() => { throw new Error(`${kind} code was not taken`); });
      await q.waitForTimeout(kind === "app" ? 31_000 : 0); // the login bucket drains
    }
  });

  await test("profile, addresses, sessions, picture", async () => {
    const who = await person("Paula");
    const p = await page(await signedIn(who), "/account");
    await p.getByLabel("Name", { exact: true }).fill("Paula Porter");
    await p.getByRole("button", { name: "Save" }).first().click();
    await p.getByText("Saved").first().waitFor();
    const second = `second-${who.email}`;
    await p.getByLabel("Another address").fill(second);
    await p.getByRole("button", { name: "Add", exact: true }).click();
    await p.getByText("Not confirmed").waitFor();
    await p.getByRole("button", { name: `Remove ${second}` }).click();
    await p.getByText("Not confirmed").waitFor({ state: "detached" });
    const picture = await p.evaluate(async () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 400 });
      const context = canvas.getContext("2d");
      context.fillStyle = "teal";
      context.fillRect(0, 0, 640, 400);
      return canvas.toDataURL("image/png").split(",")[1];
    });
    await p.setInputFiles("[data-test=picture]", { name: "me.png", mimeType: "image/png", buffer: Buffer.from(picture, "base64") });
    await p.locator(".crop input[type=range]").first().fill("2");
    await p.locator(".crop").getByRole("button", { name: "Save" }).click();
    await p.waitForSelector(".picture .avatar img");
    const { body } = await api("GET", "/id/v3/profile", { token: await access(who) });
    equal([body.name, body.hasAvatar], ["Paula Porter", true], "profile");
    await p.getByRole("link", { name: "Sign-in and security" }).click();
    await p.getByLabel("Current password").fill("wrong one");
    await p.getByLabel("New password").fill(password);
    await p.getByRole("button", { name: "Change password" }).click();
    await p.getByText("This password is not right.").waitFor();
    await p.getByLabel("Current password").fill(who.password);
    await p.getByRole("button", { name: "Change password" }).click();
    await p.getByText("Your new password is set").waitFor();
    await p.getByRole("link", { name: "Devices and programs" }).click();
    await p.getByText("This device").waitFor();
    await p.getByText("Active now").waitFor();
    await p.getByRole("button", { name: "Sign out everywhere" }).click();
    await p.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
    await p.waitForURL(`${base}/`);
  });

  await test("the account has four pages with history, by keyboard and on a narrow phone, and old links lead to them", async () => {
    const who = await person("Frieda");
    const names = ["Profil", "Anmeldung und Sicherheit", "Geräte und Programme", "Daten und Aktivität"];
    const paths = ["/account", "/account/security", "/account/devices", "/account/privacy"];
    const narrow = await signedIn(who, { locale: "de-DE", viewport: { width: 320, height: 640 } });
    const p = await page(narrow, "/account");
    const here = () => p.locator(".parts [aria-current=page]").textContent();
    for (const [i, name] of names.entries()) {
      await p.locator(".parts").getByRole("link", { name }).press("Enter");
      await p.waitForURL(`${base}${paths[i]}`);
      await settled(p);
      await p.locator("main .card").first().waitFor();
      equal(await here(), name, "the page");
      await judge(p, `${paths[i]} in German at 320 px`);
      await p.screenshot({ path: path.join(pictures, `account-${i}-de-320.png`), fullPage: true });
    }
    await p.goBack();
    await p.waitForURL(`${base}/account/devices`);
    await p.goForward();
    await p.waitForURL(`${base}/account/privacy`);
    await p.getByText("Frieda hat das Konto angelegt").first().waitFor();
    for (const part of ["tokens", "webhooks"]) {
      const q = await page(narrow, `/account#${part}`);
      await q.waitForURL(`${base}/account/devices#${part}`);
      await q.locator(`#${part}`).waitFor();
    }
  });

  await test("an organization: create, invite, join, groups, settings", async () => {
    const boss = await person("Olga"), guest = await person("Gus");
    const p = await page(await lateFrames(await signedIn(boss)), "/organization");
    await p.getByLabel("Name").fill("Bridge Builders");
    await p.getByRole("button", { name: "Create an organization" }).click();
    await p.getByRole("link", { name: "Members" }).click();
    await p.getByLabel("Email address").fill(guest.email);
    await p.getByRole("button", { name: "Invite", exact: true }).click();
    await p.getByText("Open invitations").waitFor();
    const { link } = await mail(guest.email, "/invitation/");
    const q = await page(await signedIn(guest), new URL(link).pathname);
    await q.getByText("Bridge Builders invites you").waitFor();
    await q.getByRole("button", { name: "Accept the invitation" }).click();
    await q.getByText("You are a member of Bridge Builders").waitFor();
    await p.reload();
    await p.getByText("2 members").waitFor();
    await p.getByText("Gus", { exact: true }).waitFor();
    await p.getByRole("link", { name: "Rules for transfers" }).click();
    await retype(p.getByLabel("Maximum recipients"), "50");
    await p.getByRole("button", { name: "Save" }).first().click();
    await p.getByText("Saved").first().waitFor();
    const sites = p.locator("section", { has: p.getByRole("heading", { name: "Uploads from other websites" }) }),
      list = sites.getByLabel("Websites, one per line");
    await list.fill("http://www.example.com");
    await sites.getByRole("button", { name: "Save" }).click();
    await sites.locator("[aria-invalid=true]").waitFor();
    await list.fill("https://WWW.example.com\nhttps://shop.example:8443");
    await sites.getByRole("button", { name: "Save" }).click();
    await sites.getByText("Saved").waitFor();
    equal(await list.inputValue(), "https://shop.example:8443\nhttps://www.example.com", "the sites as stored");
    await sites.getByText("it has none yet").waitFor();
    await p.getByRole("link", { name: "Usage" }).click();
    await p.getByText("By the whole organization").waitFor();
    await p.goto(`${base}/mailbox`);
    await p.getByLabel("Name in the link").fill("olga");
    await p.getByRole("button", { name: "Save" }).click();
    await p.getByText("/m/olga").first().waitFor();
    await p.goto(`${base}/organization#groups`);
    await p.getByRole("button", { name: "Add a group" }).click();
    await p.getByLabel("Name", { exact: true }).fill("Drawing office");
    await p.getByLabel("Name in the link").fill("drawings");
    await p.getByLabel(/Olga/).check();
    await p.getByRole("button", { name: "Save" }).click();
    await p.getByText("/g/drawings").waitFor();
    const g = await page(await visitor(), "/g/drawings");
    await g.getByRole("heading", { name: "Drawing office" }).waitFor();
    await g.getByRole("link", { name: /Olga/ }).click();
    await g.waitForURL("**/m/olga");
  });

  await test("an expired session leads to the sign-in page and back", async () => {
    const who = await person("Emil");
    const context = await signedIn(who);
    const p = await page(context, "/mailbox");
    await api("POST", "/id/v3/auth/logout?jti=all", { token: await held(p) });
    const opened = [];
    p.on("request", (r) => { if (r.isNavigationRequest()) opened.push(new URL(r.url()).pathname); });
    await p.reload();
    // two requests may ask to leave
    await p.waitForFunction(() => location.href.endsWith("/login?next=%2Fmailbox"), null, { polling: 200 });
    equal(opened.includes("/"), false, "the start page is for those who sign out");
  });
}
