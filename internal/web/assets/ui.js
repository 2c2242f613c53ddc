// The components that all pages share, on Preact with htm (thirdparty/).

import { createContext, createElement, render, Fragment } from "./thirdparty/preact.js";
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from "./thirdparty/hooks.js";
import htm from "./thirdparty/htm.js";
import { paths } from "./icons.js";
import { T } from "./i18n.js";
import { refusals } from "./errors.js";
import { Failure, signInFirst } from "./api.js";
import { signedIn } from "./session.js";

/**
 * The properties of a component.
 * @typedef {Record<string, any>} Props
 */

/**
 * The template tag: returns an element. Properties in templates are not type-checked.
 * @type {(strings: TemplateStringsArray, ...values: any[]) => any}
 */
export const html = htm.bind(createElement);
export { Fragment, useEffect, useId, useLayoutEffect, useRef, useState };

const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** Renders a page instead of what the server sent in <main>. @param {() => any} page a component */
export function show(page) {
  main.replaceChildren();
  render(html`<${page} />`, main);
}

/** Renders a page that needs a session; without one, redirects to the sign-in page. @param {() => any} page a component */
export const showOwn = (page) => (signedIn() ? show(page) : signInFirst());

/** Announces a sentence to screen readers. @param {string} sentence */
export function announce(sentence) {
  let region = document.getElementById("announcements");
  if (!region) {
    region = Object.assign(document.createElement("div"), { id: "announcements", className: "hidden" });
    region.setAttribute("role", "status");
    region.setAttribute("aria-live", "polite");
    document.body.append(region);
  }
  region.textContent = ""; // else the same sentence is not announced again
  requestAnimationFrame(() => { region.textContent = sentence; });
}

/** Returns the sentence to show for a thrown value. @param {unknown} error @returns {string} */
export const sentence = (error) => (error instanceof Failure ? error.message : T("Something went wrong. Please try again later."));

/**
 * Work that a button or form starts.
 * @typedef {{run: (...args: any[]) => Promise<void>, busy: boolean, error: any}} Action `run` starts it and never throws, `busy` while it
 *   runs, `error` of the last run or null
 */

/** Makes an Action of an asynchronous function. @param {(...args: any[]) => Promise<unknown>} work @returns {Action} */
export function useAction(work) {
  const [state, set] = useState({ busy: false, error: /** @type {any} */ (null) });
  const run = async (/** @type {any[]} */ ...args) => {
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

/** The forms on this page whose changes were not saved. @type {Set<object>} */
const unsaved = new Set();
/** Reports whether the page has changes that were not saved. */
export const hasUnsaved = () => unsaved.size > 0;
const hold = (/** @type {Event} */ event) => event.preventDefault();

/** Returns a function that marks the component as changed or saved. The browser asks before a page with changes is left. */
export function useUnsaved() {
  const form = useRef({}).current;
  const mark = (/** @type {boolean} */ changed) => {
    if (changed) unsaved.add(form);
    else unsaved.delete(form);
    if (unsaved.size) addEventListener("beforeunload", hold);
    else removeEventListener("beforeunload", hold); // the listener keeps some browsers from caching the page
  };
  useEffect(() => () => mark(false), []);
  return mark;
}

/**
 * Makes an Action that saves a form. `saved` is true from its success until `touch` is called. From `touch` to the success the
 * browser asks before the page is left.
 * @param {(...args: any[]) => Promise<unknown>} work
 */
export function useSaving(work) {
  const [saved, setSaved] = useState(false);
  const mark = useUnsaved();
  const action = useAction(async (...args) => {
    setSaved(false);
    mark(false); // work may load the page again
    await work(...args).catch((error) => {
      mark(true);
      throw error;
    });
    setSaved(true);
    announce(T("Saved"));
  });
  const touch = () => {
    setSaved(false);
    mark(true);
  };
  return { ...action, saved, touch };
}

/**
 * Loads a value when the component appears and when `inputs` change. `reload` loads it again, `set` replaces it.
 * @template V @param {() => Promise<V>} load @param {any[]} [inputs]
 * @returns {{value?: V, error?: any, reload: () => void, set: (value: V) => void}}
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
  return { ...state, reload: () => reload((n) => n + 1), set: (/** @type {V} */ value) => set({ value }) };
}

/**
 * Returns a ref whose element gets the focus when it appears: before it is drawn, so that the focus never leaves what somebody types into.
 * @param {boolean} [wanted] @returns {{current: any}}
 */
export function useFocus(wanted = true) {
  const element = useRef(/** @type {any} */ (null));
  useLayoutEffect(() => { if (wanted) element.current?.focus(); }, []);
  return element;
}

/** Returns a ref whose dialog opens when it appears, before it is drawn. @returns {{current: HTMLDialogElement | null}} */
export function useModal() {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return dialog;
}

