"""Held-out accuracy of every role of a household LM: ``experiments.training.ship`` asks for it.

The households are none that were trained on, nor any that agents are compared on; with ``--data DIR`` the official
games that are there are asked about too, by the rules of the game. Everything is asked through the same prompts,
constraints and decoding loop as in a run, greedily.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

from envs.alfworld import rules
from envs.alfworld.commands import read_command
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.goal import TASK_TYPES
from envs.alfworld.game.house import House
from envs.alfworld.game.kinds import ALWAYS_OPENABLE, OPENABLE, kind_of
from envs.alfworld.game.rooms import tendency
from envs.alfworld.predicates import inside, shut
from envs.alfworld.prompts.alfworld import AlfworldFormat
from envs.alfworld.state import NEW, Knowledge
from experiments.training.alfworld.plans import best_plan
from experiments.training.alfworld.world import World
from experiments.training.sokoban.evaluate import Tally
from tape.errors import InvalidOutputError
from tape.lm.base import Completion, LanguageModel, Request
from tape.lm.bundled import load_folder


class Asked:
    """Questions about moments of games, answered in one batch.

    Args:
        lm: The model.
    """

    def __init__(self, lm: LanguageModel) -> None:
        self._lm = lm
        self.tally = Tally()
        self._requests: list[Request] = []
        self._judges: list[object] = []

    def ask(self, request: Request, judge: object) -> None:
        """Ask, and judge the answer by ``judge(tally, completion)``."""
        self._requests.append(request)
        self._judges.append(judge)

    async def answer(self) -> Tally:
        """Answer all."""
        for request, judge, done in zip(
            self._requests, self._judges, await self._lm.generate(self._requests), strict=True
        ):
            assert callable(judge)
            judge(self.tally, done, request)
        return self.tally


def homes(part: str, count: int) -> list[House]:
    """Fresh households, all task types in turn.

    Args:
        part: Part of their seeds.
        count: How many.
    """
    rngs = [random.Random(f"household-eval:{part}:{i}") for i in range(count)]
    return [
        draw_house(rng, task=TASK_TYPES[i % len(TASK_TYPES)], size=rng.uniform(0.0, 1.0)) for i, rng in enumerate(rngs)
    ]


def _world(house: House, *, full: bool) -> World:
    return World(house, full=full, names={r.name: r.name for r in house.receptacles})


def _format(state: Knowledge) -> AlfworldFormat:
    return AlfworldFormat(AlfworldDomain(state.layout))


def wins(world: World, actions: Sequence[str]) -> bool:
    """Whether actions win from a moment of a game, by the rules."""
    world = world.twin()
    for action in actions:
        command = read_command(action)
        if command is not None:
            world.do(command.of_kind)
        if rules.satisfied(world.known):
            return True
    return False


def _ask_plan(asked: Asked, world: World, where: str) -> None:
    state, prompt_format = world.known, _format(world.known)
    best = best_plan(world.scene()) or ()
    task = state.layout.goal.task

    def judge(tally: Tally, done: Completion, _: Request) -> None:
        plan = prompt_format.read_plan(state, done.texts[0])
        won = wins(world, plan.actions)
        tally.add(f"plan, {where}: wins", won)
        tally.add(f"plan, {where}, {task}", won)
        if won:
            tally.add(f"plan, {where}: as short as can be", len(plan.actions) <= len(best))

    def judge_act(tally: Tally, done: Completion, _: Request) -> None:
        try:
            command = read_command(prompt_format.read_act(state, done.texts[0])[1])
        except InvalidOutputError:
            command = None
        after = world.twin()
        useful = command is not None and after.do(command.of_kind)
        rest = best_plan(after.scene()) if useful else None
        tally.add(f"act, {where}: a step nearer", rest is not None and len(rest) < len(best))

    asked.ask(prompt_format.plan_request(state, {"steps": 50}), judge)
    asked.ask(prompt_format.act_request(state, {"steps": 50}, None, ()), judge_act)
    steps, _values = prompt_format.score_request(state)
    asked.ask(steps, lambda tally, done, _: tally.add(f"steps left, {where}", done.texts[0].strip() == str(len(best))))


def _ask_next(asked: Asked, world: World, rng: random.Random) -> None:
    """The outcomes of the best plan's commands and of others, where they can be known."""
    walked = world.twin()
    for command in best_plan(walked.scene()) or ():
        for tried in (command, walked.possible(rng), walked.possible(rng)):
            before, after = walked.known, walked.twin()
            done = after.do(tried)
            prompt_format = _format(before)
            expected = after.known if done else None

            def judge(
                tally: Tally,
                answer: Completion,
                _: Request,
                before: Knowledge = before,
                expected: Knowledge | None = expected,
                prompt_format: AlfworldFormat = prompt_format,
            ) -> None:
                try:
                    found = prompt_format.read_next(before, answer.texts[0])
                except InvalidOutputError:
                    tally.add("next state", False)
                    return
                key = AlfworldDomain(before.layout).key
                same = (found is None) == (expected is None) and (
                    found is None or expected is None or key(found) == key(expected)  # type: ignore[arg-type]
                )
                tally.add("next state", same)
                tally.add("next state: of possible commands" if expected else "next state: of impossible ones", same)

            asked.ask(prompt_format.next_request(before, tried.text), judge)
        walked.do(command)


