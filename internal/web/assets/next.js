// The path that a page opens next, when it comes from the page's address.

/**
 * Returns `next` as a path of the origin, or "" when it would leave the origin. Browsers read a backslash as a slash and skip tabs and
 * line ends. hosts.LocalPath of the server has the same rule.
 * @param {string} next @param {string} origin
 */
export function localPath(next, origin) {
  if (!/^\/[^\u0000-\u0020\u007f\\]*$/.test(next)) return "";
  let url;
  try {
    url = new URL(next, origin);
  } catch {
    return "";
  }
  const { pathname, search, hash, username, password } = url;
  if (url.origin !== origin || username || password || pathname.includes("//")) return "";
  return pathname + search + hash;
}
