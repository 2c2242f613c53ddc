// Tells the progress of an upload outside of the page: in the title, in the icon of the tab, and in a notification.

import { useEffect } from "../ui.js";
import { T, percent } from "../i18n.js";

const tab = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=icon]"));
const icon = tab?.href ?? "";
const namespace = document.querySelector("svg")?.namespaceURI; // of the logo of the frame

/** Draws a ring as an icon. @param {number} share from 0 to 1 @param {string} colour */
const ring = (share, colour) =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="${namespace}" viewBox="0 0 32 32"><g fill="none" stroke-width="6">
<circle cx="16" cy="16" r="12" stroke="#8888"/><circle cx="16" cy="16" r="12" stroke="${colour}" pathLength="100" stroke-dasharray="${share * 100} 100" transform="rotate(-90 16 16)"/></g></svg>`)}`;

/** Whether the browser could notify, but was not asked yet. */
export const mayAsk = () => "Notification" in window && Notification.permission === "default";

/** Notifies, if the person has allowed it and does not look at the page. @param {string} title */
function notify(title) {
  if (!("Notification" in window) || Notification.permission !== "granted" || !document.hidden) return;
  try {
    new Notification(title, { icon }).onclick = () => window.focus();
  } catch { /* some phones allow notifications of service workers only */ }
}

/**
 * Shows the progress of the upload in the title and the icon of the tab, and notifies at its end.
 * @param {import("./engine.js").Upload | null} upload @param {any} receipt @param {string} title of the page without an upload
 */
export function useTold(upload, receipt, title) {
  const t = upload?.totals();
  const arrived = Boolean(upload?.complete()), going = Boolean(t?.files) && !receipt;
  const part = t?.bytes ? Math.floor((t.sent / t.bytes) * 100) : 0;
  useEffect(() => {
    const news = arrived ? T("Uploaded, not delivered yet") : percent(part / 100);
    document.title = receipt ? `${T("Delivered")} · ${title}` : going ? `${news} · ${title}` : title;
    if (!tab) return;
    const brand = getComputedStyle(document.documentElement).getPropertyValue("--brand").trim() || "#0d6e62";
    tab.href = going ? ring(arrived ? 1 : part / 100, brand) : icon;
  }, [going, arrived, part, Boolean(receipt), title]);
  useEffect(() => {
    if (receipt) notify(T("Delivered"));
    else if (arrived) notify(T("Uploaded, not delivered yet"));
  }, [arrived, Boolean(receipt)]);
}
