// The frame of every page: the look of the organization, the way through the pages, the language.

import { html, useState } from "./ui.js";
import { render } from "./vendor/preact.js";
import { T } from "./words.js";
import { call, claims, forget, idToken, identity, signedIn } from "./api.js";

/** What the server says about itself and the organization of this host. @type {Promise<any>} */
export const environment = call("GET", `${identity}/environment`).then(({ body }) => body).catch(() => ({}));

/** Gives the page the colours, the logo and the legal links of the organization. */
async function brand() {
  const { organizationProfile: profile } = await environment;
  if (!profile) return;
  const theme = profile.assets?.find((asset) => asset.type === "theme");
  const logo = profile.assets?.find((asset) => asset.type === "logo");
  if (theme?.url) {
    const { body } = await call("GET", new URL(theme.url, location.href).pathname).catch(() => ({ body: {} }));
    if (/^#[0-9a-f]{6}$/i.test(body.primaryColor ?? "")) document.documentElement.style.setProperty("--brand", body.primaryColor);
    if (/^#[0-9a-f]{6}$/i.test(body.backgroundColor ?? "")) document.documentElement.style.setProperty("--ground", body.backgroundColor);
  }
  if (logo?.url) {
    const picture = Object.assign(new Image(), { src: new URL(logo.url, location.href).pathname, alt: "", className: "logo" });
    picture.addEventListener("load", () => document.querySelector(".brand .mark")?.replaceWith(picture));
  }
  const legal = [[profile.legalNoticeUrl, T("Legal notice")], [profile.privacyPolicyUrl, T("Privacy")]].filter(([url]) => /^https?:\/\//.test(url ?? ""));
  render(legal.map(([url, name]) => html`<a href=${url} rel="noopener">${name}</a> `), document.getElementById("legal"));
}

/** Ends this session and leads to the start page. */
export async function signOut() {
  await call("POST", `${identity}/auth/logout`, { token: idToken() }).catch(() => {});
  forget();
  location.assign("/");
}

function Navigation() {
  const [open, setOpen] = useState(false);
  if (!signedIn()) {
    if (location.pathname === "/login") return html`<nav aria-label=${T("Pages")}><a href="/signup">${T("Create an account")}</a></nav>`;
    return html`<nav aria-label=${T("Pages")}><a href="/login">${T("Sign in")}</a></nav>`;
  }
  const said = claims(idToken());
  const belongs = Object.entries(said).some(([name, value]) => name.endsWith("/org_id") && value);
  const pages = [["/inbox", T("Transfers")], ["/send", T("Send")], ["/mailbox", T("Mailbox")], ["/account", T("Account")]];
  if (belongs) pages.push(["/organization", T("Organization")]);
  return html`<nav aria-label=${T("Pages")} class=${open ? "open" : ""}>
    <button type="button" class="button quiet menu" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${T("Menu")}</button>
    <div class="pages">
      ${pages.map(([path, name]) => html`<a href=${path} aria-current=${location.pathname === path ? "page" : undefined}>${name}</a>`)}
      <button type="button" class="button quiet" onClick=${signOut}>${T("Sign out")}</button>
    </div>
  </nav>`;
}

/** Keeps the chosen language for a year and shows the page in it. */
export function speak(locale) {
  document.cookie = `locale=${locale}; Path=/; Max-Age=31536000; SameSite=Lax${location.protocol === "https:" ? "; Secure" : ""}`;
  location.reload();
}

/** The language of somebody who has just signed in, unless another was chosen here. */
export function speakLike(token) {
  const { locale } = claims(token);
  if (locale && !/(?:^|; )locale=/.test(document.cookie)) {
    document.cookie = `locale=${locale}; Path=/; Max-Age=31536000; SameSite=Lax${location.protocol === "https:" ? "; Secure" : ""}`;
  }
}

document.getElementById("locale")?.addEventListener("change", (event) => speak(event.target.value));
render(html`<${Navigation} />`, document.getElementById("nav"));
brand();
