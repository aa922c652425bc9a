"""How the simulated model judges predicates."""

from __future__ import annotations

import random
import re

from envs.scienceworld.changes import MEASURED
from envs.scienceworld.gold import GoldStep
from envs.scienceworld.predicates import meaning
from envs.scienceworld.simulated.errors import ScienceErrorRates
from envs.scienceworld.simulated.reading import Prompt
from envs.scienceworld.things import plain

TOLERANCE = 5
"""How far a measured number may be from the predicate's."""

_DENIES = re.compile(r"\b(?:not|no|cannot|don't|can't|isn't|already)\b")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def anything(prompt: Prompt) -> str:
    """A predicate for where the gold path has ended."""
    return f"The agent is in the {plain(prompt.room or 'hallway')}"


def verdict(
    prompt: Prompt, steps: tuple[GoldStep, ...], rates: ScienceErrorRates, rng: random.Random
) -> tuple[int, str]:
    """Give k and a reason, with errors: each predicate's verdict is turned round at the rate of wrong verdicts."""
    observed, action = prompt.field("observation"), prompt.field("action")
    k = 0
    for condition in prompt.numbered():
        believed = _shown(condition.strip(), action, observed, steps)
        if rng.random() < rates.verdicts:
            believed = not believed
        if not believed:
            return k, f"the observation does not show it: {condition}"[:300]
        k += 1
    return k, "the observation shows it"


def _shown(text: str, action: str, observed: str, steps: tuple[GoldStep, ...]) -> bool:
    """Whether an observation looks like one that goes with a predicate."""
    if text.startswith(MEASURED):
        return _alike(text.removeprefix(MEASURED), observed)
    requires = meaning(text)
    if not requires:
        return False
    [(predicate, value)] = requires
    gold = [step for step in steps if step.target is not None and step.target.text == text]
    if _DENIES.search(observed):
        return False
    if any(step.action == action and _alike(step.after.observation, observed) for step in gold):
        return True
    words = {"at": "move to|teleport to", "carries": "to the inventory", "focused": "focus on", "open": "now open"}
    words |= {"active": "now activated", "in": rf"to the {re.escape(predicate.args[-1])}"}
    first = re.escape(predicate.args[0])
    return value and all((re.search(first, observed, re.I), re.search(words[predicate.name], observed)))


def _alike(expected: str, observed: str) -> bool:
    """Whether two texts differ in nothing but numbers, and in these but little."""
    expected, observed = " ".join(expected.split()), " ".join(observed.split())
    if _NUMBER.sub("#", expected) != _NUMBER.sub("#", observed):
        return False
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(observed), strict=True)
    return all(abs(float(a) - float(b)) <= TOLERANCE for a, b in pairs)
