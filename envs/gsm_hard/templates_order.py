"""One order of calls for each text: as its numbers come up in reading."""

from __future__ import annotations

from collections.abc import Sequence

from envs.gsm_hard.problem import Step

_COMMUTATIVE = frozenset({"add", "multiply"})


def in_order_of_text(steps: Sequence[Step], order: Sequence[str]) -> tuple[Step, ...]:
    """Put steps that do not depend on each other into the order in which a reader can take them.

    A step comes when the last number that it builds on has been read. In sums and products earlier results come first,
    then numbers in the order of the text, then constants.

    Args:
        steps: A program with numbers by name.
        order: The names of the numbers as they come up in the text.

    Returns:
        The same program in its one order, references renamed.
    """
    place = {name: float(index) for index, name in enumerate(order)}
    known: list[float] = []
    for step in steps:
        known.append(max(_place(arg, place, known) for arg in step.args))
    # Stable: a step that builds on another one is never read before it, and comes after it in the program.
    moved = sorted(range(len(steps)), key=known.__getitem__)
    renamed = {f"#{old + 1}": f"#{new + 1}" for new, old in enumerate(moved)}
    found = []
    for old in moved:
        args = [renamed.get(arg, arg) if isinstance(arg, str) else arg for arg in steps[old].args]
        if steps[old].kind in _COMMUTATIVE:
            args.sort(key=lambda arg: _rank(arg, place))
        found.append(Step(steps[old].kind, tuple(args)))
    return tuple(found)


def _place(arg: float | str, place: dict[str, float], known: Sequence[float]) -> float:
    if not isinstance(arg, str):
        return -1.0
    return known[int(arg[1:]) - 1] if arg[0] == "#" else place[arg]


def _rank(arg: float | str, place: dict[str, float]) -> tuple[int, float]:
    if not isinstance(arg, str):
        return 2, arg
    return (0, float(arg[1:])) if arg[0] == "#" else (1, place[arg])
