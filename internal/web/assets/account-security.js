// /account/security: password, passkeys, second factor and recovery codes.

import { html } from "./ui.js";
import { showAccount } from "./accountpage.js";
import { Credentials } from "./credentials.js";
import "./shell.js";

showAccount((profile) => html`<${Credentials} profile=${profile} />`);
