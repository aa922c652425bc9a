"""Cases for the validator of households: real answers of the engine on development games, judged by its own facts."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from envs.alfworld.commands import read_command
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.games import Game, load_games
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.game.oracle import shortest
from envs.alfworld.game.textworld_game import Fact, TextWorldGame
from envs.alfworld.grounder import Grounder
from envs.alfworld.projector import layout_of, updated
from envs.alfworld.resolve import resolved
from envs.alfworld.sdp import truth, unread
from envs.alfworld.state import Knowledge
from experiments.studies.sdp.cases.case import Case, Chosen
from tape.protocols import Observation
from tape.protocols.predicates import Predicate
from tape.sdp.operators import Outcome, Validate
from tape.sdp.predicate_adapter import PredicateValidate, in_words
from tape.sdp.target import Chain, Required, Target

FAMILIES = ("plain", "wrong_object", "negation", "truncated", "several")
SPLIT = "dev"
_STEPS = 25
"""Commands of a game before the next one is played."""


def cases(seed: int, n: int) -> list[Case]:
    """``n`` cases, the families in turn."""
    return list(islice(_cases(seed), n))


def validators() -> dict[str, Validate]:
    """The one that the environment has."""
    return {"grounder (deterministic)": Chosen(_of_layout)}


def _of_layout(_: Chain, outcome: Outcome) -> Validate:
    assert isinstance(outcome.after, Knowledge)
    return PredicateValidate(AlfworldDomain(outcome.after.layout), unread)


def _cases(seed: int) -> Iterator[Case]:
    rng = random.Random(f"sdp-cases:alfworld:{seed}")
    games = load_games(SPLIT)
    while True:
        for game in rng.sample(games, len(games)):
            yield from _played(game, rng)


@cache
def _plan(game: Game) -> tuple[str, ...]:
    return shortest(game.house, game.put_template)


def _played(game: Game, rng: random.Random) -> Iterator[Case]:
    """One game, played well or at random, and a case of every step."""
    domain = AlfworldDomain(layout_of(game.house, full=False))
    grounder, known = Grounder(domain.layout.receptacles), Knowledge.start(domain.layout)
    good, plan = rng.choice((0.0, 0.5, 0.9)), list(_plan(game))
    with TextWorldGame(game.data()) as engine:
        view = engine.reset()
        known = updated(known, "look", grounder.observe("look", view.text))
        for step in range(_STEPS):
            action = plan.pop(0) if plan and rng.random() < good else _any(domain, view.admissible, rng)
            command, before, earlier = resolved(known, action, game.put_template), known, copy.deepcopy(grounder)
            view = engine.step(command)
            known = updated(known, command, grounder.observe(command, view.text))
            family, text, after = FAMILIES[step % len(FAMILIES)], view.text, known
            if family == "truncated":
                text = text[: rng.randrange(len(text))]
                after = updated(before, command, earlier.observe(command, text))
            outcome = Outcome(before, action, Observation(text, after), after, view.won)
            yield _case(domain, family, outcome, engine.facts(), rng)
            if view.won:
                return


def _any(domain: AlfworldDomain, admissible: Sequence[str], rng: random.Random) -> str:
    """A command that does something, or one that may do nothing."""
    doing = [c for c in admissible if not c.startswith(("go to", "examine", "look", "inventory"))]
    if doing and rng.random() < 0.5:
        return rng.choice(doing)
    if rng.random() < 0.3:
        place = rng.choice(domain.layout.receptacles)
        return f"{rng.choice(['go to', 'open', 'close', f'take {domain.layout.goal.thing} from'])} {place}"
    return rng.choice(admissible)


def _case(domain: AlfworldDomain, family: str, outcome: Outcome, facts: frozenset[Fact], rng: random.Random) -> Case:
    count = rng.randint(2, 4) if family == "several" else rng.randint(0 if family == "plain" else 1, 2)
    targets = []
    for place in range(count):
        requires = _requires(domain, family, outcome, rng, wrong=bool(place) or rng.random() < 0.6)
        targets.append(Target(in_words(requires), read_verb(outcome.action), requires))
    tail = (*targets, Target(domain.layout.goal.sentence(), "goal", goal=True))
    return Case(family, tail, outcome, _true(tail, facts, won=outcome.completed))


def read_verb(action: str) -> str:
    """The first word of an action."""
    return action.partition(" ")[0]


def _requires(domain: AlfworldDomain, family: str, outcome: Outcome, rng: random.Random, *, wrong: bool) -> Required:
    """What a target requires: what the command was to bring about, or what is seen, right or wrong."""
    pool = _pool(domain, outcome)
    meant = [(p, v) for p, v in domain.effects(outcome.action, domain.ground(outcome.before)).items() if v is not None]
    meant = [(p, v) for p, v in meant if p.name in _NAMES]
    chosen = dict(rng.sample(pool, min(len(pool), rng.randint(1, 2))))
    if meant and rng.random() < (0.8 if family in ("negation", "truncated") else 0.5):
        chosen = dict(rng.sample(meant, rng.randint(1, len(meant))))
    if wrong and family == "wrong_object":
        predicate = rng.choice(sorted(chosen))
        value = chosen.pop(predicate)
        chosen[_other(domain, predicate, rng)] = value
    if wrong and family in ("negation", "truncated") and rng.random() < 0.5:
        predicate = rng.choice(sorted(chosen))
        chosen[predicate] = not chosen[predicate]
    return tuple(sorted(chosen.items()))


_NAMES = ("at", "shut", "holding", "made", "stored", "lit", "in", "empty_handed")
"""What targets require."""


def _pool(domain: AlfworldDomain, outcome: Outcome) -> list[tuple[Predicate, bool]]:
    """Statements of the grounder before and after, and statements that it has not made."""
    before, after = domain.ground(outcome.before), domain.ground(outcome.after)
    known = {p: v for p, v in {**before, **after}.items() if p.name in _NAMES}
    guessed = {Predicate("in", (kind, place)): True for kind in domain.layout.goal.kinds for place in _near(outcome)}
    guessed |= {Predicate("made", (mark,)): True for mark in ("clean", "hot", "cool")}
    return sorted({**guessed, **known}.items())


def _near(outcome: Outcome) -> tuple[str, ...]:
    assert isinstance(outcome.after, Knowledge)
    command = read_command(outcome.action)
    return (*outcome.after.at, command.place) if command is not None and command.place else outcome.after.at


def _other(domain: AlfworldDomain, predicate: Predicate, rng: random.Random) -> Predicate:
    """The same of another receptacle, or of another kind of thing or treatment: right words, wrong object."""
    args, places = list(predicate.args), domain.layout.receptacles
    if not args:
        return Predicate("holding", (domain.layout.goal.thing,))
    i = rng.randrange(len(args))
    if args[i] in places:
        kin = [place for place in places if place != args[i] and kind_of(place) == kind_of(args[i])]
        args[i] = rng.choice(kin or places)
    elif args[i] in ("plain", "clean", "hot", "cool"):
        args[i] = rng.choice(["clean", "hot", "cool"])
    elif predicate.name == "lit":
        args[i] = rng.choice(["desklamp", "floorlamp"])
    else:
        args[i] = rng.choice(["apple", "mug", "knife", "book", domain.layout.goal.thing])
    return Predicate(predicate.name, tuple(args))


def _true(tail: Chain, facts: frozenset[Fact], *, won: bool) -> int:
    """How many consecutive targets really hold, by the engine."""
    for k, target in enumerate(tail):
        if not truth(target, facts, won=won):
            return k
    return len(tail)
