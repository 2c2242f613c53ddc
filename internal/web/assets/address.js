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
    return (labels.length > 1 || hostname === "localhost") && labels.every((l) => label.test(l)) && !/^\d+$/.test(labels.at(-1) ?? "")
      && at + 1 + hostname.length <= 254;
  } catch {
    return false;
  }
}

const common = ["gmail.com", "outlook.com", "hotmail.com", "yahoo.com", "icloud.com", "gmx.de", "gmx.net", "web.de", "t-online.de",
  "orange.fr", "free.fr", "mail.ru", "yandex.ru", "naver.com", "qq.com", "163.com", "yahoo.co.jp"];

/** Whether one inserted, left out, changed or swapped letter makes one word of the other. @param {string} a @param {string} b */
function near(a, b) {
  let i = 0, j = 0;
  while (i < a.length && a[i] === b[i]) i++;
  while (j < Math.min(a.length, b.length) - i && a.at(-1 - j) === b.at(-1 - j)) j++;
  const [x, y] = [a.slice(i, a.length - j), b.slice(i, b.length - j)];
  return x.length + y.length <= 1 || (x.length === 1 && y.length === 1) || (x.length === 2 && x === [...y].reverse().join(""));
}

/** Returns the address that was probably meant, or "". @param {string} address */
export function meant(address) {
  const [, name, domain] = /^(.+)@([^@]+)$/.exec(address.trim().toLowerCase()) ?? [];
  const found = domain && !common.includes(domain) && common.find((other) => near(domain, other));
  return found ? `${name}@${found}` : "";
}
