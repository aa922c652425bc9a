"""Cases for the validator of ScienceWorld: gold and random play, judged by the simulator's tree of all objects."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile
from typing import Any

from envs.scienceworld import prompts
from envs.scienceworld.changes import GOAL, target_of
from envs.scienceworld.domain import ScienceWorldDomain, as_state
from envs.scienceworld.environment import ScienceWorldEnvironment
from envs.scienceworld.gold import GoldStep, gold_path, predicates
from envs.scienceworld.predicates import sentence, truth
from envs.scienceworld.reading import REFUSALS, read_inventory
from envs.scienceworld.sdp import ScienceAdapter
from envs.scienceworld.simulated.errors import Rates
from envs.scienceworld.simulated.model import SimulatedLM
from envs.scienceworld.simulated.verdicts import freely
from envs.scienceworld.state import ScienceState, ScienceTask
from envs.scienceworld.tasks import all_tasks
from envs.scienceworld.things import every_name, read_things
from experiments.studies.sdp.cases.case import Case
from tape.budget import Budget, Ledger
from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.lm.accounting import AccountedLM
from tape.protocols import Observation
from tape.protocols.predicates import Predicate
from tape.sdp.adapter import Tools
from tape.sdp.operators import Outcome, Validate, Verdict
from tape.sdp.target import Chain, Target
from tape.seeds import derive
from tape.trace import TraceWriter

FAMILIES = ("plain", "wrong_object", "negation", "truncated", "rejected", "paraphrase")
SIMPLIFICATION = "easy"
_GOLD = 0.7
"""How often an action of the play is the gold one; else it is a random one that the simulator accepts."""

_A_GAME = 100
"""Cases of one game, at most."""

_WORDINGS: tuple[tuple[str, str, bool], ...] = (
    # What a model might write, the typed predicate of which its truth is known, and the value it speaks of.
    ("The agent's inventory does not contain any {0}", "carries", False),
    ("The agent is not in possession of a {0}", "carries", False),
    ("The agent's inventory no longer contains the {0}", "carries", False),
    ("The agent's inventory includes a {0}", "carries", True),
    ("Any {0} is not in the {1}", "in", False),
    ("No {0} is in the {1}", "in", False),
    ("The {0} has been placed in the {1}", "in", True),
    ("The agent is not in the {0} room", "at", False),
    ("The agent has reached the {0}", "at", True),
)

_TAIL = 3
"""Predicates before the goal in a tail, at most."""


@dataclass(frozen=True)
class _Step:
    """A step of the play, and what is really so after it."""

    outcome: Outcome
    world: Mapping[str, Any]
    path: tuple[GoldStep, ...]
    at: int

    @property
    def state(self) -> ScienceState:
        return as_state(self.outcome.after)

    def truth(self, target: Target) -> bool | None:
        return truth(target.requires, self.world, self.state.focused)


def cases(seed: int, n: int) -> list[Case]:
    """``n`` cases, of every step one of each family as far as it yields them.

    Tasks, variations and actions are drawn from the training split. What the tree of objects cannot tell is left out.

    Raises:
        NotPlayableError: The simulator cannot be played here.
    """
    rng = random.Random(f"sdp-cases:scienceworld:{seed}")
    names = sorted(all_tasks())
    found: list[Case] = []
    while len(found) < n:
        info = all_tasks()[rng.choice(names)]
        found += islice(_of_game(info.name, rng.choice(info.split("train")), rng), min(_A_GAME, n - len(found)))
    return found


def _of_game(task: str, variation: int, rng: random.Random) -> Iterator[Case]:
    """Cases along one game."""
    path = gold_path(task, variation, SIMPLIFICATION)
    env = ScienceWorldEnvironment(task, variation, SIMPLIFICATION)
    env.reset(0)
    at = 0
    while not env.ended() and at < len(path):
        before = env.state
        gold = rng.random() < _GOLD
        action = path[at].action if gold else _random_action(env, rng)
        at += gold
        observation, _ = env.step(action)
        outcome = Outcome(before, action, observation, env.state, env.success())
        step = _Step(outcome, env.game.objects(), path, at)
        yield from (case for family in FAMILIES if (case := _case(family, step, rng)) is not None)
    env.close()


def _random_action(env: ScienceWorldEnvironment, rng: random.Random) -> str:
    """Any action that the simulator accepts and that does not end the task."""
    valid = [action for action in env.game.valid_actions() if not action.startswith(("focus", "reset"))]
    return rng.choice(sorted(valid))


def _case(family: str, step: _Step, rng: random.Random) -> Case | None:
    """A case of a family; None if a step gives none."""
    match family:
        case "plain":
            reached = [past.target for past in step.path[max(0, step.at - 3) : step.at]]
            ahead = [target for _, target in predicates(step.path, step.at)]
            tail = [target for target in (*reached, *ahead) if target is not None and target.requires]
            tail = tail[rng.randrange(3) :][:_TAIL]
            return _judged(family, step, tail, step.outcome)
        case "wrong_object":
            target = _about(step.state, rng, anything=True)
            return _judged(family, step, [target] if target else [], step.outcome)
        case "truncated":
            target = _about(step.state, rng, anything=False)
            return _judged(family, step, [target] if target else [], _truncated(step.outcome, rng))
        case "paraphrase":
            return _paraphrase(step, rng)
    target = _about(step.state, rng, anything=True)
    if target is None or step.truth(target) is not False:
        return None
    text = _denied(target) if family == "negation" else REFUSALS[0]
    action = step.outcome.action if family == "negation" else f"look at {target.requires[0][0].args[0]} of nowhere"
    shown = replace(step.state, observation=text)
    return Case(family, (target, GOAL), Outcome(shown, action, Observation(text, shown), shown), 0)


def _paraphrase(step: _Step, rng: random.Random) -> Case | None:
    """A predicate about things in sight in words that look like a typed form or mean one; None if there are none."""
    seen, held = read_things(step.state.room.things), read_things(step.state.inventory)
    listed = list(every_name((*seen, *held)))
    wording, name, value = rng.choice(_WORDINGS)
    options: list[tuple[str, ...]]
    match name:
        case "carries":
            options = [(thing,) for thing in listed]
        case "in":
            inside = [(inner.name, thing.name) for thing in seen for inner in thing.inside]
            options = [*inside, *pairwise(listed)]
        case _:
            options = [(room,) for room in {step.state.room.name: None, **dict.fromkeys(step.state.rooms)}]
    if not options or step.outcome.completed:
        return None
    args = rng.choice(options)
    holds = truth(((Predicate(name, args), value),), step.world, step.state.focused)
    tail = (target_of(wording.format(*args)), GOAL)
    return None if holds is None else Case("paraphrase", tail, step.outcome, int(holds))


def _judged(family: str, step: _Step, tail: list[Target], outcome: Outcome) -> Case | None:
    """A case with its true k, by the tree of objects; None if it is unknown."""
    if outcome.completed:
        return Case(family, (*tail, GOAL), outcome, len(tail) + 1)
    k = 0
    for target in tail:
        value = step.truth(target)
        if value is None:
            return None
        if not value:
            break
        k += 1
    return Case(family, (*tail, GOAL), outcome, k) if tail else None


def _about(state: ScienceState, rng: random.Random, *, anything: bool) -> Target | None:
    """A predicate about things in sight: with ``anything`` about any of them, else one that is likely to hold."""
    seen, held = read_things(state.room.things), read_things(state.inventory)
    listed = [inner.name for thing in (*seen, *held) for inner in (thing, *thing.everything())]
    inside = [(inner.name, thing.name) for thing in seen for inner in thing.inside]
    if anything:
        pairs = [(a, b) for a in listed for b in listed if a != b]
        options = [Predicate("carries", (name,)) for name in listed]
        options += [Predicate("in", pair) for pair in rng.sample(pairs, min(len(pairs), len(listed)))]
        options += [Predicate("at", (room,)) for room in state.rooms]
    else:
        options = [Predicate("carries", (thing.name,)) for thing in held] + [Predicate("in", pair) for pair in inside]
        options.append(Predicate("at", (state.room.name,)))
    for thing in seen:
        options += [Predicate("active", (thing.name,))] if thing.active is not None else []
        options += [Predicate("open", (thing.name,))] if thing.open is not None else []
    if not options:
        return None
    return target_of(sentence(rng.choice(options), value=rng.random() < 0.8))


def _denied(target: Target) -> str:
    """An answer with the right words and the opposite meaning."""
    [(predicate, _)] = target.requires
    first, *rest = predicate.args
    match predicate.name:
        case "carries":
            return f"You don't see a {first} that you could move to the inventory."
        case "at":
            return f"You are not in the {first}, and you cannot move to the {first} from here."
        case "active":
            return f"The {first} is not activated."
        case "open":
            return f"The {first} is not open."
    return f"You don't see any {first} in the {rest[0]}."


def _truncated(outcome: Outcome, rng: random.Random) -> Outcome:
    """What is left of an outcome where its texts break off somewhere."""
    state = as_state(outcome.after)
    inventory = "".join(["In your inventory, you see:\n", *(f"\t{thing}\n" for thing in state.inventory)])
    look, held, text = (
        whole[: rng.randrange(len(whole) + 1)] for whole in (state.look, inventory, outcome.observation.text)
    )
    after = replace(state, look=look, inventory=read_inventory(held), cut=not held.endswith("\n"), observation=text)
    return replace(outcome, observation=Observation(text, after), after=after)


# --- the validators -----------------------------------------------------------------------------


def validators() -> dict[str, Validate]:
    """What the descriptions show, and simulated verdicts on the same predicates in freer words."""
    return {"descriptions (deterministic)": _Shown(), "simulated verdicts, 10 % turned round": _Worded()}


class _ByTask:
    """The environment's validator, of the task that an outcome is of."""

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """As in an episode of that task."""
        task = as_state(outcome.after).task
        return await ScienceAdapter(task).validator(_tools(task)).validate(tail, outcome)


class _Shown(_ByTask):
    """The same up to the first predicate that only the model could judge."""

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """Without the model's verdicts."""
        verdict = await super().validate(tail, outcome)
        return Verdict(tuple(takewhile(lambda check: check.how != "lm", verdict.checks)), verdict.reason)


class _Worded(_ByTask):
    """The same with predicates that only a model can judge."""

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """With typed requirements taken away."""
        worded = tuple(
            target if target.goal else replace(target, text=freely(target.text), requires=()) for target in tail
        )
        return await super().validate(worded, outcome)


def _tools(task: ScienceTask) -> Tools:
    writer = TraceWriter("cases")
    model = AccountedLM(SimulatedLM(Rates()), Ledger(Budget()), writer)
    domain = ScienceWorldDomain(task)
    roles = RoleContext(model, prompts.prompt_format("chat"), domain, writer)
    return Tools(roles, TapeConfig.make(temperature=0.0), lambda *parts: derive(0, *parts))
