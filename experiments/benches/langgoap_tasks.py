"""Planning tasks for TAPE and LangGOAP side by side: tool chains, and two families on LangGOAP's own ground.

``chains`` are the problems of ``envs.tool_chains``. ``trees`` and ``shared`` are of conditions and effects, as LangGOAP
has them: what an action needs has to be true, what it makes stays true, and two conditions are the goal. In ``trees``
every condition serves one other, so that typed tools can say the same; in ``shared`` one may serve several, and one
action may make two, which typed tools cannot say. All are seeded. What is best is found here by labels over sets of
conditions, which shares no code with either side.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from envs.tool_chains.generator import Settings, generate
from envs.tool_chains.problem import CAPS, Problem

SIZES = {"small": 5, "middle": 7, "large": 9}
"""Conditions of a task with conditions and effects."""

SLACK = 0.1
"""By how much both caps exceed what the best plan uses, as in tool chains."""

DRAWS = 2000


@dataclass(frozen=True)
class Work:
    """An action: what it needs, what it makes, and its price in cents and thousandths of a second."""

    name: str
    needs: tuple[str, ...]
    makes: tuple[str, ...]
    cents: int
    millis: int


@dataclass(frozen=True)
class Task:
    """Something to plan.

    Attributes:
        id: Unique in its family, size and kind of caps.
        family: ``chains``, ``trees`` or ``shared``.
        works: The actions.
        start: What is true at the start; empty but for chains.
        goal: What has to be true.
        cents: The cap on money.
        millis: The cap on time.
        least: What the cheapest plan within both caps costs; None where none fits.
    """

    id: str
    family: str
    works: tuple[Work, ...]
    start: tuple[str, ...]
    goal: tuple[str, ...]
    cents: int
    millis: int
    least: int | None


def from_problem(problem: Problem) -> Task:
    """A tool chain, as it is at the start."""
    works = tuple(Work(o.name, (o.takes,), (o.gives,), o.cents, o.millis) for o in problem.offers)
    least = None if problem.caps == "short" or problem.reference is None else problem.reference.cents
    return Task(problem.id, "chains", works, (problem.start,), (problem.want,), problem.cents, problem.millis, least)


def chain(caps: str, level: int, tools: int, number: int) -> Task:
    """A static tool chain of the set that the study plays."""
    return from_problem(generate("study", number, Settings(level, tools, "none", caps)))


@lru_cache(maxsize=4096)
def home(family: str, caps: str, size: str, number: int) -> Task:
    """A task of conditions and effects.

    Args:
        family: ``trees`` or ``shared``.
        caps: One of ``fit`` (the cheapest plan fits), ``tight`` (it takes too long and a dearer one fits), ``short``.
        size: One of :data:`SIZES`.
        number: Which.

    Raises:
        ValueError: There is no such kind of caps, or none was found in :data:`DRAWS` draws.
    """
    if caps not in CAPS:
        raise ValueError(f"caps is one of {', '.join(CAPS)}, got {caps!r}")
    for draw in range(DRAWS):
        rng = random.Random(f"{family} {caps} {size} {number} {draw}")
        works, goal = (_tree if family == "trees" else _shared)(rng, SIZES[size])
        task = Task(f"{family}-{number}", family, works, (), goal, 0, 0, None)
        found = _capped(task, caps)
        if found is not None:
            return found
    raise ValueError(f"no task of {family} with {caps} caps in {DRAWS} draws")


def _capped(task: Task, caps: str) -> Task | None:
    """With its caps; None where the draw has no such caps."""
    plain = best(task.works, task.start, task.goal, None)
    if plain is None:
        return None
    cents, millis = plain
    if caps == "tight":
        in_a_hurry = tuple(replace(w, cents=w.millis, millis=0) for w in task.works)
        quick = best(in_a_hurry, task.start, task.goal, None)
        if quick is None or quick[0] >= millis:
            return None
        limit = (quick[0] + millis) // 200 * 100
        found = best(task.works, task.start, task.goal, limit)
        if found is None or found[0] == cents:
            return None
        return replace(task, cents=ceil(found[0] * (1 + SLACK)), millis=limit, least=found[0])
    if caps == "short":
        return replace(task, cents=cents * 9 // 10, millis=ceil(millis * (1 + SLACK)))
    return replace(task, cents=ceil(cents * (1 + SLACK)), millis=ceil(millis * (1 + SLACK)), least=cents)


def best(
    works: Sequence[Work], start: Sequence[str], goal: Sequence[str], millis: int | None
) -> tuple[int, int] | None:
    """Cents and time of the cheapest plan within a time, by labels over sets of conditions; None where none fits."""
    wanted = frozenset(goal)
    queue: list[tuple[int, int, int, frozenset[str]]] = [(0, 0, 0, frozenset(start))]
    settled: dict[frozenset[str], int] = {}
    count = 0
    while queue:
        cents, time, _, here = heapq.heappop(queue)
        if wanted <= here:
            return cents, time
        if settled.get(here, time + 1) <= time:
            continue  # one that was cheaper, or as cheap, took no longer
        settled[here] = time
        for work in works:
            after = here.union(work.makes)
            if after == here or not here.issuperset(work.needs) or (millis is not None and time + work.millis > millis):
                continue
            count += 1
            heapq.heappush(queue, (cents + work.cents, time + work.millis, count, after))
    return None


def verdict(task: Task, names: Sequence[str] | None) -> str:
    """What a plan is worth; None stands for "there is none".

    Returns:
        ``best``: the cheapest that keeps both caps, or rightly none; ``dearer``: it keeps them; ``over``: it does not;
        ``none``: there is one; ``broken``: it cannot be carried out, or the goal is not reached.
    """
    if names is None:
        return "best" if task.least is None else "none"
    by_name, here, cents, millis = {work.name: work for work in task.works}, set(task.start), 0, 0
    for name in names:
        work = by_name.get(name)
        if work is None or not here.issuperset(work.needs):
            return "broken"
        if task.family == "chains":
            here -= {*work.needs} - {*task.start}
        here.update(work.makes)
        cents, millis = cents + work.cents, millis + work.millis
    if not here.issuperset(task.goal):
        return "broken"
    if cents > task.cents or millis > task.millis:
        return "over"
    return "best" if cents == task.least else "dearer"


# --- drawing ----------------------------------------------------------------------------------------------------------


def _price(rng: random.Random, works: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> tuple[Work, ...]:
    """Actions with prices: a quick one tends to be dear."""
    made = []
    for number, (needs, makes) in enumerate(works):
        worth = len(makes) * rng.uniform(0.8, 1.4) + 0.7 * (not needs)
        hurry = rng.uniform(0.4, 1.6)
        cents, millis = max(1, round(50 * worth / hurry)), 100 * max(1, round(40 * worth * hurry))
        made.append(Work(f"{makes[0]}_by_{number}", needs, makes, cents, millis))
    rng.shuffle(made)
    return tuple(made)


def _tree(rng: random.Random, conditions: int) -> tuple[tuple[Work, ...], tuple[str, ...]]:
    """Two trees: every condition but the two goals serves one other."""
    names = [f"c{number}" for number in range(conditions)]
    under: dict[str, list[str]] = {name: [] for name in names}
    for number, name in enumerate(names[2:], start=2):
        under[names[rng.randrange(max(0, number - 3), number)]].append(name)
    works: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for name in names:
        children = tuple(under[name])
        works += [(children, (name,))] * rng.randint(2, 3)
        if children:  # a composite does what one of the children would, too
            skipped = rng.choice(children)
            rest = tuple(child for child in children if child != skipped)
            works.append(((*rest, *under[skipped]), (name,)))
    return _price(rng, works), (names[0], names[1])


def _shared(rng: random.Random, conditions: int) -> tuple[tuple[Work, ...], tuple[str, ...]]:
    """Every condition may serve several others, and some actions make two."""
    names = [f"c{number}" for number in range(conditions)]
    works: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for number, name in enumerate(names):
        for _ in range(rng.randint(2, 3)):
            needs = tuple(rng.sample(names[:number], min(number, rng.randint(1, 2))))
            more = tuple(rng.sample([one for one in names if one != name and one not in needs], 1))
            works.append((needs, (name, *more) if rng.random() < 0.3 else (name,)))
    return _price(rng, works), (names[-2], names[-1])
