// The frame of the four account pages: heading and navigation.

import { Unloaded, Waiting, html, showOwn, useLoaded } from "./ui.js";
import { T } from "./i18n.js";
import { identity, own } from "./api.js";

/** The pages: path, name. @type {() => [string, string][]} */
const pages = () => [["/account", T("Profile")], ["/account/security", T("Sign-in and security")],
  ["/account/devices", T("Devices and programs")], ["/account/privacy", T("Data and activity")]];

/**
 * Shows a page of the account. `parts` returns its sections.
 * @param {(profile: IdentityAPI["Person"], reload: () => void) => any} parts
 */
export const showAccount = (parts) => showOwn(() => {
  const { value: profile, error, reload } = useLoaded(async () => (await own("GET", `${identity}/profile`)).body);
  if (error) return html`<${Unloaded} title=${T("Your account")} error=${error} />`;
  if (!profile) return html`<${Waiting} />`;
  return html`<h1>${T("Your account")}</h1>
    <nav class="parts" aria-label=${T("Account")}>${pages().map(([path, name]) => html`<a key=${path} href=${path}
      aria-current=${location.pathname === path ? "page" : undefined}>${name}</a>`)}</nav>
    <div class="stack sections">${parts(profile, reload)}</div>`;
});
