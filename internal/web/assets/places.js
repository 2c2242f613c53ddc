// The choice of a language and a time zone.

import { Field, html } from "./ui.js";
import { T, languageName } from "./i18n.js";

const locales = ["de_DE", "en_US", "fr_FR", "ru_RU", "ko_KR", "zh_CN", "zh_TW", "ja_JP"];
/** Returns the time zones that the browser knows, and the present one even when it does not. @param {string} present */
const zones = (present) => [...new Set([...(present ? [present] : []), "UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])])];

/** The form fields `locale` and `timeZone`. @param {{locale?: string, timeZone?: string}} props present values */
export const Place = ({ locale = "", timeZone = "" }) => html`<div class="pair">
  <${Field} label=${T("Language")} name="locale" as="select">
    ${locales.map((l) => html`<option value=${l} lang=${l.replace("_", "-")} selected=${l === locale}>${languageName(l)}</option>`)}<//>
  <${Field} label=${T("Time zone")} name="timeZone" as="select">
    ${zones(timeZone).map((z) => html`<option value=${z} selected=${z === timeZone}>${z.replaceAll("_", " ")}</option>`)}<//>
</div>`;
