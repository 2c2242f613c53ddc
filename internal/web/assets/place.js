// What a list shows, in its address: so that Back, a reload and a copied link lead to the same.

import { useListeners, useState } from "./ui.js";

/**
 * What the address says.
 * @param {string} page @param {Record<string, string>} usual what is left out of addresses @returns {Record<string, string>}
 */
function read(page, usual) {
  const [path, terms] = (page.startsWith("#") ? location.hash : location.pathname + location.search).split("?");
  const query = new URLSearchParams(path.split("/")[0] === page.split("/")[0] ? terms : "");
  return { open: path.startsWith(`${page}/`) ? path.slice(page.length + 1) : "",
    ...Object.fromEntries(Object.keys(usual).map((name) => [name, query.get(name) ?? usual[name]])) };
}

/**
 * Returns what is shown, and a function that changes it. A change is a step in the history, unless `replace` is set, as while somebody
 * types. `open` is the uid in the path. A part of a page (#members) has its terms behind its name.
 * @param {string} page its path, or the fragment of a part
 * @param {Record<string, string>} usual the other values and what they are without an address
 * @returns {[Record<string, string>, (part: Record<string, string>, replace?: boolean) => void]}
 */
export function usePlace(page, usual) {
  const [place, setPlace] = useState(() => read(page, usual));
  useListeners({ popstate: () => setPlace(read(page, usual)) });
  const go = (/** @type {Record<string, string>} */ part, replace = false) => {
    const { open, ...rest } = { ...place, ...part };
    const query = String(new URLSearchParams(Object.entries(rest).filter(([name, value]) => value && value !== usual[name])));
    history[replace ? "replaceState" : "pushState"](null, "", `${page}${open && `/${open}`}${query && `?${query}`}`);
    setPlace({ open, ...rest });
  };
  return [place, go];
}
