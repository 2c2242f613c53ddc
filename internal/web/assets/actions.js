// What can be done with a transfer: a few buttons, a menu with the rest, and the form of the chosen one below.

import { Button, Icon, Tool, html, useId, useLayoutEffect, useListeners, useRef, useState } from "./ui.js";
import { T } from "./i18n.js";

/**
 * One action. With `form`, it shows what that returns instead of calling `run`; `done` closes it. `danger`: it cannot be undone.
 * @typedef {{name: string, label: string, icon: string, run?: () => unknown, form?: (done: () => void) => any, busy?: boolean, danger?:
 *  boolean}} Command
 */

const apart = 2; // buttons beside the menu

/** The buttons of actions, the first ones apart. @param {{commands: Command[]}} props */
export function Actions({ commands }) {
  const [open, setOpen] = useState("");
  const row = useRef(/** @type {HTMLElement | null} */ (null)), id = useId();
  const buttons = commands.length > apart + 1 ? commands.slice(0, apart) : commands, rest = commands.slice(buttons.length);
  const shown = commands.find(({ name, form }) => form && name === open);
  const close = () => {
    /** @type {HTMLElement | null | undefined} */ (row.current?.querySelector("[aria-expanded=true], [aria-haspopup]"))?.focus();
    setOpen("");
  };
  const press = (/** @type {Command} */ c) => (c.form ? setOpen(open === c.name ? "" : c.name) : c.run?.());
  return html`<div ref=${row} class="row actions">
      ${buttons.map((c) => html`<${Button} key=${c.name} kind=${c.danger ? "danger" : "plain"} icon=${c.icon} busy=${c.busy}
        aria-expanded=${c.form && String(open === c.name)} onClick=${() => press(c)}>${c.label}<//>`)}
      ${rest.length > 0 && html`<${Menu} commands=${rest} onChoose=${press} />`}
    </div>
    ${shown?.form && html`<section class="card part" key=${shown.name} aria-labelledby=${id}>
      <div class="row between"><h3 id=${id}>${shown.label}</h3><${Tool} icon="close" label=${T("Close")} onClick=${close} /></div>
      ${shown.form(close)}</section>`}`;
}

/**
 * A button that opens a menu: the arrow keys, Home and End move in it, Escape and Tab leave it.
 * @param {{commands: Command[], onChoose: (c: Command) => void}} props
 */
function Menu({ commands, onChoose }) {
  const [open, setOpen] = useState(false);
  const root = useRef(/** @type {any} */ (null)), id = useId();
  const items = () => [...root.current.querySelectorAll("[role=menuitem]")];
  useLayoutEffect(() => {
    if (!open) return;
    items()[0].parentElement.scrollIntoView({ block: "nearest" });
    items()[0].focus();
  }, [open]);
  const leave = (/** @type {Event} */ event) => { if (!root.current?.contains(event.target)) setOpen(false); };
  useListeners({ pointerdown: leave, focusin: leave }, open);
  const close = () => {
    root.current.querySelector("[aria-haspopup]").focus();
    setOpen(false);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const all = items(), at = all.indexOf(document.activeElement);
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (to !== undefined) all.at(to).focus();
    else return;
    event.preventDefault();
    event.stopPropagation(); // the keys of the list are others
  };
  const choose = (/** @type {Command} */ c) => {
    close();
    onChoose(c);
  };
  return html`<div ref=${root} class="menu" onKeyDown=${open ? keys : undefined}>
    <${Button} icon="more" busy=${commands.some((c) => c.busy)} aria-haspopup="menu" aria-expanded=${String(open)}
      aria-controls=${open ? id : undefined}
      onClick=${() => setOpen(!open)}><span class="wide-only">${T("More")}</span><//>
    ${open && html`<div id=${id} class="menu-list" role="menu" aria-label=${T("More")}>
      ${commands.map((c) => html`<button key=${c.name} type="button" role="menuitem"
      tabindex="-1" class=${c.danger ? "danger" : ""} onClick=${() => choose(c)}><${Icon} name=${c.icon} />${c.label}</button>`)}</div>`}
  </div>`;
}
