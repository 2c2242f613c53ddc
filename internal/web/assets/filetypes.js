// Families of file types, by which people choose what a mailbox takes, and a filter in words.

import { T, list } from "./i18n.js";

const office = "application/vnd.openxmlformats-officedocument.", open = "application/vnd.oasis.opendocument.";

/** The media types of each family. @type {Record<string, string[]>} */
const types = {
  pdf: ["application/pdf"],
  images: ["image/*"],
  documents: ["application/msword", `${office}wordprocessingml.document`, `${open}text`, "application/rtf", "text/plain"],
  tables: ["application/vnd.ms-excel", `${office}spreadsheetml.sheet`, `${open}spreadsheet`, "text/csv"],
  slides: ["application/vnd.ms-powerpoint", `${office}presentationml.presentation`, `${open}presentation`],
  videos: ["video/*"],
  audio: ["audio/*"],
  archives: ["application/zip", "application/x-7z-compressed", "application/x-rar-compressed", "application/gzip", "application/x-tar"],
};

/** Names of the families. @returns {Record<string, string>} */
export const families = () => ({
  pdf: T("PDF"), images: T("Images"), documents: T("Text documents"), tables: T("Spreadsheets"), slides: T("Presentations"),
    videos: T("Videos"),
  audio: T("Audio"), archives: T("Archives (ZIP and others)"),
});

/** Splits a filter into whole families and further types. @param {string[]} filter */
export function familiesOf(filter) {
  const chosen = Object.keys(types).filter((name) => types[name].every((type) => filter.includes(type)));
  const covered = chosen.flatMap((name) => types[name]);
  return { chosen, further: filter.filter((type) => !covered.includes(type)) };
}

/** Returns the filter for families and further types. @param {string[]} chosen @param {string[]} further */
export const filterOf = (chosen, further) => [...new Set([...chosen.flatMap((name) => types[name]), ...further])];

/** Returns a filter in words, like "PDF and Images". @param {string[]} filter */
export function inWords(filter) {
  const { chosen, further } = familiesOf(filter);
  return list([...chosen.map((name) => families()[name]), ...further]);
}
