// Asks the pages and the TypeScript client which failures of uploads they try again: the cases are client/testdata/retries.json, which
// the Go client's test reads, too. make lint runs it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { build } from "esbuild";

/** Imports a module of the repository, with what it imports. */
async function load(...entry) {
  const { outputFiles: [file] } = await build({ stdin: { contents: entry.map((e) => `export * from "./${e}";`).join(""), resolveDir: "." },
    bundle: true, format: "esm", write: false });
  return import(`data:text/javascript,${encodeURIComponent(file.text)}`);
}

globalThis.document = { documentElement: { dataset: {} }, getElementById: () => null }; // i18n.js, which errors.js imports, reads the page
const { failures, pauses } = JSON.parse(readFileSync("client/testdata/retries.json", "utf8"));
const pages = await load("internal/web/assets/upload/policy.js");
const client = await load("clients/typescript/src/retry.ts", "clients/typescript/src/errors.ts");
assert(failures.length >= 20 && pauses.length >= 9);
for (const c of failures) {
  const error = c.status ? new client.ConsignError(c.status, c.code, "", [], c.retryAfter, "", new Headers())
    : new TypeError("fetch failed");
  assert.equal(client.passes(error), c.passes, `the TypeScript client: ${JSON.stringify(c)}`);
  assert.equal(client.refused(error), c.refused, `the TypeScript client: ${JSON.stringify(c)}`);
  assert.equal(pages.passes({ status: c.status, code: c.code, wait: c.retryAfter }), c.passes, `the pages: ${JSON.stringify(c)}`);
}
for (const c of pauses) {
  for (let n = 0; n < 100; n++) {
    for (const ms of [client.pauseAfter(c.tries, c.retryAfter, 600_000), pages.pauseAfter(c.tries, c.retryAfter)]) {
      assert(ms >= c.least * 1000 && ms <= c.most * 1000, `${JSON.stringify(c)}: ${ms} ms`);
    }
  }
}
for (let part = 67_108_863; part > pages.minPart; part = pages.halved(part)) {
  const next = pages.halved(part);
  assert(Number.isInteger(next) && next >= pages.minPart, `after a part of ${part} bytes: ${next}`);
}
console.log(`${failures.length} failures and ${pauses.length} pauses, the same in the pages and the TypeScript client`);
