"""The planning rounds of an episode on a terminal; plain text where the output is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from tape.analysis.why.data import Candidate, Round
from tape.analysis.why.rounds import rounds
from tape.analysis.why.words import about, count_of, differences, is_moves, listing
from tape.budget import in_units
from tape.show.console import GuardedConsole, plain_text
from tape.show.console import guarded_text as _text
from tape.trace import Event

_MOST_STEPS = 40
"""Steps of a path that are listed."""

LEGEND = (
    "score: the model's score of where a path ends, from -1 (hopeless) to 1, or of programs the share that comes to "
    "the same; goal: it counts as a goal, open: a plan stops there. Costs are worst cases, where nothing else is said "
    "above."
)


def write(title: str, about: Sequence[str], rounds: Sequence[Round], out: TextIO) -> None:
    """Write an episode's rounds."""
    console, parts = GuardedConsole(out, highlight=False, markup=False, emoji=False), _parts(title, about, rounds)
    if not console.is_terminal:
        out.write(plain_text(*parts))
        return
    for part in parts:
        console.print(part)


def text_of(events: Sequence[Event]) -> str:
    """What ``tape why`` writes of an episode where the output is no terminal, without its title."""
    return plain_text(*_parts("", about(events), rounds(events))).rstrip("\n")


def _parts(title: str, about: Sequence[str], rounds: Sequence[Round]) -> Iterator[RenderableType]:
    """What is written, in order."""
    yield from [_text(title, "bold")] if title else []
    yield from map(_text, about)
    kept: list[Round] = []
    for round_ in rounds:
        if round_.kind == "reselect" and (round_.kept or not round_.taken):
            kept.append(round_)
            continue
        yield from _kept(kept)
        kept = []
        yield ""
        yield from _round(round_)
    yield from _kept(kept)
    if any(item.alternatives or item.misfits or item.budgets for item in rounds):
        yield ""
        yield _text(LEGEND, "dim")


def _kept(kept: Sequence[Round]) -> Iterator[RenderableType]:
    """Selections that changed nothing, in one sentence."""
    if not kept:
        return
    yield ""
    steps = listing([str(round_.step) for round_ in kept])
    what = (
        "the path in hand was kept"
        if any(not round_.kept for round_ in kept)
        else "the rest of the path was still the best"
    )
    each = "" if len(kept) == 1 else " each time"
    sentence = f"After {'step' if len(kept) == 1 else 'steps'} {steps} less was used than the worst case: {what}{each}."
    yield Padding(_text(sentence), (0, 0, 0, 2))


def _round(round_: Round) -> Iterator[RenderableType]:
    """The parts of a round."""
    yield _text(_head(round_), "bold")
    if made := _made(round_):
        yield _text(made)
    yield ""
    rows = [("why", sentence) for sentence in round_.reasons]
    rows += [("", f"{_verdict(round_)}")] if round_.hypotheses else []
    rows += [("then", round_.outcome)] if round_.outcome else []
    mismatch = round_.ended.mismatch
    if mismatch is not None and round_.ended.how not in ("reselected",):
        rows += [("predicted", mismatch.predicted), ("observed", mismatch.observed)]
    yield _pairs(rows)
    if round_.chosen is not None or round_.selected is not None or round_.alternatives:
        yield ""
        yield _paths(round_)
    if round_.budgets:
        yield ""
        yield _budgets(round_)


def _head(round_: Round) -> str:
    left = listing([in_units(*item) for item in round_.left.items()]) if round_.left else ""
    where = "before the first step" if round_.step == 0 else f"after step {round_.step}"
    name = f"ROUND {round_.number}" if round_.kind != "reselect" else f"ROUND {round_.number}, SELECTED ANEW"
    return f"{name}, {where}" + (f", with {left} left for the path" if left else "")


def _made(round_: Round) -> str:
    """What the graph was made of."""
    if round_.graph is None or round_.kind == "reselect":
        return ""
    graph = round_.graph
    plans = f"{count_of(round_.sampled, 'sampled plan')}" if round_.sampled else "What was left of the plans"
    if round_.readable < round_.sampled:
        plans += f" ({round_.sampled - round_.readable} unreadable)"
    made = f"{plans} made {count_of(graph['nodes'], 'state')} and {count_of(graph['edges'], 'action')}"
    seen = [f"{graph[name]} {text}" for name, text in _SEEN.items() if graph[name]]
    return f"{made}; {listing(seen)}." if seen else f"{made}."


_SEEN = {
    "certified": "seen to be so before",
    "contradicted": "contradicted by what was seen, and left out",
    "refused": "refused when approval was asked for, and left out",
}


