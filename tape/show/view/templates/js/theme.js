// Light or dark: as the system has it, until the button is used.

const theme = document.getElementById("theme");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function themeNow() {
  return document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
}

function nameTheme() {
  theme.textContent = themeNow() === "dark" ? "Light" : "Dark";
  theme.setAttribute("aria-label", `Change to the ${themeNow() === "dark" ? "light" : "dark"} theme`);
}

theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = themeNow() === "dark" ? "light" : "dark";
  nameTheme();
});
dark.addEventListener("change", nameTheme);
nameTheme();
