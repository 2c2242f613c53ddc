// Signed receipts: saved from the pages, checked at /verify, also without a network.

import fs from "node:fs";
import path from "node:path";
import { access, api, base, demo, equal, file, mail, page, person, picture, signedIn, test, visitor, work } from "./kit.mjs";
import { choose, fill } from "./mailboxpage.mjs";
import { judge } from "./looks.mjs";

/** Saves the signed receipt of a page. Returns where it is. */
async function saveReceipt(p) {
  await p.getByRole("button", { name: "Proof" }).click();
  const [d] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "Signed receipt" }).click()]);
  equal(d.suggestedFilename(), "receipt.consign", "name of the receipt");
  const at = path.join(work, `${Math.random()}.consign`);
  await d.saveAs(at);
  return at;
}

/** Saves a certificate of erasure once it is signed: jobs look every minute. Returns its text. */
async function certificate(where, token) {
  for (let i = 0; i < 90; i++) {
    const response = await fetch(base + where, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    if (response.status === 200) return response.text();
    if (response.status !== 202 && response.status !== 404) throw new Error(`${where}: ${response.status} ${await response.text()}`);
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
  throw new Error(`${where}: there is no certificate after three minutes`);
}

/** Gives the page a receipt as people do who drop or paste a file. */
const give = (p, how, text) => p.evaluate(([how, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], "receipt.consign"));
  const event = new Event(how, { bubbles: true, cancelable: true }); // Firefox empties the data of a ClipboardEvent
  Object.defineProperty(event, how === "drop" ? "dataTransfer" : "clipboardData", { value: data });
  document.querySelector(".chooser").dispatchEvent(event);
}, [how, text]);

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

  await test("journey: a stranger's proof outlives the tab, and a third person finds the changed file", async () => {
    const address = `stranger${Math.random().toString(36).slice(2, 8)}@example.com`;
    const p = await page(await visitor(), "/m/demo");
    const files = [file("contract.bin", 40_000), file("annex.bin", 900)];
    await choose(p, files);
    await fill(p, { anonSender: "Nadia Proof", anonEmail: address, subject: "Signed contract" });
    await p.click(".details button[type=submit]");
    await p.waitForSelector(".receipt", { timeout: 30_000 });
    await p.getByRole("button", { name: "Done" }).click();
    await p.waitForURL((url) => url.pathname === "/");
    await p.context().close(); // tab and token are gone

    const { link, plain } = await mail(address, "/r/");
    equal(plain.includes("Yes, I sent this: open my receipt"), true, "the button of the mail");
    const q = await page(await visitor({ viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true }), new URL(link).pathname);
    await q.getByRole("heading", { name: "Did you send files to Olivia Owner?" }).waitFor();
    equal((await q.textContent("main")).includes("contract"), false, "a word of the sender before the proof");
    await judge(q, "before the proof");
    await picture(q, "proof-asked", "The mail's link asks a stranger on another device whether the files are hers.");
    await q.reload(); // as programs that follow links do
    await q.getByRole("button", { name: "Yes, I sent this: open my receipt" }).click();
    await q.getByText("Signature checked on this device").waitFor();
    await q.getByText("You confirmed your address").waitFor();
    await q.getByText("Signed contract").waitFor();
    await judge(q, "the receipt");
    await picture(q, "proof-open", "Then the link opens the receipt, checked on her device, and tells what has happened since.");
    const [pdf] = await Promise.all([q.waitForEvent("download"), q.getByRole("button", { name: "Receipt as PDF" }).click()]);
    const receipt = path.join(work, "receipt of a stranger.pdf");
    await pdf.saveAs(receipt);
    await q.reload();
    await q.getByText("Signature checked on this device").waitFor(); // no second question

    const owner = await page(await signedIn(demo), "/inbox");
    await owner.locator(".entry").filter({ hasText: "Nadia Proof" }).first().locator(".head").click();
    await owner.getByText("Signed contract").first().waitFor();
    equal(await owner.locator("article").getByText("address not checked").count(), 0, "doubts about the address in the inbox");

    const changed = path.join(work, "changed by hand", "annex.bin");
    fs.mkdirSync(path.dirname(changed), { recursive: true });
    fs.writeFileSync(changed, "one clause is different");
    const third = await page(await visitor(), "/verify");
    await third.setInputFiles("[data-test=files]", [receipt, files[0].at, changed]);
    await third.locator("[data-verdict=changed]").getByText("1 of 2 files are unchanged").waitFor();
    await third.locator("tr[data-state=ok]").getByText("contract.bin").waitFor();
    await third.locator("tr[data-state=changed]").getByText("annex.bin").waitFor();
    await judge(third, "the changed file");
    await picture(third, "proof-checked", "A third person checks receipt and files: one of them was changed.");
  });

  await test("a certificate of erasure at /verify, dropped and pasted, says in sentences what it certifies", async () => {
    const sender = await person("Petra"), token = await access(sender), reservations = "/transfer/v2/reservations";
    const { body: made } = await api("POST", reservations, { token, json: { subject: "Plans of the harbour",
      recipients: [{ email: "kim@example.org", destinationType: "to" }] } });
    const at = `${reservations}/${made.uid}`;
    await api("POST", `${at}/objects`, { token, json: { clientId: "a", name: "plans.txt", intendedSize: 5 } });
    await api("PUT", `${at}/objects/a/content`, { token, bytes: "plans" });
    const { body: { uid } } = await api("POST", `${at}/confirm`, { token });
    await api("DELETE", `/transfer/v2/transfers/${uid}`, { token });
    const leaver = await person("Leo");
    await api("DELETE", "/id/v3/profile", { token: await access(leaver), json: { authKey: leaver.password } });
    const key = (await mail(leaver.email, "/r/")).link.split("/").pop();
    const [ofTransfer, ofAccount] = await Promise.all([certificate(`/transfer/v2/transfers/${uid}/receipt?of=erased`, token),
      certificate(`/transfer/v2/public/receipts/${key}/receipt?of=erased`)]);

    const q = await page(await visitor(), "/verify");
    for (const [text, sentences, digit] of [
      [ofTransfer, [/^All stored files of this transfer were erased by \S.*\. It was deleted\.$/,
        /^This says nothing about copies elsewhere: in backups, or with people who had downloaded the files\.$/], /^files 1$/m],
      [ofAccount, [
        /^This account was erased by \S.*, with its profile, addresses, ways to sign in and mailbox\. Its owner had deleted it\./,
        /^This says nothing about what other people have of it, about backups, and about records of mails and changes\.$/],
        /^mailboxes 0$/m]]) {
      for (const how of ["drop", "paste"]) {
        await give(q, how, text);
        const genuine = q.locator("[data-verdict=genuine]");
        await genuine.getByRole("heading", { name: "The receipt is genuine" }).waitFor();
        for (const sentence of sentences) await genuine.getByText(sentence).waitFor();
        equal(await genuine.getByText("recorded this delivery").count(), 0, "sentences about a delivery");
        for (const word of ["Petra", "Leo", "@", "harbour"]) {
          equal((await genuine.innerText()).includes(word), false, `“${word}” in the certificate`);
        }
        if (how === "drop") await judge(q, "the certificate");
        equal(digit.test(text), true, `the digit ${digit} is in the certificate`);
        await give(q, how, text.replace(digit, (line) => line.replace(/\d$/, "2")));
        await q.locator("[data-verdict=refused]").getByText("The receipt was refused").waitFor();
        equal(await q.getByText(sentences[0]).count(), 0, "sentences of a refused certificate");
        await judge(q, "a refused certificate");
      }
    }
  });
}
