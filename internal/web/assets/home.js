// Opens a mailbox by its name.

const form = document.querySelector("#open");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const name = new FormData(form).get("name").trim();
  if (name) location.assign(`/m/${encodeURIComponent(name)}`);
});
