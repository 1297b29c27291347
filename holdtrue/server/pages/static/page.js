"use strict";
// Everything works without this file. With it, a restriction that is set brings new options without loading the page.

const key = document.getElementById("key");
if (key && location.hash.startsWith("#key=")) {
  // A fragment is not sent to anybody; it is taken out of the address at once.
  key.value = decodeURIComponent(location.hash.slice(5));
  history.replaceState(null, "", location.pathname);
}

const print = document.getElementById("print");
if (print) {
  print.hidden = false;
  print.addEventListener("click", () => document.getElementById("letter").contentWindow.print());
}

let asked = 0;

async function look(form, button) {
  const number = ++asked;
  const sent = new URLSearchParams(new FormData(form));
  if (button && button.name) sent.append(button.name, button.value);
  const held = document.activeElement && document.activeElement.id;
  form.setAttribute("aria-busy", "true");
  let page = null;
  try {
    const response = await fetch(form.action, { method: "POST", body: sent, redirect: "error" });
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    page = null;
  }
  if (number !== asked) return; // a later question is on its way
  form.removeAttribute("aria-busy");
  if (!page || !page.getElementById("answer")) {
    form.submit(); // logged out, or refused: the whole page says why
    return;
  }
  for (const id of ["answer", "columns"]) document.getElementById(id).replaceWith(page.getElementById(id));
  const again = (held && document.getElementById(held)) || document.getElementById("answer");
  again.focus({ preventScroll: Boolean(held) });
}

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (event.target.id !== "case" || (button && button.hasAttribute("formaction"))) return;
  event.preventDefault();
  look(event.target, button);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && form.id === "case" && event.target.classList.contains("move")) look(form, null);
});
