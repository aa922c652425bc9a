"""The drawings of the pages on concepts, each made from the variables of its page's programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from solvers.rcsp.plain_net import Net
from solvers.time_expanded import END, programme
from tape.analysis.probe.advice import NEEDED, verdict
from tape.budget import Budget, in_units
from tape.methods.aec.events import CommittedEvent, QueriedEvent, VerifiedEvent
from tape.methods.cgdp.events import BeliefEvent, GateEvent, RetrievedEvent, StoppedEvent
from tape.methods.sdp.events import ValidatedEvent
from tape.show.draw import draw
from tape.show.replay import shown
from tape.trace import ActedEvent, Event, MismatchEvent, ObservedEvent
from tools.site.svg import Picture

Values = Mapping[str, Any]
"""The variables of a page's programs, by name."""

_WIDE = 660.0
"""What a picture has between its margins."""


def plan_graph(values: Values) -> str:
    """The folded graph with the path that was selected."""
    graph, choice, start, path = values["graph"], values["choice"], "home", list[int]()
    for action in choice.plan:
        path.append(next(edge.id for edge in graph.edges() if (edge.source, edge.action) == (start, action)))
        start = graph.edge(path[-1]).target
    title = f"{len(graph.plans)} plans, one graph"
    left = Budget.of(**{kind: choice.spent[kind] + choice.left[kind] for kind in choice.left})
    return draw(graph, None, start="home", path=path, left=left, title=title, note="no plan alone fits into the budget")


def budgets(values: Values) -> str:
    """What is used and held at each moment, below the cap."""
    cap, worst = values["ledger"].budget["usd"], values["worst"]["usd"]
    note = "filled: used; striped: held for calls that are running; dashed: refused, as it would pass the cap"
    picture = Picture(f"One ledger with a cap of {in_units('usd', cap)}", note)
    base, scale, step = 250.0, 190.0 / cap, _WIDE / len(values["moments"])
    for i, (what, used, held, _, refused) in enumerate(values["moments"]):
        x, width = i * step + 14, step - 28
        for low, high, name in ((0, used, "spent"), (used, used + held, "held")):
            picture.box(x, base - high * scale, width, (high - low) * scale, name)
            if high > low:
                words = "word mid inside" if name == "spent" else "head mid"
                middle = base - (low + high) / 2 * scale + 4
                if name == "held":
                    picture.box(x + 8, middle - 13, width - 16, 18, "card")
                picture.text(x + width / 2, middle, in_units("usd", high - low), words)
        if refused:
            picture.box(x, base - (used + held + refused) * scale, width, refused * scale, "asked")
            picture.text(x + width / 2, base - (used + held + worst / 2) * scale - 8, "refused", "head mid red")
        picture.text(x + width / 2, base + 18, what, "word mid")
    picture.line([(0, base), (_WIDE, base)])
    picture.line([(0, base - cap * scale), (_WIDE, base - cap * scale)], "cap")
    picture.text(0, base - cap * scale - 6, f"cap {in_units('usd', cap)}", "head")
    return picture.svg()


