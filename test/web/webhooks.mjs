// Webhooks on /account: making one, a test of it, pausing, and deleting it.

import { createServer } from "node:http";

import { equal, page, person, signedIn, test } from "./kit.mjs";
import { judge } from "./looks.mjs";

export async function webhookTests() {
  await test("webhooks: make, test, pause and delete one", async () => {
    const got = [];
    const receiver = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => { body += chunk; });
      request.on("end", () => { got.push(JSON.parse(body)); response.end("thanks"); });
    });
    await new Promise((resolve) => receiver.listen(0, "127.0.0.1", () => resolve(undefined)));
    try {
      const p = await page(await signedIn(await person("Wanda")), "/account");
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
}
