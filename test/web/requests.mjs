// Requests for documents: what a party does on a phone and goes on with on a laptop, by the link in the mail.

import { access, api, equal, file, mail, page, person, picture, test, visitor } from "./kit.mjs";

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** Asks somebody for documents, and returns the request with the path of the party's page. */
async function asked(owner, email, items) {
  const token = await access(owner), due = new Date(Date.now() + 4 * 864e5).toISOString();
  const { body } = await api("POST", "/transfer/v2/requests", { token, json: {
    title: "Statement 2026", message: "Please by Friday.", due, timeZone: "Europe/Berlin", items,
    parties: [{ email, name: "Bob Builder" }] } });
  return { token, body, where: new URL(body.parties[0].link).pathname };
}

const tally = (p, text) => p.waitForFunction((want) => document.querySelector("[data-test=tally]")?.textContent?.trim() === want, text);
const choose = (p, nth, files) => p.locator("[data-test=item]").nth(nth).locator("[data-test=files]").setInputFiles(files.map((f) => f.at));

export async function requestTests() {
  await test("requests: begun on a phone, handed in from a laptop, one item returned, complete", async () => {
    const ann = await person("Ann"), email = `bob${Date.now()}@example.org`;
    const items = [{ name: "Identity card" }, { name: "Lease" }, { name: "Letter", required: false }];
    const { token, body, where } = await asked(ann, email, items);
    const small = await page(await visitor(phone), where);
    await tally(small, "0 of 3");
    await choose(small, 0, [file("front.pdf", 20_000)]);
    await tally(small, "1 of 3");
    equal(await small.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "fits the window");
    equal((await small.locator("[data-test=handin]").textContent()).trim(), "Hand in what I have", "the button on the phone");
    await picture(small, "request-phone", "Three documents are asked for, one is saved.");

    const large = await page(await visitor({ viewport: { width: 1280, height: 900 } }), where);
    await tally(large, "1 of 3");
    await choose(large, 1, [file("lease.pdf", 3_000_000)]);
    await tally(large, "2 of 3");
    await large.locator("[data-test=handin]").focus();
    await large.keyboard.press("Enter");
    await large.locator("[data-test=handed]").waitFor();
    await picture(large, "request-handed", "Two documents are handed in. The receipt can be saved.");

    const party = body.parties[0].uid, one = `/transfer/v2/requests/${body.uid}`;
    const decide = (item, json) => api("PATCH", `${one}/parties/${party}/items/${body.items[item].uid}`, { token, json });
    await decide(0, { state: "returned", reason: "The back is missing." });
    await decide(1, { state: "accepted" });
    const again = await page(await visitor(phone), where);
    await again.getByText("The back is missing.").waitFor();
    await choose(again, 0, [file("both.pdf", 30_000)]);
    await again.locator("[data-test=handin]").click();
    await again.locator("[data-test=handed]").waitFor();
    const { body: done } = await decide(0, { state: "accepted" });
    equal(Boolean(done.parties[0].completedAt), true, "complete");
    await mail(email, "Complete: Statement 2026");
  });
}
