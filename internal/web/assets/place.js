// What a list shows, in its address: so that Back, a reload and a copied link lead to the same.

import { useEffect, useState } from "./ui.js";

/** What the address says. @param {Record<string, string>} usual what is left out of addresses @returns {Record<string, string>} */
function read(usual) {
  const query = new URLSearchParams(location.search), [, , open = ""] = location.pathname.split("/");
  return { open, ...Object.fromEntries(Object.keys(usual).map((name) => [name, query.get(name) ?? usual[name]])) };
}

/**
 * Returns what is shown, and a function that changes it. A change is a step in the history, unless `replace` is set, as while somebody
 * types. `open` is the uid in the path.
 * @param {string} page its path @param {Record<string, string>} usual the other values and what they are without an address
 * @returns {[Record<string, string>, (part: Record<string, string>, replace?: boolean) => void]}
 */
export function usePlace(page, usual) {
  const [place, setPlace] = useState(() => read(usual));
  useEffect(() => {
    const step = () => setPlace(read(usual));
    addEventListener("popstate", step);
    return () => removeEventListener("popstate", step);
  }, []);
  const go = (/** @type {Record<string, string>} */ part, replace = false) => {
    const { open, ...rest } = { ...place, ...part };
    const query = String(new URLSearchParams(Object.entries(rest).filter(([name, value]) => value && value !== usual[name])));
    history[replace ? "replaceState" : "pushState"](null, "", `${page}${open && `/${open}`}${query && `?${query}`}`);
    setPlace({ open, ...rest });
  };
  return [place, go];
}
