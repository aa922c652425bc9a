"""Random schedules of guarded calls with everything that goes wrong; nothing may be overspent.

They are drawn by a seed. Calls are simulated: what each really takes is drawn, at most what was declared, and added up
here, apart from the guard. Calls overlap, are nested, fail, are cut off, report nothing or late; programs die in the
middle and begin again with the same journal, alone or two at a time. Threads and processes have tests of their own.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tape.budget import Budget, LedgerError
from tape.errors import BudgetExceededError
from tape.guard.guard import Guard, ModelCharge, ToolCharge
from tests.tape.conftest import Keep

MODELS = {"m": ("1", "2")}
TOOLS: dict[str, Any] = {
    "fixed": {"usd": "$0.01"},
    "metered": {"worst": {"usd": "$0.03", "tokens": 50}, "reported": "used"},
    "pages": {"each": {"usd": "$0.004"}, "per": "argument", "argument": "n", "at_most": 5},
    "free": {"usd": 0},
}
_STEPS = 14
_SHARED = 0.15
"""The share of schedules with a journal, where programs die, and half of the time two share it."""


@dataclass
class Truth:
    """What was really used within one set of caps."""

    caps: Budget
    spent: Counter[str] = field(default_factory=Counter)

    def add(self, used: dict[str, int]) -> bool:
        """Count it; whether a cap is broken."""
        self.spent.update(used)
        return any(self.spent[kind] > cap for kind, cap in self.caps.items())


@dataclass
class Flying:
    """A call that is under way, and what it will turn out to have taken."""

    context: Any
    charge: ToolCharge | ModelCharge
    used: dict[str, int]


class Schedule:
    """One random schedule.

    Args:
        rng: Draws it.
        journal: A file of its own, or None.
        counts: Takes what happened.
    """

    def __init__(self, rng: random.Random, journal: Path | None, counts: Counter[str]) -> None:
        self._rng, self._journal, self._counts = rng, journal, counts
        kinds = rng.sample(["usd", "tokens", "steps", "calls"], rng.randint(1, 3))
        amounts = {"usd": rng.randint(5, 120) / 1000, "tokens": rng.randint(100, 1500), "steps": rng.randint(1, 6),
                   "calls": rng.randint(1, 5)}  # fmt: skip
        self._caps = Budget.of(**{kind: amounts[kind] for kind in kinds})
        self._inner = Budget.of(usd=rng.randint(5, 60) / 1000, steps=rng.randint(1, 4))
        self._truth = Truth(self._caps)
        self._programs = [self._begun() for _ in range(2 if journal is not None and rng.random() < 0.5 else 1)]
        self._dead: list[Flying] = []

    def _begun(self) -> tuple[list[tuple[Guard, list[Truth]]], list[Flying]]:
        """A program: its guard, one within it, and its calls under way."""
        guard = Guard(self._caps, tools=TOOLS, models=MODELS, most_tokens=60, journal=self._journal)
        nested = guard.within(self._inner, name="inner")
        return [(guard, [self._truth]), (nested, [self._truth, Truth(self._inner)])], []

    def play(self) -> bool:
        """Play it; whether anything was overspent."""
        over = False
        for _ in range(self._rng.randint(3, _STEPS)):
            number = self._rng.randrange(len(self._programs))
            guards, flying = self._programs[number]
            what = self._rng.random()
            if self._journal is not None and what < 0.08:
                self._die(number)
            elif flying and what < 0.5:
                self._end(flying.pop(self._rng.randrange(len(flying))))
            else:
                over |= self._start(*self._rng.choice(guards), flying)
        for _, flying in self._programs:
            for item in flying:
                self._end(item)
        self._bury()
        return over

    def _start(self, guard: Guard, truths: list[Truth], flying: list[Flying]) -> bool:
        rng, name = self._rng, self._rng.choice([*TOOLS, "m", "m"])
        if name == "m":
            text = "x" * rng.randint(0, 300)
            context: Any = guard.model(name, text, rng.choice([None, rng.randint(1, 100)]))
        else:
            arguments = {"n": rng.randint(0, 5)}
            context = guard.tool(name, arguments)
        try:
            charge = context.__enter__()
        except BudgetExceededError:
            self._counts["refused"] += 1
            return False
        self._counts["calls"] += 1
        # A provider keeps the limit that it is given, and counts no more tokens than bytes.
        prompt = rng.randint(0, len(text)) if name == "m" else 0
        used = {
            "m": lambda: self._tokens(prompt, rng.randint(0, charge.most_tokens)),
            "fixed": lambda: {"usd": 10_000, "steps": 1},
            "metered": lambda: {"usd": rng.randint(0, 30_000), "tokens": rng.randint(0, 50), "steps": 1},
            "pages": lambda: {"usd": 4_000 * arguments["n"], "steps": 1},
            "free": lambda: {"steps": 1},
        }[name]()
        flying.append(Flying(context, charge, used))
        broken = [truth.add(used) for truth in truths]
        return any(broken)

    @staticmethod
    def _tokens(prompt: int, completion: int) -> dict[str, int]:
        return {"calls": 1, "tokens": prompt + completion, "usd": prompt + 2 * completion, "prompt": prompt}

    def _end(self, item: Flying) -> None:
        how = self._rng.random()
        if how < 0.6 and isinstance(item.charge, ModelCharge):
            prompt = item.used["prompt"]
            item.charge.used(prompt, item.used["tokens"] - prompt)
        elif how < 0.6:
            assert isinstance(item.charge, ToolCharge)
            report = {kind: amount / (1e6 if kind == "usd" else 1) for kind, amount in item.used.items()}
            item.charge.answered("found", {"used": report})
        elif how < 0.7 and isinstance(item.charge, ModelCharge):
            item.charge.used(None, None)
        else:
            self._counts["cut off"] += 1
        with contextlib.suppress(KeyboardInterrupt):
            error = KeyboardInterrupt() if how > 0.85 else None
            item.context.__exit__(type(error) if error else None, error, None)

    def _die(self, number: int) -> None:
        """The program is killed: nobody settles what was under way."""
        self._counts["deaths"] += 1
        guards, flying = self._programs[number]
        guards[0][0].close()
        self._dead += flying
        self._programs[number] = self._begun()

    def _bury(self) -> None:
        for item in self._dead:
            with contextlib.suppress(LedgerError):  # its file is closed, as a dead program's is
                item.context.__exit__(None, None, None)
        for guards, _ in self._programs:
            guards[0][0].close()


def sweep(schedules: int, seed: int, folder: Path) -> dict[str, Any]:
    """Play so many schedules; what happened, and how many have overspent."""
    rng, counts = random.Random(seed), Counter[str]()
    overspent = 0
    for number in range(schedules):
        journal = folder / f"{number}.jsonl" if rng.random() < _SHARED else None
        counts["with a journal"] += journal is not None
        overspent += Schedule(rng, journal, counts).play()
        if journal is not None:
            journal.unlink()
    return {"schedules": schedules, "seed": seed, **dict(sorted(counts.items())), "overspent": overspent}


@pytest.mark.parametrize(("schedules", "seed"), [(300, 7), pytest.param(50_000, 0, marks=pytest.mark.soak)])
def test_random_schedules_overspend_nothing(tmp_path: Path, schedules: int, seed: int, keep_figures: Keep) -> None:
    mapping = sweep(schedules, seed, tmp_path)
    assert mapping["overspent"] == 0
    assert min(mapping[kind] for kind in ("calls", "refused", "cut off", "deaths", "with a journal")) > 20
    assert not list(tmp_path.iterdir())
    keep_figures("schedules", mapping)


def test_the_sweep_notices_what_is_declared_too_low(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS, "fixed", {"usd": "$0.001"})
    assert sweep(100, 7, tmp_path)["overspent"] > 5
