// Workers: scripts beside the page, which cannot freeze it. The policy of pages lets this module alone start one.

const scripts = ["hashing.js", "pdfpage.js"]; // their paths in the assets

/** @param {string} name @returns {string} */
function address(name) {
  if (!scripts.includes(name)) throw new TypeError(`no worker: ${name}`);
  return new URL(name, import.meta.url).href;
}

/** Returns trusted addresses, in browsers that want them (Trusted Types). The Content-Security-Policy names it. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("consign-workers", { createScriptURL: address });

/** Starts a worker. @param {string} name one of `scripts` @returns {Worker} */
export const startWorker = (name) => new Worker(policy?.createScriptURL(name) ?? address(name), { type: "module" });
