// The details of the current moment.

function details(record, i, graphView) {
  const moment = record.moments[i];
  const parts = {
    plan: () => planDetails(record, moment, graphView),
    step: () => stepDetails(record, moment),
    start: () => startDetails(record, moment),
    end: () => endDetails(record),
    note: () => noteDetails(moment),
  }[moment.sort]();
  return el("div.details", {}, parts, sampledPlans(record, moment), modelCalls(record, moment));
}

function picture(text, title) {
  return el("figure.picture", {}, title ? el("figcaption", {}, title) : null, el("pre", {}, text));
}

function leftNow(left) {
  return left && left.length ? el("p.left", {}, "Left: ", left.map(([kind, text], i) => [i ? ", " : "", el("b", {}, text),
    text.includes(kind.replace(/s$/, "")) ? "" : ` (${kind.replace(/_/g, " ")})`])) : null;
}

function startDetails(record, moment) {
  return [moment.picture === undefined ? el("p.fine", {}, "Nothing was observed.") : picture(moment.picture, "What the agent sees first"),
    leftNow(moment.left), record.settings.length ? folded("Settings of the agent", () => table(["switch", "value"],
      record.settings.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))))) : null];
}

function stepDetails(record, moment) {
  const cost = el("p.left", {}, "Cost: ", el("b", {}, amounts(moment.cost) || "nothing"));
  const seen = moment.picture === undefined ? el("p.fine", {}, "The trace ends before anything was observed.") : null;
  return [moment.planned ? el("p.callout.warn", {}, "Planned was ", el("code", {}, moment.planned), ".") : null,
    moment.thought ? section("Thought", el("p.quote", {}, moment.thought)) : null,
    moment.mismatch ? section("Not as predicted", el("div.side-by-side", {}, picture(moment.mismatch.predicted, "Predicted"),
      picture(moment.picture ?? "", "Observed")))
      : seen || section("Observed", picture(moment.picture)),
    cost, leftNow(moment.left)];
}

function noteDetails(moment) {
  const [first, ...rest] = moment.lines || [];
  return [first !== undefined ? el("p.lead", {}, first) : null, moment.schedule ? schedule(moment.schedule) : null,
    rest.length ? el("ul.lines", {}, rest.map((line) => el("li", {}, line))) : null,
    moment.picture !== undefined ? picture(moment.picture) : null, leftNow(moment.left)];
}

// Calls that run at once, as tape/show/schedule.py draws them.
function schedule({ size, left, bars, lines }) {
  const bottom = size[1];
  return svg("svg", { class: "drawing", width: size[0], height: bottom, viewBox: `0 0 ${size[0]} ${bottom}`, role: "img",
    "aria-label": "schedule; the filled bars are the critical path" },
  lines.map(([x, text]) => [svg("line", { class: "tick", x1: x, y1: 16, x2: x, y2: bottom }), svg("text", { x, y: 11, class: "price" }, text)]),
  bars.map(({ name, when, critical, x, y, width, height }) => svg("g", { class: critical ? "bar critical" : "bar" },
    svg("rect", { x, y, width, height, rx: 3 }), svg("text", { x: left - 8, y: y + height / 2 + 4, class: "name" }, name),
    svg("text", { x: x + width + 7, y: y + height / 2 + 4, class: "when" }, when))));
}

function endDetails(record) {
  return [record.detail ? el("p.lead", {}, record.detail) : null, explanation(record.explanation),
    record.about && record.about.length ? el("ul.lines", {}, record.about.map((line) => el("li", {}, line))) : null,
    record.facts ? el("dl.facts", {}, record.facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))) : null];
}

// Where no plan fits: the least caps that would do, and what they would pay for.
function explanation(options) {
  if (!options || !options.length) return null;
  return section("The least that would do", table(["caps", "pays for"], options.map(({ caps, plan, proven }) => el("tr", {},
    el("td.num", {}, el("b", {}, caps.join(" and ")), proven ? null : el("span.sub", {}, "less may do")), el("td", {}, actionsLine(plan))))));
}

function sampledPlans(record, moment) {
  if (!moment.plans) return null;
  const all = moment.plans.flatMap((group) => group.plans);
  const unreadable = all.filter(([, valid]) => !valid).length;
  return folded(`Sampled plans (${all.length}${unreadable ? `, ${unreadable} malformed` : ""})`, () => moment.plans.map((group) => {
    const same = new Map();
    group.plans.forEach(([actions, valid]) => {
      const key = JSON.stringify([actions, valid]);
      same.set(key, [actions, valid, (same.get(key)?.[2] || 0) + 1]);
    });
    return el("div.plans", {}, moment.plans.length > 1 ? el("p.fine", {}, `from ${clip(group.start, 120)}`) : null,
      el("ol", {}, [...same.values()].map(([actions, valid, times]) => el("li", {}, actionsLine(actions),
        times > 1 ? el("span.times", {}, `×${times}`) : null, valid ? null : el("span.times", {}, "malformed")))));
  }));
}

function actionsLine(actions, most) {
  if (!actions.length) return el("span.fine", {}, "no action");
  const listed = most && actions.length > most ? actions.slice(0, most) : actions;
  return el("span.actions", {}, listed.map((action, i) => [i ? el("span.then", { "aria-hidden": "true" }, " › ") : null, el("code", {}, action)]),
    listed.length < actions.length ? el("span.then", {}, ` › and ${actions.length - listed.length} more`) : null);
}

// ---- prompts and completions -----------------------------------------------------------------------------------

const CALLS_AT_ONCE = 40;

function modelCalls(record, moment) {
  const numbers = moment.calls || [];
  if (!numbers.length) return null;
  const tokens = numbers.reduce((sum, n) => sum + record.calls[n].tokens[0] + record.calls[n].tokens[1], 0);
  return folded(`Prompts and completions (${numbers.length}, ${tokens.toLocaleString("en")} tokens)`, () => {
    const list = el("div.calls");
    let next = 0;
    const more = el("button.quiet", { type: "button", onclick: () => add() });
    const add = () => {
      more.remove();
      numbers.slice(next, next + CALLS_AT_ONCE).forEach((n) => list.append(modelCall(record, record.calls[n])));
      next += CALLS_AT_ONCE;
      if (next < numbers.length) {
        more.textContent = `Show ${Math.min(CALLS_AT_ONCE, numbers.length - next)} more`;
        list.append(more);
      }
    };
    add();
    return list;
  });
}

function modelCall(record, call) {
  const [prompted, completed] = call.tokens;
  const summary = el("span.call-head", {}, el("b", {}, call.role), el("span.first-line", {}, clip(call.texts[0] ?? "no answer", 80)),
    el("span.fine", {}, `${prompted.toLocaleString("en")} + ${completed.toLocaleString("en")} tokens`));
  return folded(summary, () => [
    call.prompt.map(([role, text]) => el("div.message", {}, el("span.role", {}, role || "prompt"), el("pre", {}, record.said[text]))),
    call.texts.map((text, i) => el("div.message.answer", {}, el("span.role", {}, call.weights
      ? `option, ${(100 * call.weights[i]).toFixed(1)} %` : call.texts.length > 1 ? `completion ${i + 1}` : "completion"), el("pre", {}, text))),
    call.texts.length ? null : el("p.fine", {}, "No answer came.")]);
}
