"""Our measure beside AssistantBench's own scorer, on made-up answers.

``python -m tests.envs.web_qa.official FILE`` writes how often they agree, with the package browsergym-assistantbench
(``pip install --no-deps``) and scipy. Of the package the scorer alone is imported: the rest downloads tasks.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from envs.web_qa.measure import score

PACKAGE, COUNT = "browsergym-assistantbench", 1000
Official = Callable[[Any, str], tuple[float, float]]
_WORDS = (
    "the",
    "Iron",
    "Anchor",
    "gym",
    "of",
    "well-known",
    "a",
    "Oskhaven",
    "12",
    "3.5",
    "St.",
    "Lantern",
    "7",
    "mill",
)
_NUMBERS = ("5", "12.5", "1,200", "0", "340", "$1200", "45%", "900 sqft", "-4", "100000", "0.02", "1e3", "seven")
_KEYS = ("name", "price", "hours", "town")


def official() -> Official | None:
    """The package's scorer; None where it is not installed."""
    try:
        place = Path(str(metadata.distribution(PACKAGE).locate_file("browsergym/assistantbench")))
    except metadata.PackageNotFoundError:
        return None
    if find_spec("scipy") is None:
        return None
    for name, folder in (("browsergym", place.parent), ("browsergym.assistantbench", place)):
        sys.modules.setdefault(name, ModuleType(name)).__path__ = [str(folder)]
    scorer: Official = import_module("browsergym.assistantbench.evaluation.evaluator").question_scorer
    return scorer


def made_up(number: int) -> tuple[str, Any, str]:
    """A pair: its kind, an answer and the right one."""
    rng = random.Random(f"assistantbench {number}")
    kind = ("text", "number", "list", "object", "objects")[number % 5]
    count = rng.randint(2, 5)
    match kind:
        case "text":
            gold = _text(rng)
            given: Any = _near_text(rng, gold)
        case "number":
            gold = rng.choice([*_NUMBERS[:-1], str(rng.randint(1, 5000)), f"{rng.uniform(0.1, 99):.2f}"])
            given = rng.choice(
                [gold, gold, *_NUMBERS, str(rng.randint(1, 5000)), _text(rng), rng.randint(1, 400), [gold, "1"]]
            )
        case "list":
            items = [_text(rng) for _ in range(count)]
            gold = "\n".join(items)
            near = [_near_text(rng, name) for name in items if rng.random() < 0.85]
            rng.shuffle(near)
            given = rng.choice([near, near, json.dumps(near), "\n".join(near)])
        case _:
            rows = [_row(rng) for _ in range(1 if kind == "object" else count)]
            gold = "\n".join(map(json.dumps, rows))
            near = [_near_row(rng, row) for row in rows if kind == "object" or rng.random() < 0.85]
            rng.shuffle(near)
            as_lines = "\n".join(map(json.dumps, near))
            given = rng.choice([near[0] if kind == "object" else near, as_lines, json.dumps(near), as_lines])
    if rng.random() < 0.04:
        given = rng.choice(["", [], "unknown", "not found", {}, [""], "null", "true", "[5]", "nan"])
    return kind, given, gold


def _text(rng: random.Random) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 4)))


def _near_text(rng: random.Random, text: str) -> str:
    change = rng.choice(
        [None, None, str.upper, lambda t: f"The {t}.", lambda t: t.replace("-", " "), lambda t: f"{t} {_text(rng)}"]
    )
    words = (change(text) if change else text).split(" ")
    return " ".join(words[: rng.randint(1, len(words))]) if rng.random() < 0.3 else " ".join(words)


def _row(rng: random.Random) -> dict[str, Any]:
    keys = rng.sample(_KEYS, rng.randint(1, 4))
    return {
        key: rng.choice([_text(rng), rng.choice(_NUMBERS), rng.randint(1, 90), [_text(rng), _text(rng)]])
        for key in keys
    }


def _near_row(rng: random.Random, row: dict[str, Any]) -> dict[str, Any]:
    near = {key: value for key, value in row.items() if rng.random() < 0.9}
    for key in [key for key in near if rng.random() < 0.3]:
        near[key] = rng.choice([_text(rng), rng.randint(1, 90), str(near[key]), [_text(rng)], None, True])
    return near | ({rng.choice(_KEYS): _text(rng)} if rng.random() < 0.15 else {})


def compared(theirs: Official) -> dict[str, Any]:
    """How often both give the same accuracy and agree on whether there is an answer, by kind."""
    counts: dict[str, Counter[str]] = {}
    differ = []
    for number in range(COUNT):
        kind, given, gold = made_up(number)
        ours = score(given, gold)
        try:
            accuracy, answered = theirs(given, gold)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            what = "their scorer raises"
            note: Any = type(error).__name__
        else:
            same = abs(float(accuracy) - ours.accuracy) < 1e-9 and bool(answered) == ours.answered
            what, note = "same" if same else "other", [float(accuracy), bool(answered)]
        counts.setdefault(kind, Counter())[what] += 1
        if what != "same":
            differ.append(
                {
                    "kind": kind,
                    "given": given,
                    "gold": gold,
                    "ours": [round(ours.accuracy, 4), ours.answered],
                    "theirs": note,
                }
            )
    return {
        "package": f"{PACKAGE} {metadata.version(PACKAGE)}",
        "pairs": COUNT,
        "counts": {k: dict(v) for k, v in counts.items()},
        "not the same": differ,
    }


if __name__ == "__main__":
    scorer = official()
    assert scorer is not None, f"{PACKAGE} or scipy is not installed"
    mapping = compared(scorer)
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in mapping.pop("not the same"))
    head = json.dumps(mapping, ensure_ascii=False).removesuffix("}")
    Path(sys.argv[1]).write_text(f'{head}, "not the same": [\n{rows}\n]}}\n', encoding="utf-8")
    print(mapping["counts"])
