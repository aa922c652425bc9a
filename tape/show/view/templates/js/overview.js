// The first page: results with their intervals, and the list of episodes.

const AT_ONCE = 200;
const filter = { text: "", ends: new Set(), configuration: "" };

function overview() {
  const notes = index.sources.flatMap((source) => source.notes.map((note) => el("p.notice", {}, prefix(source), note)));
  return el("div.overview", {}, notes, resultsPart(), differencesPart(), episodesPart());
}

function prefix(source) {
  return two ? el("b", {}, `${LETTERS[index.sources.indexOf(source)]}: `) : null;
}

// ---- results ---------------------------------------------------------------------------------------------------

function resultsPart() {
  const shownSources = index.sources.filter((source) => source.rows.length);
  if (!shownSources.length) return null;
  return el("section.card", {}, el("h2", {}, "Results"), shownSources.map((source, i) => [
    two ? el("h3.run", {}, el("span.letter", {}, LETTERS[i]), source.name) : null,
    resultsTable(source),
    el("p.fine", {}, `Per episode on average. The interval is ${[...new Set(source.rows.map((r) => r.interval_is))].join("; ")}. `,
      source.facts.map(([name, value]) => `${name} ${value}`).join(" · ")),
  ]));
}

function resultsTable(source) {
  const columns = [...new Set(source.rows.flatMap((row) => row.means.map(([name]) => name)))];
  const several = source.rows.some((row) => row.levels);
  const head = ["configuration", ...(several ? ["levels"] : []), "episodes", "success, 95 % interval", ...columns, "over budget"];
  const rows = source.rows.map((row) => {
    const means = Object.fromEntries(row.means);
    const model = row.configuration === row.agent ? row.model : `${row.agent}, ${row.model}`;
    return el("tr", {},
      el("th", { scope: "row", "data-label": "" }, row.configuration, el("span.sub", {}, model)),
      several ? el("td", { "data-label": "levels" }, row.levels) : null,
      el("td.num", { "data-label": "episodes" }, row.n, row.tasks < row.n ? el("span.sub", {}, plural(row.tasks, "task")) : null),
      el("td.rate", { "data-label": "success" }, rateBar(row)),
      columns.map((name) => el("td.num", { "data-label": name }, means[name] ?? "")),
      el("td.num", { "data-label": "over budget" }, row.over_budget));
  });
  return el("div.results", {}, table(head, rows));
}

function rateBar(row) {
  const [low, high] = row.interval;
  const x = (share) => 6 + 108 * share;
  const picture = svg("svg", { class: "whisker", viewBox: "0 0 120 16", width: 120, height: 16, "aria-hidden": "true" },
    svg("line", { x1: x(0), x2: x(1), y1: 8, y2: 8, class: "axis" }),
    [0, 0.5, 1].map((tick) => svg("line", { x1: x(tick), x2: x(tick), y1: 5, y2: 11, class: "axis" })),
    svg("line", { x1: x(low), x2: x(high), y1: 8, y2: 8, class: "range" }),
    svg("circle", { cx: x(row.rate), cy: 8, r: 4.5, class: "dot" }));
  return [el("span.figure", {}, row.rate.toFixed(2)), picture,
    el("span.interval", {}, `${low.toFixed(2)} to ${high.toFixed(2)}`)];
}

function differencesPart() {
  if (!index.differences.length) {
    return two ? el("section.card", {}, el("h2", {}, "Difference"),
      el("p", {}, "The two runs have no configuration in common, so nothing is compared.")) : null;
  }
  return el("section.card", {}, el("h2", {}, "Difference, A − B"), index.differences.map((pair) => {
    if (!pair.measures[0].n) return el("p", {}, `${pair.first} and ${pair.second} have no task in common.`);
    const rows = pair.measures.map((m) => el("tr", {},
      el("th", { scope: "row", "data-label": "" }, m.name),
      el("td.num", { "data-label": "difference" }, el("span.figure", {}, m.difference)),
      el("td.num", { "data-label": "95 % interval" }, `${m.low} to ${m.high}`),
      el("td", { "data-label": "", class: "spread-cell" }, spread(m)),
      el("td.num", { "data-label": "pairs" }, m.n, m.tasks < m.n ? el("span.sub", {}, plural(m.tasks, "task")) : null),
      el("td.num", { "data-label": "A higher, B higher" }, `${m.wins}, ${m.losses}`),
      el("td", { "data-label": "verdict" }, m.verdict.replace("first", "A"))));
    const title = pair.first === pair.second ? pair.first : `${pair.first} and ${pair.second}`;
    return [el("h3", {}, title), el("div.results", {},
      table(["measure", "difference", "95 % interval", "", "pairs", "A higher, B higher", "verdict"], rows))];
  }), el("p.fine", {}, "On the tasks and repeats that both runs have. Bootstrap by task; a difference counts as shown where the "
    + "interval leaves out 0 and the exact sign test over the tasks agrees (5 %)."));
}

function spread(measure) {
  const [middle, low, high] = measure.range;
  const most = Math.max(Math.abs(low), Math.abs(high), 1e-12);
  const x = (value) => 60 + (54 * value) / most;
  return svg("svg", { class: "whisker", viewBox: "0 0 120 16", width: 120, height: 16, "aria-hidden": "true" },
    svg("line", { x1: 4, x2: 116, y1: 8, y2: 8, class: "axis" }),
    svg("line", { x1: 60, x2: 60, y1: 2, y2: 14, class: "zero" }),
    svg("line", { x1: x(low), x2: x(high), y1: 8, y2: 8, class: "range" }),
    svg("circle", { cx: x(middle), cy: 8, r: 4.5, class: "dot" }));
}

