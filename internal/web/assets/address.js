// Which email addresses the server takes (internal/text, function Email): RFC 5321 without quoted local parts and address literals.

const local = /^(?=.{1,64}$)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/** Whether the server takes an address. The domain may be international. @param {string} address */
export function usable(address) {
  const at = address.lastIndexOf("@");
  if (!local.test(address.slice(0, at)) || /[\s/?#\\:%@[\]]/.test(address.slice(at + 1))) return false;
  try {
    const { hostname } = new URL(`//${address.slice(at + 1)}/`, location.href); // in ASCII
    const labels = hostname.split(".");
    return labels.every((l) => label.test(l)) && !/^\d+$/.test(labels.at(-1) ?? "") && at + 1 + hostname.length <= 254;
  } catch {
    return false;
  }
}
