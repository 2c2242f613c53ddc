// All tests of the web client: node run.mjs URL DATA_DIR PICTURES [part of a test's name]
import { finish } from "./kit.mjs";
import { dropTests } from "./drop.mjs";
import { accountTests } from "./account.mjs";
import { transferTests } from "./transfers.mjs";
import { looksTests } from "./looks.mjs";

await dropTests();
await accountTests();
await transferTests();
await looksTests();
await finish();
