"""Cases for the validator of ScienceWorld: gold and random play, judged by the simulator's tree of all objects."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from envs.scienceworld.changes import GOAL
from envs.scienceworld.domain import ScienceWorldDomain, as_state
from envs.scienceworld.environment import ScienceWorldEnvironment
from envs.scienceworld.gold import GoldStep, gold_path, predicates
from envs.scienceworld.predicates import sentence, target_of
from envs.scienceworld.reading import REFUSALS, read_inventory
from envs.scienceworld.sdp import ScienceAdapter
from envs.scienceworld.simulated import SimulatedLM
from envs.scienceworld.simulated_errors import Rates
from envs.scienceworld.simulated_verdicts import freely
from envs.scienceworld.state import ScienceState, ScienceTask
from envs.scienceworld.tasks import all_tasks
from envs.scienceworld.things import read_things
from experiments.sdp_cases.case import Case
from tape.budget import Budget, Ledger
from tape.config import AgentConfig
from tape.lm.accounting import AccountedLM
from tape.predicates import Predicate
from tape.protocols import Observation
from tape.roles.context import RoleContext
from tape.sdp.adapter import Tools
from tape.sdp.operators import Outcome, Validate, Verdict
from tape.sdp.target import Chain, Target
from tape.seeds import derive
from tape.trace import TraceWriter

FAMILIES = ("plain", "wrong_object", "negation", "truncated", "rejected")
SIMPLIFICATION = "easy"
_GOLD = 0.7
"""How often an action of the play is the gold one; else it is a random one that the simulator accepts."""

_A_GAME = 25
"""Cases of one game, at most."""

_TAIL = 3
"""Predicates before the goal in a tail, at most."""


def cases(seed: int, n: int) -> list[Case]:
    """``n`` cases, the families in turn as far as the play yields them.

    Tasks, variations and actions are drawn from the training split. What cannot be told from the tree is left out.
    """
    found: list[Case] = []
    rng = random.Random(f"sdp-cases:scienceworld:{seed}")
    names = sorted(all_tasks())
    while len(found) < n:
        info = all_tasks()[rng.choice(names)]
        variation = rng.choice(info.split("train"))
        for number, case in enumerate(_of_game(info.name, variation, rng)):
            found.append(case)
            if number + 1 >= _A_GAME or len(found) >= n:
                break
    return found


def _of_game(task: str, variation: int, rng: random.Random) -> Iterator[Case]:
    """Cases along one game."""
    path = gold_path(task, variation, SIMPLIFICATION)
    env = ScienceWorldEnvironment(task, variation, SIMPLIFICATION)
    env.reset(0)
    at, families = 0, 0
    while not env.ended() and at < len(path):
        before = env.state
        gold = rng.random() < _GOLD
        action = path[at].action if gold else _random_action(env, rng)
        at += gold
        observation, _ = env.step(action)
        outcome = Outcome(before, action, observation, env.state, env.success())
        for _ in range(len(FAMILIES)):
            family, families = FAMILIES[families % len(FAMILIES)], families + 1
            case = _case(env, family, outcome, path, at, rng)
            if case is not None:
                yield case
                break
    env.close()


def _random_action(env: ScienceWorldEnvironment, rng: random.Random) -> str:
    """Any action that the simulator accepts and that does not end the task."""
    valid = [action for action in env.game.valid_actions() if not action.startswith(("focus", "reset"))]
    return rng.choice(sorted(valid))


def _case(
    env: ScienceWorldEnvironment,
    family: str,
    outcome: Outcome,
    path: tuple[GoldStep, ...],
    at: int,
    rng: random.Random,
) -> Case | None:
    """A case of a family; None where this step gives none."""
    state = as_state(outcome.after)
    match family:
        case "plain":
            start = rng.randrange(max(0, at - 3), at + 1)
            tail = [target for _, target in predicates(path, start)[:_TAIL] if target.requires]
            return _judged(env, family, tail, outcome)
        case "wrong_object":
            target = _about(state, rng, wrong=True)
            return _judged(env, family, [target] if target else [], outcome)
        case "truncated":
            target = _about(state, rng, wrong=False)
            return _judged(env, family, [target] if target else [], _truncated(outcome, rng))
    target = _about(state, rng, wrong=True)
    if target is None or env.truth(target) is not False:
        return None
    said = _denied(target) if family == "negation" else REFUSALS[0]
    action = outcome.action if family == "negation" else f"{outcome.action} {target.requires[0][0].args[0]}"
    shown = replace(state, observation=said)
    return Case(family, (target, GOAL), Outcome(shown, action, Observation(said, shown), shown), 0)


def _judged(env: ScienceWorldEnvironment, family: str, tail: list[Target], outcome: Outcome) -> Case | None:
    """A case with its true k, by the tree of objects; None where it cannot be told."""
    if outcome.completed:
        return Case(family, (*tail, GOAL), outcome, len(tail) + 1)
    k = 0
    for target in tail:
        value = env.truth(target)
        if value is None:
            return None
        if not value:
            break
        k += 1
    return Case(family, (*tail, GOAL), outcome, k) if tail else None


def _about(state: ScienceState, rng: random.Random, *, wrong: bool) -> Target | None:
    """A predicate about things in sight; ``wrong``: about any of them, whether it is likely to hold or not."""
    seen, held = read_things(state.room.things), read_things(state.inventory)
    listed = [inner.name for thing in (*seen, *held) for inner in (thing, *thing.everything())]
    inside = [(inner.name, thing.name) for thing in seen for inner in thing.inside]
    if wrong:
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
    """An answer with the right words that says the opposite."""
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
    return {"descriptions (deterministic)": _ByTask(), "simulated verdicts, 10 % turned round": _Worded()}


class _ByTask:
    """The environment's validator, of the task that an outcome is of."""

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """As in an episode of that task."""
        task = as_state(outcome.after).task
        return await ScienceAdapter(task).validator(_tools(task)).validate(tail, outcome)


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
    roles = RoleContext(model, domain.dialect("chat"), domain, writer)
    return Tools(roles, AgentConfig.make(temperature=0.0), lambda *parts: derive(0, *parts))
