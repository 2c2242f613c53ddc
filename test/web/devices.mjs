// What people's devices bring along: small windows that must not jump, clocks that are wrong, storage that is refused.

import { demo, page, signedIn, test, visitor } from "./kit.mjs";

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
}
