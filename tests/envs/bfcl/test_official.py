"""The rules against the official checker, on the real wheel: ``$TAPE_TEST_DATA/bfcl`` holds it, unpacked."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from envs.bfcl.backend import ApiWorld, Backend
from envs.bfcl.calls import ApiCall, read_call
from envs.bfcl.checks import CheckedConversation
from envs.bfcl.functions import READ, parameters_of
from envs.bfcl.source import KINDS, LONG, MODULES, BfclSource, Conversation

pytestmark = pytest.mark.soak
MUTATED = 1000
OFFICIAL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker
entries = {}
for kind in ("base", "miss_func", "miss_param", "long_context"):
    for line in open(f"{sys.argv[1]}/bfcl_eval/data/BFCL_v4_multi_turn_{kind}.json", encoding="utf-8"):
        entry = json.loads(line)
        entries[entry["id"]] = entry
for number, line in enumerate(sys.stdin):
    case = json.loads(line)
    turns = [[calls] if calls else [] for calls in case["calls"]]
    entry = entries[case["id"]]
    found = multi_turn_checker(turns, case["gold"], entry, "", f"model{number}")
    print(json.dumps(bool(found["valid"])))
"""
"""Asks the official checker, which evaluates the calls as Python; in a process of its own."""


@pytest.fixture(scope="module")
def folder() -> Path:
    path = Path(os.environ.get("TAPE_TEST_DATA", "")) / "bfcl"
    if not (path / "bfcl_eval").is_dir():
        pytest.skip("the unpacked wheel of bfcl-eval is not here")
    return path


def written(call: ApiCall) -> str:
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"


def ours(
    apis: Backend, conversation: Conversation, turns: Sequence[Sequence[ApiCall]], gold: Sequence[Sequence[ApiCall]]
) -> bool:
    world, right = (
        ApiWorld.of(apis, conversation.classes, conversation.config, long=conversation.kind == LONG) for _ in range(2)
    )
    checks = CheckedConversation(right)
    for calls, wanted in zip(turns, gold, strict=True):
        for call in calls:
            world.call(call.name, call.arguments)
        checks.turn(world, world.take_results(), wanted)
    world.close()
    right.close()
    return not checks.failure


def mutated(gold: Sequence[Sequence[ApiCall]], rng: random.Random) -> list[list[ApiCall]]:
    """A call too few, too many or in another place; or with another value."""
    turns = [list(turn) for turn in gold]
    filled = [turn for turn in turns if turn]
    turn = rng.choice(filled)
    place = rng.randrange(len(turn))
    match rng.randrange(5):
        case 0:
            del turn[place]
        case 1:
            turn.insert(rng.randrange(len(turn) + 1), rng.choice(rng.choice(filled)))
        case 2:
            rng.shuffle(turn)
        case 3:
            rng.choice(turns).append(turn.pop(place))
        case _ if turn[place].arguments:
            name = rng.choice([*turn[place].arguments])
            old = turn[place].arguments[name]
            new = f"{old}x" if isinstance(old, str) else not old if isinstance(old, bool) else rng.choice([0, 7, old])
            turn[place] = ApiCall(turn[place].name, {**turn[place].arguments, name: new})
    return turns


def test_the_rules_agree_with_the_official_checker(folder: Path) -> None:
    source = BfclSource(folder)
    apis, rng = Backend(source), random.Random(0)
    every = [conversation for kind in KINDS for conversation in source.conversations(kind)]
    read = {
        conversation.id: [[read_call(c, parameters_of(source, MODULES)) for c in turn] for turn in conversation.gold]
        for conversation in every
    }
    cases = [(conversation, read[conversation.id]) for conversation in every]
    cases += [(choice, mutated(read[choice.id], rng)) for choice in rng.choices(every, k=MUTATED)]
    mine = [ours(apis, conversation, turns, read[conversation.id]) for conversation, turns in cases]
    lines = [
        json.dumps(
            {
                "id": conversation.id,
                "gold": conversation.gold,
                "calls": [[written(call) for call in turn] for turn in turns],
            }
        )
        for conversation, turns in cases
    ]
    asked = subprocess.run(
        [sys.executable, "-c", OFFICIAL, str(folder)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    official = [json.loads(line) for line in asked.stdout.splitlines()]
    assert mine[: len(every)] == official[: len(every)] == [True] * 800
    assert [case[0].id for case, a, b in zip(cases, mine, official, strict=True) if a != b] == []
    right = sum(official[len(every) :])
    assert MUTATED * 0.05 < right < MUTATED * 0.95  # both outcomes are there
    print(f"{len(cases)} sequences, {right} of {MUTATED} mutated ones right")


def test_what_is_declared_to_read_changes_nothing_on_all_gold_sequences(folder: Path) -> None:
    source = BfclSource(folder)
    apis, parameters = Backend(source), parameters_of(source, MODULES)
    assert parameters.keys() >= READ
    for conversation in (item for kind in KINDS for item in source.conversations(kind)):
        world = ApiWorld.of(apis, conversation.classes, conversation.config, long=conversation.kind == LONG)
        for text in (text for turn in conversation.gold for text in turn):
            call, before = read_call(text, parameters), world.key()
            world.call(call.name, call.arguments)
            assert call.name not in READ or world.key() == before, (
                f"{call.name} has changed something in {conversation.id}"
            )
        world.close()
