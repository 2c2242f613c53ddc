// Sentences, numbers, sizes and times in the visitor's language. The server puts the translations of the sentences that
// a page's scripts speak into the page; a sentence that is not there is shown as it stands in the source.

const root = document.documentElement;
/** The locale as the API spells it, like de_DE. */
export const locale = root.dataset.locale ?? "en_US";
/** The same as RFC 5646 has it, like de-DE. */
export const language = locale.replace("_", "-");

/** @type {Record<string, string | string[]>} */
const words = JSON.parse(document.getElementById("words")?.textContent || "{}") ?? {};

/** Which plural form a number takes, as the header of the catalogue says. @type {(n: number) => number} */
const plural = {
  de: (n) => Number(n !== 1), en: (n) => Number(n !== 1), fr: (n) => Number(n > 1),
  ru: (n) => (n % 10 === 1 && n % 100 !== 11 ? 0 : n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 12 || n % 100 > 14) ? 1 : 2),
}[locale.slice(0, 2)] ?? (() => 0);

/** Translates a sentence. @param {string} sentence */
export function T(sentence) {
  const found = words[sentence];
  return typeof found === "string" ? found : sentence;
}

/** Translates a sentence and fills in its placeholders. @param {string} sentence @param {...(string | number)} values */
export function F(sentence, ...values) {
  return fill(T(sentence), values);
}

/**
 * Translates a sentence about n things; n is the first value.
 * @param {string} one @param {string} many @param {number} n @param {...(string | number)} values
 */
export function N(one, many, n, ...values) {
  const found = words[one];
  const form = Array.isArray(found) ? found[plural(n)] ?? found[0] : found ?? (n === 1 ? one : many);
  return fill(form, [n, ...values]);
}

function fill(format, values) {
  let next = 0;
  return format.replace(/%(?:(\d+)\$)?([sd%])/g, (_, position, verb) => {
    if (verb === "%") return "%";
    const value = values[position ? position - 1 : next++];
    return typeof value === "number" ? number.format(value) : String(value ?? "");
  });
}

const number = new Intl.NumberFormat(language);
const fraction = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const units = { fr: ["octets", "ko", "Mo", "Go", "To", "Po"], ru: ["Б", "кБ", "МБ", "ГБ", "ТБ", "ПБ"] }[locale.slice(0, 2)]
  ?? ["B", "kB", "MB", "GB", "TB", "PB"];

/** A number as the language writes it. @param {number} n */
export const count = (n) => number.format(n);

/** A size in decimal units. @param {number} n bytes */
export function bytes(n) {
  let unit = 0;
  while (n >= 1000 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${n < 100 && unit ? fraction.format(n) : number.format(Math.floor(n))}\u00a0${units[unit]}`;
}

/** A share of one as a percentage. @param {number} share */
export const percent = (share) => new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(share);

/** How long something takes, in one unit. @param {number} seconds @param {"long" | "short"} [unitDisplay] */
export function duration(seconds, unitDisplay = "long") {
  const s = Math.max(1, Math.ceil(seconds));
  const [unit, length] = s < 60 ? ["second", 1] : s < 3600 ? ["minute", 60] : s < 172800 ? ["hour", 3600] : ["day", 86400];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay }).format(Math.ceil(s / length));
}

const moment = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const named = new Intl.DateTimeFormat(language, { year: "numeric", month: "long", day: "numeric", hour: "numeric", minute: "2-digit", timeZoneName: "short" });

/** A moment of the API, short. @param {string} stamp */
export const when = (stamp) => (stamp ? moment.format(new Date(stamp)) : "");

/** A moment of the API in full, naming the time zone. @param {string} stamp */
export const exactly = (stamp) => (stamp ? named.format(new Date(stamp)) : "");

/** A month of the API, like 2026-11, by its name. @param {string} stamp */
export const month = (stamp) => new Intl.DateTimeFormat(language, { year: "numeric", month: "long", timeZone: "UTC" })
  .format(new Date(`${stamp}-01T00:00:00Z`));

/** Several things in one line. @param {string[]} things */
export const list = (things) => new Intl.ListFormat(language, { type: "conjunction" }).format(things);

/** The name of a language in itself. @param {string} other a locale as the API spells it */
export function languageName(other) {
  const tag = other.replace("_", "-");
  return new Intl.DisplayNames(tag, { type: "language", languageDisplay: "standard" }).of(tag) ?? other;
}
