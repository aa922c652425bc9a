// A planning round in words: the path, why it was chosen, what else there was, and what changed since the round before.

function planDetails(record, moment, graphView) {
  const round = record.rounds[moment.round];
  return [
    round.told ? el("ul.told", {}, round.told.map((line, i) => el(i ? "li" : "li.first", {}, line))) : null,
    round.needs && !(round.told || []).includes(round.needs) ? el("p.callout.bad", {}, round.needs) : null,
    round.refusal ? el("p.callout.bad", {}, round.refusal) : null,
    round.path ? section(round.partial ? "The partial path that was followed" : "The path that was followed", pathTable(round, graphView)) : null,
    round.ended ? el("p.ended", {}, round.ended) : null,
    alternativesPart(round, graphView), budgetsPart(round, graphView), changesPart(round), certificatePart(round), hypothesesPart(round),
    round.unreproduced ? el("p.fine", {}, `The choice cannot be rebuilt from this trace: ${round.unreproduced}`) : null,
  ];
}

function pathTable(round, graphView) {
  const left = round.left || [];
  const kinds = left.length ? left[0].map(([kind]) => kind) : [];
  const graph = graphView && graphView.graph;
  const rows = round.path.actions.map((action, i) => {
    const edge = graph && round.path.edges.length === round.path.actions.length ? graph.edges[round.path.edges[i]] : null;
    const costs = edge ? edge.cost.filter(([kind]) => kinds.includes(kind)) : [];
    return el("tr", { onmouseenter: () => edge && graphView.light([round.path.edges[i]]), onmouseleave: () => edge && graphView.light([]) },
      el("td.num", {}, i + 1), el("td", {}, el("code", {}, action)),
      kinds.length ? el("td.num", {}, amounts(costs)) : null,
      kinds.map((_, k) => el("td.num", {}, left[i + 1] ? left[i + 1][k][1] : "")));
  });
  return el("div.scroll", {}, table(["", "action", ...(kinds.length ? ["worst case"] : []),
    ...kinds.map((kind) => `${kind.replace(/_/g, " ")} left`)], rows));
}

function alternativesPart(round, graphView) {
  const listed = [...(round.selected ? [["the solver would pick", round.selected]] : []),
    ...(round.alternatives || []).map((path) => ["fits", path]), ...(round.misfits || []).map((path) => ["does not fit", path])];
  if (!listed.length) return null;
  const kinds = [...new Set([round.path, ...listed.map(([, path]) => path)].filter(Boolean).flatMap((path) => Object.keys(path.cost_text || {})))];
  const row = (what, path, chosen) => {
    const over = Object.values(path.over_text || {}).join(", ");
    const line = el(chosen ? "tr.chosen" : "tr", { tabindex: graphView && path.edges.length ? 0 : null,
      onmouseenter: () => graphView && graphView.light(path.edges), onmouseleave: () => graphView && graphView.light([]),
      onfocus: () => graphView && graphView.light(path.edges), onblur: () => graphView && graphView.light([]) },
      el("td", {}, el("span.what", {}, what), over ? el("span.sub", {}, `lacks ${over}`) : null),
      el("td", {}, actionsLine(path.actions, 12)), el("td.num", {}, path.score === undefined ? "" : scored(path.score)),
      kinds.map((kind) => el("td.num", {}, (path.cost_text || {})[kind] ?? "")));
    return line;
  };
  const rows = [...(round.path ? [row("followed", round.path, true)] : []), ...listed.map(([what, path]) => row(what, path, false))];
  return section("Beside the best alternatives", el("div.scroll", {}, table(["", "path", "score", ...kinds.map((k) => k.replace(/_/g, " "))], rows)),
    round.alike ? el("p.fine", {}, `${plural(round.alike, "other path comes", "other paths come")} to the same end at the same cost.`) : null);
}

function budgetsPart(round, graphView) {
  const budgets = round.budgets || [];
  const together = round.together || [];
  if (!budgets.length) return null;
  const rows = budgets.map((budget) => el(budget.decided ? "tr.chosen" : "tr", {
    onmouseenter: () => graphView && budget.more && graphView.light(budget.more.path.edges), onmouseleave: () => graphView && graphView.light([]) },
    el("th", { scope: "row" }, budget.kind.replace(/_/g, " "), budget.decided ? el("span.sub", {}, "decided") : null),
    el("td.num", {}, budget.left_text), el("td.num", {}, budget.used_text), el("td.num", {}, budget.rest_text),
    el("td", {}, budget.more ? `${budget.more.by} more: ${budget.more.gain}` : round.relaxed === false ? "" : "more of it alone buys nothing")));
  return section("What the budgets decided", el("div.scroll", {}, table(["", "left", "path needs", "stays", "a little more"], rows)),
    round.relaxed === false ? el("p.fine", {}, "What a little more would buy was not asked for this page; `tape why` tells it, and `tape view --explain`.") : null,
    together.map((more) => el("p.fine", {}, `Together: ${Object.values(more.by).join(" and ")} more: ${more.gain}`)));
}

function changesPart(round) {
  const parts = [];
  if (round.path_changes && round.path_changes.some(([what]) => what !== "kept")) {
    const marks = { kept: " ", dropped: "−", added: "+" };
    parts.push(el("ol.diff", {}, round.path_changes.map(([what, action]) => el(`li.${what}`, {},
      el("span.mark", { "aria-label": what }, marks[what]), el("code", {}, action)))));
  } else if (round.path_changes) {
    parts.push(el("p.fine", {}, "The rest of the path is what it was."));
  }
  if (round.changes) {
    const { nodes, edges } = round.changes;
    const counted = [["new state", "new states", nodes.new], ["state no longer there", "states no longer there", nodes.gone],
      ["new edge", "new edges", edges.new], ["edge no longer there", "edges no longer there", edges.gone],
      ["newly observed", "newly observed", edges.certified], ["newly contradicted", "newly contradicted", edges.contradicted],
      ["newly refused", "newly refused", edges.refused]].filter(([, , found]) => found.count);
    parts.push(el("div.change-list", {}, counted.map(([one, several, found]) => folded(plural(found.count, one, several),
      () => [el("ul.lines", {}, found.first.map((text) => el("li", {}, clip(text, 160)))),
        found.count > found.first.length ? el("p.fine", {}, `and ${found.count - found.first.length} more`) : null]))));
  }
  return parts.length ? section("What changed since the round before", parts) : null;
}

function certificatePart(round) {
  const found = round.certificate;
  if (!found) return null;
  return section(found.certified ? "Certificate: what the commitment rests on" : "Commitment on beliefs: what it rests on",
    found.evidence.length ? el("dl.tree", {}, found.evidence.map(([fact, text]) => el("div", {}, el("dt", {}, el("code", {}, fact)), el("dd", {}, text))))
      : el("p.fine", {}, "Nothing had to be known beforehand."),
    found.later.length ? folded(`Established on the way (${found.later.length})`, () => el("ul.lines", {}, found.later.map((fact) => el("li", {}, el("code", {}, fact))))) : null);
}

function hypothesesPart(round) {
  if (!round.hypotheses) return null;
  return section("Verdicts of the verifier", el("ol.verdicts", {}, round.hypotheses.map((one) => el("li", {},
    el(`span.badge.${one.accepted ? "good" : "bad"}`, {}, el("span.mark", { "aria-hidden": "true" }, one.accepted ? "✓" : "✗"), one.accepted ? "accepted" : "refused"),
    actionsLine(one.actions, 8), one.why ? el("span.sub", {}, one.why) : null))));
}
