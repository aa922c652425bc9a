// The plan graph of a round: drawn as SVG in an area that scrolls, with hover, click and keyboard.

const MARGIN = 20;
const LINE = 14;
const PATH_LINE = 14.5;
const LEAST = 0.1;
const MOST = 2;
const READABLE = 0.72;

function tallest() {
  return window.innerWidth < 720 ? 420 : 460;
}

class GraphView {
  constructor(record) {
    this.record = record;
    this.area = el("div.graph-area", { tabindex: 0, role: "region", "aria-label": "Plan graph; arrow keys move between states, plus and minus zoom" });
    this.tip = el("div.tip", { hidden: true, role: "status" });
    this.drawer = el("aside.drawer", { hidden: true, "aria-label": "What was clicked" });
    this.bar = el("div.graph-bar");
    this.away = el("span.fine", { hidden: true }, "The agent is in a state that is not drawn here.");
    this.element = el("figure.graph", {}, this.bar, el("div.graph-stage", {}, this.area, this.tip, this.drawer), legend());
    this.all = false;
    this.shownRound = null;
    this.scale = 1;
    this.listen();
  }

  listen() {
    this.area.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(this.scale * Math.exp(-event.deltaY / 300), event);
    }, { passive: false });
    let grip = null;
    this.area.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button === 0 && !event.target.closest(".node, .edge")) {
        grip = { x: event.clientX + this.area.scrollLeft, y: event.clientY + this.area.scrollTop };
        this.area.setPointerCapture(event.pointerId);
        this.area.classList.add("gripped");
      }
    });
    this.area.addEventListener("pointermove", (event) => {
      if (grip) this.area.scrollTo(grip.x - event.clientX, grip.y - event.clientY);
    });
    const release = () => {
      grip = null;
      this.area.classList.remove("gripped");
    };
    this.area.addEventListener("pointerup", release);
    this.area.addEventListener("pointercancel", release);
    this.area.addEventListener("keydown", (event) => this.key(event));
  }

  // Draw the graph of a round, unless it is drawn already, and mark where the agent is.
  show(round, key) {
    const usable = round && round.graph !== undefined;
    this.element.hidden = !usable;
    if (!usable) return;
    if (round !== this.shownRound) {
      this.shownRound = round;
      this.graph = this.record.graphs[round.graph];
      this.hideDrawer();
      this.draw();
    }
    this.mark(key);
  }

  draw() {
    const round = this.shownRound;
    const { graph } = this;
    this.view = graph.views[this.all ? graph.views.length - 1 : 0];
    this.places = new Map((round.path ? round.path.edges : []).map((edge, i) => [edge, i]));
    this.rests = new Map();
    if (round.left && this.places.size) {
      this.rests.set(graph.edges[round.path.edges[0]].from, round.left[0]);
      round.path.edges.forEach((edge, i) => this.rests.set(graph.edges[edge].to, round.left[i + 1]));
    }
    const fresh = (round.changes ? round.changes.nodes.keys : []).filter((key) => graph.nodes.some((node) => node.key === key));
    this.fresh = new Set(2 * fresh.length <= graph.nodes.length ? fresh : []); // where most are new, it says nothing
    this.nodes = new Map();
    this.edges = new Map();
    const [width, height] = this.view.size;
    this.size = [width + 2 * MARGIN, height + 2 * MARGIN];
    this.picture = svg("svg", { class: "drawing", viewBox: `${-MARGIN} ${-MARGIN} ${this.size[0]} ${this.size[1]}`, role: "group" }, arrows());
    const order = Object.keys(this.view.edges).map(Number).sort((a, b) => this.places.has(a) - this.places.has(b) || a - b);
    order.forEach((i) => this.picture.append(this.edge(i)));
    Object.keys(this.view.nodes).forEach((i) => this.picture.append(this.node(Number(i))));
    this.area.replaceChildren(this.picture);
    this.tools();
    this.fit(index.alone);
  }

  tools() {
    const { graph, view } = this;
    const [states, edges] = graph.whole;
    const drawn = Object.keys(view.nodes).length;
    const most = Object.keys(graph.views[graph.views.length - 1].nodes).length;
    const button = (text, title, act) => el("button.quiet", { type: "button", title, "aria-label": title, onclick: act }, text);
    this.bar.replaceChildren(
      el("span.fine", {}, drawn < states ? `${drawn} of ${plural(states, "state")}` : plural(states, "state"), el("span.wide-only", {}, ", ", plural(edges, "edge"))),
      graph.views.length > 1 ? button(this.all ? "Show less" : `Show ${most < states ? most : "all"}`, "How much of the graph is drawn", () => {
        this.all = !this.all;
        this.draw();
        this.mark(this.nowKey);
      }) : "",
      el("span.grow"), this.away, button("−", "Zoom out", () => this.zoom(this.scale / 1.25)), button("+", "Zoom in", () => this.zoom(this.scale * 1.25)),
      button("Fit", "Fit the whole graph", () => this.fit(true)));
  }

  // ---- drawing -----------------------------------------------------------------------------------------------------

  node(i) {
    const node = this.graph.nodes[i];
    const [x, y] = this.view.nodes[i];
    const [width, height] = node.box;
    const [left, top] = [x - width / 2, y - height / 2];
    const rest = this.rests.get(i);
    const hidden = (node.out || 0) - Object.keys(this.view.edges).filter((e) => this.graph.edges[e].from === i).length;
    const classes = ["node", node.goal && "goal", i === this.graph.start && "first", rest && "on-path"].filter(Boolean);
    let at = top + (node.goal ? 12 : 9) + 9;
    const line = (text, kind) => {
      const drawn = svg("text", { x, y: at, class: kind }, text);
      at += LINE;
      return drawn;
    };
    const wide = Math.max(...node.lines.map((text) => text.length));
    const element = svg("g", { class: classes.join(" "), "data-node": i, role: "button", tabindex: -1, "aria-label": this.nodeSaid(i) },
      svg("rect", { x: left, y: top, width, height, rx: 7, class: "box" }),
      node.goal ? svg("rect", { x: left + 3, y: top + 3, width: width - 6, height: height - 6, rx: 5, class: "inner" }) : null,
      node.lines.map((text) => line(text.padEnd(wide).replace(/ /g, "\u00a0"), "label")),
      line(hidden > 0 ? `${node.said} +${hidden}` : node.said, "footer"),
      (rest || []).map(([, text]) => line(`${text} left`, "rest")),
      this.fresh.has(node.key) ? svg("text", { x: left + width - 4, y: top - 4, class: "tag" }, "new") : null);
    this.nodes.set(i, element);
    const whole = this.alive(element, () => this.nodeTip(i), () => this.openNode(i));
    return node.below ? svg("g", {}, whole, this.loops(i, x, top + height)) : whole;
  }

  // Actions that lead back to where they began.
  loops(i, x, y) {
    const own = this.graph.edges.map((edge, n) => [edge, n]).filter(([edge]) => edge.from === i && edge.to === i);
    return own.map(([edge, n], row) => {
      const element = svg("g", { class: `edge ${this.standing(edge)}`, "data-edge": n, role: "button", tabindex: -1, "aria-label": this.edgeSaid(n) },
        svg("text", { x, y: y + 14 + row * LINE, class: "action line" }, `↻ ${clip(shown(edge.action), 28)}${markOf(edge)}`));
      this.edges.set(n, element);
      return this.alive(element, () => this.edgeTip(n), () => this.openEdge(n));
    });
  }

  standing(edge) {
    return edge.refused ? "refused" : edge.contradicted ? "contradicted" : edge.certified ? "certified" : edge.unusable ? "unusable" : "";
  }

  edge(i) {
    const edge = this.graph.edges[i];
    const drawn = this.view.edges[i];
    const onPath = this.places.has(i);
    const kind = onPath ? "path" : edge.refused || edge.contradicted ? "bad" : edge.certified ? "good" : "plain";
    const line = lineOf(drawn);
    const [x, y] = drawn.at;
    const lines = drawn.above.length;
    const step = onPath ? PATH_LINE : LINE;
    const element = svg("g", { class: ["edge", this.standing(edge), onPath ? "on-path" : "", edge.votes ? "" : "unsampled"].filter(Boolean).join(" "),
      "data-edge": i, role: "button", tabindex: -1, "aria-label": this.edgeSaid(i) },
    svg("path", { d: line, class: "hit" }), svg("path", { d: line, class: "line", "marker-end": `url(#arrow-${kind})` }),
    drawn.above.map((text, n) => svg("text", { x, y: y - 6 - (lines - 1 - n) * step, class: "action" }, text)),
    (drawn.below || []).map((text, n) => svg("text", { x, y: y + 14 + n * LINE, class: "price" }, text)));
    this.edges.set(i, element);
    return this.alive(element, () => this.edgeTip(i), () => this.openEdge(i));
  }

  alive(element, tip, open) {
    element.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") this.showTip(tip(), element); });
    element.addEventListener("pointerleave", () => this.hideTip());
    element.addEventListener("focus", () => this.showTip(tip(), element));
    element.addEventListener("blur", () => this.hideTip());
    element.addEventListener("click", open);
    element.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } });
    return element;
  }

  // ---- marks -------------------------------------------------------------------------------------------------------

  mark(key) {
    this.nowKey = key;
    let now = null;
    for (const [i, element] of this.nodes) {
      const here = key !== null && this.graph.nodes[i].key === key;
      element.classList.toggle("now", here);
      if (here) now = i;
    }
    const path = this.shownRound.path ? this.shownRound.path.edges : [];
    const reached = path.findIndex((edge) => this.graph.edges[edge].to === now);
    path.forEach((edge, i) => this.edges.get(edge)?.classList.toggle("done", now !== null && i <= reached));
    if (now !== null) this.reveal(now);
    this.away.hidden = key === null || now !== null;
  }

  light(edges) {
    const chosen = new Set(edges);
    this.picture.classList.toggle("dimmed", chosen.size > 0);
    for (const [i, element] of this.edges) element.classList.toggle("lit", chosen.has(i));
    const ends = new Set(edges.flatMap((i) => [this.graph.edges[i].from, this.graph.edges[i].to]));
    for (const [i, element] of this.nodes) element.classList.toggle("lit", ends.has(i));
  }

  // ---- texts -------------------------------------------------------------------------------------------------------

  nodeSaid(i) {
    const node = this.graph.nodes[i];
    return [i === this.graph.start ? "start" : "", node.goal ? "goal" : "", `state ${clip(node.label || node.key, 120)}`,
      `score ${scored(node.reward)}`, `${plural(node.support, "plan")} through it`].filter(Boolean).join(", ");
  }

  edgeSaid(i) {
    const edge = this.graph.edges[i];
    const place = this.places.get(i);
    return [place === undefined ? "" : `step ${place + 1} of the path`, edge.action, amounts(edge.cost), edge.certified ? "certified" : "",
      edge.refused ? "refused" : edge.contradicted ? "contradicted" : ""].filter(Boolean).join(", ");
  }

  nodeFacts(i) {
    const node = this.graph.nodes[i];
    return [["score", scored(node.reward)], ["plans through it", node.support], node.goal ? ["goal", "yes"] : null, node.end ? ["a plan ends here", "yes"] : null,
      node.likelihood !== undefined ? ["likelihood", node.likelihood.toFixed(2)] : null].filter(Boolean);
  }

  edgeFacts(i) {
    const edge = this.graph.edges[i];
    const state = edge.refused ? "refused: approval was asked for and not given" : edge.certified ? "certified: it was observed"
      : edge.contradicted ? "contradicted: something else was observed"
      : edge.unusable ? "predicted, but not used: another prediction goes before it" : "predicted";
    return [["worst case", amounts(edge.cost) || "nothing"], ["sampled plans", edge.votes], ["standing", state],
      edge.confidence !== undefined ? ["confidence", edge.confidence.toFixed(2)] : null].filter(Boolean);
  }

  nodeTip(i) {
    const node = this.graph.nodes[i];
    return [el("pre", {}, node.label || node.key), factLines(this.nodeFacts(i))];
  }

  edgeTip(i) {
    const edge = this.graph.edges[i];
    const place = this.places.get(i);
    return [el("code", {}, edge.action), place === undefined ? null : el("span.fine", {}, ` step ${place + 1} of the path`), factLines(this.edgeFacts(i))];
  }

  showTip(content, element) {
    this.tip.replaceChildren(...[content].flat().filter(Boolean));
    this.tip.hidden = false;
    const stage = this.area.parentElement.getBoundingClientRect();
    const box = element.querySelector(".box, .line").getBoundingClientRect();
    const x = Math.min(Math.max(8, box.left - stage.left), Math.max(8, stage.width - this.tip.offsetWidth - 8));
    const below = box.bottom - stage.top + 8;
    const y = below + this.tip.offsetHeight < stage.height ? below : Math.max(8, box.top - stage.top - this.tip.offsetHeight - 8);
    this.tip.style.transform = `translate(${x}px, ${Math.min(y, stage.height - 24)}px)`;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  openDrawer(title, ...content) {
    this.hideTip();
    const close = el("button.quiet", { type: "button", "aria-label": "Close", onclick: () => { this.hideDrawer(); this.area.focus(); } }, "Close");
    this.drawer.replaceChildren(el("div.drawer-head", {}, el("h3", {}, title), close), ...content.flat().filter(Boolean));
    this.drawer.hidden = false;
    const [area, own] = [this.area, this.picked].map((element) => element.getBoundingClientRect());
    this.drawer.classList.toggle("to-left", own.left + own.width / 2 > area.left + area.width / 2);
  }

  hideDrawer() {
    this.drawer.hidden = true;
    if (this.picked) this.picked.classList.remove("picked");
  }

  pick(element) {
    if (this.picked) this.picked.classList.remove("picked");
    this.picked = element;
    if (element) element.classList.add("picked");
  }

  openNode(i) {
    const node = this.graph.nodes[i];
    this.pick(this.nodes.get(i));
    const leaving = this.graph.edges.map((edge, n) => [edge, n]).filter(([edge]) => edge.from === i);
    const entering = this.graph.edges.map((edge, n) => [edge, n]).filter(([edge]) => edge.to === i);
    this.openDrawer(node.goal ? "Goal state" : i === this.graph.start ? "Start state" : "State", el("pre.state", {}, node.label || node.key),
      factLines(this.nodeFacts(i)), this.ways("Actions from here", leaving), this.ways("Leads here", entering),
      node.label && node.label !== node.key ? folded("Key", () => el("pre", {}, node.key)) : null);
  }

  ways(title, edges) {
    if (!edges.length) return null;
    return [el("h4", {}, title), el("ul.ways", {}, edges.map(([edge, n]) => el("li", {},
      el("button.link", { type: "button", onclick: () => this.openEdge(n) }, el("code", {}, clip(edge.action, 60))), " ", el("span.fine", {}, amounts(edge.cost)),
      markOf(edge))))];
  }

  openEdge(i) {
    const edge = this.graph.edges[i];
    const place = this.shownRound.path ? this.shownRound.path.edges.indexOf(i) : -1;
    this.pick(this.edges.get(i));
    const to = (n, words) => el("li", {}, `${words} `, el("button.link", { type: "button", onclick: () => this.openNode(n) },
      clip(this.graph.nodes[n].label || this.graph.nodes[n].key, 60)));
    const left = place >= 0 && this.shownRound.left ? this.shownRound.left[place + 1] : null;
    this.openDrawer(place >= 0 ? `Step ${place + 1} of the path` : "Action", el("p", {}, el("code", {}, edge.action)), factLines(this.edgeFacts(i)),
      left ? el("p.left", {}, "Left after it: ", el("b", {}, amounts(left))) : null, el("ul.ways", {}, to(edge.from, "from"), to(edge.to, "to")));
  }

  // ---- zoom and keys -----------------------------------------------------------------------------------------------

  fit(whole) {
    const [width, height] = this.size;
    const room = this.area.clientWidth || 300;
    const tall = tallest();
    const scale = Math.min(room / width, tall / height, 1.15);
    // What does not fit at a size that can be read is scrolled; a long and flat graph stays large.
    this.zoom(whole || scale >= READABLE ? scale : Math.max(READABLE, Math.min(1, tall / height)));
    this.area.style.height = this.height();
    if (!whole) this.begin();
  }

  height() {
    return `${Math.round(Math.min(tallest(), this.size[1] * this.scale + 2))}px`;
  }

  zoom(scale, around) {
    const before = this.scale;
    this.scale = Math.min(MOST, Math.max(LEAST, scale));
    const box = this.area.getBoundingClientRect();
    const x = around ? around.clientX - box.left : box.width / 2;
    const y = around ? around.clientY - box.top : box.height / 2;
    const ratio = this.scale / before;
    const target = [(this.area.scrollLeft + x) * ratio - x, (this.area.scrollTop + y) * ratio - y];
    this.picture.style.width = `${this.size[0] * this.scale}px`;
    this.picture.style.height = `${this.size[1] * this.scale}px`;
    if (this.scale > before) this.area.style.height = this.height(); // a long and flat graph that was fitted is a strip
    this.area.scrollTo(...target);
  }

  // The path begins at the left edge.
  begin() {
    const { path } = this.shownRound;
    const first = path && path.edges.length ? this.graph.edges[path.edges[0]].from : this.graph.start;
    const [x, y] = this.view.nodes[first];
    const [width] = this.graph.nodes[first].box;
    this.area.scrollTo((x - width / 2) * this.scale - 8, 0);
    if ((y + MARGIN) * this.scale > this.area.clientHeight - 60) this.reveal(first);
  }

  reveal(i) {
    if (!this.view.nodes[i]) return;
    const [x, y] = this.view.nodes[i].map((place) => (place + MARGIN) * this.scale);
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.area;
    const margin = 70;
    if (x < scrollLeft + margin || x > scrollLeft + clientWidth - margin) this.area.scrollLeft = x - clientWidth / 3;
    if (y < scrollTop + margin || y > scrollTop + clientHeight - margin) this.area.scrollTop = y - clientHeight / 2;
  }

  key(event) {
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.key === "+" || event.key === "=") this.zoom(this.scale * 1.25);
    else if (event.key === "-") this.zoom(this.scale / 1.25);
    else if (event.key === "0") this.fit(true);
    else if (event.key === "Escape") this.hideDrawer();
    else if (moves[event.key]) this.step(moves[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // To the nearest state in a direction.
  step([dx, dy]) {
    const places = this.view.nodes;
    const here = [...this.nodes].find(([, element]) => element === document.activeElement)?.[0];
    let best = here === undefined ? this.graph.start : undefined;
    let least = Infinity;
    for (const i of here === undefined ? [] : this.nodes.keys()) {
      const [x, y] = [places[i][0] - places[here][0], places[i][1] - places[here][1]];
      const forward = x * dx + y * dy;
      const aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (forward > 4 && forward + 2.5 * aside < least) [least, best] = [forward + 2.5 * aside, i];
    }
    if (best !== undefined && this.nodes.has(best)) {
      this.nodes.get(best).focus({ preventScroll: true });
      this.reveal(best);
    }
  }
}
