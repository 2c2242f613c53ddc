// Verifies the messages of a file, one JSON object a line, with npm's standardwebhooks. test/clients/webhooks.sh runs it.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

let verified = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const { secret, body, ...headers } = JSON.parse(line);
  new Webhook(secret).verify(body, headers);
  let refused = false;
  try {
    new Webhook(secret).verify(body.replace("event", "Event"), headers);
  } catch {
    refused = true;
  }
  if (!refused) throw new Error(`a changed message is accepted: ${line}`);
  verified++;
}
console.log(`npm's standardwebhooks verified ${verified} messages`);
if (verified < Number(process.env.EVENTS ?? 1000) * 10) process.exit(1);
