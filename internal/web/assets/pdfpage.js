// A worker that draws a page of a PDF: it gets {data, size, page}, and answers {bitmap, width, height, pages} or {failed: true}. Both
// halves of pdf.js run in it, so that a hostile file cannot freeze the page, which ends the worker.

import { getDocument } from "./thirdparty/pdf.js";
// in this scope it is found by pdf.js, which then starts no worker of its own. It also tells the page that it is ready
import "./thirdparty/pdf.worker.js";

/** The pixels of a mask that the next picture is clipped with, as opacity. @type {((r: number, g: number, b: number) => number) | null} */
let luminosity = null;

/** Draws a picture. A mask by luminosity is turned into one by opacity before. @this {OffscreenCanvasRenderingContext2D} */
function drawImage(/** @type {any[]} */ ...how) {
  const [mask, x, y, width, height] = how, value = luminosity;
  if (value && this.globalCompositeOperation === "destination-in") {
    luminosity = null;
    const pixels = mask.getContext("2d").getImageData(x, y, width, height), { data } = pixels;
    for (let i = 0; i < data.length; i += 4) data[i + 3] = value(data[i], data[i + 1], data[i + 2]);
    how[0] = new OffscreenCanvas(width, height);
    how[0].getContext("2d").putImageData(pixels, 0, 0);
    [how[1], how[2]] = [0, 0];
  }
  /** @type {Function} */ (OffscreenCanvasRenderingContext2D.prototype.drawImage).apply(this, how);
}

/** Makes the canvases of pdf.js, which otherwise are elements. */
class Canvases {
  create(/** @type {number} */ width, /** @type {number} */ height) {
    const canvas = new OffscreenCanvas(width, height), context = canvas.getContext("2d", { willReadFrequently: true });
    return { canvas, context: Object.assign(/** @type {any} */ (context), { drawImage }) };
  }

  reset({ canvas }, /** @type {number} */ width, /** @type {number} */ height) {
    Object.assign(canvas, { width, height });
  }

  destroy(made) {
    Object.assign(made.canvas, { width: 0, height: 0 });
    Object.assign(made, { canvas: null, context: null });
  }
}

/** Filters of pdf.js, which otherwise are SVG elements. Of them only masks by luminosity are drawn: transfer functions are rare. */
class Filters {
  addLuminosityFilter(/** @type {Uint8Array | null} */ map) {
    luminosity = (r, g, b) => {
      const value = Math.round(0.3 * r + 0.59 * g + 0.11 * b);
      return map ? map[value] : value;
    };
    return "none";
  }

  addFilter() { return "none"; }
  addHCMFilter() { return "none"; }
  addAlphaFilter() { return "none"; }
  addHighlightHCMFilter() { return "none"; }
  destroy() {}
}

/** @param {Uint8Array} data @param {number} size of the longer side in pixels @param {number} number of the page, from 1 */
async function draw(data, size, number) {
  const fonts = /** @type {any} */ (self).fonts; // not in every browser: glyphs are then drawn as paths
  const opened = await getDocument({
    data, ownerDocument: { fonts }, disableFontFace: !fonts, CanvasFactory: Canvases, FilterFactory: Filters,
    isEvalSupported: false, enableXfa: false, useWorkerFetch: false, useWasm: false, stopAtErrors: false, verbosity: 0,
  }).promise;
  const page = await opened.getPage(number), natural = page.getViewport({ scale: 1 });
  const viewport = page.getViewport({ scale: Math.min(4, size / Math.max(natural.width, natural.height)) });
  const canvas = new OffscreenCanvas(Math.ceil(viewport.width), Math.ceil(viewport.height));
  await page.render({ canvas: /** @type {any} */ (canvas), viewport }).promise;
  return { bitmap: canvas.transferToImageBitmap(), width: canvas.width, height: canvas.height, pages: opened.numPages };
}

addEventListener("message", async ({ data: { data, size, page } }) => {
  if (!size) return; // a message between the halves of pdf.js
  try {
    const drawn = await draw(data, size, page);
    self.postMessage(drawn, { transfer: [drawn.bitmap] });
  } catch {
    self.postMessage({ failed: true });
  }
});
