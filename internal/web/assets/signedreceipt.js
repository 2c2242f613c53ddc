// Buttons that save the signed receipt of a transfer (docs/receipts.md), and its PDF for people.

import { Button, Notice, Problem, html, useAction, useState } from "./ui.js";
import { T } from "./i18n.js";
import { saveBody } from "./downloads.js";

const tries = 10; // one a second

/**
 * Saves receipt.consign or receipt.pdf. It waits until the receipt is signed.
 * @param {{get: (accept: string) => Promise<{status: number, response: Response}>}} props `get` fetches the receipt
 */
export function SignedReceipt({ get }) {
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
  return html`<${Button} icon="download" busy=${save.busy} onClick=${() => save.run("application/vnd.consign.receipt", "receipt.consign")}>${T("Signed receipt")}<//>
    <${Button} icon="download" busy=${save.busy} onClick=${() => save.run("application/pdf", "receipt.pdf")}>${T("Receipt as PDF")}<//>
    ${unsigned && html`<${Notice} kind="info">${T("The receipt is not signed yet. Please try again in a moment.")}<//>`}
    ${save.error?.status !== 404 && html`<${Problem} error=${save.error} />`}`;
}