def ledger(values: Values) -> str:
    """The accounts at each moment, on one scale."""
    note = "filled: spent, striped: held, grey: left; the width of a bar is the cap of the account"
    picture = Picture("Three accounts of one ledger, at four moments", note)
    moments, refused = values["moments"], values["refused"]
    left, top, row = 100.0, 46.0, 72.0
    step = (_WIDE - left) / len(moments)
    most = max(entry.amount for _, _, balances in moments for entry in balances)
    scale = (step - 24) / most
    for i, item in enumerate(moments[0][2]):
        account = item.cap.account
        y = top + i * row
        depth = account.count("/")
        picture.text(depth * 12, y + 17, f"{'└ ' * depth}{account.rpartition('/')[2]}", "head")
        picture.text(depth * 12, y + 32, f"cap {in_units('usd', item.amount)}", "soft")
    for i, (now, what, balances) in enumerate(moments):
        x = left + i * step
        picture.text(x, 10, f"{now:%d %b, %H:%M}", "head")
        picture.text(x, 27, what, "word")
        for j, balance in enumerate(balances):
            y, spent, both = top + j * row, balance.spent * scale, (balance.spent + balance.held) * scale
            picture.box(x, y, balance.amount * scale, 22, "free")
            picture.box(x, y, spent, 22, "spent")
            picture.box(x + spent, y, both - spent, 22, "held")
            if i == 0 and balance.cap.account == refused.account:
                asked = refused.cap_needed - refused.amount + refused.left
                picture.box(x + both, y - 3, asked * scale, 28, "asked")
            taken = [(balance.spent, "spent"), (balance.held, "held")]
            words = ", ".join(f"{in_units('usd', count)} {name}" for count, name in taken if count)
            for line, text in enumerate(filter(None, (words, f"{in_units('usd', balance.left)} left"))):
                picture.text(x, y + 37 + 14 * line, text, "soft")
    y = top + len(moments[0][2]) * row + 12
    picture.box(0, y - 10, 22, 14, "asked")
    picture.text(30, y + 1, f"call-3, refused: it fits into org/search, and not into {refused.account}", "word")
    return picture.svg()


def selection(values: Values) -> str:
    """The time-expanded problem: what fits on some way to an end, and the best path."""
    problem, best = values["problem"], values["best"]
    note = "thick: the best path, which stays at its end; thin: on some way to an end that fits; dotted: on none"
    picture = Picture(f"The graph at steps 0 to {problem.horizon}, with {problem.budgets[0]} cents", note)
    made = programme(problem)
    assert made is not None, "a path fits"
    kept, steps = _moves(made.net), len(best.edges)
    nodes = [problem.start, *(problem.edges[edge][1] for edge in best.edges)]
    nodes += nodes[-1:] * (problem.horizon - steps)
    layers, arrows = [{problem.start}], list[Arrow]()
    for moment in range(problem.horizon):
        layers.append({head for tail, head in problem.edges if tail in layers[-1]})
        for edge, (tail, head) in enumerate(problem.edges):
            if tail in layers[moment]:
                on_path = moment < steps and edge == best.edges[moment]
                name = "strong" if on_path else "thin" if (moment, edge) in kept else "faint"
                label = f"{values['actions'][edge]}: {problem.costs[edge][0]}" if name != "faint" else ""
                arrows.append((_place(moment, tail), _place(moment + 1, head), label, name))
        if moment >= steps:
            ends = _place(moment, nodes[moment]), _place(moment + 1, nodes[moment])
            arrows.append((*ends, "stays", "strong stay"))
    _arrows(picture, arrows)
    for moment, layer in enumerate(layers):
        picture.text(_place(moment, 0)[0], 10, f"step {moment}", "head mid")
        for node in layer | {nodes[moment]}:
            picture.dot(*_place(moment, node), 8, "node on" if node == nodes[moment] else "node")
    for node, name in enumerate(values["states"]):
        picture.text(0, _place(0, node)[1] + 4, name, "head")
        if node in problem.terminals:
            picture.text(0, _place(0, node)[1] + 19, f"an end, worth {problem.rewards[node]:g}", "soft")
    return picture.svg()


def _place(moment: int, node: int) -> tuple[float, float]:
    """Where a state stands at a step."""
    return 138 + moment * 125, 42 + node * 66


def _moves(net: Net) -> set[tuple[int, int]]:
    """The step and the edge of each arc."""
    moments, pairs = {net.source: 0}, set[tuple[int, int]]()
    for tail, head, edge in zip(net.tails, net.heads, net.ids, strict=True):
        if edge != END:
            moments[head] = moments[tail] + 1
            pairs.add((moments[tail], edge))
    return pairs


Arrow = tuple[tuple[float, float], tuple[float, float], str, str]
"""From and to which place, a label, and a name."""


