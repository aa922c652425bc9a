"""How the simulated model errs: rates, kinds of errors, and what is systematic about them."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from urllib.parse import parse_qsl

from envs.scienceworld.simulated.reading import Prompt
from envs.scienceworld.things import plain, read_things
from tape.errors import ConfigError

SYSTEMATIC = 0.5
"""The share of errors in actions and predicates that come back whenever the same point of the task is reached: errors
of a small model are partly systematic."""

_REMEMBERED = 6
"""How many of the last actions it looks at to see whether an error was made."""

_ROOM = re.compile(r"^(?:go|teleport) to (.+)$")
_ROUTINE = re.compile(r"^(?:look around|inventory|wait1?|\d+)$")


@dataclass(frozen=True)
class ScienceErrorRates:
    """Error rates, each in [0, 1].

    Attributes:
        errors: Of an action or a predicate: replaced by one with a wrong object, left out, or out of order.
        verdicts: Of a verdict on one predicate: yes for no or no for yes.
        predictions: Of a predicted next state, a score, or a choice among plans.
        seed: Seed of everything drawn.
        alike: Whether all roles err alike: the error of a point of the task is the same in a plan, an action and a
            prediction, whoever asks, and one that was seen to be made is drawn anew, not ruled out.
    """

    errors: float = 0.1
    verdicts: float = 0.1
    predictions: float = 0.1
    seed: int = 0
    alike: bool = field(default=False, repr=False)

    @classmethod
    def parse(cls, query: str) -> ScienceErrorRates:
        """Read ``errors=0.1&verdicts=0.05&seed=1``; one rate alone, ``errors``, stands for all three.

        Raises:
            ConfigError: There is no such option, or it is out of range.
        """
        given = dict(parse_qsl(query, keep_blank_values=True))
        known = [item.name for item in fields(cls)]
        values: dict[str, float] = {}
        for name, text in given.items():
            try:
                values[name] = int(text) if name in ("seed", "alike") else float(text)
            except ValueError:
                values[name] = -1
            highest = 2**63 if name == "seed" else 1
            if name not in known or not 0 <= values[name] <= highest:
                raise ConfigError(
                    f"simulated:scienceworld?{name}={text}: options are errors, verdicts and predictions (0 to 1), "
                    "alike (0 or 1) and seed"
                )
        common = values.get("errors", cls.errors)
        verdicts, predictions = values.get("verdicts", common), values.get("predictions", common)
        return cls(common, verdicts, predictions, int(values.get("seed", 0)), bool(values.get("alike", 0)))

    def chance(self, *names: object) -> random.Random:
        """Chance that depends on the seed and on names alone."""
        return random.Random("/".join(map(str, (self.seed, *names))))

    def slips(self, prompt: Prompt, point: object, own: random.Random) -> Iterator[random.Random]:
        """By what to draw the error at a point of the task, then the next one where that was seen to be made.

        Nothing where there is none, or no other.
        """
        if self.alike:
            for again in itertools.count():
                rng = self.chance("alike", prompt.task, prompt.variation, point, again)
                if rng.random() >= self.errors:
                    return
                yield rng
        always = self.chance("systematic", prompt.task, prompt.variation, point)
        if always.random() < self.errors * SYSTEMATIC:
            yield always
        elif own.random() < self.errors * (1 - SYSTEMATIC):
            yield own


def wrong_action(action: str, prompt: Prompt, rng: random.Random) -> str:
    """An action with a wrong object: another room, or another thing that is in sight or carried."""
    if _ROUTINE.match(action):
        return "look around"
    if (move := _ROOM.match(action)) and prompt.rooms:
        return action.replace(move[1], rng.choice([room for room in prompt.rooms if room != move[1]] or ["hallway"]))
    return _with_another(action, prompt, rng)


def wrong_predicate(text: str, prompt: Prompt, rng: random.Random) -> str:
    """A predicate about a wrong object."""
    for room in prompt.rooms:
        if text.endswith(f" {room}"):
            return text.removesuffix(room) + rng.choice([other for other in prompt.rooms if other != room] or [room])
    return _with_another(text, prompt, rng)


def _with_another(text: str, prompt: Prompt, rng: random.Random) -> str:
    """A text in which the last thing that it names is another one; another thing at its end if it names none."""
    seen = [
        inner.name for thing in read_things((*prompt.lines, *prompt.carried)) for inner in (thing, *thing.everything())
    ]
    names = sorted({name for name in seen if not name.startswith("door")})
    lower = text.lower()
    named = sorted((name for name in names if name in lower), key=lambda name: (lower.rfind(name), len(name)))
    others = [name for name in names if not named or name != plain(named[-1])]
    if not others:
        return "look around"
    other = rng.choice(others)
    if not named:
        return " ".join([*text.split()[:-1], other])
    at = lower.rfind(named[-1])
    return text[:at] + other + text[at + len(named[-1]) :]


def distorted(
    items: Sequence[tuple[int, str]],
    prompt: Prompt,
    rates: ScienceErrorRates,
    own: random.Random,
    wrong: Callable[[str, int, random.Random], str],
) -> list[str]:
    """A list with errors: some items about wrong objects, some left out, some in the place of the next one.

    An error that the prompt shows to have been made is not made again.

    Args:
        items: The point of the task and the item.
        prompt: What the model reads.
        rates: The rates.
        own: Chance of this one answer.
        wrong: An item about a wrong object, from the item and its point.
    """
    made = {*prompt.useless, *prompt.history[-_REMEMBERED:], *prompt.stuck_at}
    texts: list[str] = []
    late: list[str] = []
    for i, (point, item) in enumerate(items):
        following = "".join(x for _, x in items[i + 1 : i + 2])
        kind, other = "right", item
        for slip in rates.slips(prompt, point, own):
            drawn = slip.choice(("wrong", "dropped", "late"))
            instead = wrong(item, point, slip) if drawn == "wrong" else following
            if instead and instead not in made:
                kind, other = drawn, instead
                break
        if kind == "right":
            texts.append(item)
        elif kind == "wrong":
            texts.append(other)
        elif kind == "late":
            late.append(item)
            continue
        texts += late
        late.clear()
    return texts + late
