// What the pages are made of: Preact with htm (vendor/), and the few components that all of them share.

import { createElement, render, Fragment } from "./vendor/preact.js";
import { useEffect, useId, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { paths } from "./icons.js";
import { T } from "./i18n.js";
import { Failure, signInFirst, signedIn } from "./api.js";

export const html = htm.bind(createElement);
export { Fragment, useEffect, useId, useRef, useState };

const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** Puts a page in place of the frame that the server sent. @param {any} page a component */
export function show(page) {
  main.replaceChildren();
  render(html`<${page} />`, main);
}

/** The same for a page that only somebody signed in can use; others sign in first. @param {any} page a component */
export const showOwn = (page) => (signedIn() ? show(page) : signInFirst());

/** Tells people who hear the page rather than see it. @param {string} sentence */
export function announce(sentence) {
  let region = document.getElementById("announcements");
  if (!region) {
    region = Object.assign(document.createElement("div"), { id: "announcements", className: "hidden" });
    region.setAttribute("role", "status");
    region.setAttribute("aria-live", "polite");
    document.body.append(region);
  }
  region.textContent = ""; // so that the same sentence is told twice
  requestAnimationFrame(() => { region.textContent = sentence; });
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

/** An action whose success is told beside its button until something is changed again. @param {(...args: any[]) => Promise<unknown>} work */
export function useSaving(work) {
  const [saved, setSaved] = useState(false);
  const action = useAction(async (...args) => {
    setSaved(false);
    await work(...args);
    setSaved(true);
    announce(T("Saved"));
  });
  return { ...action, saved, touch: () => setSaved(false) };
}

/**
 * Something loaded once: `value` when it is there, `error` when it is not.
 * @template V @param {() => Promise<V>} load @param {any[]} inputs
 */
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

/** A ref of what gets the focus when it appears. */
export function useFocus(wanted = true) {
  const element = useRef(/** @type {any} */ (null));
  useEffect(() => { if (wanted) element.current?.focus(); }, []);
  return element;
}

/** The heading of a step that takes the place of another, so that it is read out and the keyboard goes on from there. */
export const StepHeading = ({ children }) => html`<h1 ref=${useFocus()} tabindex="-1">${children}</h1>`;

/** What stands where something is being loaded: that it takes a moment, or what came of it. */
export const Waiting = ({ error = null }) =>
  (error ? html`<${Problem} error=${error} />` : html`<p class="loading" role="status">${T("One moment…")}</p>`);

/** A page whose contents could not be loaded. */
export const Unloaded = ({ title, error }) => html`<h1>${title}</h1>
  <${Problem} error=${error} />
  <${Button} onClick=${() => location.reload()}>${T("Try again")}<//>`;

/**
 * A labelled input. `as` chooses select or textarea; `error` is what is wrong with it; `focus` puts the keyboard there. Where nothing
 * follows what is typed, the text it begins with is a defaultValue: drawing it again with a value would undo what was typed.
 */
export function Field({ label, hint, error, as = "input", children, optional, focus = false, class: extra = "", ...rest }) {
  const id = useId();
  const input = useFocus(focus);
  const described = [hint && `${id}h`, error && `${id}e`].filter(Boolean).join(" ") || undefined;
  return html`<div class=${`field ${extra}`}>
    <label for=${id}>${label}${optional && html` <span class="dim">${T("optional")}</span>`}</label>
    ${hint && html`<p class="hint" id=${`${id}h`}>${hint}</p>`}
    <${as} ref=${input} id=${id} aria-describedby=${described} aria-invalid=${error ? "true" : undefined} ...${rest}>${children}<//>
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

const nothing = (event) => event.preventDefault();

/**
 * A button that waits for its work. `kind`: primary, plain, quiet or danger. While it is busy it does nothing, nor does Enter in its
 * form, but it is not disabled: that would take the keyboard away from where it is.
 */
export function Button({ kind = "plain", busy = false, icon = "", children, disabled = false, type = "button", class: extra = "", onClick = undefined, ...rest }) {
  const classes = `button ${kind} ${extra}`;
  const waits = busy ? "true" : undefined;
  return html`<button type=${type} class=${classes} disabled=${disabled} aria-disabled=${waits} aria-busy=${waits} onClick=${busy ? nothing : onClick} ...${rest}>
    ${busy ? html`<span class="spinner" aria-hidden="true"></span>` : icon && html`<${Icon} name=${icon} />`}${children}
  </button>`;
}

/** A button that is only a drawing; `label` tells what it does, and to what. */
export const Tool = ({ icon, label, ...rest }) => html`<button type="button" class="button icon-only" aria-label=${label} ...${rest}>
  <${Icon} name=${icon} /></button>`;

/** The end of a form that saves: its button, and how it went. @param {{of: ReturnType<typeof useSaving>, children?: any}} properties */
export const Save = ({ of, children = null }) => html`<${Problem} error=${of.error} />
  <div class="row">
    <${Button} type="submit" kind="primary" busy=${of.busy}>${T("Save")}<//>
    ${of.saved && html`<span class="saved"><${Icon} name="check" /> ${T("Saved")}</span>`}
    ${children}
  </div>`;

/** A form that does not leave the page; `onSend` gets its values. */
export function Form({ onSend, children, ...rest }) {
  const submit = (event) => {
    event.preventDefault();
    onSend(Object.fromEntries(new FormData(event.currentTarget)), event.currentTarget);
  };
  return html`<form onSubmit=${submit} ...${rest}>${children}</form>`;
}


/** A drawing that only accompanies words. */
export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name]} /></svg>`;

/** A picture of somebody, or the first letters of the name. */
export function Avatar({ src = "", name = "" }) {
  const [broken, setBroken] = useState(false);
  const letters = (name.match(/(?<![\p{L}\p{N}'’])[\p{L}\p{N}]/gu) ?? []).slice(0, 2).join("").toUpperCase();
  const picture = src && !broken;
  return html`<span class="avatar" aria-hidden="true">
    ${picture ? html`<img src=${src} alt="" onError=${() => setBroken(true)} />` : letters || "?"}</span>`;
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

/** Copies where the page has no clipboard because it came by plain HTTP. @param {string} text */
function byCommand(text) {
  const give = (event) => {
    event.preventDefault();
    event.clipboardData.setData("text/plain", text);
  };
  addEventListener("copy", give);
  document.execCommand("copy");
  removeEventListener("copy", give);
}

/** Something to copy, with its button. */
export function Copy({ text, label }) {
  const [done, set] = useState(false);
  const copy = async () => {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else byCommand(text);
    set(true);
    announce(T("Copied"));
    setTimeout(() => set(false), 2000);
  };
  return html`<${Button} icon=${done ? "check" : "copy"} onClick=${copy}>${done ? T("Copied") : label}<//>`;
}

/** Lines of a text, as paragraphs would show them. */
export const Lines = ({ text }) => html`<p class="lines">${text}</p>`;
