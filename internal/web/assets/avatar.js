// Uploads a picture, cropped to a square by dragging or with sliders.

import { Avatar, Button, Problem, html, useAction, useEffect, useLoaded, useRef, useState } from "./ui.js";
import { T } from "./i18n.js";
import { Failure, accessToken, own } from "./api.js";

const edge = 500; // pixels of the largest picture that the server stores
const seen = 280; // pixels on the page

/**
 * Shows, changes and removes a picture.
 * @param {{url: string, name: string, has: boolean, label: string, onChange?: () => void}} props `has`: whether there is a picture
 */
export function Picture({ url, name, has, label, onChange = () => {} }) {
  const [image, setImage] = useState(/** @type {ImageBitmap | null} */ (null));
  const [unreadable, setUnreadable] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const current = useLoaded(async () => {
    if (!has) return "";
    const response = await fetch(`${url}?height=240`, { headers: { Authorization: `Bearer ${await accessToken()}` } });
    return response.ok ? URL.createObjectURL(await response.blob()) : "";
  }, [url, has]);
  const change = useAction(async (blob) => {
    if (blob) await own("PUT", url, { body: blob, type: "image/jpeg", accept: "image/jpeg, application/json" });
    else await own("DELETE", url);
    setImage(null);
    current.set(blob ? URL.createObjectURL(blob) : "");
    onChange();
  });
  const choose = async (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    setUnreadable(false);
    if (file) setImage(await createImageBitmap(file).catch(() => { setUnreadable(true); return null; }));
  };
  return html`<div class="picture">
    ${image ? html`<${Crop} image=${image} busy=${change.busy} onDone=${change.run} onCancel=${() => setImage(null)} />`
      : html`<div class="row">
      <span class="large"><${Avatar} src=${current.value ?? ""} name=${name} /></span>
      <div class="stack tight"><span>${label}</span><div class="row">
        <${Button} onClick=${() => input.current?.click()}>${T("Choose a picture")}<//>
        ${current.value && html`<${Button} kind="quiet" busy=${change.busy} onClick=${() => change.run(null)}>${T("Remove")}<//>`}
      </div></div>
    </div>`}
    <input ref=${input} type="file" accept="image/jpeg,image/png,image/gif" hidden onChange=${choose} data-test="picture" />
    <${Problem} error=${unreadable ? new Failure(url, 400) : change.error} />
  </div>`;
}

/** @param {{image: ImageBitmap, busy: boolean, onDone: (picture: Blob | null) => void, onCancel: () => void}} props */
function Crop({ image, busy, onDone, onCancel }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [zoom, setZoom] = useState(1);
  const [at, setAt] = useState({ x: 0.5, y: 0.5 }); // position of the square: 0 is left or top, 1 is right or bottom
  const side = Math.min(image.width, image.height) / zoom;
  const left = (image.width - side) * at.x, top = (image.height - side) * at.y;
  useEffect(() => { canvas.current?.getContext("2d")?.drawImage(image, left, top, side, side, 0, 0, edge, edge); },
    [image, left, top, side]);
  const clamp = (v) => Math.min(1, Math.max(0, v));
  const drag = (/** @type {PointerEvent} */ event) => {
    if (!event.buttons) return;
    const scale = side / seen;
    setAt(({ x, y }) => ({
      x: clamp(x - (event.movementX * scale) / Math.max(1, image.width - side)),
      y: clamp(y - (event.movementY * scale) / Math.max(1, image.height - side)),
    }));
  };
  const slide = (label, value, min, max, on) => html`<label class="slide"><span>${label}</span>
    <input type="range" min=${min} max=${max} step="0.01" value=${value} onInput=${(e) => on(Number(e.target.value))} /></label>`;
  const done = () => {
    const flat = Object.assign(document.createElement("canvas"), { width: edge, height: edge });
    const context = /** @type {CanvasRenderingContext2D} */ (flat.getContext("2d"));
    context.fillStyle = "#fff";
    context.fillRect(0, 0, edge, edge);
    if (canvas.current) context.drawImage(canvas.current, 0, 0);
    flat.toBlob((blob) => onDone(blob), "image/jpeg", 0.92);
  };
  return html`<div class="crop">
    <canvas ref=${canvas} width=${edge} height=${edge} role="img" aria-label=${T("The part of the picture that is kept")}
      onPointerMove=${drag} onPointerDown=${(e) => e.target.setPointerCapture(e.pointerId)}></canvas>
    <div class="stack tight">
      ${slide(T("Size"), zoom, 1, 4, setZoom)}
      ${slide(T("Left and right"), at.x, 0, 1, (x) => setAt({ ...at, x }))}
      ${slide(T("Up and down"), at.y, 0, 1, (y) => setAt({ ...at, y }))}
      <div class="row"><${Button} kind="primary" busy=${busy} onClick=${done}>${T("Save")}<//><${Button} onClick=${onCancel}>
        ${T("Cancel")}<//></div>
    </div>
  </div>`;
}
