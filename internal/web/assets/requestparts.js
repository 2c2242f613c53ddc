// What the pages of requests share: how far the parties are, when it is due, and the reasons of a return.

import { Icon, html } from "./ui.js";
import { F, N, T, exactly, left } from "./i18n.js";
import { now } from "./session.js";

/**
 * How far the parties of a request are.
 * @typedef {{parties: number, complete: number, handedIn: number, opened: number, unopened: number}} Standing
 */

/** The figures of a request in a list. @param {TransferAPI["DocumentRequestSummary"]} r @returns {Standing} */
export const standingOf = (r) => ({ parties: r.partyCount, complete: r.complete, handedIn: r.handedIn, unopened: r.unopened,
  opened: Math.max(0, r.partyCount - r.complete - r.handedIn - r.unopened) });

/** What a party has done so far. @param {TransferAPI["Party"]} p @returns {"complete" | "handedIn" | "opened" | "unopened"} */
export const stepOf = (p) => (p.completedAt ? "complete" : p.handedInAt ? "handedIn" : p.openedAt ? "opened" : "unopened");

/** The figures of parties. @param {TransferAPI["Party"][]} parties @returns {Standing} */
export function count(parties) {
  const all = { parties: parties.length, complete: 0, handedIn: 0, opened: 0, unopened: 0 };
  for (const p of parties) all[stepOf(p)]++;
  return all;
}

/** Steps of a party, and what is said of so many. @type {[keyof Standing, (n: number) => string][]} */
const steps = [
  ["complete", (n) => N("%d complete", "%d complete", n)], ["handedIn", (n) => N("%d handed in", "%d handed in", n)],
  ["opened", (n) => N("%d opened", "%d opened", n)], ["unopened", (n) => N("%d not opened", "%d not opened", n)],
];

/** A bar of the parties by how far they are, with the figures below. @param {{of: Standing}} props */
export function Parties({ of }) {
  const present = steps.filter(([step]) => of[step] > 0);
  let from = 0;
  return html`<span class="far">
    <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">${present.map(([step]) => {
      const x = from, width = 100 * of[step] / of.parties;
      from += width;
      return html`<rect class=${step} x=${x} width=${width} height="1" />`;
    })}</svg>
    <span class="steps">${present.map(([step, says]) => html`<span class=${step}>${says(of[step])}</span>`)}</span></span>`;
}

/** When a request is due. @param {{at?: string}} props */
export function Due({ at }) {
  if (!at) return html`<span class="dim">${T("No due date")}</span>`;
  const passed = Date.parse(at) < now();
  return html`<span class=${passed ? "late" : ""} data-test="due"><${Icon} name="clock" /> ${passed
    ? F("It was due on %s.", exactly(at)) : F("By %s, in %s", exactly(at), left(at, now()))}</span>`;
}

/** @param {TransferAPI["Party"]} p */
export const called = (p) => p.name || p.email;

/** Reasons for sending a document back. @param {boolean} infected @returns {string[]} */
export const reasons = (infected) => [...(infected ? [T("Malware was found in this file.")] : []), T("It can’t be read."),
  T("A page is missing."), T("It is out of date."), T("It is the wrong document."), T("The signature is missing.")];
