// The picture behind the page of the own mailbox: choosing, showing and removing it.

import { Button, Problem, html, useAction, useRef, useState } from "./ui.js";
import { T } from "./i18n.js";
import { Failure, own, transfer } from "./api.js";

const longest = 1600; // pixels of a side that the server keeps

/**
 * Returns a picture as a JPEG file of the size that is kept. The browser reads formats that the server does not.
 * @param {File} file @returns {Promise<Blob>}
 */
async function asJPEG(file) {
  const image = await createImageBitmap(file), scale = Math.min(1, longest / Math.max(image.width, image.height));
  const canvas = Object.assign(document.createElement("canvas"),
    { width: Math.max(1, Math.round(image.width * scale)), height: Math.max(1, Math.round(image.height * scale)) });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => { canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/jpeg",
    0.9); });
}

/** @param {{mailbox: TransferAPI["OwnMailbox"]}} props */
export function Backdrop({ mailbox }) {
  const at = `${transfer}/mailbox/picture`;
  const [shown, setShown] = useState(mailbox.hasPicture ? `${transfer}/public/mailbox/${mailbox.uid}/picture` : "");
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const change = useAction(async (/** @type {File | null} */ file) => {
    if (file) {
      const picture = await asJPEG(file).catch(() => { throw new Failure(at, 400); });
      await own("PUT", at, { body: picture, type: "image/jpeg", accept: "image/jpeg, application/json" });
      setShown(URL.createObjectURL(picture));
    } else {
      await own("DELETE", at);
      setShown("");
    }
  });
  const choose = (/** @type {any} */ event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) change.run(file);
  };
  return html`<div class="field backdrop"><span class="label">${T("Background picture")}</span>
    <p class="hint">${T("Shown behind the page of your mailbox. Without one, the page has your colors.")}</p>
    ${shown && html`<img src=${shown} alt="" />`}
    <div class="row"><${Button} icon="image" busy=${change.busy} onClick=${() => input.current?.click()}>${T("Choose a picture")}<//>
      ${shown && html`<${Button} kind="quiet" busy=${change.busy} onClick=${() => change.run(null)}>${T("Remove the picture")}<//>`}</div>
    <input ref=${input} type="file" accept="image/*" hidden onChange=${choose} data-test="backdrop" />
    <${Problem} error=${change.error} /></div>`;
}
