// A minimal browser for logins: cookies by path, redirects, HTML forms.

/** @param {string} text */
const plain = (text) => text.replace(/&quot;/g, '"').replace(/&#39;|&#x27;/g, "'").replace(/&lt;/g, "<").replace(/&gt;/g,
  ">").replace(/&amp;/g, "&");

/**
 * Returns the action and the fields of the first form of a page.
 * @param {string} html @param {string} base
 */
export function formOf(html, base) {
  const action = /<form[^>]*\saction="([^"]*)"/.exec(html);
  if (!action) throw new Error(`no form in ${html.slice(0, 500)}`);
  /** @type {Record<string, string>} */
  const fields = {};
  for (const [input] of html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    fields[plain(/name="([^"]*)"/.exec(input)?.[1] ?? "")] = plain(/value="([^"]*)"/.exec(input)?.[1] ?? "");
  }
  return { action: new URL(plain(action[1]), base).href, fields };
}

export class Browser {
  /** @param {string} origin of the provider; only its cookies are stored */
  constructor(origin) {
    this.origin = origin;
    /** @type {Map<string, {name: string, value: string, path: string}>} */
    this.cookies = new Map();
  }

  /**
   * Requests a page and follows redirects within the provider; one that leaves it is the answer.
   * @param {string} url @param {Record<string, string>} [form] to be posted
   * @returns {Promise<{url: string, status: number, html: string, leaves: string}>}
   */
  async open(url, form) {
    for (let hops = 0; hops < 20; hops++) {
      const target = new URL(url);
      const cookie = [...this.cookies.values()].filter((c) => target.pathname.startsWith(c.path)).map((c) => `${c.name}=${c.value}`)
        .join("; ");
      const response = await fetch(url, {
        redirect: "manual",
        headers: { accept: "text/html", ...(cookie && target.origin === this.origin ? { cookie } : {}) },
        ...(form ? { method: "POST", body: new URLSearchParams(form) } : {}),
      });
      if (target.origin === this.origin) this.#keep(response);
      const location = response.headers.get("location");
      const html = await response.text();
      if (!location) return { url, status: response.status, html, leaves: "" };
      const next = new URL(location, url);
      if (next.origin !== target.origin) return { url, status: response.status, html, leaves: next.href };
      [url, form] = [next.href, undefined];
    }
    throw new Error(`too many redirects at ${url}`);
  }

  /** @param {Response} response */
  #keep(response) {
    for (const line of response.headers.getSetCookie()) {
      const [pair, ...attributes] = line.split(/;\s*/);
      const [name, value] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
      const path = attributes.find((a) => /^path=/i.test(a))?.slice(5) ?? "/";
      const expires = attributes.find((a) => /^expires=/i.test(a))?.slice(8);
      if (!value || (expires && new Date(expires) < new Date())) this.cookies.delete(`${name} ${path}`);
      else this.cookies.set(`${name} ${path}`, { name, value, path });
    }
  }

  /**
   * Goes to the provider's authorization endpoint and through its pages as a person would.
   * @param {string} url @param {string} login @param {{refuse?: boolean}} [how]
   */
  async signIn(url, login, { refuse = false } = {}) {
    let page = await this.open(url);
    for (let steps = 0; steps < 5 && !page.leaves && /name="prompt"/.test(page.html); steps++) {
      if (refuse) return this.open(`${page.url}/abort`);
      const form = formOf(page.html, page.url);
      const more = form.fields.prompt === "login" ? { login, password: "whatever" } : {};
      page = await this.open(form.action, { ...form.fields, ...more });
    }
    return page;
  }
}
