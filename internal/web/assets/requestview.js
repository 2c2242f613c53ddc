// What a party sees of a request: who asks, for what, by when, and a row for each item. The page of a new request shows it, too.

import { Button, Icon, Lines, Tool, html, useEffect, useRef, useState } from "./ui.js";
import { F, T, bytes, exactly, language, left, percent } from "./i18n.js";
import { fromInput } from "./files.js";

/** @typedef {TransferAPI["PublicDocumentRequest"]} View */
/** @typedef {TransferAPI["RequestedItem"]} Asked */

/**
 * Who asks, for what, by when: the due time in the zone of the visitor, by the clock of the server.
 * @param {{view: View, sample?: boolean}} props `sample`: the page has another heading
 */
export function Head({ view, sample = false }) {
  const [, tick] = useState(0), clock = useRef({ of: "", ahead: 0 }).current;
  useEffect(() => { const timer = setInterval(() => tick((n) => n + 1), 1000); return () => clearInterval(timer); }, []);
  if (clock.of !== view.now) Object.assign(clock, { of: view.now, ahead: Date.parse(view.now) - Date.now() });
  const now = Date.now() + clock.ahead, due = Date.parse(view.due ?? "");
  const soon = due - now < 3600e3;
  return html`<header>
    <p class="kicker">${F("%s asks you for documents", view.owner.name || view.owner.email)}</p>
    <${sample ? "p" : "h1"} class="title">${view.title}<//>
    ${view.message && html`<${Lines} text=${view.message} />`}
    ${view.due && html`<p class=${due < now ? "late" : ""} data-test="due"><${Icon} name="clock" /> ${due < now
      ? F("It was due on %s.", exactly(view.due)) : F("By %s, in %s", exactly(view.due), left(view.due, now))}</p>`}
    ${view.due && due > now && html`<p class="hint">${view.late === "refuse" ? T("Nothing can be handed in after the due time.")
      : T("What is handed in later is marked as late.")} ${T("What counts is when you hand in, not when an upload begins.")}</p>`}
    ${view.due && soon && due > now && html`<p class="hint" data-test="clock">
      ${F("The server’s clock: %s", new Date(now).toLocaleTimeString(language))}</p>`}
  </header>`;
}

/** The state of each item in the words of a party. @param {View} view @param {Asked} item */
export function standing(view, item) {
  const state = view.states.find((s) => s.item === item.uid) ?? { state: "open", files: [] };
  const files = /** @type {any[]} */ (state.files), saved = files.filter((f) => !f.transfer);
  const takes = state.state === "open" || state.state === "returned";
  return { ...state, files: takes ? saved : files.filter((f) => f.transfer), takes,
    there: !takes || saved.some((f) => f.contentLength === f.intendedSize) };
}

/** How many items are there: a ring. @param {{there: number, all: number}} props */
export const Tally = ({ there, all }) => html`<div class="tally"><svg class="ring" viewBox="0 0 40 40" aria-hidden="true">
    <circle cx="20" cy="20" r="17" />${there > 0 && html`<circle class="part" cx="20" cy="20" r="17" pathLength="100"
      stroke-dasharray=${`${100 * there / all} 100`} />`}</svg>
  <p role="status" data-test="tally">${F("%d of %d", there, all)}</p></div>`;

const handheld = matchMedia("(hover: none) and (pointer: coarse)").matches;

/** A picture that was chosen in this visit, small. @param {{file: File}} props */
function Thumbnail({ file }) {
  const [url, set] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(file);
    set(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url && html`<img class="small" src=${url} alt="" onError=${() => set("")} />`;
}

/** One item: its files, and what they are waiting for. @param {any} props */
export function Row({ state, upload, disabled, onFiles, onRemove }) {
  const { item, files, takes, there } = state;
  const input = useRef(/** @type {HTMLInputElement | null} */ (null)), camera = useRef(input.current);
  const chosen = (/** @type {string} */ clientId) => {
    const file = upload?.items.find((/** @type {any} */ f) => f.clientId === clientId)?.file;
    return file?.type.startsWith("image/") ? html`<${Thumbnail} file=${file} />` : null;
  };
  const take = (/** @type {any} */ event) => { onFiles(item, fromInput(event.target.files)); event.target.value = ""; };
  const full = disabled || files.length >= item.maxFiles;
  const photographs = handheld && (!item.mimeTypes.length || item.mimeTypes.some((/** @type {string} */ t) => /^(image|\*)\//.test(t)));
  const going = (upload?.items ?? []).filter((/** @type {any} */ f) => !files.some((/** @type {any} */ s) => s.clientId === f.clientId
    && s.contentLength === s.intendedSize));
  const said = { uploaded: T("Handed in"), accepted: T("Accepted"), returned: T("Please hand this in again") }[state.state]
    ?? (there ? T("Saved") : item.required ? T("Missing") : T("Optional"));
  return html`<li class=${`${state.state}${there ? " there" : ""}`} data-test="item">
    <${Icon} name=${there ? "check" : state.state === "returned" ? "retry" : "file"} />
    <div><p><strong>${item.name}</strong></p><p class="hint">${said}</p></div>
    ${takes && html`<span class="row tight">
      ${photographs && html`<${Tool} icon="camera" label=${F("Take a picture of %s", item.name)} disabled=${full}
        onClick=${() => camera.current?.click()} />`}
      <${Button} icon="plus" disabled=${full} onClick=${() => input.current?.click()} aria-label=${F("Choose files for %s", item.name)}>
        <span class="wide-only">${T("Choose")}</span><//>
      <input ref=${camera} type="file" hidden accept="image/*" capture="environment" data-test="camera" onChange=${take} />
      <input ref=${input} type="file" hidden multiple=${item.maxFiles > 1} accept=${item.mimeTypes.join(",")} data-test="files"
        onChange=${take} /></span>`}
    <div class="under">
      ${state.reason && html`<blockquote>${state.reason}</blockquote>`}
      ${item.hint && html`<p class="hint">${item.hint}</p>`}
      ${item.example && html`<p class="hint">${F("Example: %s", item.example)}</p>`}
      <ul class="files">
        ${files.filter((/** @type {any} */ f) => !going.some((/** @type {any} */ g) => g.clientId === f.clientId))
          .map((/** @type {any} */ f) => html`<li>
          ${chosen(f.clientId)}<span class="name">${f.name}</span><span class="hint">${bytes(f.intendedSize)}${f.malwareStatus === "infected"
            ? ` · ${T("Malware was found")}` : f.contentLength < f.intendedSize ? ` · ${T("Not complete")}` : ""}</span>
          ${takes && html`<${Tool} icon="trash" label=${F("Remove %s", f.name)} onClick=${() => onRemove(f.clientId)} />`}</li>`)}
        ${going.map((/** @type {any} */ f) => html`<li>${chosen(f.clientId)}<span class="name">${f.name}</span>
          <span class="hint">${f.problem
          || percent(f.size ? (f.held + f.flying) / f.size : 1)}</span>
          ${f.state === "failed" && html`<${Tool} icon="close" label=${F("Remove %s", f.name)}
            onClick=${() => upload.remove(f)} />`}</li>`)}
      </ul>
    </div></li>`;
}
