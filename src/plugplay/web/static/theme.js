// Light, dark, or as the system has it.
import { $ } from "./dom.js";

const NAMES = { auto: "as the system", light: "light", dark: "dark" };
const SIGNS = { auto: "◐", light: "☀", dark: "☾" };

function apply(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $("#theme").textContent = SIGNS[theme];
  $("#theme").setAttribute("aria-label", `Colours: ${NAMES[theme]}`);
  $("#theme").title = `Colours: ${NAMES[theme]}`;
}

export function startTheme(changed) {
  let theme = localStorage.getItem("plugplay-theme");
  if (!(theme in NAMES)) theme = "auto";
  apply(theme);
  $("#theme").addEventListener("click", () => {
    const all = Object.keys(NAMES);
    theme = all[(all.indexOf(theme) + 1) % all.length];
    localStorage.setItem("plugplay-theme", theme);
    apply(theme);
    changed();
  });
}
