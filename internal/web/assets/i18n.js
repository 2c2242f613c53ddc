// Translations, numbers, sizes and times in the visitor's language. The server embeds the translations that the scripts of a
// page use into the page. A sentence without translation is shown as it is in the source, in English.

const root = document.documentElement;
/** The locale as the API spells it, like de_DE. */
export const locale = root.dataset.locale ?? "en_US";
/** The locale as an RFC 5646 tag, like de-DE. */
export const language = locale.replace("_", "-");

/** @type {Record<string, string | string[]>} */
const translations = JSON.parse(document.getElementById("translations")?.textContent || "{}") ?? {};

/** Index of the plural form by language, as in the Plural-Forms header of the .po files. @type {Record<string, (n: number) => number>} */
const plurals = {
  de: (n) => Number(n !== 1), en: (n) => Number(n !== 1), fr: (n) => Number(n > 1),
  ru: (n) => (n % 10 === 1 && n % 100 !== 11 ? 0 : n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 12 || n % 100 > 14) ? 1 : 2),
};
const plural = plurals[locale.slice(0, 2)] ?? (() => 0);

/** Translates a sentence. @param {string} sentence */
export function T(sentence) {
  const found = translations[sentence];
  return typeof found === "string" ? found : sentence;
}

/** Translates a sentence and replaces its placeholders %s and %1$s. @param {string} sentence @param {...(string | number)} values */
export function F(sentence, ...values) {
  return fill(T(sentence), values);
}

/**
 * Translates a sentence with a plural. n selects the form and replaces %d; `values` replace the other placeholders.
 * @param {string} one @param {string} many @param {number} n @param {...(string | number)} values
 */
export function N(one, many, n, ...values) {
  const found = translations[one];
  const form = Array.isArray(found) ? found[plural(n)] ?? found[0] : found ?? (n === 1 ? one : many);
  return fill(form, [n, ...values]);
}

/** @param {string} format @param {(string | number)[]} values */
function fill(format, values) {
  let next = 0;
  return format.replace(/%(?:(\d+)\$)?([sd%])/g, (_, position, verb) => {
    if (verb === "%") return "%";
    const value = values[position ? position - 1 : next++];
    return typeof value === "number" ? number.format(value) : String(value ?? "");
  });
}

const number = new Intl.NumberFormat(language);
/** @type {Record<string, string[]>} */
const unitNames = { fr: ["octets", "ko", "Mo", "Go", "To", "Po"], ru: ["Б", "кБ", "МБ", "ГБ", "ТБ", "ПБ"] };
const units = unitNames[locale.slice(0, 2)] ?? ["B", "kB", "MB", "GB", "TB", "PB"];

/** Formats a number. @param {number} n */
export const count = (n) => number.format(n);

/** Formats a size in decimal units, as mails do (internal/i18n/format.go): it never shows more than there is. @param {number} n bytes */
export function bytes(n) {
  let unit = 0, scale = 1;
  for (; n >= 1000 * scale && unit < units.length - 1; unit++) scale *= 1000;
  const shown = n < 100 * scale && unit ? Math.floor(10 * n / scale) / 10 : Math.floor(n / scale);
  return `${number.format(shown)}\u00a0${units[unit]}`;
}

/** Gigabytes that are no limit (identity.UnlimitedGB). */
export const unlimited = 1e9;

/** Formats a limit of a volume. @param {number} n gigabytes */
export const volume = (n) => (n >= unlimited ? T("No limit") : bytes(n * 1e9));

/** Formats a percentage. @param {number} share from 0 to 1 */
export const percent = (share) => new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(share);

/** Formats a duration in its largest unit. @param {number} seconds @param {"long" | "short"} [unitDisplay] */
export function duration(seconds, unitDisplay = "long") {
  const s = Math.max(1, Math.ceil(seconds));
  const [unit, length] = s < 60 ? ["second", 1] : s < 3600 ? ["minute", 60] : s < 172800 ? ["hour", 3600] : ["day", 86400];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay }).format(Math.ceil(s / length));
}

/**
 * Formats the time until a moment of the API, rounded down; a day that began in the last hour counts.
 * @param {string} stamp @param {number} [now] in milliseconds
 */
export function left(stamp, now = Date.now()) {
  const seconds = Math.max(0, (Date.parse(stamp) - now) / 1000), length = seconds >= 172_800 ? 86_400 : seconds >= 3600 ? 3600 : 60;
  return duration(Math.max(60, Math.floor((seconds + (length === 86_400 ? 3600 : 0)) / length) * length));
}

const short = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const hour = new Intl.DateTimeFormat(language, { timeStyle: "short" });
const full = new Intl.DateTimeFormat(language, { year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "2-digit",
  timeZoneName: "short" });

/** Formats a time of the API, short. @param {string | null} [stamp] */
export const when = (stamp) => (stamp ? short.format(new Date(stamp)) : "");

/** Formats a time of the API in full, with the time zone. @param {string | null} [stamp] */
export const exactly = (stamp) => (stamp ? full.format(new Date(stamp)) : "");

/** Formats a time of today as its hour, another one with its day. @param {number} at in milliseconds */
export const timeOf = (at) => (new Date(at).toDateString() === new Date().toDateString() ? hour : short).format(at);

/** The value of an input for a time, in the zone of the browser. @param {Date} at */
export const localTime = (at) => new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** Formats a day. @param {string} stamp like 2026-11-20 */
export const day = (stamp) => new Intl.DateTimeFormat(language,
  { dateStyle: "long", timeZone: "UTC" }).format(new Date(`${stamp}T00:00:00Z`));

const ago = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

/** Formats a past time of the API as a distance, like "3 minutes ago". @param {string} stamp @param {number} now in milliseconds */
export function since(stamp, now) {
  const s = Math.max(0, (now - Date.parse(stamp)) / 1000);
  const [unit, length] = /** @type {[Intl.RelativeTimeFormatUnit, number]} */ (s < 60 ? ["second", 60]
    : s < 3600 ? ["minute", 60]
    : s < 86400 ? ["hour", 3600] : ["day", 86400]);
  return ago.format(-Math.floor(s / length), unit);
}

const thisYear = new Intl.DateTimeFormat(language, { month: "short", day: "numeric" });
const otherYear = new Intl.DateTimeFormat(language, { year: "numeric", month: "short", day: "numeric" });

/** Formats a past time of the API for a list: as a distance up to a week, then as a day. @param {string} stamp @param {number} now */
export function recent(stamp, now) {
  const at = new Date(stamp);
  if (now - at.getTime() < 604_800_000) return since(stamp, now);
  return (at.getFullYear() === new Date(now).getFullYear() ? thisYear : otherYear).format(at);
}

/** Formats a month of the API. @param {string} stamp like 2026-11 */
export const month = (stamp) => new Intl.DateTimeFormat(language, { year: "numeric", month: "long", timeZone: "UTC" })
  .format(new Date(`${stamp}-01T00:00:00Z`));

/** Joins strings as an enumeration. @param {string[]} things */
export const list = (things) => new Intl.ListFormat(language, { type: "conjunction" }).format(things);

/** Returns the name of a language in that language. @param {string} other a locale as the API spells it */
export function languageName(other) {
  const tag = other.replace("_", "-");
  return new Intl.DisplayNames(tag, { type: "language", languageDisplay: "standard" }).of(tag) ?? other;
}
