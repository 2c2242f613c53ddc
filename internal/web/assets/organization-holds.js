// The organization page: what administrators keep for a legal reason.

import { Waiting, html, useLoaded } from "./ui.js";
import { own, transfer } from "./api.js";
import { Holds } from "./holds.js";
import { Stated } from "./reasons.js";
import { useStepUp } from "./stepup.js";

const at = /** @type {const} */ (`${transfer}/adminunit/holds`);

/** Sends changes, with a proof where the server asks for one. */
function useProved() {
  const { stepUp, dialog } = useStepUp();
  const change = (/** @type {string} */ method, /** @type {string} */ path, /** @type {any} */ { json, accept }) =>
    stepUp(method, path, json, accept);
  return { change, dialog };
}

/** @param {any} props of `Stated` */
const Act = (props) => html`<${Stated} ...${props} useChange=${useProved} />`;

/** Lists the holds of the organization. */
export function LegalHolds() {
  const { value, error, reload } = useLoaded(async () => (await own("GET", at)).body.holds);
  if (!value) return html`<${Waiting} error=${error} />`;
  return html`<${Holds} of=${value} at=${at} Act=${Act} onChange=${reload}
    transfers=${(/** @type {string} */ uid) => `#transfers/${uid}`} />`;
}