/**
 * Listens to events of the window while the component is shown and `wanted` is set, from before it is drawn: what somebody sees works.
 * @param {Record<string, (event: any) => void>} handlers by event; each event goes to the newest @param {boolean} [wanted]
 */
export function useListeners(handlers, wanted = true) {
  const newest = useRef(handlers);
  newest.current = handlers;
  useLayoutEffect(() => {
    if (!wanted) return undefined;
    const kinds = Object.keys(handlers), hear = (/** @type {Event} */ event) => newest.current[event.type](event);
    for (const kind of kinds) addEventListener(kind, hear);
    return () => { for (const kind of kinds) removeEventListener(kind, hear); };
  }, [wanted]);
}

/**
 * The heading of a step that replaces another. It takes the focus, so that screen readers and the keyboard continue there.
 * @param {Props} props
 */
export const StepHeading = ({ children }) => html`<h1 ref=${useFocus()} tabindex="-1">${children}</h1>`;

/** The mark of a sender whose address was not checked: anybody may have stated name and address. @param {Props} props */
export const Unchecked = ({ sender }) => (sender?.verified === false ? html`<span class="badge warn">${T("address not checked")}</span>`
  : null);

/** Shown while something loads, or when that failed. @param {{error?: unknown}} props */
export const Waiting = ({ error = null }) =>
  (error ? html`<${Problem} error=${error} />` : html`<p class="loading" role="status">${T("One moment…")}</p>`);

/** The page when its contents could not be loaded. @param {{title: string, error: unknown}} props */
export const Unloaded = ({ title, error }) => html`<h1>${title}</h1>
  <${Problem} error=${error} />
  <${Button} onClick=${() => location.reload()}>${T("Try again")}<//>`;

/**
 * What a form knows of its refused request: the error, what is wrong by member, and the names of its fields.
 * @type {import("preact").Context<{error: any, wrong: Record<string, string>, names: Set<string>}>}
 */
const Refusal = createContext({ error: null, wrong: {}, names: new Set() });

/** Returns what is wrong with a field of the form around it, which then is said beside the field only. @param {string | undefined} name */
export function useRefusal(name) {
  const { wrong, names } = useContext(Refusal);
  useEffect(() => {
    if (name) names.add(name);
    return () => { if (name) names.delete(name); };
  }, [name, names]);
  return name ? wrong[name] : undefined;
}

/**
 * A labelled input. `as`: input, select or textarea. `error`: a sentence; without it, what the refused request of the form says of `name`.
 * `focus`: takes the focus when it appears. An uncontrolled
 * input needs `defaultValue`: with `value`, rendering would undo what was typed.
 * @param {Props} props
 */
export function Field({ label, hint, error: stated, as = "input", children, optional, focus = false, class: extra = "", ...rest }) {
  const id = useId();
  const input = useFocus(focus);
  const refused = useRefusal(rest.name);
  const error = stated || refused;
  const described = [hint && `${id}h`, error && `${id}e`].filter(Boolean).join(" ") || undefined;
  return html`<div class=${`field ${extra}`}>
    <label for=${id}>${label}${optional && html` <span class="dim">${T("optional")}</span>`}</label>
    ${hint && html`<p class="hint" id=${`${id}h`}>${hint}</p>`}
    <${as} ref=${input} id=${id} aria-describedby=${described} aria-invalid=${error ? "true" : undefined} ...${rest}>${children}<//>
    ${error && html`<p class="wrong" id=${`${id}e`}>${error}</p>`}
  </div>`;
}

/** A labelled checkbox. @param {Props} props */
export function Check({ label, hint, ...rest }) {
  const id = useId();
  return html`<div class="check">
    <input type="checkbox" id=${id} aria-describedby=${hint ? `${id}h` : undefined} ...${rest} />
    <div><label for=${id}>${label}</label>${hint && html`<p class="hint" id=${`${id}h`}>${hint}</p>`}</div>
  </div>`;
}

/** @type {Record<string, string>} */
const noticeIcons = { good: "check", bad: "alert", warn: "alert" };

/** A highlighted sentence. `kind`: info, good, bad or warn. Screen readers announce `bad` at once. @param {Props} props */
export function Notice({ kind = "info", children, title = "" }) {
  return html`<div class=${`notice ${kind}`} role=${kind === "bad" ? "alert" : "status"}>
    <${Icon} name=${noticeIcons[kind] ?? "info"} />
    <div>${title && html`<strong>${title}</strong>`}<div>${children}</div></div>
  </div>`;
}

/** The sentence for an error; nothing without one, and nothing when the fields of the form say it all. @param {{error: unknown}} props */
export function Problem({ error }) {
  const { error: refused, wrong, names } = useContext(Refusal);
  const members = Object.keys(wrong);
  if (!error || error === refused && members.length > 0 && members.every((name) => names.has(name))) return null;
  return html`<${Notice} kind="bad">${sentence(error)}<//>`;
}

const ignore = (/** @type {Event} */ event) => event.preventDefault();

