// Small helpers for the page.

export const $ = (selector) => document.querySelector(selector);
export const $$ = (selector) => [...document.querySelectorAll(selector)];

export function chosen(name) {
  return document.querySelector(`input[name="${name}"]:checked`)?.value;
}

export function choose(name, value) {
  const input = document.querySelector(`input[name="${name}"][value="${value}"]`);
  if (input) input.checked = true;
}

export function say(text) {
  $("#status").textContent = text;
}

export function clearErrors() {
  for (const place of $$("[data-error-for]")) place.textContent = "";
  $("#notice").hidden = true;
}

// Shows what is wrong where the mistake was made, else beside the Restore button or on top of the page.
export function showError(problem) {
  clearErrors();
  const field = problem.field?.startsWith("photon") ? "photon" : problem.field;
  const place = $$("[data-error-for]").find((p) => p.dataset.errorFor === field && p.offsetParent !== null)
    ?? $$('[data-error-for="general"]').find((p) => p.offsetParent !== null);
  if (place) {
    place.textContent = problem.message;
    place.scrollIntoView({ block: "nearest" });
  } else {
    $("#notice").textContent = problem.message;
    $("#notice").hidden = false;
  }
}

export function debounced(call, milliseconds) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), milliseconds);
  };
}

// Lets a file be dropped on an element or chosen with the input inside it.
export function takesFile(element, input, take) {
  input.addEventListener("change", () => {
    const [file] = input.files;
    input.value = ""; // the same file can be chosen again
    if (file) take(file);
  });
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    event.stopPropagation();
    element.classList.add("over");
  });
  element.addEventListener("dragleave", () => element.classList.remove("over"));
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    element.classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (file) take(file);
  });
}
