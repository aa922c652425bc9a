// Budgets step by step: every bar is a whole cap; what is left stands at the bottom, what the step took on top of it.

const BAR_HEIGHT = 54;

function budgetStrip(record, goToStep) {
  const { bars, table: went } = record.spending;
  const cards = bars.map((bar) => budgetCard(bar, goToStep));
  const where = went.rows.length ? folded("Where it went", () => table(["spent by", ...went.kinds], went.rows.map(([who, ...texts]) =>
    el("tr", {}, el("th", { scope: "row" }, who === "action" ? "actions" : `model: ${who}`), texts.map((text) => el("td.num", {}, text)))))) : null;
  if (!cards.length && !where) return null;
  return el("section.budgets", { "aria-label": "Budgets" },
    cards.length ? el("div.cards", {}, cards) : el("p.fine", {}, "No resource was capped."), where);
}

function budgetCard(bar, goToStep) {
  const last = bar.steps[bar.steps.length - 1];
  return el("div.budget", {}, budgetHead(bar.kind, last ? last.left_text : bar.cap_text, bar.cap_text),
    barStrip(bar, `${bar.kind} left after each step`, goToStep));
}

function budgetHead(kind, left, cap) {
  return el("div.budget-head", {}, el("span.kind", {}, kind.replace(/_/g, " ")),
    el("span.of", {}, el("b", {}, left), " left of ", cap));
}

// Drawn on a grid of one unit a bar and stretched to the room there is.
function barStrip(bar, label, goToStep) {
  return svg("svg", { class: "bars", viewBox: `0 0 ${Math.max(bar.steps.length, 6)} ${BAR_HEIGHT}`, height: BAR_HEIGHT,
    preserveAspectRatio: "none", role: "group", "aria-label": label },
    bar.steps.map((step, i) => barOf(bar, step, i + 0.04, 0.92, goToStep)));
}

function barOf(bar, step, x, width, goToStep) {
  const height = (count) => (BAR_HEIGHT * Math.max(0, count)) / Math.max(bar.cap, 1);
  const left = height(step.left);
  const pieces = [svg("rect", { x, y: 0, width, height: BAR_HEIGHT, class: "whole" }),
    svg("rect", { x, y: BAR_HEIGHT - left, width, height: left, class: "left" })];
  let top = BAR_HEIGHT - left;
  for (const [who, count] of step.used) {
    const tall = Math.min(top, Math.max(height(count || 0), count ? 1 : 0));
    if (tall <= 0) continue;
    top -= tall;
    pieces.push(svg("rect", { x, y: top, width, height: tall, class: who === "action" ? "by-action" : "by-model" }));
  }
  const label = step.label || `${step.after ? "after the last step" : step.step ? `step ${step.step}` : "start"}: ${step.left_text} left`
    + step.used.map(([who, , text]) => `; ${who === "action" ? "action" : `model (${who})`} ${text}`).join("");
  const go = () => goToStep(step.step);
  const acts = goToStep ? { role: "button", tabindex: 0, onclick: go, onkeydown: (event) => { if (event.key === "Enter") go(); } } : { role: "img" };
  return svg("g", { class: "bar", "data-step": step.step, "data-after": step.after ? "" : null, "aria-label": label, ...acts },
    svg("title", {}, label), pieces, svg("rect", { x, y: 0, width, height: BAR_HEIGHT, class: "frame" }));
}

function markBars(strip, step) {
  for (const bar of strip ? strip.querySelectorAll(".bar") : []) {
    bar.classList.toggle("now", Number(bar.dataset.step) === step && bar.dataset.after === undefined);
  }
}
