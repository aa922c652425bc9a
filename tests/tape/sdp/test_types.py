"""PROPOSE, REALIZE and REPLAN cannot be given an observation: by their types, and by what a state refuses to hold."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import typing
from pathlib import Path
from typing import Any

import pytest

import tape.sdp
from tape.protocols import Observation
from tape.sdp import operators
from tape.sdp.lm_operators import LmPropose, LmRealize
from tape.sdp.operators import Check, Outcome, Propose, Realize, Replan, Validate, Verdict
from tape.sdp.path import PathChain
from tape.sdp.sample import SampleChain
from tape.sdp.state import CertifiedState
from tape.sdp.writing import WritingRealize

FOLDER = Path(str(tape.sdp.__file__)).parent


def reached(hint: Any, seen: set[Any] | None = None) -> set[Any]:
    """All types that a value of a type may hold, as its annotations say."""
    seen = set() if seen is None else seen
    if hint in seen:
        return seen
    seen.add(hint)
    for part in typing.get_args(hint):
        reached(part, seen)
    if dataclasses.is_dataclass(hint):
        names = {**vars(inspect.getmodule(hint)), "Value": str}  # which is defined by itself
        for part in typing.get_type_hints(hint, names).values():
            reached(part, seen)
    return seen


def taken(function: Any) -> set[Any]:
    """All types that a function's arguments may hold."""
    hints = typing.get_type_hints(function, {**vars(inspect.getmodule(function)), **vars(operators)})
    hints.pop("return", None)
    return {part for hint in hints.values() for part in reached(hint)}


BLIND = [(Propose, "propose"), (Realize, "realize"), (Replan, "replan")]


@pytest.mark.parametrize(("protocol", "name"), BLIND)
def test_the_protocols_take_typed_state_alone(protocol: Any, name: str) -> None:
    types = taken(getattr(protocol, name))
    assert CertifiedState in types
    assert not {Observation, Outcome} & types


def test_validate_alone_takes_an_observation() -> None:
    assert {Observation, Outcome} <= taken(Validate.validate)


@pytest.mark.parametrize("made", [LmPropose, LmRealize, SampleChain, PathChain, WritingRealize])
def test_the_implementations_take_no_more(made: Any) -> None:
    own = [(protocol, name) for protocol, name in BLIND if hasattr(made, name)]
    assert own
    for protocol, name in own:
        assert not {Observation, Outcome} & taken(getattr(made, name))
        assert list(inspect.signature(getattr(made, name)).parameters) == list(
            inspect.signature(getattr(protocol, name)).parameters
        )


@pytest.mark.parametrize("name", ["path", "sample", "writing", "lm_operators", "predicate_adapter", "chat_prompts"])
def test_no_operator_takes_the_observation_from_the_episode(name: str) -> None:
    """An episode holds the last observation for the loop; operators that hold an episode leave it alone."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    read = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "observation"]
    assert all(isinstance(node.value, ast.Name) and node.value.id == "outcome" for node in read)


def test_a_state_holds_no_observation() -> None:
    with pytest.raises(TypeError, match="never the observation"):
        CertifiedState((), (), Observation("a door"))
    for smuggled in (Observation("a door"), ("here", Observation("a door")), ["a door"], None):
        with pytest.raises(TypeError, match="'seen'"):
            CertifiedState((), (("seen", smuggled),))  # type: ignore[arg-type]
    assert CertifiedState((), (("n", 1), ("deep", (("a", 2.5), True)))).fields


def test_a_verdict_ends_with_the_first_predicate_that_does_not_hold() -> None:
    good, bad = Check(True, "lm"), Check(False, "lm")
    assert [Verdict(checks).k for checks in [(), (bad,), (good, bad), (good, good)]] == [0, 0, 1, 2]
    with pytest.raises(ValueError, match="first"):
        Verdict((bad, good))
