// Previews of files: pictures, the pages of a PDF, videos, audio and text. The browser renders them from blobs of a known type.
// HTML and SVG are never rendered: HTML is shown as text. A preview is no download (contract 4.9).

import { Button, Icon, Tool, html, useEffect, useModal, useRef, useState } from "./ui.js";
import { F, T, bytes } from "./i18n.js";
import { Failure } from "./api.js";
import { startWorker } from "./workers.js";

const MB = 1_000_000;
const thumbnails = 12; // pictures shown small without being asked for, as the server makes them
const textBytes = 200_000; // beginning of a text
const filmBytes = MB; // beginning of a video, whose first frame is shown while the rest is read
const pdfTime = 20_000, pdfSize = 1400; // milliseconds to read and draw a page, and pixels of its longer side

/**
 * What can be shown: how, for which types, up to which size, and for which extensions if the server knows no type.
 * @type {{kind: string, types: RegExp, limit: number}[]}
 */
const kinds = [
  { kind: "image", types: /^image\/(jpeg|png|gif|webp|avif)$/, limit: 40 * MB },
  { kind: "pdf", types: /^application\/pdf$/, limit: 40 * MB },
  { kind: "video", types: /^video\/(mp4|webm|ogg|quicktime)$/, limit: 150 * MB },
  { kind: "audio", types: /^audio\//, limit: 150 * MB },
  { kind: "text", types: /^(text\/|application\/(json|xml|rtf|x-sh|javascript|yaml))/, limit: Infinity },
];

/**
 * Reads a file: its bytes, with `first` only so many from its start, or with `small` its small picture.
 * @typedef {(objectUid: string, options: {signal: AbortSignal, first?: number, small?: boolean}) => Promise<Response>} Read
 */

const typeOf = (/** @type {TransferAPI["DeliveredObject"]} */ object) => (object.mimeType ?? "").split(";")[0].trim();

/** Returns how a file can be shown, or "". @param {TransferAPI["DeliveredObject"]} object */
export const kindOf = (object) => (object.contentLength > 0
  ? kinds.find(({ types, limit }) => types.test(typeOf(object)) && object.contentLength <= limit)?.kind ?? "" : "");

/** Loads something of a file while the component is shown. @param {(signal: AbortSignal) => Promise<any>} load @param {any[]} inputs */
function useContent(load, inputs) {
  const [state, set] = useState(/** @type {{value?: any, error?: any}} */ ({}));
  useEffect(() => {
    const stop = new AbortController();
    set({});
    load(stop.signal).then((value) => { if (!stop.signal.aborted) set({ value }); }, (error) => {
      if (stop.signal.aborted) return;
      set({ error: error instanceof Failure ? error : new Failure("", 400) });
    });
    return () => stop.abort();
  }, inputs);
  return state;
}

/**
 * Returns a blob URL of a file, or of its small picture, that lives as long as the component.
 * @param {TransferAPI["DeliveredObject"]} object @param {Read} read @param {{small?: boolean, first?: number}} [part] of it
 */
function useBlob(object, read, part = {}) {
  const [url, setUrl] = useState("");
  const { value, error } = useContent(async (signal) => new Blob([await (await read(object.uid, { signal, ...part })).arrayBuffer()],
    { type: part.small ? "image/jpeg" : typeOf(object) }), [object.uid]);
  useEffect(() => {
    if (!value) return undefined;
    const made = URL.createObjectURL(value);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [value]);
  return { url: value ? url : "", error };
}

/**
 * Small pictures of the first images, each of which opens its preview.
 * @param {{objects: TransferAPI["DeliveredObject"][], read: Read, onOpen: (object: TransferAPI["DeliveredObject"]) => void}} props
 */
export function Thumbnails({ objects, read, onOpen }) {
  const shown = objects.filter((o) => /^image\/(jpeg|png|gif)$/.test(typeOf(o)) && o.contentLength > 0).slice(0, thumbnails);
  if (shown.length === 0) return null;
  return html`<div class="thumbnails">${shown.map((o) => html`<${Thumbnail} key=${o.uid} object=${o} read=${read} onOpen=${onOpen} />`)}
    </div>`;
}

/** A picture that is loaded when its place comes near the window. */
function Thumbnail({ object, read, onOpen }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [near, setNear] = useState(false), [broken, setBroken] = useState(false);
  useEffect(() => {
    if (!place.current) return undefined;
    const watch = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) setNear(true); },
      { rootMargin: "200px" });
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  if (broken) return null;
  return html`<button type="button" class="thumbnail" ref=${place} aria-label=${F("Show %s", object.name)} onClick=${() => onOpen(object)}>
    ${near && html`<${Small} object=${object} read=${read} onBroken=${() => setBroken(true)} />`}</button>`;
}

function Small({ object, read, onBroken }) {
  const { url, error } = useBlob(object, read, { small: true });
  useEffect(() => { if (error) onBroken(); }, [error]);
  return url && html`<img src=${url} alt="" onError=${onBroken} />`;
}

/**
 * A dialog that shows one file, with ways to the one before and after it.
 * @param {{object: TransferAPI["DeliveredObject"], objects: TransferAPI["DeliveredObject"][], read: Read, onOpen: (object:
 *  TransferAPI["DeliveredObject"]) => void, onClose: () => void, onDownload: (uid: string) => void}} props
 */
export function Preview({ object, objects, read, onOpen, onClose, onDownload }) {
  const dialog = useModal();
  const all = objects.filter(kindOf), at = all.findIndex((o) => o.uid === object.uid);
  const step = (by) => { if (all[at + by]) onOpen(all[at + by]); };
  const arrow = (event) => {
    if (/^(VIDEO|AUDIO)$/.test(event.target.tagName)) return;
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  };
  return html`<dialog ref=${dialog} class="preview-dialog" onClose=${onClose} onKeyDown=${arrow} aria-label=${object.name}>
    <div class="row between nowrap"><strong class="clipped">${object.name} <span class="dim size">
      ${bytes(object.contentLength)}</span></strong>
      <${Tool} icon="close" label=${T("Close")} onClick=${() => dialog.current?.close()} /></div>
    <${Stage} object=${object} read=${read} />
    <div class="row between">
      <span class="row tight">${all.length > 1 && html`<${Button} disabled=${at === 0} onClick=${() => step(-1)}>${T("Back")}<//>
        <${Button} disabled=${at === all.length - 1} onClick=${() => step(1)}>${T("Next")}<//>`}</span>
      <${Button} icon="download" onClick=${() => onDownload(object.uid)}>${T("Download")}<//>
    </div>
  </dialog>`;
}

/** One file as large as there is room. @param {{object: TransferAPI["DeliveredObject"], read: Read}} props */
export function Stage({ object, read }) {
  const Shown = views[kindOf(object)] ?? (() => html`<${Loading} error />`);
  return html`<div class="stage" key=${object.uid}><${Shown} object=${object} read=${read} /></div>`;
}

const Loading = ({ error }) => (error ? html`<div class="unshown"><${Icon} name="file" /><p>
  ${T("No preview for this file. Download it to open it.")}</p></div>`
  : html`<p class="dim" role="status"><span class="spinner" aria-hidden="true"></span> ${T("One moment…")}</p>`);

function Media({ object, read, as }) {
  const { url, error } = useBlob(object, read);
  const [broken, setBroken] = useState(false);
  if (!url && !error && as === "video" && object.contentLength > 4 * filmBytes) return html`<${Poster} object=${object} read=${read} />`;
  if (!url || error || broken) return html`<${Loading} error=${error || broken} />`;
  if (as === "img") return html`<img src=${url} alt=${object.name} onError=${() => setBroken(true)} />`;
  return html`<${as} src=${url} controls onError=${() => setBroken(true)}><//>`;
}

/**
 * The first frame of a video that is being read, where its index stands before it. There is none before somebody asks for the video: a
 * frame is read from the file, and that is an access.
 */
function Poster({ object, read }) {
  const { url } = useBlob(object, read, { first: filmBytes });
  const [broken, setBroken] = useState(false);
  return html`${url && !broken && html`<video class="poster" src=${`${url}#t=0.1`} muted playsinline preload="metadata" aria-hidden="true"
    onError=${() => setBroken(true)}></video>`}<${Loading} />`;
}

function Text({ object, read }) {
  const { value, error } = useContent(async (signal) => (await read(object.uid, { signal, first: textBytes })).text(), [object.uid]);
  if (value === undefined) return html`<${Loading} error=${error} />`;
  return html`<pre tabindex="0">${value}</pre>${object.contentLength > textBytes
    && html`<p class="dim">${T("Only the beginning is shown.")}</p>`}`;
}

/**
 * Draws a page of a PDF in a worker, which ends afterwards, so that a hostile file does not freeze the page.
 * @param {Uint8Array} data @param {number} page from 1 @param {AbortSignal} signal
 * @returns {Promise<{bitmap: ImageBitmap, width: number, height: number, pages: number}>}
 */
async function drawPage(data, page, signal) {
  signal.throwIfAborted();
  const worker = startWorker("pdfpage.js");
  let timer;
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(reject, pdfTime, new Error("takes too long"));
      signal.addEventListener("abort", () => reject(signal.reason));
      worker.addEventListener("error", reject);
      worker.addEventListener("message", ({ data: answer }) => {
        if (answer.bitmap) resolve(answer);
        if (answer.failed) reject(new Error("no PDF"));
      });
      worker.postMessage({ data, size: pdfSize, page }, [data.buffer]);
    });
  } finally {
    clearTimeout(timer);
    worker.terminate();
  }
}

