// The documents site (make site): README.md, the documents beside it, docs and clients, as they are. Headings have the anchors of GitHub.
// Links to other files of the repository lead to the forge, since the site has documents only.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { dialog } from "./dialog.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const isDirectory = (file) => fs.statSync(path.join(root, file)).isDirectory();

/** Lists the files that are directly in a directory. */
const inDirectory = (directory) => fs.readdirSync(path.join(root, directory)).sort().map((name) => path.posix.join(directory, name));
/** Lists the pages that are directly in a directory. */
const pagesIn = (directory) => inDirectory(directory).filter((file) => file.endsWith(".md"));
/** Lists a directory and all directories in it. */
const below = (directory) => [directory,
  ...inDirectory(directory).filter((file) => isDirectory(file) && !file.endsWith("/node_modules")).flatMap(below)];

const sources = ["docs", "clients"]; // and the root, without its other directories
const directories = [".", ...sources.flatMap(below)];

const [, version, state] = /^## (\S+) \((.*)\)$/m.exec(read("CHANGELOG.md"));
const [, module] = /^module (\S+)$/m.exec(read("go.mod"));
const commit = state === "unreleased" ? "HEAD" : `v${version}`;

/** Returns where a link of a page leads: to a page of the site, to the first page of a directory, or to a file at the forge. */
function destination(link, page) {
  if (/^([a-z]+:|#)/.test(link)) return link;
  const [file, anchor] = link.split("#");
  let target = path.posix.join(path.posix.dirname(page), decodeURIComponent(file)).replace(/\/$/, "");
  if (isDirectory(target)) target = pagesIn(target)[0] ?? target;
  if (target.endsWith(".md") && directories.includes(path.posix.dirname(target))) return url(target) + (anchor ? `#${anchor}` : "");
  return `https://${module}/${isDirectory(target) ? "tree" : "blob"}/${commit}/${target}`;
}

const url = (page) => `/${page === "README.md" ? "" : page}`;

/**
 * Sets the destinations of links, makes none of names such as release.sh, makes no header of an empty cell, and keeps {{ from Vue, which
 * would see an expression.
 */
function adapt(markdown) {
  markdown.linkify.set({ fuzzyLink: false });
  markdown.core.ruler.push("adapt", ({ tokens, env }) => {
    tokens.forEach(({ type }, i) => {
      if (type === "th_open" && !tokens[i + 1].content) tokens[i].tag = tokens[i + 2].tag = "td";
    });
    for (const token of tokens.flatMap((block) => block.children ?? [])) {
      if (token.type === "link_open") token.attrSet("href", destination(token.attrGet("href"), env.relativePath));
      if (token.type === "code_inline") token.attrSet("v-pre", "");
    }
  });
  markdown.renderer.rules.text = (tokens, i) => markdown.utils.escapeHtml(tokens[i].content).replaceAll("{{", "{<!-- -->{");
}

/** The anchor that GitHub gives to a heading, as anchors in internal/app/docs_test.go. */
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");

const title = (page) => /^# (.+)$/m.exec(read(page))[1].replaceAll("`", "");
const names = { ".": "Project", "docs/use": "Use", "docs/use/tutorials": "First steps", docs: "Reference", clients: "Clients" };
const first = ["docs/use/tutorials", "docs/use", "docs", "clients/typescript"];
const rank = (directory) => (first.indexOf(directory) + 1 || first.length + 1) + (directory === "." ? 1 : 0);

/** A group for each directory that has pages, in which they are sorted by title. README.md comes before all. */
function sidebar() {
  const groups = directories.toSorted((a, b) => rank(a) - rank(b)).map((directory) => ({
    text: names[directory] ?? path.basename(directory).replace(/^./, (letter) => letter.toUpperCase()),
    items: pagesIn(directory).filter((page) => page !== "README.md").map((page) => ({ text: title(page), link: url(page) }))
      .sort((a, b) => a.text.localeCompare(b.text, "en")),
  }));
  return [{ text: title("README.md"), link: "/" }, ...groups.filter((group) => group.items.length)];
}

/** Leaves Vue to node while pages are rendered: Vite would look for it beside the documents. */
const vue = { name: "vue", enforce: "pre",
  resolveId: (id, from, { ssr }) => ssr && /^vue(\/|$)/.test(id) ? { id, external: true } : undefined };

/** Lets the highlighting take its time: with the limit of 500 ms a line, a busy machine makes other pages. */
function unhurried(highlighter) {
  const { codeToHtml } = highlighter;
  highlighter.codeToHtml = (code, options) => codeToHtml(code, { ...options, tokenizeTimeLimit: 0 });
}

export default defineConfig({
  lang: "en",
  title: "Consign",
  titleTemplate: ":title · Consign",
  description: "Receive files behind a link, with receipts",
  head: [["link", { rel: "icon", href: "/logo/consign.svg" }]],
  srcDir: root,
  srcExclude: fs.readdirSync(root).filter((name) => isDirectory(name) && !sources.includes(name)).map((name) => `${name}/**`),
  buildConcurrency: 1, // else the search has its pages in the order in which they were read
  ignoreDeadLinks: "localhostLinks",
  rewrites: { "README.md": "index.md" },
  markdown: { anchor: { slugify }, config: adapt, shikiSetup: unhurried,
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } },
  vite: { plugins: [vue, dialog] },
  themeConfig: {
    logo: { src: "/logo/consign.svg", alt: "" },
    siteTitle: `Consign ${version}`,
    search: { provider: "local" },
    sidebar: sidebar(),
    outline: [2, 3],
  },
});