def _ask_places(asked: Asked, world: World, rng: random.Random) -> None:
    """Where unseen things are, beside the best guess that the generator's own numbers allow."""
    state, prompt_format = world.known, _format(world.known)
    hidden = world.hidden()
    left = rules.unsearched(state)
    for kind in dict.fromkeys(kind for kind, _ in hidden):
        places = [place for found, place in hidden if found == kind]
        goal = state.layout.goal
        likeliest = max(left, key=lambda r, kind=kind: tendency(kind, kind_of(r)) * rules.fits(goal, kind, kind_of(r)))
        [(request, states)] = prompt_format.weigh_requests(state, [inside(kind, left[0])])

        def judge(
            tally: Tally,
            done: Completion,
            _: Request,
            states: object = states,
            places: list[str] = places,
            likeliest: str = likeliest,
        ) -> None:
            assert isinstance(states, dict)
            tally.add("likely place: it is there", states[done.texts[0]].args[1] in places)
            tally.add("likely place: the best guess is there", likeliest in places)

        asked.ask(request, judge)
    maybe = [r for r in left if state.of(r) == NEW and kind_of(r) in OPENABLE - ALWAYS_OPENABLE]
    for place in rng.sample(maybe, min(2, len(maybe))):
        [(request, _)] = prompt_format.predict_request(state, [shut(place)])
        truth = "yes" if place in world.openable else "no"
        asked.ask(
            request, lambda tally, done, _, truth=truth: tally.add("can be closed", done.texts[0].strip() == truth)
        )


async def evaluate(lm: LanguageModel, houses: Sequence[House], part: str) -> Tally:
    """Every role on one moment of each game."""
    asked = Asked(lm)
    for i, house in enumerate(houses):
        rng = random.Random(f"household-eval:{part}:moment:{i}")
        full = _world(house, full=True)
        _ask_plan(asked, full, "all seen")
        _ask_next(asked, full, rng)
        partial = _world(house, full=False)
        partial.explore(rng, len(house.receptacles) // 2)
        if not partial.hidden():
            continue
        _ask_places(asked, partial, rng)
    return await asked.answer()


def report(folder: Path, count: int, data: Path | None = None) -> dict[str, object]:
    """Evaluate one checkpoint.

    Args:
        folder: The checkpoint.
        count: Fresh households.
        data: A folder of official games, to ask about them too.
    """
    lm = load_folder(folder, f"hf:{folder.name}", prompt_format="household")
    found: dict[str, object] = {"homes": asyncio.run(evaluate(lm, homes("homes", count), "homes")).report()}
    if data is not None:
        from envs.alfworld.game.games import load_games

        given = [game.house for game in load_games("valid_unseen", data)]
        found["given"] = asyncio.run(evaluate(lm, given, "given")).report()
    return found
