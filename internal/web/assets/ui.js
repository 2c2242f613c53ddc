// What the pages are made of: Preact with htm (vendor/), and the few components that all of them share.

import { createElement, render, Fragment } from "./vendor/preact.js";
import { useEffect, useId, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { T } from "./words.js";
import { Failure } from "./api.js";

export const html = htm.bind(createElement);
export { Fragment, useEffect, useId, useRef, useState };

const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** Puts a page in place of the frame that the server sent. @param {any} page a component */
export function show(page) {
  main.replaceChildren();
  render(html`<${page} />`, main);
}

/** Tells people who hear the page rather than see it. @param {string} sentence */
export function announce(sentence) {
  let region = document.getElementById("announcements");
  if (!region) {
    region = Object.assign(document.createElement("div"), { id: "announcements", className: "hidden" });
    region.setAttribute("role", "status");
    region.setAttribute("aria-live", "polite");
    document.body.append(region);
  }
  region.textContent = sentence;
}

/** A sentence for anything that was thrown. @param {unknown} error */
export const sentence = (error) => (error instanceof Failure ? error.message : T("This did not work. Please try again later."));

/**
 * Work that a button or form starts: `run` does it, `busy` says that it is going on, `error` what came of it.
 * @template A @param {(...args: A[]) => Promise<unknown>} work
 */
export function useAction(work) {
  const [state, set] = useState({ busy: false, error: /** @type {any} */ (null) });
  const run = async (...args) => {
    set({ busy: true, error: null });
    try {
      await work(...args);
      set({ busy: false, error: null });
    } catch (error) {
      if (!(error instanceof Failure)) console.error(error);
      set({ busy: false, error });
    }
  };
  return { ...state, run };
}

/** Something loaded once: `value` when it is there, `error` when it is not. @template V @param {() => Promise<V>} load @param {any[]} inputs */
export function useLoaded(load, inputs = []) {
  const [state, set] = useState(/** @type {{value?: V, error?: any}} */ ({}));
  const [turn, reload] = useState(0);
  useEffect(() => {
    let current = true;
    load().then((value) => current && set({ value }), (error) => {
      if (!(error instanceof Failure)) console.error(error);
      if (current) set({ error });
    });
    return () => { current = false; };
  }, [...inputs, turn]);
  return { ...state, reload: () => reload((n) => n + 1), set: (value) => set({ value }) };
}

/** A labelled input. `as` chooses select or textarea; `error` is what is wrong with it. */
export function Field({ label, hint, error, as = "input", children, optional, class: extra = "", ...rest }) {
  const id = useId();
  const described = [hint && `${id}h`, error && `${id}e`].filter(Boolean).join(" ") || undefined;
  return html`<div class=${`field ${extra}`}>
    <label for=${id}>${label}${optional && html` <span class="dim">${T("optional")}</span>`}</label>
    ${hint && html`<p class="hint" id=${`${id}h`}>${hint}</p>`}
    <${as} id=${id} aria-describedby=${described} aria-invalid=${error ? "true" : undefined} ...${rest}>${children}<//>
    ${error && html`<p class="wrong" id=${`${id}e`}>${error}</p>`}
  </div>`;
}

/** A box to tick. */
export function Check({ label, hint, ...rest }) {
  const id = useId();
  return html`<div class="check">
    <input type="checkbox" id=${id} aria-describedby=${hint ? `${id}h` : undefined} ...${rest} />
    <div><label for=${id}>${label}</label>${hint && html`<p class="hint" id=${`${id}h`}>${hint}</p>`}</div>
  </div>`;
}

/** A sentence set apart. `kind`: info, good, bad or warn; bad ones are read out at once. */
export function Notice({ kind = "info", children, title = "" }) {
  return html`<div class=${`notice ${kind}`} role=${kind === "bad" ? "alert" : "status"}>
    <${Icon} name=${{ good: "check", bad: "alert", warn: "alert" }[kind] ?? "info"} />
    <div>${title && html`<strong>${title}</strong>`}<div>${children}</div></div>
  </div>`;
}

/** What an action came to, when that is a failure. */
export const Problem = ({ error }) => (error ? html`<${Notice} kind="bad">${sentence(error)}<//>` : null);

/** A button that waits for its work. `kind`: primary, plain, quiet or danger. */
export function Button({ kind = "plain", busy = false, icon = "", children, disabled = false, type = "button", class: extra = "", ...rest }) {
  return html`<button type=${type} class=${`button ${kind} ${extra}`} disabled=${disabled || busy} aria-busy=${busy ? "true" : undefined} ...${rest}>
    ${busy ? html`<span class="spinner" aria-hidden="true"></span>` : icon && html`<${Icon} name=${icon} />`}${children}
  </button>`;
}

/** A form that does not leave the page; `onSend` gets its values. */
export function Form({ onSend, children, ...rest }) {
  const submit = (event) => {
    event.preventDefault();
    onSend(Object.fromEntries(new FormData(event.currentTarget)), event.currentTarget);
  };
  return html`<form onSubmit=${submit} ...${rest}>${children}</form>`;
}

const paths = {
  check: "m5 12.5 4.5 4.5L19 7.5", alert: "M12 8v5m0 3.5v.5M12 3 2.5 20h19z", info: "M12 11v6m0-10v.5M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0",
  file: "M14 3H7a2 2 0 0 0-2 2v14a2 2 0 0 0 2 2h10a2 2 0 0 0 2-2V8zm0 0v5h5", upload: "M12 16V4m0 0L7 9m5-5 5 5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3",
  download: "M12 4v12m0 0 5-5m-5 5-5-5M4 19h16", pause: "M9 6v12M15 6v12", play: "m8 5 11 7-11 7z", close: "M6 6l12 12M18 6 6 18",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M6 11h12a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1", link: "M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.3l-1 1m2 3.7a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1",
  print: "M7 9V4h10v5M7 17H5a1 1 0 0 1-1-1v-5a2 2 0 0 1 2-2h12a2 2 0 0 1 2 2v5a1 1 0 0 1-1 1h-2M7 14h10v6H7z", plus: "M12 5v14M5 12h14",
  trash: "M4 7h16M9 7V4h6v3m-8 0 1 13h8l1-13", folder: "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z",
  up: "m6 14 6-6 6 6", down: "m6 10 6 6 6-6", copy: "M9 9V5a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-4M5 9h9a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1",
  clock: "M12 7v5l3 2m6-2a9 9 0 1 1-18 0 9 9 0 0 1 18 0", search: "m20 20-4.5-4.5M17 10.5a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0",
};

/** A drawing that only accompanies words. */
export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name]} /></svg>`;

/** A picture of somebody, or the first letters of the name. */
export function Avatar({ src = "", name = "" }) {
  const [broken, setBroken] = useState(false);
  const letters = name.trim().split(/\s+/).map((part) => [...part][0] ?? "").slice(0, 2).join("").toUpperCase();
  return html`<span class="avatar" aria-hidden="true">${src && !broken ? html`<img src=${src} alt="" onError=${() => setBroken(true)} />` : letters || "?"}</span>`;
}

/** Asks before something that cannot be undone; calls onYes. */
export function Ask({ question, yes, onYes, onClose }) {
  const dialog = useRef(/** @type {any} */ (null));
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-label=${question}>
    <p>${question}</p>
    <div class="row end">
      <${Button} onClick=${() => dialog.current.close()}>${T("Cancel")}<//>
      <${Button} kind="danger" onClick=${() => { dialog.current.close(); onYes(); }}>${yes}<//>
    </div>
  </dialog>`;
}

/** Something to copy, with its button. */
export function Copy({ text, label }) {
  const [done, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    set(true);
    announce(T("Copied"));
    setTimeout(() => set(false), 2000);
  };
  return html`<${Button} icon=${done ? "check" : "copy"} onClick=${copy}>${done ? T("Copied") : label}<//>`;
}

/** Lines of a text, as paragraphs would show them. */
export const Lines = ({ text }) => html`<p class="lines">${text}</p>`;