def _arrows(picture: Picture, arrows: Sequence[Arrow]) -> None:
    """Arrows between states, those of the path and then all labels on top."""
    for (x, y), (to_x, to_y), _, name in sorted(arrows, key=lambda pair: "strong" in pair[3]):
        cut = 11 / ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        line = [(x + (to_x - x) * cut, y + (to_y - y) * cut), (to_x - (to_x - x) * cut, to_y - (to_y - y) * cut)]
        picture.line(line, name, "strong" if "strong" in name else "plain")
    for (x, y), (to_x, to_y), label, name in arrows:
        at = 0.6 if abs(to_y - y) > 100 else 0.5  # a steep arrow crosses others in its middle
        style = "head mid halo blue" if "strong" in name else "soft mid halo"
        picture.text(x + (to_x - x) * at, y + (to_y - y) * at + 4, label, style)


def execution(values: Values) -> str:
    """The boards as they were predicted and as they were observed, step by step."""
    events: Sequence[Event] = values["trace"].events
    note = "the path of round 1 was given up at the first board that was not observed as predicted"
    picture = Picture("Predicted and observed boards", note)
    first, second = shown(events)
    observed = [event for event in events if isinstance(event, ObservedEvent)]
    [miss] = [event for event in events if isinstance(event, MismatchEvent)]
    acted = [event.action for event in events if isinstance(event, ActedEvent)]
    actions = first.selected.actions
    labels = [first.graph.attributes(node)["label"] for node in first.selected.nodes]
    _boards(picture, (0, 0), "round 1: predicted", labels[: miss.step + 1], actions, (miss.step, "bad"))
    rest = f"given up: {' '.join(actions[miss.step :])}"
    picture.text((miss.step + 1) * _COLUMN, _ROW / 2 + 4, rest, "word red")
    _boards(picture, (1, 0), "observed", [event.picture for event in observed], acted, (miss.step, "good"))
    labels = [second.graph.attributes(node)["label"] for node in second.selected.nodes]
    _boards(picture, (2, miss.step), "round 2: predicted", labels, second.selected.actions)
    return picture.svg()


_COLUMN, _ROW = 95.0, 130.0


def _boards(
    picture: Picture,
    place: tuple[int, int],
    name: str,
    boards: Sequence[str],
    actions: Sequence[str],
    marked: tuple[int, str] = (-1, ""),
) -> None:
    """A row of boards with the actions between them; ``place`` is the row and its first step."""
    row, first = place
    top = row * _ROW
    picture.text(first * _COLUMN, top + 8, name, "head")
    for i, board in enumerate(boards):
        x, step = (first + i) * _COLUMN, first + i
        lines = board.splitlines()
        picture.box(x, top + 16, 70, len(lines) * 12 + 10, f"card {marked[1]}" if step == marked[0] else "card")
        for j, line in enumerate(lines):
            picture.text(x + 8, top + 30 + j * 12, line.replace(" ", "\u00a0"), "board")
        if step == marked[0]:
            words = "✗ not what happened" if marked[1] == "bad" else "✓ what happened"
            picture.text(x + 74, top + 8, words, f"soft {_COLOURS[marked[1]]}")
        if i < len(boards) - 1:
            middle = top + 16 + len(lines) * 6 + 5
            picture.line([(x + 71, middle), (x + _COLUMN - 1, middle)], "thin", "plain")
            picture.text(x + 81, middle - 6, actions[i], "head mid")


Card = tuple[str, Sequence[str], str]
"""A heading, lines, and a name: ``good``, ``bad`` or nothing."""


def verification(values: Values) -> str:
    """What each method checked, in order, from its trace."""
    note = "dashed red: refused, rejected or stopped; green: committed to or certified; grey: looked at"
    picture = Picture("Three episodes, each with its checks in order", note)
    rows = (
        ("AEC: put a remote control in the armchair", list(_aec(values["aec"].events))),
        ("SDP: push the box onto the goal", list(_sdp(values["sdp"].events))),
        ("CGDP: who is the mayor of the town where Bela was born?", list(_cgdp(values["cgdp"].events))),
    )
    top = 0.0
    for title, cards in rows:
        picture.text(0, top + 10, title, "head")
        top += _cards(picture, top + 20, cards) + 44
    return picture.svg()


