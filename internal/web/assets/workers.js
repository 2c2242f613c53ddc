// Workers: scripts beside the page, which cannot freeze it. The policy of pages lets this module alone start one.

/** The scripts that may run as workers, by their path in the assets. @typedef {"vendor/pdf.worker.js" | "hashing.js"} Script */

/** @param {string} name @returns {string} */
function address(name) {
  if (name !== "vendor/pdf.worker.js" && name !== "hashing.js") throw new TypeError(`no worker: ${name}`);
  return new URL(name, import.meta.url).href;
}

/** Returns trusted addresses, in browsers that want them (Trusted Types). The Content-Security-Policy names it. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("consign-workers", { createScriptURL: address });

/** Starts a worker. @param {Script} name @returns {Worker} */
export const startWorker = (name) => new Worker(policy?.createScriptURL(name) ?? address(name), { type: "module" });
