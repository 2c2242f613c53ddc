// Signed receipts: saved from the pages, checked at /verify, also without a network.

import fs from "node:fs";
import path from "node:path";
import { equal, file, page, person, signedIn, test, visitor, work } from "./kit.mjs";

/** Saves the signed receipt of a page. Returns where it is. */
async function saveReceipt(p) {
  await p.getByRole("button", { name: "Proof" }).click();
  const [d] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "Signed receipt" }).click()]);
  equal(d.suggestedFilename(), "receipt.consign", "name of the receipt");
  const at = path.join(work, `${Math.random()}.consign`);
  await d.saveAs(at);
  return at;
}

export async function receiptTests() {
  await test("a receipt is saved and checked at /verify without a network", async () => {
    const sender = await person("Quentin");
    const p = await page(await signedIn(sender), "/send");
    const files = [file("signed.bin", 70_000), file("other.bin", 900)];
    await p.getByText("As a link").click();
    await p.setInputFiles("[data-test=files]", [files[0].at]);
    await p.getByLabel("Subject").fill("Under oath");
    await p.locator(".details button[type=submit]").click();
    await p.waitForSelector(".receipt", { timeout: 30_000 });
    const receipt = await saveReceipt(p);
    const [pdf] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "Receipt as PDF" }).click()]);
    equal(pdf.suggestedFilename(), "receipt.pdf", "name of the document");
    equal(fs.readFileSync(await pdf.path(), "latin1").slice(0, 5), "%PDF-", "begin of the document");

    const context = await visitor();
    const q = await page(context, "/verify");
    await q.getByRole("heading", { name: "Check a receipt" }).waitFor();
    await q.waitForLoadState("networkidle");
    await context.setOffline(true);
    equal(await q.evaluate(() => fetch("/healthz").then(() => "reached", () => "cut")), "cut", "the network");
    equal(q.workers().length, 1, "workers that hash files");
    await q.setInputFiles("[data-test=files]", [receipt, files[0].at, files[1].at]);
    await q.locator("[data-verdict=genuine]").waitFor();
    await q.getByText("Under oath").first().waitFor();
    equal((await q.locator("[data-verdict] .facts").first().innerText()).includes("Quentin"), true, "the sender");
    await q.getByText("Everything that was signed").click();
    await q.getByText("sender-checked").waitFor();
    await q.locator("tr[data-state=ok]").getByText("signed.bin").waitFor();
    await q.locator("tr[data-state=foreign]").getByText("other.bin").waitFor();
    await q.getByRole("button", { name: "Remove other.bin" }).click();
    equal(await q.locator("tr[data-state=foreign]").count(), 0, "files that are none, after it was removed");
    const changed = path.join(work, "changed", "signed.bin");
    fs.mkdirSync(path.dirname(changed), { recursive: true });
    fs.writeFileSync(changed, "other bytes");
    await q.getByRole("button", { name: "Remove signed.bin" }).click();
    await q.locator("tr[data-state=open]").waitFor();
    await q.setInputFiles("[data-test=files]", [changed]);
    await q.locator("[data-verdict=changed]").getByText("0 of 1 file is unchanged").waitFor();
    await q.locator("tr[data-state=changed]").getByText("Changed: not the file that was delivered").waitFor();
    for (const width of [1440, 390, 320]) {
      await q.setViewportSize({ width, height: 800 });
      equal(await q.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `fits ${width} pixels`);
    }
    await q.getByRole("button", { name: "Remove signed.bin" }).click();
    const other = await page(await visitor(), "/verify");
    await other.setInputFiles("[data-test=files]", [await pdf.path()].map((at) => { fs.copyFileSync(at, `${at}.pdf`); return `${at}.pdf`; }));
    await other.locator("[data-verdict=genuine]").getByText("Under oath").first().waitFor();
    await q.screenshot({ path: path.join(work, "verify.png"), fullPage: true });

    const text = fs.readFileSync(receipt, "utf8");
    const forged = path.join(work, "forged.consign");
    fs.writeFileSync(forged, text.replace("Under oath", "Under oats"));
    await q.setInputFiles("[data-test=files]", [forged]);
    await q.locator("[data-verdict=refused]").waitFor();
    await q.setInputFiles("[data-test=files]", [receipt]);
    await q.locator("[data-verdict=genuine]").waitFor();
    await context.setOffline(false);
  });
}