def _verdict(round_: Round) -> str:
    refused = [hypothesis for hypothesis in round_.hypotheses if not hypothesis.accepted]
    if not refused:
        return "The verifier refused nothing."
    text = "; ".join(f"{' > '.join(hypothesis.actions)}: {hypothesis.why}" for hypothesis in refused)
    return f"The verifier refused {count_of(len(refused), 'path')}: {text}."


def _pairs(rows: Sequence[tuple[str, str]]) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=9, style="bold", no_wrap=True)
    table.add_column(ratio=1)
    last = ""
    for name, text in rows:
        table.add_row(_text("" if name == last else name), _text(text))
        last = name
    return Padding(table, (0, 0, 0, 2))


def _paths(round_: Round) -> RenderableType:
    """The chosen path and the others."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(ratio=1)
    table.add_column(max_width=26)
    table.add_column(no_wrap=True)
    table.add_row(_text("path", "dim"), _text("worst case", "dim"), _text("score", "dim"))
    picked = round_.picked
    what = "CHOSEN" if round_.committed_at is None else "COMMITTED TO"
    if round_.chosen is not None:
        _add(table, what, round_.chosen, None, "bold")
    if round_.selected is not None:
        _add(table, "the solver's choice", round_.selected, None)
    for path in round_.alternatives:
        _add(table, "also fits", path, picked)
    for path in round_.misfits:
        over = listing([in_units(*item) for item in path.over.items()])
        _add(table, f"better, but needs {over} more", path, picked)
    return Padding(table, (0, 0, 0, 2))


def _add(table: Table, name: str, path: Candidate, chosen: Candidate | None, style: str = "") -> None:
    score = ""
    if path.score is not None:
        score = f"{path.score:.3g} {'goal' if path.goal else 'open'}"
    if path.likelihood is not None and path.likelihood < 1:
        name += f" (assumes unseen things: {path.likelihood:.0%} likely)"
    cost = ", ".join(in_units(*item) for item in path.cost.items())
    table.add_row(_text(name, style or "bold"), _text(cost), _text(score))
    table.add_row(Padding(Group(*[_text(line, style) for line in _steps(path, chosen)]), (0, 0, 0, 2)), "", "")


def _steps(path: Candidate, chosen: Candidate | None) -> Iterator[str]:
    """The actions of a path; of one that is like the chosen one only what is different."""
    actions = path.actions
    if not actions:
        yield "(no step)"
    elif is_moves(actions):
        yield " ".join(actions)
    elif chosen is not None and (different := differences(path, chosen)):
        yield "as chosen, but"
        yield from (f"{number} {action}" for number, action in different)
    else:
        shared, end = _shared(actions, chosen.actions if chosen is not None else ())
        if shared:
            yield f"{'1' if shared == 1 else f'1 to {shared}'} as chosen, then"
        listed = [f"{number} {action}" for number, action in enumerate(actions, 1)][shared : len(actions) - end]
        yield from listed[:_MOST_STEPS]
        if len(listed) > _MOST_STEPS:
            yield f"... {len(listed) - _MOST_STEPS} more"
        if end:
            yield f"and the last {end} as chosen" if end > 1 else "and the last as chosen"


def _shared(actions: Sequence[str], chosen: Sequence[str]) -> tuple[int, int]:
    """How many steps two paths have in common at the beginning, and at the end; none that is shorter in full."""
    most = min(len(actions), len(chosen))
    first = next((i for i in range(most) if actions[i] != chosen[i]), most)
    last = next((i for i in range(most - first) if actions[-1 - i] != chosen[-1 - i]), most - first)
    return (first if first > 1 else 0), (last if last > 1 else 0)


def _budgets(round_: Round) -> RenderableType:
    """Each budget, and what a little more of it buys."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    table.add_row(*[_text(name, "dim") for name in ("budget", "left", "needed", "a little more would buy")])
    joint = {kind for together in round_.together for kind in together.to}
    for line in round_.budgets:
        buys = "nothing"
        if line.more is not None:
            buys = f"{in_units(line.kind, line.more.by[line.kind])} more: {line.more.gain}"
        elif line.kind in joint:
            buys = "alone nothing"
        left, used = in_units(line.kind, line.left), in_units(line.kind, line.used)
        table.add_row(_text(line.kind), _text(left), _text(used), _text(buys, "bold" if line.more else ""))
    for together in round_.together:
        more = listing([in_units(*item) for item in together.by.items()])
        table.add_row(_text(listing([*together.to])), "", "", _text(f"{more} more: {together.gain}", "bold"))
    return Padding(table, (0, 0, 0, 2))
