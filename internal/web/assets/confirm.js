// Confirms an email address: only the button uses up the key in the path, and only with an account signed in.

import { accessToken, call, Failure, forget, idToken, onSubmit, remember } from "./client.js";

const form = document.querySelector("#confirm");
const first = document.querySelector("#first");
const key = location.pathname.split("/").pop();

document.querySelector("#to-login").href = `/login#${location.pathname}`;
show();

onSubmit(form, async () => {
  let access;
  try {
    access = await accessToken();
  } catch (error) {
    if (!(error instanceof Failure && error.status === 401)) throw error;
    forget(); // the session is over
    show();
    return false;
  }
  remember((await call("POST", `/confirm/${key}`, { token: access })).token);
  return true;
});

function show() {
  form.hidden = !idToken();
  first.hidden = !form.hidden;
}
