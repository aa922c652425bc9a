"""Household games as an environment: what is known is so on the engine, actions by kind, success, both modes."""

import argparse
import random
import re
from collections import Counter

import pytest

from envs.alfworld.environment import AlfworldEnvironment
from envs.alfworld.game.games import load_games
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.game.oracle import shortest
from envs.alfworld.plugin import PLUGIN
from envs.alfworld.rules import satisfied
from tape.protocols.predicates import Predicate
from tests.envs.alfworld.helpers import all_games, needs_engine
from tests.envs.alfworld.worlds import closure
from tests.places import ROOT

pytestmark = needs_engine


def truth(env: AlfworldEnvironment, predicate: Predicate) -> bool | None:
    """The value of a predicate in the engine; None where it has no counterpart."""
    facts = env.engine.facts()
    name, args = predicate
    inside = [fact[1:] for fact in facts if fact[0] == "in"]
    held = [fact[1] for fact in facts if fact[0] == "holding"]
    match name:
        case "at":
            return ("at", args[0]) in facts
        case "shut":
            return ("openable", args[0]) in facts and ("open", args[0]) not in facts
        case "in":
            return any(kind_of(o) == args[0] and r == args[1] for o, r in inside)
        case "two_in":
            return sum(kind_of(o) == args[0] and r == args[1] for o, r in inside) >= 2
        case "holding":
            return any(kind_of(o) == args[0] for o in held)
        case "empty_handed":
            return not held
        case "made":
            return any((args[0], o) in facts for o in held)
        case "stored":
            there = [o for o, r in inside if kind_of(o) == args[0] and r == args[2]]
            return any(args[1] == "plain" or (args[1], o) in facts for o in there)
        case "lit":
            return any(fact[0] == "lit" and kind_of(fact[1]) == args[0] for fact in facts)
    return None


def play(env: AlfworldEnvironment, steps: int, seed: str) -> Counter[str]:
    """Random play; all that is known is checked against the engine after every step."""
    rng = random.Random(seed)
    state = env.reset(0).data
    checked: Counter[str] = Counter()
    for _ in range(steps):
        for predicate, value in closure(env.domain.ground(state)).items():
            real = truth(env, predicate)
            assert real is None or real == value, f"{predicate} is taken to be {value}"
            checked[predicate.name] += real is not None
        assert not satisfied(state) or env.success()
        action = rng.choice(env.domain.admissible(state)) if rng.random() < 0.3 else rng.choice(env.engine_commands)
        state = env.step(action)[0].data
    return checked


@pytest.mark.parametrize("mode", ["partial", "full"])
def test_what_is_known_is_so(mode):
    checked = play(AlfworldEnvironment(load_games("packaged")[17], mode), 20, f"{mode}:17")
    assert {"at", "shut", "in", "holding"} <= set(checked)


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["partial", "full"])
def test_what_is_known_is_so_in_many_games(mode):
    for game in all_games():
        env = AlfworldEnvironment(game, mode)
        play(env, 25, game.name)
        env.close()


@pytest.mark.slow
def test_the_fewest_commands_win_by_kind():
    for game in load_games("packaged")[::30]:
        env = AlfworldEnvironment(game, "full")
        state = env.reset(0).data
        for command in shortest(game.house):
            assert not env.success()
            words = command.split()
            # Objects by their kinds; which of them is meant follows from what was seen.
            action = " ".join(w for w in words if not w.isdecimal()) if words[0] == "use" else command
            state = env.step(action)[0].data
        assert env.success()
        assert satisfied(state)


def test_full_mode_lists_what_is_in_every_receptacle():
    game = load_games("packaged")[0]
    first = AlfworldEnvironment(game, "full").reset(0)
    assert all(
        any(thing in line and place in line for line in first.text.splitlines()) for thing, place in game.house.inside
    )
    assert set(first.data.inside) == set(game.house.inside)
    assert not AlfworldEnvironment(game, "partial").reset(0).data.inside


def test_an_action_that_means_nothing_uses_a_step_and_changes_nothing():
    env = AlfworldEnvironment(load_games("packaged")[0])
    before = env.reset(0).data
    seen, cost = env.step("dance")
    assert seen.data == before
    assert cost["steps"] == 1
    assert "Nothing happens" in seen.text


def test_shown_commands_are_the_engines():
    env = AlfworldEnvironment(load_games("packaged")[0], shown=True)
    state = env.reset(0).data
    assert set(env.domain.offered(state)) == set(env.engine_commands)
    assert set(env.engine_commands) < set(env.domain.admissible(state))  # what is shown is no limit


def test_the_budget_is_the_fewest_commands_and_some():
    games = load_games("packaged")
    for tightness, slack in (("tight", 2), ("loose", 10)):
        tasks = PLUGIN.tasks({"games": "packaged", "tightness": tightness})
        assert [t.budget["steps"] for t in tasks] == [len(shortest(g.house)) + slack for g in games]
    assert {t.budget["steps"] for t in PLUGIN.tasks({"games": "dev"})} == {50}
    assert Counter(t.facts["task"] for t in tasks) == dict.fromkeys({t.facts["task"] for t in tasks}, 10)


def test_the_page_lists_the_options_that_there_are():
    parser = argparse.ArgumentParser()
    PLUGIN.add_arguments(parser)
    declared = {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}
    page = (ROOT / "docs" / "reference" / "environments" / "alfworld.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(--[a-z-]+)` \|", page, re.MULTILINE)) == declared
