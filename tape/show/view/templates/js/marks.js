// Lines, arrow heads and the legend of a plan graph.

const HEAD = 8;

// A line along its points, which bends like an S between two that differ across, up to where the arrow's head begins.
function lineOf({ route: points, turns }) {
  const line = points.map((point) => point.slice());
  const last = line[line.length - 1];
  const back = last[0] > line[0][0] && turns === undefined ? -1 : 1;
  last[0] += back * HEAD;
  if (line.length > 2 && (last[0] - line[line.length - 2][0]) * back > 0) line[line.length - 2] = last;
  let drawn = `M ${line[0].join(" ")}`;
  for (let n = 1; n < line.length; n += 1) {
    const [[a, c], [along, across]] = [line[n - 1], line[n]];
    const furthest = Math.max(a, along);
    const reach = turns === undefined ? (a + along) / 2 : furthest + ((turns - furthest) * 4) / 3;
    drawn += c === across && turns === undefined ? ` L ${along} ${across}` : ` C ${reach} ${c} ${reach} ${across} ${along} ${across}`;
  }
  return drawn;
}

// As geometry.py has it in the labels of edges.
function markOf(edge) {
  return edge.refused ? " ✗ refused" : edge.contradicted ? " ✗" : edge.certified ? " ✓" : "";
}

function factLines(facts) {
  return el("dl.mini", {}, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function arrows() {
  const marker = (kind) => svg("marker", { id: `arrow-${kind}`, class: `head ${kind}`, viewBox: "0 0 10 10", refX: 0, refY: 5,
    markerWidth: HEAD, markerHeight: kind === "path" ? 11 : 8, preserveAspectRatio: "none", markerUnits: "userSpaceOnUse", orient: "auto" },
  svg("path", { d: "M 0 0.5 L 10 5 L 0 9.5 z" }));
  return svg("defs", {}, ["plain", "path", "good", "bad"].map(marker));
}

function legend() {
  const line = (kind) => svg("svg", { viewBox: "0 0 26 8", width: 26, height: 8, class: "drawing sample", "aria-hidden": "true" },
    svg("g", { class: `edge ${kind}` }, svg("path", { d: "M 1 4 L 25 4", class: "line" })));
  return el("figcaption.legend", {}, [["on-path", "chosen path"], ["certified", "✓ observed"], ["contradicted", "✗ contradicted"],
    ["unsampled", "no plan took it"]].map(([kind, words]) => el("span", {}, line(kind), words)), el("span", {}, "double frame: goal"), el("span", {}, "0.46 ×4 +2: score, plans through it, actions not drawn"));
}
