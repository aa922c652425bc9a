"""TAPE for tools without one of its parts, for the ablations: parts are replaced from outside while an arm is played.

- ``grammar``: no server is asked to hold the model to the grammar of programs.
- ``values``: programs agree where they are written alike but for names and comments, whatever they come to.
- ``hints``: a line that has failed comes back with the bare error, without the tool's description and a hint.
- ``continuation``: each request asks for a whole program; it sees the failure, and no line or result of before.
- ``folding``: programs share no node of the plan graph.
- ``agreement``: the first readable program is worth all, whatever the others come to.
- ``exact choice``: of the leading program each call is made by the best variant that leaves enough for the cheapest
  variants of the rest.
- ``adaptive samples``: no further samples are drawn before what matters.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from experiments.ablations.selectors import GreedySelector
from tape import TapeAgent
from tape.agents.program_graph import ProgramGraphs
from tape.agents.program_requests import ProgramRequest
from tape.choice.graph import PlanGraph
from tape.plan.agreement import OPEN, Agreement
from tape.plan.program import Program
from tape.plan.prompt import Done
from tape.plan.record import FollowedProgram
from tape.plan.vocabulary import Vocabulary


class _Renamed(ast.NodeTransformer):
    """Names of a program by the order in which they are given."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)


def as_written(program: Program) -> str:
    """Equal for programs that differ in names and comments alone."""
    targets = [statement.target for statement in program.statements if statement.target]
    names = _Renamed({name: f"v{number}" for number, name in enumerate(dict.fromkeys(targets))})
    values = [ast.unparse(names.visit(ast.parse(ast.unparse(line.value), mode="eval"))) for line in program.statements]
    return "\n".join(values)


def _bare(step: Done, words: Vocabulary, lines_run: str, results: str) -> str:
    del words, lines_run, results
    return f"This line failed:\n{step.text}\nWhy: {step.failure}"


def _only_failures(
    self: ProgramRequest, run: FollowedProgram, words: Vocabulary
) -> tuple[tuple[Done, ...], dict[str, Any]]:
    lines, _ = _CARRIED(self, run, words)
    return tuple(line for line in lines if line.failure), {}


_CARRIED = ProgramRequest.carried
_FOLD = ProgramGraphs.fold
_CLASSES = Agreement.classes


def _classes_as_written(self: Agreement) -> list[str]:
    pairs = zip(_CLASSES(self), self.runs, strict=True)
    return [name if name in ("", OPEN) else as_written(run.program) for name, run in pairs]


def _apart(self: ProgramGraphs, runs: Sequence[FollowedProgram]) -> PlanGraph:
    """The plan graph of programs of which each has nodes of its own."""
    graph = _FOLD(self, runs[:0])
    start = graph.nodes[0]
    classes, shares = Agreement(runs).classes(), Agreement(runs).shares()
    for number, run in enumerate(runs):
        if not classes[number]:
            continue
        alone = _FOLD(self, [run])
        named = {node: node if node == start else f"{number}: {node}" for node in alone.nodes}
        for edge in alone.edges():
            graph.add_variant(named[edge.source], edge.action, named[edge.target])
            mine = graph.find(named[edge.source], edge.action, named[edge.target])
            graph.set_cost(mine, edge.cost)
            graph.set_chance(mine, edge.chance)
            graph.set_edge_reward(mine, edge.reward)
        for node in alone.nodes:
            if alone.attributes(node)["goal"]:
                graph.set_reward(named[node], min(1.0, shares[classes[number]]), goal=True)
    return graph


def _first_counts(self: Agreement) -> dict[str, float]:
    """The shares where the first program that can be read counts alone."""
    named = [*filter(None, self.classes())]
    return {name: 1.0 if name == named[0] else 1e-6 for name in named}


PARTS: Mapping[str, Callable[[], Any]] = {
    "grammar": lambda: mock.patch("tape.tools.prompts.programs.Grammar", return_value=None),
    "values": lambda: mock.patch.object(Agreement, "classes", _classes_as_written),
    "hints": lambda: mock.patch("tape.plan.prompt.why_failed", _bare),
    "continuation": lambda: mock.patch.object(ProgramRequest, "carried", _only_failures),
    "folding": lambda: mock.patch.object(ProgramGraphs, "fold", _apart),
    "agreement": lambda: mock.patch.object(Agreement, "shares", _first_counts),
    "exact choice": lambda: mock.patch.object(TapeAgent, "solver", return_value=GreedySelector()),
    "adaptive samples": lambda: mock.patch("tape.agents.programs.wanted", lambda runs, *_: len(runs)),
}
"""What can be left out."""


WITHOUT = "TAPE+ without "
"""Begins the name of a row that leaves a part out."""


@contextmanager
def without(part: str) -> Iterator[None]:
    """Leave a part out meanwhile; the empty name leaves nothing out."""
    if not part:
        yield
        return
    with PARTS[part]():
        yield
