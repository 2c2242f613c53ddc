// Creates an account. The token it brings lets this tab confirm the address without signing in again.

import { call, onSubmit, remember } from "./client.js";

const form = document.querySelector("#signup");

onSubmit(form, async ({ name, email, password }) => {
  const body = {
    address: email,
    password,
    locale: document.querySelector("main").dataset.locale,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
  if (name.trim()) body.name = name.trim();
  remember((await call("POST", "/signup", { body })).body.token);
  return true;
});
