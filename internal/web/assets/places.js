// Where somebody is at home: the choice of a language and a time zone.

import { Field, html } from "./ui.js";
import { T, languageName } from "./i18n.js";

const locales = ["de_DE", "en_US", "fr_FR", "ru_RU", "ko_KR", "zh_CN", "zh_TW", "ja_JP"];
/** The time zones of this browser, and the present one even if the browser does not know it. @param {string} present */
const zones = (present) => [...new Set([...(present ? [present] : []), "UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])])];

/** Two fields of a form, named as the API names them. @param {{locale?: string, timeZone?: string}} properties */
export const Place = ({ locale = "", timeZone = "" }) => html`<div class="pair">
  <${Field} label=${T("Language")} name="locale" as="select">
    ${locales.map((l) => html`<option value=${l} lang=${l.replace("_", "-")} selected=${l === locale}>${languageName(l)}</option>`)}<//>
  <${Field} label=${T("Time zone")} name="timeZone" as="select">
    ${zones(timeZone).map((z) => html`<option value=${z} selected=${z === timeZone}>${z.replaceAll("_", " ")}</option>`)}<//>
</div>`;
