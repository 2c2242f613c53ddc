// Tabs above a list: one is chosen, the arrow keys choose another.

import { html } from "./ui.js";

/**
 * The tabs of a panel. `tabs`: name and label of each. The panel has the id `panel`, and is labelled by `tab-` with the chosen name.
 * @param {{label: string, tabs: [string, string][], value: string, panel: string, onTurn: (name: string) => void}} props
 */
export function Tabs({ label, tabs, value, panel, onTurn }) {
  const arrow = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const [other] = tabs[(tabs.findIndex(([name]) => name === value) + step + tabs.length) % tabs.length];
    onTurn(other);
    document.getElementById(`tab-${other}`)?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label}>${tabs.map(([name, text]) => html`<button type="button" role="tab"
    id=${`tab-${name}`} aria-selected=${String(value === name)} aria-controls=${panel} tabindex=${value === name ? 0 : -1}
    onKeyDown=${arrow} onClick=${() => onTurn(name)}>${text}</button>`)}</div>`;
}
