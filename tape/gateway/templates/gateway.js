// The page of a gateway, and of a server of agents: asks how it stands every two seconds, draws what has changed, and sends what a person decides.

const main = document.getElementById("main");
const KEY = "tape gateway token";
const EVERY = 2000;
const drawn = new Map();
let clock = 0; // by how much the gateway's clock is ahead of this one
let asking = 0;

document.getElementById("title").textContent = document.title;
const status = el("span.fine.live", { role: "status" });
document.querySelector(".top").insertBefore(status, document.getElementById("theme"));

async function ask(path, body) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY)}`, "Content-Type": "application/json" };
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), cache: "no-store" });
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(found.error.message), { status: answer.status });
  return found;
}

// ---- who is there ------------------------------------------------------------------------------------------------

function begin() {
  const given = /^#token=([\x21-\x7e]+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem(KEY, given[1]);
    history.replaceState(null, "", location.pathname); // so that it is not in sight
  }
  if (!sessionStorage.getItem(KEY)) return signIn("");
  drawn.clear();
  main.replaceChildren(el("div.columns", {}, COLUMNS.map((names) => el("div", {}, names.map((name) => el(`section.place-${name}`, {}))))));
  return poll((asking += 1));
}

function signIn(why) {
  asking += 1;
  sessionStorage.removeItem(KEY);
  status.textContent = "";
  const token = el("input", { type: "password", id: "token", autocomplete: "off", spellcheck: "false" });
  const enter = (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, token.value.trim());
    begin();
  };
  main.replaceChildren(el("form.card.sign-in", { onsubmit: enter }, el("h2", {}, "Token for people"),
    el("p.fine", {}, why || "The server has written it into a file, which it named at its start. Those of clients do not open this page."),
    el("label", {}, "Token", token),
    el("div.acts", {}, el("button.act.first", { type: "submit" }, "Open"))));
  token.focus();
}

async function poll(turn) {
  try {
    const state = await ask("/state");
    if (turn !== asking) return;
    draw(state);
    status.textContent = state.problem ? clip(state.problem, 200) : "live";
  } catch (error) {
    if (turn !== asking) return;
    if (error.status === 401 || error.status === 403) {
      signIn(error.status === 401 ? "The server does not know this token: it is in the file that the server named at its start." : "This token does not open the page.");
      return;
    }
    status.textContent = `no answer (${error.message})`;
  }
  setTimeout(poll, EVERY, turn);
}

// ---- the parts ---------------------------------------------------------------------------------------------------

// A server of agents has runs, and a gateway the others: what a server does not say is not drawn.
const PARTS = { waiting, runs, live, refused, acts, caps, shared, days };
const COLUMNS = [["waiting", "runs", "live", "days", "refused", "acts"], ["shared", "caps"]];

function draw(state) {
  clock = new Date(state.now) - Date.now();
  document.title = (state.waiting.count ? `(${state.waiting.count}) ` : "") + state.name;
  document.getElementById("title").textContent = shown(state.name);
  for (const [name, make] of Object.entries(PARTS)) {
    if (state[name] === undefined) continue;
    const text = JSON.stringify(state[name]);
    if (drawn.get(name) === text) continue;
    drawn.set(name, text);
    const focus = document.activeElement?.dataset.key;
    main.querySelector(`.place-${name}`).replaceChildren(...[make(state[name])].filter(Boolean));
    if (focus) main.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }
  main.querySelectorAll("[data-since]").forEach((one) => { one.textContent = ago(one.dataset.since); });
}

function card(title, ...content) {
  return el("section.card", {}, el("h2", {}, title), content);
}

function counted(title, { rows, count }) {
  return count > rows.length ? `${title} · ${rows.length} of ${count.toLocaleString("en")}` : count ? `${title} · ${count}` : title;
}

function entry(name, lines, side, badge) {
  return el("div.entry", {}, el("div", {}, el("span.row-name", {}, clip(name, 80), badge ? el(`span.badge.${badge[1]}`, {}, badge[0]) : null),
    lines.filter(Boolean)), el("div.entry-side", {}, side));
}

function ago(since) {
  const seconds = Math.max(0, Math.round((Date.now() + clock - new Date(since)) / 1000));
  const [size, unit] = seconds < 120 ? [1, "s"] : seconds < 7200 ? [60, "min"] : seconds < 172800 ? [3600, "h"] : [86400, "days"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

function since(at) {
  return el("span", { "data-since": at }, ago(at));
}

function time(at) {
  const day = new Date(at);
  const clocked = day.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return day.toDateString() === new Date().toDateString() ? clocked : `${day.toLocaleDateString()} ${clocked}`;
}

function whose(one) {
  return el("span.row-question", {}, `${one.client} · session ${one.session}`);
}

function waiting(found) {
  if (!found.count) return null;
  return card(counted("Waiting for approval", found), found.rows.map((one) => entry(one.tool,
    [el("span.row-question", {}, [one.client, one.worst ? `at most ${one.worst}` : "", "for "].filter(Boolean).join(" · "), since(one.at))],
    el("button.act.first", { type: "button", "data-key": one.id, onclick: () => decide(one) }, "Look…"), ["destructive", "warn"])));
}

function runs(rows) {
  return card("Runs", rows.length ? rows.map((one) => entry(one.agent, [
    el("span.row-question", {}, `${one.client}: ${clip(one.task, 300)}`),
    one.plan.length ? el("ol.plan", {}, one.plan.map((line) => el(line.done ? "li" : "li.next", {}, clip(line.text, 200)))) : null,
    one.answer ? el("span.row-answer", {}, clip(one.answer, 300)) : null,
    one.end && one.end !== "success" ? el("span.row-detail", {}, clip(one.end, 300)) : null],
  [one.spent ? `${one.spent} · ` : "", time(one.at), one.unknown ? el("button.act.first", { type: "button", "data-key": one.id,
    onclick: () => open(`Was the call of ${one.agent} made?`, [el("p", {}, one.end)], [], [["It was made", { act: "made", id: one.id }], ["It was not made", { act: "not_made", id: one.id }]]) }, "Decide…") : null],
  [one.state, { unknown: "bad", waiting: "warn", ended: one.end === "success" ? "good" : "warn" }[one.state] || "plain"])) : el("p.fine", {}, "No run has begun yet."));
}

function live(found) {
  return card(counted("Live calls", found), found.count ? found.rows.map((one) => entry(one.tool, [whose(one)],
    [one.worst ? `at most ${one.worst} · ` : "", since(one.at)])) : el("p.fine", {}, "No call is in flight."));
}

function refused(rows) {
  return card("Refused lately", rows.length ? rows.map((one) => entry(one.tool, [
    el("span.row-detail", {}, clip(one.why, 300)), one.would_do ? el("span.row-answer", {}, clip(one.would_do, 300)) : null, whose(one)],
    time(one.at), [one.error.replace(/_/g, " "), one.error === "not_approved" ? "warn" : "bad"]))
    : el("p.fine", {}, "No call was refused since the gateway's start."));
}

function acts(rows) {
  return rows.length ? card("Decided here", rows.map((one) => entry(one.what, [one.why ? el("span.row-question", {}, clip(one.why, 300)) : null], time(one.at)))) : null;
}

function caps(scopes) {
  const sessions = scopes.filter((one) => one.of === "session");
  const bare = ({ bars, spent }) => (spent.length ? el("p.fine", {}, `${bars.length ? "Without a cap" : "No cap, spent"}: ${spent.join(" · ")}`)
    : bars.length ? null : el("p.fine", {}, "No cap, nothing spent."));
  return card("Budgets", scopes.filter((one) => one.of !== "session").map((one) => el("div.scope", {},
    el("h3", {}, one.of === "run" ? "Run" : one.name, one.of === "run" ? null : el("span.sub", {}, one.of)), one.bars.map((bar) => meter(bar)), bare(one))),
  sessions.length ? el("div.scope", {}, el("h3", {}, "Sessions that have taken most"), sessions.map((one) =>
    (one.bars.length ? one.bars.map((bar) => meter({ ...bar, kind: `${one.name} · ${bar.kind}` })) : el("p.fine", {}, one.name, bare(one))))) : null, legend());
}

function legend() {
  return el("p.legend", {}, [["", "spent"], ["held", "held by calls in flight"], ["rest", "left"]].map(([kind, words]) =>
    el("span", {}, el(kind ? `i.${kind}` : "i", {}), words)));
}

function meter(bar, raise) {
  const whole = Math.max(bar.cap, bar.spent + bar.held, 1);
  const piece = (from, count, kind) => svg("rect", { x: (100 * from) / whole, y: 0, width: count ? Math.max(0.5, (100 * count) / whole) : 0, height: 10, class: kind });
  const label = `${bar.kind}: ${bar.spent_text} spent, ${bar.held_text} held, ${bar.left_text} left of ${bar.cap_text}`;
  const head = budgetHead(bar.kind, bar.left_text, bar.cap_text);
  if (raise) head.lastChild.append(" ", raise);
  return el("div.meter", { title: label }, head,
    svg("svg", { class: "bars", viewBox: "0 0 100 10", height: 10, preserveAspectRatio: "none", role: "img", "aria-label": label },
      piece(0, whole, "left"), piece(bar.spent, bar.held, "by-model"), piece(0, bar.spent, "by-action")));
}

function shared(found) {
  if (!found) return null;
  if (found.problem) return card("Shared ledger", el("p.notice", {}, found.problem));
  const button = (key, words, act, title, more) => el(more ? "button.link" : "button.act", { type: "button", "data-key": `${act}|${key}`,
    onclick: () => open(title, [], more || [], [[words.replace("…", ""), { act, ...JSON.parse(key) }, true]]) }, words);
  const pauses = found.pauses.map((one) => {
    const key = JSON.stringify({ account: one.account });
    return entry(one.account, [el("span.row-question", {}, `by ${one.who} `, since(one.at), ` ago${one.why ? `: ${one.why}` : ""}`),
      el("div.acts", {}, one.wanted ? button(key, "Let it through once…", "once", `Let ${one.wanted} through in ${one.account}, once?`) : null,
        button(key, "Resume…", "resume", `Resume ${one.account}?`),
        one.stopped ? null : button(key, "Stop…", "stop", `Refuse every call of ${one.account} at once?`))],
    "", one.stopped ? ["stopped", "bad"] : ["paused", "warn"]);
  });
  const accounts = Map.groupBy(found.caps, (one) => one.account);
  return card("Shared ledger", pauses, [...accounts].map(([account, bars]) => el("div.scope", {}, el("h3", {}, account), bars.map((one) => {
    const key = JSON.stringify({ account, resource: one.kind, period: one.period });
    return meter({ ...one, kind: `${one.kind} · ${one.period}` }, button(key, "Raise…", "raise",
      `Raise ${one.kind} of ${account} (${one.period}), now ${one.cap_text}?`, ["amount"]));
  }))), found.caps.length ? null : el("p.fine", {}, "No cap there is one that this gateway pays from."));
}

function days(rows) {
  const kinds = [...new Set(rows.flatMap((day) => Object.keys(day.spent)))].sort();
  const total = rows.reduce((sum, day) => sum + day.calls, 0);
  const chart = (title, of, words) => {
    const cap = Math.max(1, ...rows.map((day) => of(day).reduce((sum, [, n]) => sum + n, 0)));
    const steps = rows.map((day) => ({ left: 0, used: of(day), label: `${day.day}: ${words(day)}` }));
    return el("div", {}, el("div.budget-head", {}, el("span.kind", {}, title[0]), el("span.of", {}, title[1])),
      barStrip({ cap, steps }, `${title[0]} by day`), el("div.ends", {}, el("span", {}, rows[0].day), el("span", {}, rows[rows.length - 1].day)));
  };
  const most = (kind) => rows.map((day) => day.spent[kind] || [0, "0"]).reduce((a, b) => (b[0] > a[0] ? b : a))[1];
  return card("Last 30 days", el("div.history", {},
    chart(["calls, refused ones on top", plural(total, "call")], (day) => [["action", day.calls], ["refused", day.refused]],
      (day) => `${plural(day.calls, "call")}, ${day.refused} refused`),
    kinds.map((kind) => chart([kind.replace(/_/g, " "), `at most ${most(kind)} a day`], (day) => [["action", day.spent[kind]?.[0] || 0]],
      (day) => day.spent[kind]?.[1] || "nothing"))),
    el("p.fine", {}, "Days in UTC, from the journal; refused calls are counted since the gateway's start."));
}

// ---- what a person decides: always in a window of its own, which no redrawing moves ----------------------------------

const dialog = el("dialog", { "aria-labelledby": "dialog-title" });
document.body.append(dialog);

function open(title, content, fields, choices) {
  const inputs = Object.fromEntries([...fields, "why"].map((name) => [name, el("input", { name, autocomplete: "off" })]));
  const problem = el("p.bad", { role: "alert" });
  const labels = { amount: "By how much, for instance $5", why: "Why (kept beside it)" };
  const send = async (body) => {
    try {
      await ask("/act", { ...body, ...Object.fromEntries(Object.entries(inputs).map(([name, one]) => [name, one.value])) });
      dialog.close();
      poll((asking += 1));
    } catch (error) {
      problem.textContent = shown(error.message);
    }
  };
  dialog.replaceChildren(el("h2", { id: "dialog-title" }, title), ...content,
    ...Object.entries(inputs).map(([name, one]) => el("label", {}, labels[name], one)), problem,
    el("div.acts", {}, choices.map(([words, body, first]) => el(`button.act${first ? ".first" : ""}`, { type: "button", onclick: () => send(body) }, words)),
      el("button.act", { type: "button", onclick: () => dialog.close() }, "Close")));
  dialog.showModal();
}

async function decide({ id }) {
  try {
    const one = await ask(`/state?question=${encodeURIComponent(id)}`);
    open(`Call ${one.tool} of ${one.origin}?`, [el("p", {}, `It may destroy what cannot be brought back. Asked for by ${one.client}${one.worst ? `, at most ${one.worst}` : ""}. `,
      `Who answers first decides${one.until ? `, until ${time(one.until)}` : ""}.`), el("pre", { tabindex: 0 }, one.shown || "It has no arguments.")], [],
      [["Approve", { act: "approve", id }], ["Refuse", { act: "refuse", id }]]);
  } catch (error) {
    status.textContent = error.message;
  }
}

window.addEventListener("hashchange", begin);
begin();
