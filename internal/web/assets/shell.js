// The frame of every page: the organization's theme, the navigation and the choice of language.

import { Icon, html, useEffect, useRef, useState } from "./ui.js";
import { render } from "./thirdparty/preact.js";
import { T, when } from "./i18n.js";
import { call, endSession, identity } from "./api.js";
import { claims, onSession, person } from "./session.js";

/** The environment of this host (GET /environment), or {} when it cannot be read. @type {Promise<Partial<IdentityAPI["Environment"]>>} */
export const environment = call("GET", `${identity}/environment`).then(({ body }) => body).catch(() => ({}));

/** Applies the organization's colours, logo and legal links. */
async function applyTheme() {
  const { organizationProfile: profile } = await environment;
  if (!profile) return;
  const theme = profile.assets?.find((asset) => asset.type === "theme");
  const logo = profile.assets?.find((asset) => asset.type === "logo");
  if (theme?.url) {
    const path = /** @type {"/id/v3/assets/theme"} */ (new URL(theme.url, location.href).pathname);
    const body = await call("GET", path).then((answer) => answer.body, () => null);
    for (const [property, colour] of [["--brand", body?.primaryColor], ["--backdrop", body?.backgroundColor]]) {
      if (colour && /^#[0-9a-f]{6}$/i.test(colour)) document.documentElement.style.setProperty(String(property), colour);
    }
  }
  if (logo?.url) {
    const picture = Object.assign(new Image(), { src: new URL(logo.url, location.href).pathname, alt: "", className: "logo" });
    picture.addEventListener("load", () => document.querySelector(".brand .mark")?.replaceWith(picture));
  }
  const legal = [[profile.legalNoticeUrl, T("Legal notice")], [profile.privacyPolicyUrl, T("Privacy")]];
  const links = legal.filter(([url]) => /^https?:\/\//.test(url ?? ""));
  render(links.map(([url, name]) => html`<a href=${url} rel="noopener">${name}</a> `), element("legal"));
}

/** Shows the picture of a mailbox behind the panel once it has loaded, after all that the panel shows. @param {string} url */
export function showPicture(url) {
  const image = Object.assign(new Image(), { fetchPriority: "low", src: url });
  image.addEventListener("load", () => {
    document.body.style.setProperty("--picture", `url("${image.src}")`);
    document.body.classList.add("pictured");
  });
}

/** An element of the frame, which every page has. @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Ends this session and opens the start page. */
export async function signOut() {
  await endSession();
  location.assign("/");
}

function Navigation() {
  const [open, setOpen] = useState(false);
  const menu = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const [who, setWho] = useState(person);
  useEffect(() => onSession(() => setWho(person())), []);
  if (!who) {
    const [path, name] = location.pathname === "/login" ? ["/signup", T("Create an account")] : ["/login", T("Sign in")];
    return html`<nav aria-label=${T("Pages")}><a href=${path}>${name}</a></nav>`;
  }
  const here = (/** @type {string} */ path) => location.pathname === path || location.pathname.startsWith(`${path}/`);
  const escape = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !open) return;
    setOpen(false);
    menu.current?.focus();
  };
  const pages = [["/inbox", T("Transfers")], ["/send", T("Send")], ["/requests", T("Requests")], ["/mailbox", T("Mailbox")],
    ["/account", T("Account")]];
  if (who.organization) pages.push(["/organization", T("Organization")]);
  return html`<nav aria-label=${T("Pages")} class=${open ? "open" : ""} onKeyDown=${escape}>
    <button ref=${menu} type="button" class="button quiet menu" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>
      <${Icon} name="menu" />${T("Menu")}</button>
    <div class="pages">
      ${pages.map(([path, name]) => html`<a href=${path} aria-current=${here(path) ? "page" : undefined}>${name}</a>`)}
      <button type="button" class="button quiet" onClick=${signOut}>${T("Sign out")}</button>
    </div>
  </nav>`;
}

/** Sets the language cookie for a year. @param {string} locale */
function storeLocale(locale) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `locale=${locale}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

/** Sets the language and reloads the page. @param {string} locale */
export function setLanguage(locale) {
  storeLocale(locale);
  location.reload();
}

/** Sets the language to that of the signed-in person, unless one was chosen in this browser. @param {string} token */
export function adoptLanguage(token) {
  const { locale } = claims(token);
  if (locale && !/(?:^|; )locale=/.test(document.cookie)) storeLocale(locale);
}

document.getElementById("locale")?.addEventListener("change",
  (event) => setLanguage(/** @type {HTMLSelectElement} */ (event.target).value));
render(html`<${Navigation} />`, element("nav"));
for (const time of /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll("main > .lost time, #announced time"))) {
  time.textContent = when(time.dateTime);
}
if (person()) document.getElementById("announced")?.removeAttribute("hidden");
if (person()) import("./shortcuts.js").then(({ Shortcuts }) => render(html`<${Shortcuts} />`, element("shortcuts")));
applyTheme();
