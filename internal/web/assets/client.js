// What the pages share: calls of the identity API, the ID token of this tab, and forms that report their outcome.
// The ID token lives in sessionStorage, access tokens only in memory. Texts are set, never markup.

const main = document.querySelector("main");
const stored = "consign.idToken";

/** An answer of the API that reports a failure, or its absence (status 0). */
export class Failure extends Error {
  constructor(status, lines) {
    super(lines.join(" "));
    this.status = status;
    this.lines = lines;
  }
}

/** Calls the identity API; resolves to {status, body, token}, token being what the Authorization header brought. */
export async function call(method, path, { token, body } = {}) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(main.dataset.identity + path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store",
    });
  } catch {
    throw new Failure(0, [main.dataset.unreachable]);
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Failure(response.status, reasons(answer.error));
  const header = response.headers.get("Authorization") ?? "";
  return { status: response.status, body: answer, token: header.startsWith("Bearer ") ? header.slice(7) : "" };
}

function reasons(error) {
  if (error?.details?.length) return error.details;
  return [error?.message ?? main.dataset.failed];
}

/** The claims of a token; the server has checked them, here they only steer the page. */
export function claims(token) {
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(atob(part));
  } catch {
    return {};
  }
}

/** The ID token of this tab, or null. */
export const idToken = () => sessionStorage.getItem(stored);

/** Keeps token when it is an ID token; every answer may bring a new one. */
export function remember(token) {
  if (token && claims(token).scope === "idtoken") sessionStorage.setItem(stored, token);
}

/** Forgets the ID token of this tab. */
export const forget = () => sessionStorage.removeItem(stored);

/** Exchanges the ID token for an access token. */
export async function accessToken() {
  const answer = await call("POST", "/auth/access", { token: idToken() });
  remember(answer.token);
  return answer.body.token;
}

/** Runs work when form is submitted; shows what went wrong in the form, or that it is done in its place. */
export function onSubmit(form, work) {
  const problem = form.querySelector(".problem");
  const button = form.querySelector("button");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    try {
      if (await work(Object.fromEntries(new FormData(form)))) finish(form);
    } catch (error) {
      const lines = error instanceof Failure ? error.lines : [main.dataset.failed];
      problem.replaceChildren(...lines.map((line) => {
        const item = document.createElement("li");
        item.textContent = line;
        return item;
      }));
      problem.hidden = false;
    } finally {
      button.disabled = false;
    }
  });
}

/** Replaces form by the page's word that it is done. */
export function finish(form) {
  form.hidden = true;
  document.querySelector(".done").hidden = false;
}
