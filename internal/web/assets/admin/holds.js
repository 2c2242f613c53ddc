// /admin/holds: what is kept for a legal reason.

import { Problem, Waiting, html } from "../ui.js";
import { Holds } from "../holds.js";
import { ask, showConsole, useLive } from "./console.js";
import { Action } from "./reasons.js";

showConsole("holds", () => {
  const { value, error, reload } = useLive(async () => (await ask("GET", "/holds")).body.holds);
  if (!value) return html`<${Waiting} error=${error} />`;
  return html`<${Problem} error=${error} /><${Holds} of=${value} at="/holds" Act=${Action} onChange=${reload}
    transfers=${(/** @type {string} */ uid) => `/admin/transfers?transfer=${uid}`} />`;
});
