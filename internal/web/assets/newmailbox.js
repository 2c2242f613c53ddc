// Creates the mailbox of a new account, with a link that can be read.

import { Failure, identity, own, transfer } from "./api.js";
import { TransferCode } from "./errors.js";
import { person, tell } from "./session.js";

/** Letters that do not decompose into a Latin letter and a mark. @type {Record<string, string>} */
const latin = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", þ: "th", ı: "i" };

/** Returns a text as a name for a link, or "" when too little of it is Latin. @param {string} text */
function asLink(text) {
  const plain = text.toLowerCase().replace(/[ßæœøđðłþı]/g, (letter) => latin[letter]).normalize("NFKD").replace(/\p{M}|['’]/gu, "");
  const link = plain.replace(/[^a-z0-9]+/g, ".").slice(0, 40).replace(/^\.+|\.+$/g, "");
  return link.length < 3 ? "" : link;
}

/**
 * Returns names for a link, the best first. The last one has no name: the link then ends with the uid.
 * @param {string} name @param {string} address
 */
export function linksFor(name, address) {
  const base = asLink(name) || asLink(address.split("@")[0]);
  const random = String(crypto.getRandomValues(new Uint16Array(1))[0] % 9000 + 1000);
  return base ? [base, `${base}.2`, `${base}.3`, `${base}.${random}`, ""] : [""];
}

/** Returns the person's mailbox, or null. @returns {Promise<TransferAPI["OwnMailbox"] | null>} */
export async function readMailbox() {
  try {
    return (await own("GET", `${transfer}/mailbox`)).body;
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return null;
    throw error;
  }
}

/** @param {unknown} error */
const isTaken = (error) => error instanceof Failure
  && (error.status === 400 || /** @type {number[]} */ ([TransferCode.VANITY_LINK, TransferCode.LINK_QUARANTINED,
    TransferCode.LINK_RESERVED]).includes(error.code));

/** Returns the person's mailbox. Creates it if there is none. @returns {Promise<TransferAPI["OwnMailbox"]>} */
export async function createMailbox() {
  const present = await readMailbox();
  if (present) return present;
  const { body: profile } = await own("GET", `${identity}/profile`);
  for (const vanityLink of linksFor(profile.name ?? "", person()?.email ?? "")) {
    try {
      const { body } = await own("PUT", `${transfer}/mailbox`, { json: vanityLink ? { vanityLink } : {} });
      tell(); // tabs that show an empty inbox
      return body;
    } catch (error) {
      if (!vanityLink || !isTaken(error)) throw error;
    }
  }
  throw new Error("the last attempt is without a name, which cannot be taken");
}
