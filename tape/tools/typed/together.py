"""Plans of typed tools whose calls run at once: what waits for what, and when each starts.

What a tool takes is used up, so the calls that make one thing are a tree. Dollars add up over it, seconds are its
longest chain. The best trees of each type are found upwards, the best first, as Dijkstra's algorithm does (Knuth 1977);
one that costs no less and takes no less time than another of its type is dropped. So the first of the wanted type is
the best.

Calls that are not pure wait for each other, and other limits on calls at once make them wait too. Then a tree is placed
by :func:`solvers.schedule`, and the best one that keeps the time after that is taken: the trees that were dropped are
not looked at again, so a better one may exist there.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product

import solvers
from solvers import ScheduleProblem, Variant
from tape.budget import Resources
from tape.tools.tool import Tool
from tape.tools.typed.planner import PlanningError, require_typed

MOST_TREES = 50_000
"""Trees that are looked at."""

TIME = "seconds"
_IMPURE = "\0impure"


@dataclass(frozen=True)
class PlannedCall:
    """A call of a plan.

    Attributes:
        tool: Its tool.
        after: The numbers of the calls whose results it takes, and of those that it must not run beside.
        start: Its start if every call takes its declared time, in milliseconds.
        end: Its end.
        critical: The plan would end later if it did.
    """

    tool: Tool
    after: tuple[int, ...]
    start: int
    end: int
    critical: bool


@dataclass(frozen=True)
class CallPlan:
    """Calls that give the wanted type, in the order of their starts.

    Attributes:
        calls: The calls.
        cost: The worst case of all together; ``seconds`` is the sum, as the ledger counts it.
        makespan: When the last one ends, in milliseconds.

    Examples:
        >>> from tape.tools import tool
        >>> from tape.tools.typed import CallPlan, call_plan
        >>> @tool(takes="export", gives="rows", usd="0.02", seconds=5, pure=True)
        ... def clean(export: str) -> str:
        ...     "Clean the rows of an export."
        ...     return f"rows of {export}"
        >>> plan = call_plan([clean], "rows", ["export"])
        >>> isinstance(plan, CallPlan), len(plan.calls), plan.cost["usd"], plan.makespan
        (True, 1, 20000, 5000)
    """

    calls: tuple[PlannedCall, ...]
    cost: Resources
    makespan: int


@dataclass(frozen=True)
class _Tree:
    """A call with the trees that give what it takes; without a tool what is there."""

    time: int
    serial: int
    sums: tuple[int, ...]
    at_hand: tuple[str, ...] = ()
    tool: Tool | None = None
    parts: tuple[_Tree, ...] = field(default=(), compare=False)


def call_plan(
    tools: Sequence[Tool],
    want: str,
    have: Collection[str] = (),
    *,
    at_hand: Sequence[str] = (),
    aim: str = "usd",
    limits: Mapping[str, int] | None = None,
    deadline: int | None = None,
    parallel: int | None = None,
    at_once: Mapping[str, int] | None = None,
) -> CallPlan | None:
    """The best calls that give a type, run at once where they may; None where none keeps the limits.

    Args:
        tools: The tools; those without types are left out.
        want: The type that is wanted.
        have: Types that are there from the start and are never used up.
        at_hand: Types that calls have given; each can be taken once.
        aim: The resource of which as little as possible is used; ``"seconds"`` for the soonest.
        limits: Counts of resources that the calls together may use; a call is a step.
        deadline: Milliseconds in which the last call must have ended.
        parallel: The most calls at once.
        at_once: The most calls at once of some tools, by their names.

    Raises:
        ToolError: What a tool costs in a limited resource, or in the one that is saved, is not known.
        PlanningError: There are more than :data:`MOST_TREES` trees.

    Examples:
        >>> import json
        >>> from pathlib import Path
        >>> from tape.tools.typed import call_plan, load_tools
        >>> records = [
        ...     {"name": "clean", "takes": "export", "gives": "rows", "cost": {"seconds": 5}, "pure": True},
        ...     {"name": "locate", "takes": "export", "gives": "places", "cost": {"seconds": 4}, "pure": True},
        ...     {"name": "draw", "takes": ["rows", "places"], "gives": "map", "cost": {"seconds": 1}, "pure": True},
        ... ]
        >>> _ = Path("tools.json").write_text(json.dumps(records))
        >>> plan = call_plan(load_tools("tools.json"), "map", ["export"])
        >>> [(call.tool.name, call.start, call.end) for call in plan.calls], plan.makespan
        ([('clean', 0, 5000), ('locate', 0, 4000), ('draw', 5000, 6000)], 6000)
    """
    typed = [item for item in tools if item.gives]
    for kind in {*(limits or {}), aim, TIME}:
        require_typed(typed, kind)
    search = _Search(typed, have, Counter(at_hand), aim, limits or {}, deadline)
    best: CallPlan | None = None
    for tree in search.trees(want):
        if best is not None and tree.time >= best.makespan:
            break
        plan = _placed(tree, parallel, at_once or {})
        if (deadline is None or plan.makespan <= deadline) and (best is None or plan.makespan < best.makespan):
            best = plan
        if best is not None and aim != TIME:
            break
    return best


class _Search:
    """The best trees of each type."""

    def __init__(
        self,
        tools: Sequence[Tool],
        have: Collection[str],
        at_hand: Counter[str],
        aim: str,
        limits: Mapping[str, int],
        deadline: int | None,
    ) -> None:
        self._tools, self._have, self._at_hand, self._aim = tools, {*have}, at_hand, aim
        self._kinds = [*dict.fromkeys([*limits, *(() if aim == TIME else (aim,))])]
        self._caps = [limits.get(kind) for kind in self._kinds]
        self._deadline = deadline
        self._found: dict[str, list[_Tree]] = {}

    def trees(self, want: str) -> Iterator[_Tree]:
        """The trees of a type, the best first."""
        heap: list[tuple[tuple[int, ...], int, str, _Tree]] = []
        number = count()

        def push(gives: str, tree: _Tree) -> None:
            if self._fits(tree):
                heapq.heappush(heap, (self._rank(tree), next(number), gives, tree))

        nothing = (0,) * len(self._kinds)
        for one in self._have | self._at_hand.keys():
            push(one, _Tree(0, 0, nothing, () if one in self._have else (one,)))
        for item in self._tools:
            if not item.takes:
                push(item.gives, self._called(item, ()))
        while heap:
            _, done, gives, tree = heapq.heappop(heap)
            if done > MOST_TREES:
                raise PlanningError(f"more than {MOST_TREES} trees of calls give {want!r}; use fewer tools")
            found = self._found.setdefault(gives, [])
            if any(_no_worse(one, tree) for one in found):
                continue
            found.append(tree)
            if gives == want:
                yield tree
            for item in self._tools:
                if gives not in item.takes:
                    continue
                for parts in product(*(self._found.get(one, ()) for one in item.takes)):
                    if any(part is tree for part in parts):
                        push(item.gives, self._called(item, parts))

    def _called(self, item: Tool, parts: tuple[_Tree, ...]) -> _Tree:
        own = item.worst[TIME] or 0
        sums = [sum(of) for of in zip(*(part.sums for part in parts), strict=True)] or [0] * len(self._kinds)
        return _Tree(
            own + max((part.time for part in parts), default=0),
            sum(part.serial for part in parts) + (0 if item.pure else own),
            tuple(one + (item.worst[kind] or 0) for one, kind in zip(sums, self._kinds, strict=True)),
            tuple(sorted(one for part in parts for one in part.at_hand)),
            item,
            parts,
        )

    def _fits(self, tree: _Tree) -> bool:
        within = all(cap is None or one <= cap for one, cap in zip(tree.sums, self._caps, strict=True))
        late = self._deadline is not None and max(tree.time, tree.serial) > self._deadline
        return within and not late and not Counter(tree.at_hand) - self._at_hand

    def _rank(self, tree: _Tree) -> tuple[int, ...]:
        ends = max(tree.time, tree.serial)
        return (ends, *tree.sums) if self._aim == TIME else (tree.sums[self._kinds.index(self._aim)], ends)


def _no_worse(one: _Tree, other: _Tree) -> bool:
    sums = all(a <= b for a, b in zip(one.sums, other.sums, strict=True))
    return (
        sums
        and one.time <= other.time
        and one.serial <= other.serial
        and not Counter(one.at_hand) - Counter(other.at_hand)
    )


def _placed(tree: _Tree, parallel: int | None, at_once: Mapping[str, int]) -> CallPlan:
    """The calls of a tree as soon as the limits let them."""
    calls: list[Tool] = []
    takes: list[list[int]] = []

    def add(node: _Tree) -> int | None:
        if node.tool is None:
            return None
        results = [at for part in node.parts if (at := add(part)) is not None]
        calls.append(node.tool)
        takes.append(results)
        return len(calls) - 1

    if add(tree) is None:
        return CallPlan((), Resources(), 0)
    names = [item.name if item.name in at_once else "" if item.pure else _IMPURE for item in calls]
    limits = {name: most for name, most in {**at_once, _IMPURE: 1}.items() if name in names}
    steps = [[Variant(item.worst[TIME] or 0, (), 0, name)] for item, name in zip(calls, names, strict=True)]
    found = solvers.schedule(ScheduleProblem(steps, takes, (), None, parallel, limits, "time"), 2.0)
    if not found:
        raise PlanningError(f"the calls could not be placed: {found.message or found.status.value}")
    ends = [start + step[0].time for start, step in zip(found.starts, steps, strict=True)]
    order = sorted(range(len(calls)), key=lambda one: (found.starts[one], one))
    place = {one: at for at, one in enumerate(order)}

    def waits(one: int) -> tuple[int, ...]:
        beside = [
            other
            for other in order
            if ends[other] <= found.starts[one]
            and other != one
            and (parallel is not None or (names[one] == names[other] in limits))
        ]
        return tuple(sorted({place[other] for other in (*takes[one], *beside) if place[other] < place[one]}))

    critical = solvers.critical_steps(takes, found.starts, [step[0].time for step in steps])
    planned = tuple(PlannedCall(calls[o], waits(o), found.starts[o], ends[o], o in critical) for o in order)
    return CallPlan(planned, sum((item.worst for item in calls), Resources()), max(ends))
