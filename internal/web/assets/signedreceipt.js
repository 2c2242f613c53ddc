// A button that saves the signed receipt of a transfer (docs/receipts.md).

import { Button, Notice, Problem, html, useAction, useState } from "./ui.js";
import { T } from "./i18n.js";
import { saveBody } from "./downloads.js";

const tries = 10; // one a second

/**
 * Saves receipt.consign. It waits until the receipt is signed.
 * @param {{get: (accept: string) => Promise<{status: number, response: Response}>}} props `get` fetches the receipt
 */
export function SignedReceipt({ get }) {
  const [unsigned, setUnsigned] = useState(false);
  const save = useAction(async () => {
    setUnsigned(false);
    for (let n = 0; n < tries; n++) {
      const { status, response } = await get("application/vnd.consign.receipt");
      if (status === 200) return saveBody(response, "receipt.consign");
      await new Promise((done) => { setTimeout(done, 1000); });
    }
    setUnsigned(true);
  });
  return html`<${Button} icon="download" busy=${save.busy} onClick=${() => save.run()}>${T("Signed receipt")}<//>
    ${unsigned && html`<${Notice} kind="info">${T("The receipt is not signed yet. Please try again in a moment.")}<//>`}
    ${save.error?.status !== 404 && html`<${Problem} error=${save.error} />`}`;
}