def _cards(picture: Picture, top: float, cards: Sequence[Card]) -> float:
    """A row of cards as wide as their texts, with arrows between them; returns its height."""
    signs = [max(1.25 * len(heading), *map(len, texts)) for heading, texts, _ in cards]  # headings are bold
    each = (_WIDE - 33 * len(cards) + 17) / sum(signs)
    height = 26.0 + 15 * max(len(texts) for _, texts, _ in cards)
    x = 0.0
    for i, (heading, texts, name) in enumerate(cards):
        width = 16 + signs[i] * each
        picture.box(x, top, width, height, f"card {name}")
        picture.text(x + 8, top + 17, heading, f"head {_COLOURS[name]}")
        for row, text in enumerate(texts):
            picture.text(x + 8, top + 34 + 15 * row, text, "soft")
        if i < len(cards) - 1:
            picture.line([(x + width + 1, top + height / 2), (x + width + 16, top + height / 2)], "thin", "plain")
        x += width + 17
    return height


_COLOURS = {"good": "green", "bad": "red", "": ""}


def _aec(events: Sequence[Event]) -> Iterator[Card]:
    """Queries with what came of them, and the commitment."""
    query: list[str] = []
    for event in events:
        match event:
            case QueriedEvent():
                query = [event.predicate.partition(", ")[2].rstrip(")"), *event.actions]
            case VerifiedEvent() if query:
                name = "it is here" if event.accepted else "not here: path refused"
                yield f"query {query[0]}", [*query[1:], name], "" if event.accepted else "bad"
                query = []
            case CommittedEvent():
                yield "commit", [*event.actions, f"{len(event.evidence)} facts as evidence"], "good"
            case _:
                pass


def _sdp(events: Sequence[Event]) -> Iterator[Card]:
    """Attempts with their verdicts."""
    for event in events:
        if isinstance(event, ValidatedEvent):
            how = event.checks[0].how if event.k else "replanned"
            word = f"✓ {event.k} certified" if event.k else "✗ rejected"
            yield f"action {event.action}", [word, how], "good" if event.k else "bad"


def _cgdp(events: Sequence[Event]) -> Iterator[Card]:
    """Rounds with what they brought, and the end."""
    query = facts = ""
    for event in events:
        match event:
            case RetrievedEvent():
                query = event.query
            case BeliefEvent():
                facts = f"{len(event.facts)} facts, {len(event.questions)} open"
            case GateEvent():
                yield (
                    f"round {event.round}",
                    [query, facts, f"J {event.jaccard:g}, UPR {event.upr:g}"],
                    "bad" * event.fired,
                )
            case StoppedEvent():
                yield "answer", [event.answer, event.reason.removeprefix("the ")], ""
            case _:
                pass


def models(values: Values) -> str:
    """The share of right answers of each model in each role, beside what is needed."""
    note = "dot: share of right answers; line: its 95 % interval; brown mark: the least that is needed"
    picture = Picture("Who plays a role: what a probe measured", note)
    left, width = 200.0, 220.0
    for share in (0, 0.5, 1):
        picture.text(left + share * width, 8, f"{share:g}", "soft mid")
    y = 24.0
    for probe in values["probes"]:
        picture.text(0, y + 5, probe.model, "head")
        for role, record in probe.roles.items():
            low, high = record.interval
            need = NEEDED[role][0] if role in NEEDED else 1 - 0.5 ** (1 / 4)  # one of four plans, half of the time
            good = verdict(record).good
            picture.text(135, y + 5, role, "word")
            picture.box(left, y - 8, width, 17, "free")
            picture.line([(left + low * width, y), (left + high * width, y)], "strong")
            picture.line([(left + need * width, y - 11), (left + need * width, y + 12)], "need")
            picture.dot(left + record.right / record.n * width, y)
            words = f"{record.right} of {record.n} right: " + ("stays with the model" if good else "not good enough")
            picture.text(left + width + 14, y + 5, words, "word green" if good else "word red")
            y += 26
        y += 12
    return picture.svg()
