// Verifies the messages of a file, one JSON object a line, with npm's standardwebhooks and svix, and some of them with the lines of
// docs/use/integrate.md as they stand there. test/clients/webhooks.sh runs it.

import { createReadStream, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";
import { Webhook as Svix } from "svix";

/** Runs the snippet of the guide for a message. It has the variables body and request. */
async function documented(message) {
  const { secret, body, ...headers } = JSON.parse(message);
  const guide = readFileSync(new URL("../../docs/use/integrate.md", import.meta.url), "utf8");
  const snippet = guide.match(/```ts\n([^`]*standardwebhooks[^`]*)```/)?.[1];
  if (!snippet?.includes("whsec_…")) throw new Error("docs/use/integrate.md has no snippet for webhooks");
  const file = new URL(`./.snippet-${snippets++}.mjs`, import.meta.url);
  writeFileSync(file, `const [body, request] = globalThis.given;\n${snippet.replace("whsec_…", secret)}\nexport { message };\n`);
  try {
    globalThis.given = [body, { headers }];
    return (await import(file.href)).message;
  } finally {
    rmSync(file);
  }
}

let snippets = 0;
let verified = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const { secret, body, ...headers } = JSON.parse(line);
  new Webhook(secret).verify(body, headers);
  new Svix(secret).verify(body, headers);
  let refused = false;
  try {
    new Webhook(secret).verify(body.replace("event", "Event"), headers);
  } catch {
    refused = true;
  }
  if (!refused) throw new Error(`a changed message is accepted: ${line}`);
  if (verified++ < 5) {
    if ((await documented(line)).type !== JSON.parse(body)
      .type) throw new Error("the snippet of docs/use/integrate.md returns another message");
    const wrong = await documented(line.replace(/"body":"/, '"body":" ')).catch(() => null);
    if (wrong) throw new Error("the snippet of docs/use/integrate.md accepts a changed message");
  }
}
console.log(`npm's standardwebhooks and svix verified ${verified} messages`);
const expected = Number(process.env.EVENTS ?? 1000) * 9; // TestWebhooks has nine webhooks
if (verified < expected) throw new Error(`these are fewer than ${expected}`);
