import importlib.util
import itertools
import random
from decimal import Decimal
from typing import Any

import pytest

from tape import ConfigError, TapeError, schedule
from tests.profiles import share

ortools = pytest.mark.skipif(importlib.util.find_spec("ortools") is None, reason="OR-Tools is not installed")

STEPS: dict[str, list[dict[str, Any]]] = {
    "dedupe": [
        {"name": "quick", "usd": "$1", "seconds": "5 s", "value": 0.6},
        {"name": "deep", "usd": 4, "seconds": 30, "value": 0.9},
    ],
    "geocode": [
        {"name": "cached", "usd": 1, "seconds": 20, "value": 0.5},
        {"name": "live", "usd": 3, "seconds": "40000 ms", "value": 0.8},
    ],
    "join": [
        {"name": "hash", "usd": 2, "seconds": 20, "value": 0.7},
        {"name": "fuzzy", "usd": 4, "seconds": 35, "value": 1.0},
    ],
}
AFTER = {"join": ["dedupe", "geocode"]}


def chosen(usd: object = 9, seconds: object = 60, **more: Any) -> Any:
    return schedule(STEPS, after=AFTER, budget={"usd": usd, "seconds": seconds}, **more)


def test_seconds_are_the_end_of_the_last_step_and_dollars_add_up() -> None:
    choice = chosen()
    assert choice
    assert choice.plan == ["deep", "live", "hash"]
    assert choice.value == 2.4
    assert choice.spent == {"usd": 9, "seconds": 60}
    assert choice.left == {"usd": 0, "seconds": 0}
    assert choice.gap == 0
    assert [(item.step, item.variant, item.start, item.end, item.critical) for item in choice.schedule] == [
        ("dedupe", "deep", 0, 30, False),
        ("geocode", "live", 0, 40, True),
        ("join", "hash", 40, 60, True),
    ]
    assert str(choice.why) == (
        "The critical path is geocode -> join: 60 s. The most valuable variants would take $11 ($9 given) and 75 s "
        "(60 s given)."
    )
    assert choice.why.short == ("usd", "seconds")
    assert str(chosen(20, 100).why) == "The critical path is geocode -> join: 75 s. No plan is worth more."


@ortools
def test_limits_on_calls_at_once() -> None:
    choice = chosen(11, 105, parallel=1)
    assert choice.spent["seconds"] == 105
    assert [item.critical for item in choice.schedule] == [True] * 3
    steps = {name: [{**variant, "tool": "api"} for variant in variants] for name, variants in STEPS.items()}
    assert schedule(steps, after=AFTER, budget={"seconds": 70}, at_once={"api": 1}).spent["seconds"] <= 70
    assert not schedule(steps, after=AFTER, budget={"seconds": 44}, at_once={"api": 1})


def test_nothing_fits_and_the_least_that_would_do() -> None:
    late = chosen(9, 30)
    assert not late
    assert (late.plan, late.value, late.gap, late.schedule) == (None, None, None, ())
    assert str(late.why) == (
        "No plan fits. Even at its fastest, geocode -> join takes 40 s. seconds is short: 30 s given, 40 s would do, "
        "everything else unchanged."
    )
    assert (late.why.short, late.why.least) == (("seconds",), {"usd": None, "seconds": 40})
    assert str(chosen("$3").why).endswith("usd is short: $3 given, $4 would do, everything else unchanged.")
    both = chosen(3, 30)
    assert both.why.together == {"usd": 4, "seconds": 40}
    assert chosen(4, 40)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"after": {"join": ["dedup"]}}, r"after= names 'dedup', which is no step \(did you mean 'dedupe'\?\)"),
        ({"after": {"load": ["dedupe"]}}, "after= names 'load', which is no step"),
        ({"after": {"join": ["dedupe"], "dedupe": ["geocode"], "geocode": ["join"]}},
         "after= is a circle: 'dedupe' waits for 'geocode' waits for 'join' waits for 'dedupe'; leave"),
        ({"after": {"join": ["join"]}}, "after= is a circle: 'join' waits for 'join'"),
        ({"after": [("join", "dedupe")]}, "after=.*: expected steps by the step that waits for them"),
        ({"aim": "gold"}, "aim='gold': expected 'value', or a resource"),
        ({"at_once": {"api": 1}}, "at_once= names 'api', which no variant has as its tool"),
        ({"parallel": 0}, "parallel = 0: expected a whole number of at least 1"),
        ({"budget": {"usd": 3, "tokens": 5}}, "the budget 'tokens' would cap nothing: no variant names it"),
        ({"plans": {}}, "there are no steps"),
        ({"plans": {"join": []}}, "step 'join' has no variants; give at least one"),
        ({"plans": {"join": "hash"}}, "step 'join' is 'hash': expected variants such as"),
        ({"plans": {"join": ["hash"]}}, "variant 0 of step 'join' is 'hash': expected a dict with its amounts"),
        ({"plans": {"join": {"usd": None}}}, "variant 0 of step 'join' in usd is None: an unknown cost is not 0"),
        ({"plans": {"join": {"usd": "5 s"}}}, "variant 0 of step 'join': usd: '5 s' is in 's'"),
        ({"plans": [["join"]]}, "expected a dict of steps, each with its variants"),
    ],
)  # fmt: skip
def test_bad_input(wrong: dict[str, Any], message: str) -> None:
    asked = {"plans": STEPS, **wrong}
    with pytest.raises(ConfigError, match=message):
        schedule(asked.pop("plans"), **asked)


def test_values_of_too_many_digits_are_refused() -> None:
    with pytest.raises(TapeError, match="scale them"):
        schedule({"a": [{"value": 10**20, "seconds": 1}, {"value": 1, "seconds": 2}]})


def test_like_trying_everything() -> None:
    for seed in range(int(240 * share())):
        rng = random.Random(seed)
        names = "abcde"[: rng.randint(1, 5)]
        after = {name: [text for text in names[:i] if rng.random() < 0.4] for i, name in enumerate(names)}
        steps = {
            name: [
                {"name": place, "usd": Decimal(rng.randint(0, 40)) / 100, "seconds": rng.randint(0, 60) / 4,
                 "value": rng.randint(0, 9) / 10}
                for place in range(rng.randint(1, 3))
            ]
            for name in names
        }  # fmt: skip
        usd, seconds = Decimal(rng.randint(10, 100)) / 100, rng.randint(20, 140) / 4
        best = None
        for ways in itertools.product(*steps.values()):
            ends: dict[str, float] = {}
            for name, way in zip(names, ways, strict=True):
                ends[name] = max((ends[text] for text in after[name]), default=0) + way["seconds"]
            spent = sum(way["usd"] for way in ways)
            if spent <= usd and max(ends.values()) <= seconds:
                value = sum(Decimal(str(way["value"])) for way in ways)
                best = max(best or (value, -spent), (value, -spent))
        choice = schedule(steps, after=after, budget={"usd": usd, "seconds": seconds})
        assert bool(choice) == (best is not None)
        if best is not None:
            assert (Decimal(str(choice.value)), -choice.spent["usd"]) == best
