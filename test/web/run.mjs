// All tests of the web client: node run.mjs URL DATA_DIR PICTURES [a pattern of names of tests]
import { finish } from "./kit.mjs";
import { mailboxPageTests } from "./mailboxpage.mjs";
import { accountTests } from "./account.mjs";
import { securityTests } from "./security.mjs";
import { invitationTests } from "./invitations.mjs";
import { sharedTests } from "./shared.mjs";
import { externalTests } from "./external.mjs";
import { transferTests } from "./transfers.mjs";
import { looksTests } from "./looks.mjs";
import { mannersTests } from "./manners.mjs";
import { troubleTests } from "./trouble.mjs";
import { devicesTests } from "./devices.mjs";
import { journeyTests } from "./journeys.mjs";

await mailboxPageTests();
await accountTests();
await securityTests();
await invitationTests();
await sharedTests();
await externalTests();
await transferTests();
await looksTests();
await mannersTests();
await troubleTests();
await devicesTests();
await journeyTests();
await finish();
