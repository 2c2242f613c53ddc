// Webhooks and export targets on /account: making one, a test of it, pausing, and deleting it.

import { createServer } from "node:http";

import { access, api, demo, equal, page, person, signedIn, test, visitor } from "./kit.mjs";
import { judge, looked } from "./looks.mjs";

export async function webhookTests() {
  await test("webhooks: the demo shows a message and that its signature is valid, to its owner only", async () => {
    const p = await page(await signedIn(demo), "/demo/webhooks");
    const open = await api("POST", "/transfer/v2/public/mailbox/demo", { expect: 201,
      json: { subject: "For the inspector", anonSender: "Sam", anonEmail: "sam@example.com" } });
    const at = `/transfer/v2/reservations/${open.body.uid}`, pass = { token: open.token };
    await api("POST", `${at}/objects`, { ...pass, json: { clientId: "a", name: "a.txt", intendedSize: 1 } });
    await api("PUT", `${at}/objects/a/content`, { ...pass, bytes: "a", type: "application/octet-stream" });
    const { body: { uid } } = await api("POST", `${at}/confirm`, pass);
    const card = p.locator("main li.card", { hasText: "TRANSFER_RECEIVED" }).filter({ hasText: uid });
    for (let tries = 0; tries < 100 && !(await card.isVisible()); tries++) {
      await p.getByRole("button", { name: "Refresh" }).click();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await card.getByText("the signature is valid").waitFor();
    await card.getByText("webhook-signature", { exact: true }).waitFor();
    await looked(p, "demo-webhooks", 320);

    const other = await person("Winston");
    await api("GET", "/demo/webhooks/messages", { token: await access(other), expect: 403 });
    const q = await page(await signedIn(other), "/demo/webhooks");
    await q.locator(".notice.bad").waitFor();
    equal(await q.locator("main li.card").count(), 0, "messages that another person sees");
    await judge(q, "the inspector of another person");
    const stranger = await page(await visitor(), "/demo/webhooks");
    await stranger.waitForURL("**/login**");
  });

  await test("webhooks: make, test, pause and delete one", async () => {
    const got = [];
    const receiver = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => { body += chunk; });
      request.on("end", () => { got.push(JSON.parse(body)); response.end("thanks"); });
    });
    await new Promise((resolve) => receiver.listen(0, "127.0.0.1", () => resolve(undefined)));
    try {
      const p = await page(await signedIn(await person("Wanda")), "/account/devices");
      const at = p.locator("#webhooks");
      await at.getByRole("button", { name: "Create a webhook" }).click();
      await at.getByLabel("Address").fill("http://hooks.example.com/");
      await at.getByRole("button", { name: "Create the webhook" }).click();
      await at.locator(".wrong, .notice.bad").first().waitFor();
      const url = `http://127.0.0.1:${/** @type {any} */ (receiver.address()).port}/in`;
      await at.getByLabel("Address").fill(url);
      await at.getByLabel("A transfer was revoked").check();
      await judge(p, "a new webhook");
      await at.getByRole("button", { name: "Create the webhook" }).click();
      await at.getByText("Copy the secret now.").waitFor();
      equal(/^whsec_/.test(await at.locator("code").first().textContent()), true, "the secret");
      await at.getByRole("button", { name: "Send a test" }).click();
      await at.getByRole("button", { name: "Refresh" }).waitFor();
      for (let tries = 0; tries < 30 && !(await at.getByText("thanks").isVisible()); tries++) {
        await at.getByRole("button", { name: "Refresh" }).click();
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      await at.getByText("thanks").waitFor();
      equal(got[0].type, "PING", "the message");
      await judge(p, "a webhook with its log");
      await at.getByRole("button", { name: "Pause" }).click();
      await at.getByText("paused").waitFor();
      await at.getByRole("button", { name: "Resume" }).waitFor();
      await at.getByRole("button", { name: `Delete the webhook to ${url}` }).click();
      await p.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await at.getByText(url).first().waitFor({ state: "detached" });
    } finally {
      receiver.close();
    }
  });

  await test("webhooks: make, test and delete an export target", async () => {
    const sizes = new Map();
    const cloud = createServer((request, response) => { // as much of WebDAV as a copy needs
      let size = 0;
      request.on("data", (chunk) => { size += chunk.length; });
      request.on("end", () => {
        if (request.method === "PUT") sizes.set(request.url, size);
        if (request.method === "MOVE") sizes.set(new URL(String(request.headers.destination)).pathname, sizes.get(request.url));
        response.writeHead(request.method === "HEAD" && !sizes.has(request.url) ? 404 : 201,
          { "Content-Length": request.method === "HEAD" ? sizes.get(request.url) ?? 0 : 0 }).end();
      });
    });
    await new Promise((resolve) => cloud.listen(0, "127.0.0.1", () => resolve(undefined)));
    try {
      const p = await page(await signedIn(await person("Wilma")), "/account/devices");
      const at = p.locator("#webhooks");
      await at.getByRole("button", { name: "Create an export target" }).click();
      await at.getByLabel("Copy to").selectOption("s3");
      await at.getByLabel("Secret key").waitFor();
      await at.getByLabel("Copy to").selectOption("webdav");
      const url = `http://127.0.0.1:${/** @type {any} */ (cloud.address()).port}/files`;
      await at.getByLabel("Address").fill(url);
      await at.getByLabel("User name").fill("wilma");
      await at.getByLabel("Password").fill("an app password");
      await judge(p, "a new export target");
      await at.getByRole("button", { name: "Create the export target" }).click();
      await at.getByText("WebDAV folder · wilma").waitFor();
      await at.getByRole("button", { name: "Send a test" }).click();
      for (let tries = 0; tries < 30 && !(await at.getByText("delivered").isVisible()); tries++) {
        await at.getByRole("button", { name: "Refresh" }).click();
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      await at.getByText("delivered").waitFor();
      equal(sizes.has("/files/consign-test.txt"), true, "the test file");
      await at.getByRole("button", { name: `Delete the export target ${url}` }).click();
      await p.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await at.getByText("WebDAV folder").waitFor({ state: "detached" });
    } finally {
      cloud.close();
    }
  });
}
