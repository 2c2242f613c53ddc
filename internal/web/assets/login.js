// Signs in with a password and, where the account has one, a second factor. Then it goes on to the page that the
// fragment names; a fragment never reaches a server or its log.

import { accessToken, call, claims, onSubmit, remember } from "./client.js";

const form = document.querySelector("#login");
const second = document.querySelector("#second");
let mfaToken = "";

for (const name of ["email", "password"]) {
  form.elements[name].addEventListener("input", () => {
    mfaToken = "";
    ask(false);
  });
}

onSubmit(form, async ({ email, password, code }) => {
  const body = mfaToken
    ? { email, type: /^\d{6}$/.test(code.trim()) ? "totp" : "recovery", key: code.trim() }
    : { email, type: "bcrypt", key: password };
  const { token } = (await call("POST", "/auth/login", { token: mfaToken, body })).body;
  if (claims(token).scope === "mfa") {
    mfaToken = token;
    ask(true);
    return false;
  }
  remember(token);
  await accessToken();
  const next = destination();
  if (next) location.replace(next);
  return true;
});

function ask(wanted) {
  second.hidden = !wanted;
  form.elements.code.required = wanted;
  if (wanted) form.elements.code.focus();
}

// destination is the path in the fragment, if it stays on this host.
function destination() {
  const path = location.hash.slice(1);
  if (!path.startsWith("/")) return null;
  const target = new URL(path, location.origin);
  return target.origin === location.origin ? target.pathname : null;
}
