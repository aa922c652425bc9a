"""A simulated language model for ScienceWorld: gold paths with injected errors, for runs without any other model.

It gets the same chat requests as a hosted model and answers them in the same form. What it knows beyond the prompt is
the gold path of the task that the prompt names; agents get none of that but through its answers. Wherever its results
are shown its name says ``simulated``: they show how agents cope with errors of a known rate, not what a model can do.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from envs.scienceworld.commands import reach
from envs.scienceworld.gold import GoldStep, gold_path, predicates
from envs.scienceworld.predicates import ShownState
from envs.scienceworld.prompts import SIMULATED
from envs.scienceworld.simulated import verdicts
from envs.scienceworld.simulated.errors import ScienceErrorRates, distorted, wrong_action, wrong_predicate
from envs.scienceworld.simulated.moves import next_actions, place, toward
from envs.scienceworld.simulated.predictions import predicted
from envs.scienceworld.simulated.reading import Prompt, read_prompt
from tape.errors import UnknownNameError
from tape.lm.base import Completion, JsonSchema, LanguageModel, OneOf, Request, Usage
from tape.lm.price import FREE, TokenPrice
from tape.protocols.predicates import Predicate

MOST_PREDICATES = 39
_PROGRESS = (("nothing", 0.02), ("little", 0.4), ("half", 0.7), ("most", 1.0))
_ASKED = re.compile(r'^What does the command "(.+?)"', re.MULTILINE)
_GUESS = re.compile(r"^Will it be so when a plan comes to need it: (.+) is (within reach|open)\?", re.MULTILINE)
_HINT = re.compile(r"Your plan goes on with: (.+?)\. Keep to it")
_AIM = re.compile(r"^Write the one action that brings this about or comes nearest to it: (.+)$", re.MULTILINE)


class SimulatedScienceLM:
    """Implements :class:`tape.lm.base.LanguageModel`.

    Equal requests have equal answers, those at temperature 0 whatever their seed.
    """

    prompt_format = SIMULATED
    price: TokenPrice | None = FREE

    def __init__(self, rates: ScienceErrorRates, name: str = "simulated:scienceworld") -> None:
        self.rates, self.name = rates, name
        self.identity = f"simulated:scienceworld@3 {rates}{' alike' * rates.alike}"

    def prompt_tokens(self, request: Request) -> int:
        """Words of the prompt."""
        texts = [request.prompt] if isinstance(request.prompt, str) else [m.content for m in request.prompt]
        return sum(len(text.split()) for text in texts)

    def scoring_tokens(self, request: Request) -> int:
        """One word."""
        del request
        return 1

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer; words count as tokens, and an answer longer than max_tokens is cut."""
        completions = []
        for request in requests:
            prompt = read_prompt(request)
            replies = [self._reply(request, prompt, self._chance(request, sample)) for sample in range(request.n)]
            words = [re.findall(r"\s*\S+", reply) for reply in replies]
            texts = tuple("".join(reply[: request.max_tokens]) for reply in words)
            finish = tuple("length" if len(reply) > request.max_tokens else "stop" for reply in words)
            used = sum(min(len(reply), request.max_tokens) for reply in words)
            usage = Usage(self.prompt_tokens(request), used)
            completions.append(Completion(texts, finish, (0.0,) * request.n, usage))
        return completions

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """All probability on its answer."""
        answers = []
        for request in requests:
            assert isinstance(request.constraint, OneOf)
            reply = self._reply(request, read_prompt(request), self._chance(request, 0))
            weights = tuple(float(option == reply) for option in request.constraint.options)
            answers.append((weights, Usage(self.prompt_tokens(request), 1)))
        return answers

    def _chance(self, request: Request, sample: int) -> random.Random:
        return self.rates.chance(request.fingerprint("simulated"), sample if request.temperature > 0 else 0)

    def _reply(self, request: Request, prompt: Prompt, rng: random.Random) -> str:
        steps = gold_path(prompt.task, prompt.variation, prompt.simplification)
        if request.role == "next":
            return self._next(prompt, steps, rng)
        if request.role == "validate":
            k, reason = verdicts.verdict(prompt, steps, self.rates, rng)
            return json.dumps({"reason": reason, "k": k})
        at = place(prompt, steps)
        match request.role:
            case "plan":
                actions = self._written(next_actions(prompt, steps, at), prompt, steps, rng)
                return json.dumps({"thought": "", "actions": actions or ["look around"]})
            case "act":
                return self._act(prompt, steps, at, request, rng)
            case "score":
                return self._score(prompt, steps, at, rng)
            case "predict":
                return self._predict(prompt, steps, rng)
            case "propose" | "replan":
                return json.dumps({"predicates": self._chain(prompt, steps, at, rng)})
            case "realize":
                return self._realize(prompt, steps, at, rng)
        roles = ("plan", "act", "next", "score", "propose")
        raise UnknownNameError("role of the simulated model", request.role, roles)

    # --- TAPE's roles -----------------------------------------------------------------------

    def _act(self, prompt: Prompt, steps: tuple[GoldStep, ...], at: int, request: Request, rng: random.Random) -> str:
        fixed = _fixed_action(request)
        if fixed is not None:
            return _acted(fixed, "This is the planned step.")
        hint = _HINT.search(prompt.text)
        planned = hint[1].split("; ")[0] if hint else ""
        if planned and not prompt.asked and planned not in prompt.useless:
            return _acted(planned, "The plan still fits.")
        return _acted(self._one(prompt, steps, at, rng))

    def _written(
        self, actions: Sequence[tuple[int, str]], prompt: Prompt, steps: tuple[GoldStep, ...], rng: random.Random
    ) -> list[str]:
        """Actions with errors; where all roles err alike, a wrong object is one of those at hand at its point."""

        def wrong(action: str, point: int, slip: random.Random) -> str:
            if not self.rates.alike:
                return wrong_action(action, prompt, slip)
            there = steps[min(point, len(steps) - 1)].before
            return wrong_action(action, replace(prompt, lines=tuple(there.lines), carried=there.inventory), slip)

        return distorted(actions, prompt, self.rates, rng, wrong)

    def _one(self, prompt: Prompt, steps: tuple[GoldStep, ...], at: int, rng: random.Random) -> str:
        """The next action, with errors; what has just failed by a systematic error is not done again."""
        actions = next_actions(prompt, steps, at)
        right = actions[0][1]
        [first, *_] = self._written(actions[:3], prompt, steps, rng) or [right]
        return right if first in prompt.useless else first

    def _next(self, prompt: Prompt, steps: tuple[GoldStep, ...], rng: random.Random) -> str:
        asked = _ASKED.search(prompt.text)
        command = asked[1] if asked else "look around"
        sure, meant = "which the world understands" in prompt.text, command
        if self.rates.alike:
            at = place(prompt, steps)
            rng = self.rates.chance("next", prompt.task, prompt.variation, at, command)
            if at < len(steps) and command == self._one(prompt, steps, at, rng):
                meant = next_actions(prompt, steps, at)[0][1]  # an action that it errs in is expected to come out
        wrong = rng.random() < self.rates.predictions
        answer = predicted(prompt, steps, meant, sure=sure, slip=rng if wrong else None)
        return json.dumps(answer | {"command": command})

    def _score(self, prompt: Prompt, steps: tuple[GoldStep, ...], at: int, rng: random.Random) -> str:
        words = [word for word, _ in _PROGRESS]
        if prompt.score >= 100:
            right = "complete"
        elif prompt.score < 0 or prompt.over:
            right = "failed"
        else:
            right = next((word for word, most in _PROGRESS if at <= most * len(steps)), "most")
        return rng.choice(words) if rng.random() < self.rates.predictions else right

    def _predict(self, prompt: Prompt, steps: tuple[GoldStep, ...], rng: random.Random) -> str:
        """Whether a predicate holds anywhere on the gold path, with errors."""
        asked = _GUESS.search(prompt.text)
        holds = False
        if asked:
            predicate = reach(asked[1]) if asked[2] == "within reach" else Predicate("open", (asked[1],))
            holds = any(ShownState(step.before).get(predicate) is True for step in steps)
        return "yes" if holds != (rng.random() < self.rates.predictions) else "no"

    # --- SDP's operators --------------------------------------------------------------------

    def _chain(self, prompt: Prompt, steps: tuple[GoldStep, ...], at: int, rng: random.Random) -> list[str]:
        items = [(index, target.text) for index, target in predicates(steps, at)][:MOST_PREDICATES]

        def wrong(text: str, point: int, slip: random.Random) -> str:
            del point
            return wrong_predicate(text, prompt, slip)

        return distorted(items, prompt, self.rates, rng, wrong) or [verdicts.anything(prompt)]

    def _realize(self, prompt: Prompt, steps: tuple[GoldStep, ...], at: int, rng: random.Random) -> str:
        aim = _AIM.search(prompt.text)
        text = aim[1].strip() if aim else ""
        action = toward(text, prompt, steps, at)
        if action is not None:
            return _acted(action if action not in prompt.useless else "look around")
        return _acted(self._one(prompt, steps, at, rng))


def _acted(action: str, thought: str = "This comes next.") -> str:
    return json.dumps({"thought": thought, "action": action})


def _fixed_action(request: Request) -> str | None:
    """The action that a request admits alone."""
    if not isinstance(request.constraint, JsonSchema):
        return None
    schema: Mapping[str, object] = request.constraint.model.model_json_schema()["properties"].get("action", {})
    const = schema.get("const")
    return const if isinstance(const, str) else None


def open_simulated(argument: str) -> LanguageModel:
    """Open ``simulated:scienceworld`` or ``simulated:scienceworld?errors=0.1&verdicts=0.05&seed=1``.

    Raises:
        ConfigError: An option is unknown or out of range.
        UnknownNameError: Nothing else is simulated.
    """
    what, _, query = argument.partition("?")
    if what != "scienceworld":
        raise UnknownNameError("simulated model", what, ("scienceworld",))
    return SimulatedScienceLM(ScienceErrorRates.parse(query), f"simulated:{argument}")
