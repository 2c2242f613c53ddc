// /api/: a form below each operation that sends a request to this server and shows the answer. It is in English, as the documents are.
// The token stays in the page: it is neither stored nor sent elsewhere.

import "./shell.js";

/** How long an event stream is shown, in ms. */
const streamTime = 20_000;
/** Most bytes of an answer that are shown. */
const shown = 100_000;

/** @type {HTMLInputElement} */
let token;

/**
 * Returns an element with text.
 * @template {keyof HTMLElementTagNameMap} N
 * @param {N} name @param {string} [text] @param {string} [className] @returns {HTMLElementTagNameMap[N]}
 */
function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

/**
 * Returns a labelled field in a paragraph.
 * @template {HTMLInputElement | HTMLTextAreaElement} F
 * @param {F} field @param {string} label @returns {HTMLElement}
 */
function labelled(field, label) {
  const row = element("label", label);
  row.append(field);
  const paragraph = element("p");
  paragraph.append(row);
  return paragraph;
}

/** Reads the parameters of an operation from its table. @param {HTMLElement} operation @returns {{name: string, place: string}[]} */
function parametersOf(operation) {
  return [...operation.querySelectorAll(":scope > .parameters tr")].map((row) => ({
    name: row.querySelector("th")?.textContent?.trim() ?? "", place: row.querySelector("td")?.textContent?.trim() ?? "",
  }));
}

/**
 * Reads an answer as text, an event stream for some seconds.
 * @param {Response} answer @param {AbortController} stop @param {(text: string) => void} show @returns {Promise<void>}
 */
async function readAnswer(answer, stop, show) {
  const type = answer.headers.get("Content-Type") ?? "";
  if (!/json|text|yaml|xml/.test(type)) {
    const blob = await answer.blob();
    show(blob.size ? `${blob.size} bytes of ${type}` : "");
    return;
  }
  if (!type.startsWith("text/event-stream")) {
    const text = await answer.text();
    try {
      show(JSON.stringify(JSON.parse(text), null, 2));
    } catch {
      show(text);
    }
    return;
  }
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader(), timer = setTimeout(() => stop.abort(), streamTime);
  let text = "";
  try {
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) show(text += part.value);
  } catch {
    show(`${text}\n(ended here after ${streamTime / 1000} seconds)`);
  }
  clearTimeout(timer);
}

/** Adds the form to an operation that was opened. @param {HTMLElement} operation @returns {void} */
function addForm(operation) {
  const { method = "", path = "", media = "" } = operation.dataset;
  const form = element("form", "", "try");
  form.append(element("h4", "Try it"));
  const fields = parametersOf(operation).map(({ name, place }) => {
    const input = element("input");
    input.autocomplete = "off";
    input.required = place === "path";
    form.append(labelled(input, `${name} (${place})`));
    return { name, place, input };
  });
  const body = element("textarea");
  body.rows = 6;
  body.value = operation.querySelector(":scope > .body code")?.textContent ?? "";
  if (media) form.append(labelled(body, `Body, ${media}`));
  const send = element("button", "Send request");
  const output = element("pre");
  output.tabIndex = 0;
  output.hidden = true;
  output.setAttribute("aria-live", "polite");
  form.append(send, output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    const target = fields.filter((f) => f.place === "path").reduce((all,
      f) => all.replace(`{${f.name}}`, encodeURIComponent(f.input.value)), path);
    const query = new URLSearchParams(fields.filter((f) => f.place === "query" && f.input.value).map((f) => [f.name,
      f.input.value])).toString();
    const headers = new Headers(), stop = new AbortController();
    let head = "";
    try {
      for (const f of fields) if (f.place === "header" && f.input.value) headers.set(f.name, f.input.value);
      if (token.value && !headers.has("Authorization")) headers.set("Authorization", `Bearer ${token.value.trim()}`);
      if (media) headers.set("Content-Type", media);
      const answer = await fetch(query ? `${target}?${query}` : target, {
        method, headers, body: media ? body.value : null, credentials: "omit", redirect: "manual", cache: "no-store", signal: stop.signal,
      });
      head = [`${method} ${target}${query && `?${query}`}`, `${answer.status} ${answer.statusText}`,
        ...[...answer.headers].map(([name, value]) => `${name}: ${value}`), "", ""].join("\n");
      output.hidden = false;
      output.textContent = head;
      await readAnswer(answer, stop, (text) => { output.textContent = head + text.slice(0, shown) + (text.length > shown ? "\n…" : ""); });
    } catch (error) {
      output.hidden = false;
      output.textContent = `${head}${error}`;
    }
    send.disabled = false;
  });
  operation.append(form);
}

/** Opens the operation or schema that the address names. @returns {void} */
function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) named.open = true;
}

const apis = document.querySelector(".apis");
if (apis) {
  token = element("input");
  token.type = "password";
  token.autocomplete = "off";
  const hint = labelled(token, "Token for requests from this page: an API token (cns_…) or an access token");
  hint.className = "try";
  apis.prepend(hint);
  for (const operation of /** @type {NodeListOf<HTMLElement>} */ (apis.querySelectorAll("details[data-path]"))) {
    operation.addEventListener("toggle", () => addForm(operation), { once: true });
  }
  window.addEventListener("hashchange", openNamed);
  openNamed();
}
