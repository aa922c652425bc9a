"""The grounder never asserts what the engine does not hold."""

import importlib.util
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.alfworld.game.game_data import GameData
from envs.alfworld.game.house import House
from envs.alfworld.game.textworld_game import Fact
from envs.alfworld.grounder import ARITY, Grounder, SeenFact, finding
from tests.envs.alfworld.helpers import all_games, busy, needs_engine, needs_given, started
from tests.profiles import examples

_RECEPTACLES = ("cabinet 1", "cabinet 11", "countertop 1", "drawer 1", "fridge 1", "microwave 1", "sinkbasin 1")


def _is_true(fact: SeenFact, facts: frozenset[Fact], listed: frozenset[SeenFact]) -> bool:
    name, args = fact.predicate
    if name == "contents_known":
        inside = {f.predicate.args[0] for f in listed if f.predicate.name == "in" and f.predicate.args[1] == args[0]}
        return inside == {f[1] for f in facts if f[0] == "in" and f[2] == args[0]}
    if name == "hands_free":
        return fact.value == (not any(f[0] == "holding" for f in facts))
    return fact.value == ((name, *args) in facts)


def _play(game: GameData, house: House, seed: str, steps: int) -> int:
    """Check every finding of a random game; returns how many there were."""
    rng = random.Random(seed)
    grounder = Grounder(r.name for r in house.receptacles)
    count = 0
    with started(game) as engine:
        view, command = engine.reset(), None
        for _ in range(steps):
            facts = engine.facts()
            findings = grounder.observe(command, view.text)
            for each in findings:
                assert _is_true(each, facts, findings), (seed, command, view.text, each)
                assert len(each.predicate.args) == ARITY[each.predicate.name]
            count += len(findings)
            command = busy(rng, view.admissible)
            if rng.random() < 0.1:
                command = f"{rng.choice(['go to', 'examine', 'open'])} {rng.choice(house.receptacles).name}"
            view = engine.step(command)
    return count


@needs_engine
@pytest.mark.parametrize(
    ("every", "steps"), [pytest.param(48, 40, marks=pytest.mark.slow), pytest.param(1, 150, marks=pytest.mark.soak)]
)
def test_no_finding_is_false(every: int, steps: int) -> None:
    games = all_games()
    assert len(games) >= 60
    for game in games[::every]:
        assert _play(game.data(), game.house, game.name, steps) > 100


@needs_given
@needs_engine
@pytest.mark.slow
def test_no_finding_is_false_with_the_newer_sentences() -> None:
    """The package alfworld has a newer grammar than the given games; it is put into them."""
    module_spec = importlib.util.find_spec("alfworld")
    if module_spec is None or not module_spec.submodule_search_locations:
        pytest.skip("the extra alfworld is not installed")
    logic = Path(next(iter(module_spec.submodule_search_locations))) / "data"
    grammar, rules = (logic / "alfred.twl2").read_text(), (logic / "alfred.pddl").read_text()
    for game in all_games()[:1]:
        data = replace(game.data(), grammar=grammar.replace("UNKNOWN GOAL", "put a mug in desk"), domain=rules)
        assert data.put_template == "move {o} to {r}"
        assert _play(data, game.house, game.name, 60) > 100


def _read(command: str | None, text: str) -> set[str]:
    observation = Grounder(_RECEPTACLES).observe(command, text)
    return {f"{'' if f.value else 'not '}{f.predicate}" for f in observation}