/** The pages of a PDF, one at a time. Browsers whose workers cannot draw show that there is no preview. */
function Pdf({ object, read }) {
  const [page, turn] = useState(1);
  const bytesOf = useRef(/** @type {Promise<ArrayBuffer> | null} */ (null));
  const { value, error } = useContent(async (signal) => {
    const bytes = await (bytesOf.current ??= read(object.uid, { signal }).then((response) => response.arrayBuffer()));
    return drawPage(new Uint8Array(bytes.slice(0)), page, signal);
  }, [object.uid, page]);
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null)), count = useRef(0);
  useEffect(() => { if (value) canvas.current?.getContext("bitmaprenderer")?.transferFromImageBitmap(value.bitmap); }, [value]);
  if (value) count.current = value.pages;
  const turner = (/** @type {number} */ to, /** @type {string} */ icon, /** @type {string} */ label) => html`<${Tool} icon=${icon}
    label=${label} disabled=${to < 1 || to > count.current} onClick=${() => turn(to)} />`;
  return html`${value ? html`<canvas ref=${canvas} width=${value.width} height=${value.height} role="img"
      aria-label=${F("Page %s of %s", page, object.name)}></canvas>` : html`<${Loading} error=${error} />`}
    ${count.current > 1 && html`<div class="row tight pager">${turner(page - 1, "up", T("Previous page"))}
      <span class="dim" role="status">${F("Page %s of %s", page, count.current)}</span>${turner(page + 1, "down", T("Following page"))}</div>`}`;
}

/** @type {Record<string, any>} */
const views = {
  image: (props) => html`<${Media} ...${props} as="img" />`, video: (props) => html`<${Media} ...${props} as="video" />`,
  audio: (props) => html`<${Media} ...${props} as="audio" />`, text: Text, pdf: Pdf,
};