// ---- episodes --------------------------------------------------------------------------------------------------

function episodesPart() {
  const list = el("div.list", { role: "list" });
  const count = el("p.fine", { "aria-live": "polite" });
  const update = () => fillList(list, count);
  const search = el("input", { type: "search", placeholder: "Filter by task, question, answer…", id: "search", value: filter.text,
    "aria-label": "Filter episodes by text", autocomplete: "off", spellcheck: "false",
    oninput: () => { filter.text = search.value; update(); } });
  const chips = index.end_states.map(([end, n]) => {
    const chip = el("button.chip", { type: "button", "aria-pressed": String(filter.ends.has(end)), "data-end": end,
      onclick: () => {
        if (!filter.ends.delete(end)) filter.ends.add(end);
        chip.setAttribute("aria-pressed", String(filter.ends.has(end)));
        update();
      } }, endState({ end }), el("span.count", {}, n));
    return chip;
  });
  const names = [...new Set(index.episodes.map((e) => e.configuration).filter(Boolean))];
  const choice = names.length > 1 ? el("select", { "aria-label": "Configuration",
    onchange: () => { filter.configuration = choice.value; update(); } },
    el("option", { value: "" }, "all configurations"), names.map((name) => el("option", { value: name }, name))) : null;
  if (choice) choice.value = filter.configuration;
  update();
  return el("section.card", {}, el("h2", {}, "Episodes"),
    el("div.filters", {}, search, choice, el("div.chips", { role: "group", "aria-label": "End states" }, chips)), count, list);
}

function matches(episode) {
  if (filter.ends.size && !filter.ends.has(episode.end)) return false;
  if (filter.configuration && episode.configuration !== filter.configuration) return false;
  if (!filter.text) return true;
  episode.text ||= [episode.task, episode.key, episode.question, episode.answer, episode.detail, episode.end, episode.agent,
    episode.model, episode.levels, episode.configuration].filter(Boolean).join("\n").toLowerCase();
  return filter.text.toLowerCase().split(/\s+/).every((word) => episode.text.includes(word));
}

function fillList(list, count) {
  // With two runs a row is a task, and what each of them made of it.
  const rows = new Map();
  index.episodes.forEach((episode, number) => {
    const key = two ? `${episode.subject}|${index.differences.length ? "" : episode.configuration}` : number;
    if (!rows.has(key)) rows.set(key, []);
    rows.get(key).push(number);
  });
  const wanted = [...rows.values()].filter((numbers) => numbers.some((n) => matches(index.episodes[n])));
  const total = rows.size;
  count.textContent = wanted.length === total ? plural(total, two ? "task" : "episode")
    : `${wanted.length} of ${plural(total, two ? "task" : "episode")}`;
  list.replaceChildren();
  let next = 0;
  const more = el("button.quiet", { type: "button", onclick: () => add() });
  const add = () => {
    more.remove();
    wanted.slice(next, next + AT_ONCE).forEach((numbers) => list.append(two ? pairRow(numbers) : episodeRow(numbers[0])));
    next += AT_ONCE;
    if (next < wanted.length) {
      more.textContent = `Show ${Math.min(AT_ONCE, wanted.length - next)} more`;
      list.append(more);
    }
  };
  if (wanted.length) add();
  else list.append(el("p.fine", {}, total ? "No episode matches." : "There is no episode."));
}

function numbersOf(episode) {
  return [plural(episode.steps, "step"), episode.replans ? plural(episode.replans, "replan") : null,
    episode.used ? amounts(episode.used) : null, episode.tokens ? `${episode.tokens.toLocaleString("en")} tokens` : null]
    .filter(Boolean).join(" · ");
}

function episodeRow(number) {
  const episode = index.episodes[number];
  const several = new Set(index.episodes.map((e) => e.configuration).filter(Boolean)).size > 1;
  return el("a.row", { href: `#/episode/${number}`, role: "listitem", "data-episode": number },
    el("span.row-state", {}, endState(episode)),
    el("span.row-text", {}, el("span.row-name", {}, named(episode), several ? el("span.sub", {}, episode.configuration) : null),
      episode.question ? el("span.row-question", {}, clip(episode.question, 160)) : null,
      episode.answer ? el("span.row-answer", {}, clip(episode.answer, 120)) : null,
      !episode.ok && episode.detail ? el("span.row-detail", {}, clip(episode.detail, 160)) : null),
    el("span.row-numbers", {}, numbersOf(episode)));
}

function pairRow(numbers) {
  const first = index.episodes[numbers[0]];
  const several = new Set(index.episodes.map((e) => e.configuration)).size > 2;
  const side = (letter, place) => {
    const mine = numbers.filter((n) => index.episodes[n].source === place);
    return el("span.side", {}, el("span.letter", {}, letter), mine.length ? mine.map((n) => {
      const episode = index.episodes[n];
      return el("a.side-link", { href: `#/episode/${n}`, "data-episode": n }, endState(episode),
        several ? el("span.sub", {}, episode.configuration) : null, el("span.row-numbers", {}, numbersOf(episode)));
    }) : el("span.fine", {}, "not played"));
  };
  return el("div.row.pair", { role: "listitem" },
    el("span.row-text", {}, el("span.row-name", {}, named(first)),
      first.question ? el("span.row-question", {}, clip(first.question, 120)) : null),
    el("span.sides", {}, side("A", 0), side("B", 1)));
}
