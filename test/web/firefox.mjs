// The main journeys in Firefox: node firefox.mjs URL DATA_DIR PICTURES [a pattern of names of tests]. test/firefox.sh runs it.
import { finish, signedIn, test, visitor, page, settled } from "./kit.mjs";
import { mailboxPageTests } from "./mailboxpage.mjs";
import { accountTests } from "./account.mjs";
import { transferTests } from "./transfers.mjs";
import { pdfTests } from "./pdf.mjs";
import { requestTests } from "./requests.mjs";
import { judge, openMenu } from "./looks.mjs";
import { world } from "./world.mjs";

await mailboxPageTests();
await accountTests();
await transferTests();
await pdfTests();
await requestTests();

const open = ["/", "/m/mara.lindqvist", "/m/dmitri", "/m/no-such-box", "/g/harbour", "/login", "/signup", "/reset", "/reset/abc",
  "/confirm/abc", "/invitation/abc", "/t/abc", "/nowhere", "/api/"];
const own = ["/inbox", "/requests", "/requests/new", "/send", "/mailbox", "/account", "/account/security", "/account/devices",
  "/account/privacy",
  ...["profile", "members", "mailboxes", "groups", "transfers", "settings", "security", "usage",
    "documents"].map((part) => `/organization#${part}`)];
for (const viewport of [{ width: 1280, height: 860 }, { width: 360, height: 740 }]) {
  await test(`every page has no finding of axe and fits its window of ${viewport.width} pixels`, async () => {
    const { mara } = await world();
    for (const [context, places] of [[await visitor({ viewport }), open], [await signedIn(mara, { viewport }), own]]) {
      for (const where of places) {
        const p = await page(context, where);
        await settled(p);
        await judge(p, where);
        if (where === "/inbox") {
          await openMenu(p);
          await judge(p, "the menu of a transfer");
        }
        await p.close();
      }
    }
  });
}
await finish();