_FRIDGE, _EGG = "at(fridge 1); openable(fridge 1); ", "at(fridge 1); holding(egg 1); not hands_free(); "
_PUT = "at(fridge 1); in(egg 1, fridge 1); not holding(egg 1); hands_free()"
_TAKEN = _EGG + "not in(egg 1, fridge 1)"
_BESIDE = "at(countertop 1); not openable(countertop 1); contents_known(countertop 1); in(bowl 3, countertop 1); "


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        (
            "go to countertop 1",
            "You arrive at loc 12. On countertop 1, you see bowl 3, glassbottle 1, and mug 2.",
            _BESIDE + "in(glassbottle 1, countertop 1); in(mug 2, countertop 1)",
        ),
        ("go to fridge 1", "You arrive at loc 2. fridge 1 is closed.", _FRIDGE + "not open(fridge 1)"),
        (
            "open fridge 1",
            "You open fridge 1. In fridge 1, you see nothing.",
            _FRIDGE + "open(fridge 1); contents_known(fridge 1)",
        ),
        ("close fridge 1", "You close fridge 1.", _FRIDGE + "not open(fridge 1)"),
        ("take egg 1 from fridge 1", "You take egg 1 from fridge 1.", _TAKEN),
        ("put egg 1 in/on fridge 1", "You put egg 1 in/on fridge 1.", _PUT),
        ("move egg 1 to fridge 1", "You move the egg 1 to the fridge 1.", _PUT),
        ("cool egg 1 with fridge 1", "You cool egg 1 using fridge 1.", _EGG + "cool(egg 1); not hot(egg 1)"),
        ("clean egg 1 with fridge 1", "You clean egg 1 using fridge 1.", _EGG + "clean(egg 1)"),
        ("use desklamp 1", "You turn on desklamp 1.", "lit(desklamp 1)"),
        ("use desklamp 1", "You turn off desklamp 1.", ""),
        ("inventory", "You are carrying: egg 1.", "holding(egg 1); not hands_free()"),
        ("inventory", "You are not carrying anything.", "hands_free()"),
        ("examine egg 1", "This is a hot and clean egg 1.", "hot(egg 1); clean(egg 1)"),
        ("examine egg 1", "This is a cold egg 1.", "cool(egg 1); not hot(egg 1); not clean(egg 1)"),
        ("examine mug 1", "This is a normal mug 1. In it, you see nothing.", ""),
        ("go to fridge 1", "Nothing happens.", "at(fridge 1)"),
        ("examine fridge 1", "Nothing happens.", "not at(fridge 1)"),
        ("open fridge 1", "Nothing happens.", ""),
        ("take egg 1 from fridge 1", "Nothing happens.", ""),
        ("go to  fridge 1", "Nothing happens.", ""),
        ("go to unicorn 1", "Nothing happens.", ""),
        # Not the answer to this command, or not a whole answer.
        ("take egg 1 from fridge 1", "You take egg 2 from fridge 1.", ""),
        ("go to cabinet 1", "You arrive at loc 3. cabinet 11 is closed.", ""),
        ("go to countertop 1", "You arrive at loc 12. On countertop 1, you see bowl 3, glassbottle 1.", ""),
        ("go to countertop 1", "You arrive at loc 12. On countertop 1, you see bowl 3, and glassb", ""),
        ("go to countertop 1", "You arrive at loc 12. On countertop 1, you see bowl 3, and bowl 3.", ""),
        ("open fridge 1", "You open fridge 1.", ""),
        ("look", "You are facing fridge 1(is open). Next to it", ""),
        ("", "", ""),
        (None, "", ""),
    ],
)
def test_sentences(command: str | None, text: str, expected: str) -> None:
    assert _read(command, text) == {part for part in expected.split("; ") if part}


def test_looking_shows_where_one_is_and_where_not() -> None:
    text = "You are facing drawer 1(is open), and countertop 1. Next to it, you see nothing."
    texts = _read("look", text)
    assert {"at(drawer 1)", "at(countertop 1)", "not at(fridge 1)", "open(drawer 1)"} <= texts
    assert {"openable(drawer 1)", "not openable(countertop 1)"} <= texts
    listed = "cabinet 11, cabinet 1, countertop 1, drawer 1, fridge 1, microwave 1, and sinkbasin 1"
    middle = f"You are in the middle of a room. Looking quickly around you, you see {listed}."
    welcome = f"-= Welcome to TextWorld, ALFRED! =-\n\n{middle}\n\nYour task is to: put a mug in cabinet."
    assert _read(None, welcome) == _read("look", middle) == {f"not at({r})" for r in _RECEPTACLES}


def test_shared_places_are_remembered() -> None:
    grounder = Grounder(_RECEPTACLES)
    for place, spot in (("cabinet 1", 3), ("fridge 1", 4), ("drawer 1", 3)):
        observation = grounder.observe(f"go to {place}", f"You arrive at loc {spot}. {place} is closed.")
    assert {finding("at", "cabinet 1"), finding("at", "fridge 1", value=False)} <= observation


_TEXTS = (
    "You arrive at loc 12. On countertop 1, you see bowl 3, glassbottle 1, and mug 2.",
    "You open fridge 1. In fridge 1, you see egg 1.",
    "You take egg 1 from fridge 1.",
    "You are facing drawer 1(is open), and countertop 1. Next to it, you see nothing.",
)
_COMMANDS = ("go to countertop 1", "open fridge 1", "take egg 1 from fridge 1", "look", "inventory", None)


@given(st.sampled_from(_TEXTS), st.sampled_from(_COMMANDS), st.data())
def test_cut_or_garbled_answers_ground_nothing(text: str, command: str | None, data: st.DataObject) -> None:
    """Cut anywhere, or with characters that no answer has."""
    at = data.draw(st.integers(0, len(text) - 1))
    junk = data.draw(st.text(alphabet="#?!\n", min_size=1, max_size=3))
    for broken in (text[:at], text[:at] + "#" + junk + text[at:]):
        assert not Grounder(_RECEPTACLES).observe(command, broken)


@examples(20)
@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=10), max_size=3))
def test_nothing_makes_it_raise(command: str, text: str, receptacles: list[str]) -> None:
    Grounder(receptacles).observe(command, text)
