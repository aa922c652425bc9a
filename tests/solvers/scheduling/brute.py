"""Schedules by trying everything, and random problems that are small enough for that."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from fractions import Fraction

from solvers import ScheduleProblem, Variant

Key = tuple[object, ...]


def random_problem(rng: random.Random, *, limits: bool = False, steps: int = 5) -> ScheduleProblem:
    """A random DAG in a random order of its numbers, with ties, free variants and caps that may or may not bind."""
    count, resources, top = rng.randint(1, steps), rng.randint(0, 2), rng.choice((2, 6, 20))
    chance = rng.choice((0.1, 0.3, 0.6))
    names = rng.sample(range(count), count)
    after: list[list[int]] = [[] for _ in range(count)]
    for i in range(count):
        after[names[i]] = [names[j] for j in range(i) if rng.random() < chance]
    variants = [
        [
            Variant(rng.randint(0, top), tuple(rng.randint(0, top) for _ in range(resources)),
                    rng.randint(-1, top), rng.choice("ab") if limits else "")
            for _ in range(rng.randint(1, 3))
        ]
        for _ in range(count)
    ]  # fmt: skip
    cap = lambda: rng.choice((None, rng.randint(0, top * count), rng.randint(0, top * count)))  # noqa: E731
    return ScheduleProblem(
        variants, after, [cap() for _ in range(resources)], cap(),
        rng.choice((None, 1, 2)) if limits else None,
        {"a": rng.choice((1, 2))} if limits and rng.random() < 0.6 else {},
        rng.choice(("value", "value", "time", *range(resources))),
    )  # fmt: skip


def best(problem: ScheduleProblem) -> Key | None:
    """What is aimed at, value, shares, end and places of the best plan, the more the better; None if none fits."""
    keys = []
    for chosen in itertools.product(*(range(len(row)) for row in problem.steps)):
        taken = [row[index] for row, index in zip(problem.steps, chosen, strict=True)]
        used = [sum(variant.use[k] for variant in taken) for k in range(len(problem.budgets))]
        if any(b is not None and u > b for u, b in zip(used, problem.budgets, strict=True)):
            continue
        end = min(ends(problem, taken))
        if problem.deadline is None or end <= problem.deadline:
            keys.append(key(problem, chosen, end))
    return max(keys, default=None)


def key(problem: ScheduleProblem, chosen: tuple[int, ...], end: int) -> Key:
    """The ranks of a plan."""
    taken = [row[index] for row, index in zip(problem.steps, chosen, strict=True)]
    shares = sum(Fraction(sum(variant.use[k] for variant in taken), b) for k, b in enumerate(problem.budgets) if b)
    aimed = -sum(variant.use[problem.aim] for variant in taken) if isinstance(problem.aim, int) else 0
    first = -end if problem.aim == "time" else aimed
    return first, sum(variant.value for variant in taken), -shares, -end, -sum(chosen)


def ends(problem: ScheduleProblem, taken: list[Variant]) -> Iterator[int]:
    """The ends of all plans that start each step as soon as it may, in every order; one of them is the soonest."""
    count = len(taken)
    orders = itertools.permutations(range(count)) if problem.limited else [problem.order]
    for order in orders:
        done: dict[int, tuple[int, int]] = {}
        for step in order:
            if not all(index in done for index in problem.after[step]):
                break
            ready = max((done[index][1] for index in problem.after[step]), default=0)
            at = ready
            while not _free(problem, taken, done, step, at):
                at += 1
            done[step] = at, at + taken[step].time
        else:
            yield max((end for _, end in done.values()), default=0)


def _free(problem: ScheduleProblem, taken: list[Variant], done: dict[int, tuple[int, int]], step: int, at: int) -> bool:
    for now in range(at, at + taken[step].time):
        there = [name for name, (start, end) in done.items() if start <= now < end]
        if problem.parallel is not None and len(there) >= problem.parallel:
            return False
        most = problem.at_once.get(taken[step].tool)
        if most is not None and sum(taken[index].tool == taken[step].tool for index in there) >= most:
            return False
    return True
