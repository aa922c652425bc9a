// The timeline of an episode: rounds of planning and what was done in them.

function timeline(record, go) {
  const items = record.moments.map((moment, i) => {
    const item = el(`button.moment.${moment.sort}`, { type: "button", "data-moment": i, onclick: () => go(i) },
      el("span.bullet", { "aria-hidden": "true" }, bulletOf(moment)),
      el("span.moment-text", {}, el("span.moment-title", {}, titleOf(record, moment)), subOf(record, moment)));
    if (moment.tone) item.classList.add(moment.tone);
    if (moment.mismatch) item.classList.add("mismatch");
    return el("li", {}, item);
  });
  return el("ol.timeline", { "aria-label": "Timeline" }, items);
}

function bulletOf(moment) {
  if (moment.sort === "step") return moment.mismatch ? "≠" : moment.step;
  return { plan: "◆", start: "○", end: "●" }[moment.sort] || { good: "✓", bad: "✗", warn: "!" }[moment.tone] || "·";
}

function titleOf(record, moment) {
  if (moment.sort === "plan") {
    const round = record.rounds[moment.round];
    if (round.kind === "reselect") return "Path changed on the way";
    if (round.kind === "probe") return `Plan ${round.number}: tries an unknown outcome`;
    return round.kind === "sampled" ? `Sampled plan ${round.number}` : `Plan ${round.number}`;
  }
  if (moment.sort === "end") return record.end_state ? `End: ${wordsOf(record.end_state)}` : "End";
  return moment.title;
}

function headOf(record, moment) {
  return moment.sort === "step" ? `Step ${moment.step}: ${moment.title}` : titleOf(record, moment);
}

function subOf(record, moment) {
  const parts = [];
  if (moment.sort === "plan") {
    const round = record.rounds[moment.round];
    if (round.reason) parts.push(round.reason);
    if (round.path) parts.push(`${plural(round.path.actions.length, "step")}${round.partial ? ", partial path" : ""}`);
    else parts.push("no path");
  } else if (moment.sort === "step") {
    if (moment.mismatch) parts.push("not as predicted");
    if (moment.planned) parts.push(`planned: ${clip(moment.planned, 60)}`);
    const cost = (moment.cost || []).filter(([kind]) => kind !== "steps");
    if (cost.length) parts.push(amounts(cost));
  } else if (moment.sort === "note" && moment.lines && moment.lines.length) {
    parts.push(clip(moment.lines[0], 90));
  } else if (moment.sort === "end" && record.detail) {
    parts.push(clip(record.detail, 90));
  }
  return parts.length ? el("span.moment-sub", {}, parts.join(" · ")) : null;
}

function stepIn(record, i) {
  for (let at = i; at >= 0; at -= 1) if (record.moments[at].sort === "step") return record.moments[at].step;
  return 0;
}

// The round whose graph belongs to a moment, and the state that the agent is in.
function contextOf(record, i) {
  const moment = record.moments[i];
  const round = moment.round === undefined ? null : record.rounds[moment.round];
  let key = null;
  for (let at = i; at >= 0 && key === null; at -= 1) key = record.moments[at].key ?? null;
  return { round, key: moment.sort === "plan" && round && round.graph !== undefined ? null : key };
}