/**
 * A button. `kind`: primary, plain, quiet or danger. While `busy`, clicks and Enter in its form do nothing. It is not disabled then,
 * because a disabled button loses the focus.
 * @param {Props} props
 */
export function Button({ kind = "plain", busy = false, icon = "", children, disabled = false, type = "button", class: extra = "",
  onClick = undefined, ...rest }) {
  const classes = `button ${kind} ${extra}`;
  const waits = busy ? "true" : undefined;
  return html`<button type=${type} class=${classes} disabled=${disabled} aria-disabled=${waits} aria-busy=${waits}
    onClick=${busy ? ignore : onClick} ...${rest}>
    ${busy ? html`<span class="spinner" aria-hidden="true"></span>` : icon && html`<${Icon} name=${icon} />`}${children}
  </button>`;
}

/** A button with only an icon; `label` is its accessible name. @param {Props} props */
export const Tool = ({ icon, label, ...rest }) => html`<button type="button" class="button icon-only" aria-label=${label} ...${rest}>
  <${Icon} name=${icon} /></button>`;

/** The end of a form that saves: the button and the result. @param {{of: ReturnType<typeof useSaving>, children?: any}} props */
export const Save = ({ of, children = null }) => html`<${Problem} error=${of.error} />
  <div class="row">
    <${Button} type="submit" kind="primary" busy=${of.busy}>${T("Save")}<//>
    ${of.saved && html`<span class="saved"><${Icon} name="check" /> ${T("Saved")}</span>`}
    ${children}
  </div>`;

/**
 * A form that does not leave the page. `onSend` receives its values and its element. `refused`: the error of its request; it marks
 * the fields that it is about, and the first one gets the focus. `failed`: the error, if the form marks its fields itself.
 * Without a name it is no landmark.
 * @param {Props} props
 */
export function Form({ onSend, refused = null, failed = refused, children, ...rest }) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const names = useRef(/** @type {Set<string>} */ (new Set())).current;
  useLayoutEffect(() => { // before the refusal is drawn, as in useFocus
    if (!failed) return;
    const first = /** @type {HTMLElement | undefined} */ (form.current?.querySelector('[aria-invalid="true"]'));
    first?.closest("details")?.setAttribute("open", "");
    first?.focus();
  }, [failed]);
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    onSend(Object.fromEntries(new FormData(event.currentTarget)), event.currentTarget);
  };
  return html`<${Refusal.Provider} value=${{ error: refused, wrong: refusals(refused), names }}>
    <form ref=${form} role=${rest["aria-label"] ? undefined : "none"} onSubmit=${submit} ...${rest}>${children}</form><//>`;
}

/** A decorative icon. @param {{name: string}} props a name in icons.js */
export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${paths[name]} /></svg>`;

/** A picture of a person, or the first letters of the name. @param {{src?: string, name?: string}} props */
export function Avatar({ src = "", name = "" }) {
  const [broken, setBroken] = useState(false);
  const letters = (name.match(/(?<![\p{L}\p{N}'’])[\p{L}\p{N}]/gu) ?? []).slice(0, 2).join("").toUpperCase();
  const picture = src && !broken;
  return html`<span class="avatar" aria-hidden="true">
    ${picture ? html`<img src=${src} alt="" onError=${() => setBroken(true)} />` : letters || "?"}</span>`;
}

/**
 * A dialog before something that cannot be undone.
 * @param {{question: string, yes: string, onYes: () => void, onClose: () => void}} props `yes` is the text of the button
 */
export function Ask({ question, yes, onYes, onClose }) {
  const dialog = useModal();
  return html`<dialog ref=${dialog} onClose=${onClose} aria-label=${question}>
    <p>${question}</p>
    <div class="row end">
      <${Button} onClick=${() => dialog.current?.close()}>${T("Cancel")}<//>
      <${Button} kind="danger" onClick=${() => { dialog.current?.close(); onYes(); }}>${yes}<//>
    </div>
  </dialog>`;
}

/** Copies a text without navigator.clipboard, which pages over plain HTTP lack. @param {string} text */
function copyByCommand(text) {
  const fill = (/** @type {ClipboardEvent} */ event) => {
    event.preventDefault();
    event.clipboardData?.setData("text/plain", text);
  };
  addEventListener("copy", fill);
  document.execCommand("copy");
  removeEventListener("copy", fill);
}

/** A button that copies a text. @param {{text: string, label: string, kind?: string}} props */
export function Copy({ text, label, kind = "plain" }) {
  const [done, set] = useState(false);
  const copy = async () => {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyByCommand(text);
    set(true);
    announce(T("Copied"));
    setTimeout(() => set(false), 2000);
  };
  return html`<${Button} kind=${kind} icon=${done ? "check" : "copy"} onClick=${copy}>${done ? T("Copied") : label}<//>`;
}

/** A text with its line breaks. @param {{text: string}} props */
export const Lines = ({ text }) => html`<p class="lines">${text}</p>`;
