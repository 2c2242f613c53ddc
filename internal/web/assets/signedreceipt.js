// Saves the signed receipt of a transfer (docs/use/receipts.md), and its PDF for people.

import { Notice, Problem, html, useAction, useState } from "./ui.js";
import { T } from "./i18n.js";
import { saveBody } from "./downloads.js";

const tries = 10; // one a second

/**
 * Saves receipt.consign or receipt.pdf. It waits until the receipt is signed. Returns the actions, and what they say.
 * @param {(accept: string) => Promise<{status: number, response: Response}>} get fetches the receipt
 * @returns {{commands: import("./actions.js").Command[], said: any}}
 */
export function useReceipt(get) {
  const [unsigned, setUnsigned] = useState(false);
  const save = useAction(async (/** @type {string} */ type, /** @type {string} */ name) => {
    setUnsigned(false);
    for (let n = 0; n < tries; n++) {
      const { status, response } = await get(type);
      if (status === 200) return saveBody(response, name);
      await new Promise((done) => { setTimeout(done, 1000); });
    }
    setUnsigned(true);
  });
  const command = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ type, /** @type {string} */ file) =>
    ({ name, label, icon: "download", busy: save.busy, run: () => save.run(type, file) });
  return {
    commands: [command("pdf", T("Receipt as PDF"), "application/pdf", "receipt.pdf"),
      command("receipt", T("Signed receipt"), "application/vnd.consign.receipt", "receipt.consign")],
    said: html`${unsigned && html`<${Notice} kind="info">${T("The receipt is not signed yet. Please try again in a moment.")}<//>`}
      ${save.error?.status !== 404 && html`<${Problem} error=${save.error} />`}`,
  };
}
