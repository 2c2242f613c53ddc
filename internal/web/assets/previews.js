// Previews of files: pictures, the first page of a PDF, videos, audio and text. The browser renders them from blobs of a known type.
// HTML and SVG are never rendered: HTML is shown as text. A preview is no download (contract 4.9).

import { Button, Icon, Tool, html, useEffect, useRef, useState } from "./ui.js";
import { F, T, bytes } from "./i18n.js";
import { Failure } from "./api.js";
import { startWorker } from "./workers.js";

const MB = 1_000_000;
const thumbnails = 12, thumbnailBytes = 8 * MB; // pictures shown without being asked for, and the largest of them
const textBytes = 200_000; // beginning of a text
const pdfTime = 20_000; // milliseconds to draw a page

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
 * Reads a file: its bytes, or with `first` only so many from its start.
 * @typedef {(objectUid: string, options: {signal: AbortSignal, first?: number}) => Promise<Response>} Read
 */

const typeOf = (object) => (object.mimeType ?? "").split(";")[0].trim();

/** Returns how a file can be shown, or "". @param {any} object */
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

/** Returns a blob URL of a file that lives as long as the component. @param {any} object @param {Read} read */
function useBlob(object, read) {
  const [url, setUrl] = useState("");
  const { value, error } = useContent(async (signal) => new Blob([await (await read(object.uid, { signal })).arrayBuffer()], { type: typeOf(object) }), [object.uid]);
  useEffect(() => {
    if (!value) return undefined;
    const made = URL.createObjectURL(value);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [value]);
  return { url: value ? url : "", error };
}

/** Small pictures of the first images, each of which opens its preview. @param {{objects: any[], read: Read, onOpen: (object: any) => void}} props */
export function Thumbnails({ objects, read, onOpen }) {
  const saving = /** @type {any} */ (navigator).connection?.saveData;
  const shown = objects.filter((o) => kindOf(o) === "image" && o.contentLength <= thumbnailBytes).slice(0, thumbnails);
  if (saving || shown.length === 0) return null;
  return html`<div class="thumbnails">${shown.map((o) => html`<${Thumbnail} key=${o.uid} object=${o} read=${read} onOpen=${onOpen} />`)}</div>`;
}

function Thumbnail({ object, read, onOpen }) {
  const { url, error } = useBlob(object, read);
  const [broken, setBroken] = useState(false);
  if (error || broken) return null;
  return html`<button type="button" class="thumbnail" aria-label=${F("Show %s", object.name)} onClick=${() => onOpen(object)}>
    ${url && html`<img src=${url} alt="" onError=${() => setBroken(true)} />`}</button>`;
}

/**
 * A dialog that shows one file, with ways to the one before and after it.
 * @param {{object: any, objects: any[], read: Read, onOpen: (object: any) => void, onClose: () => void, onDownload: (uid: string) => void}} props
 */
export function Preview({ object, objects, read, onOpen, onClose, onDownload }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  const all = objects.filter(kindOf), at = all.findIndex((o) => o.uid === object.uid);
  const step = (by) => { if (all[at + by]) onOpen(all[at + by]); };
  const arrow = (event) => {
    if (/^(VIDEO|AUDIO)$/.test(event.target.tagName)) return;
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  };
  const Shown = views[kindOf(object)];
  return html`<dialog ref=${dialog} class="preview-dialog" onClose=${onClose} onKeyDown=${arrow} aria-label=${object.name}>
    <div class="row between nowrap"><strong class="clipped">${object.name} <span class="dim size">${bytes(object.contentLength)}</span></strong>
      <${Tool} icon="close" label=${T("Close")} onClick=${() => dialog.current?.close()} /></div>
    <div class="stage" key=${object.uid}><${Shown} object=${object} read=${read} /></div>
    <div class="row between">
      <span class="row tight">${all.length > 1 && html`<${Button} disabled=${at === 0} onClick=${() => step(-1)}>${T("Back")}<//>
        <${Button} disabled=${at === all.length - 1} onClick=${() => step(1)}>${T("Next")}<//>`}</span>
      <${Button} icon="download" onClick=${() => onDownload(object.uid)}>${T("Download")}<//>
    </div>
  </dialog>`;
}

const Loading = ({ error }) => (error ? html`<div class="unshown"><${Icon} name="file" /><p>${T("No preview for this file. Download it to open it.")}</p></div>`
  : html`<p class="dim" role="status"><span class="spinner" aria-hidden="true"></span> ${T("One moment…")}</p>`);

function Media({ object, read, as }) {
  const { url, error } = useBlob(object, read);
  const [broken, setBroken] = useState(false);
  if (!url || error || broken) return html`<${Loading} error=${error || broken} />`;
  if (as === "img") return html`<img src=${url} alt=${object.name} onError=${() => setBroken(true)} />`;
  return html`<${as} src=${url} controls onError=${() => setBroken(true)}><//>`;
}

function Text({ object, read }) {
  const { value, error } = useContent(async (signal) => (await read(object.uid, { signal, first: textBytes })).text(), [object.uid]);
  if (value === undefined) return html`<${Loading} error=${error} />`;
  return html`<pre tabindex="0">${value}</pre>${object.contentLength > textBytes && html`<p class="dim">${T("Only the beginning is shown.")}</p>`}`;
}

/** Rejects when some work takes longer than a time in milliseconds. @template V @param {Promise<V>} work @param {number} time @returns {Promise<V>} */
const within = (work, time) => Promise.race([work, new Promise((_, reject) => { setTimeout(reject, time, new Error("takes too long")); })]);

/** Draws the first page of a PDF. It is read in a worker, which ends afterwards: a hostile file does not freeze the page. @param {Uint8Array} data @param {() => HTMLCanvasElement} place @param {AbortSignal} signal */
async function drawFirstPage(data, place, signal) {
  const { getDocument, PDFWorker } = await import("./vendor/pdf.js");
  const port = startWorker("vendor/pdf.worker.js");
  const task = getDocument({ data, worker: new PDFWorker({ port }), isEvalSupported: false, enableXfa: false, useWorkerFetch: false, useWasm: false, stopAtErrors: false, verbosity: 0 });
  const end = () => port.terminate();
  signal.addEventListener("abort", end);
  /** @type {any} */
  let drawing;
  const draw = async () => {
    const opened = await task.promise;
    const page = await opened.getPage(1), natural = page.getViewport({ scale: 1 });
    const viewport = page.getViewport({ scale: Math.min(4, 1400 / Math.max(natural.width, natural.height)) });
    const canvas = place();
    Object.assign(canvas, { width: Math.ceil(viewport.width), height: Math.ceil(viewport.height) });
    drawing = page.render({ canvas, viewport });
    await drawing.promise;
    return opened.numPages;
  };
  try {
    return await within(draw(), pdfTime);
  } catch (error) {
    drawing?.cancel();
    throw error;
  } finally {
    end();
  }
}

/** The first page of a PDF. */
function Pdf({ object, read }) {
  const place = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const { value, error } = useContent(async (signal) => {
    const data = new Uint8Array(await (await read(object.uid, { signal })).arrayBuffer());
    return drawFirstPage(data, () => /** @type {HTMLCanvasElement} */ (place.current), signal);
  }, [object.uid]);
  return html`${!value && html`<${Loading} error=${error} />`}
    <canvas ref=${place} class=${value ? "" : "hidden"} role="img" aria-label=${F("First page of %s", object.name)}></canvas>
    ${value > 1 && html`<p class="dim">${F("Page 1 of %s", value)}</p>`}`;
}

/** @type {Record<string, any>} */
const views = {
  image: (props) => html`<${Media} ...${props} as="img" />`, video: (props) => html`<${Media} ...${props} as="video" />`,
  audio: (props) => html`<${Media} ...${props} as="audio" />`, text: Text, pdf: Pdf,
};
