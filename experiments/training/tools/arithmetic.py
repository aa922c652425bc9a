"""Training text for the bundled tool model: generated word problems, solved call by call under random budgets."""

from __future__ import annotations

import random
from functools import cache

from envs.gsm_hard.arithmetic import KINDS
from envs.gsm_hard.generator import draw
from envs.gsm_hard.problem import Problem
from envs.gsm_hard.profiles import PROFILES, Profile
from envs.gsm_hard.templates import CONSTANTS
from envs.gsm_hard.words import VOCABULARY, Words, argument_token, delexicalise
from experiments.training.tools.budgets import draw_variants
from experiments.training.tools.example import Example
from experiments.training.tools.mistakes import Call, detour, mistaken, wrong_call

SCORE_ALONE, NOTHING_MADE = 0.3, 0.45
PLAN, ACT, ACT_WITH_PLAN = 0.95, 0.5, 0.25
WRONG_PLAN, DETOUR, FAILED = 0.35, 0.08, 0.04
_BUDGETS = 4096
"""Different random budgets for each profile and number of calls: drawing one takes longer than all else."""
_MOST_CALLS = 5


def vocabulary() -> list[str]:
    """The words of arithmetic: those of the generator's texts, kinds of tools and constants. Markers are not listed."""
    return list(dict.fromkeys((*VOCABULARY, *KINDS, *map(str, CONSTANTS))))


def example(rng: random.Random) -> Example:
    """Draw a state of a training problem, and what to plan, do or judge there.

    Of all examples 30 % only judge an answer. Of the others 45 % are at the start of their problem, and one where all
    calls are made may have gone wrong: then its answer is to be judged wrong, and nothing else is asked.
    """
    problem = draw(rng, "train")
    words = delexicalise(problem.text)
    calls = calls_of(problem, words)
    profile = _profile(rng, problem)
    if rng.random() < SCORE_ALONE:
        return _score(rng, profile, problem, words, calls, wrong=rng.random() < 0.5)
    made = 0 if rng.random() < NOTHING_MADE else rng.randint(1, len(calls))
    if made == len(calls) and rng.random() < 0.5:
        return _score(rng, profile, problem, words, calls, wrong=True)
    if made and rng.random() < DETOUR:
        calls, made = detour(rng, calls, made, words, profile.kinds)
    prefix = _prefix(words, calls[:made], _failed(rng, profile, calls, made, words))
    left = [*calls[made:], ("answer", f"#{len(calls)}")]
    queries = []
    if rng.random() < PLAN:
        afford, chosen = _budget(rng, profile, len(calls) - made)
        queries.append((["<plan>", *afford, "->"], _written(left, chosen)))
    if rng.random() < ACT:
        afford, chosen = _budget(rng, profile, len(calls) - made)
        queries.append((["<act>", *afford, "->"], _written(left[:1], chosen)))
    if rng.random() < ACT_WITH_PLAN or not queries:
        afford, chosen = _budget(rng, profile, len(calls) - made)
        hint = _hint(rng, profile, left, made, words)
        queries.append((["<act>", *afford, "plan:", *_written(hint, chosen), "->"], _written(left[:1], chosen)))
    if made == len(calls):
        queries.append((["<score>", "answer", f"#{made}", "->"], ["right"]))
    return Example(prefix, queries)


def calls_of(problem: Problem, words: Words) -> list[Call]:
    """The program of a problem in words of its text."""
    assert problem.program is not None, "only generated problems have a program"
    return [(step.kind, *(argument_token(arg, words) for arg in step.args)) for step in problem.program]


def _profile(rng: random.Random, problem: Problem) -> Profile:
    assert problem.program is not None
    paper = PROFILES["paper"]
    fits = {step.kind for step in problem.program} <= set(paper.kinds)
    return paper if fits and rng.random() < 0.5 else PROFILES["priced"]


def _score(
    rng: random.Random, profile: Profile, problem: Problem, words: Words, calls: list[Call], wrong: bool
) -> Example:
    answer = len(calls)
    if wrong:
        calls, answer = mistaken(rng, calls, words, problem.target, profile.kinds)
    query = ["<score>", "answer", f"#{answer}", "->"]
    return Example(_prefix(words, calls, []), [(query, ["wrong" if wrong else "right"])])


def _prefix(words: Words, got: list[Call], failed: list[str]) -> list[str]:
    shown = [token for call in got for token in (*call, ";")]
    return ["text:", *words.tokens, "got:", *shown, "failed:", *failed]


def _failed(rng: random.Random, profile: Profile, calls: list[Call], made: int, words: Words) -> list[str]:
    if made == len(calls) or rng.random() >= FAILED:
        return []
    kind, *args = wrong_call(rng, calls, made, words, profile.kinds)
    return [kind, f"v{rng.randint(1, len(profile.variants))}", *args, ";"]


def _hint(rng: random.Random, profile: Profile, left: list[Call], made: int, words: Words) -> list[Call]:
    """A plan, sometimes wrong from some call on."""
    if len(left) == 1 or rng.random() >= WRONG_PLAN:
        return left
    start = rng.randrange(len(left) - 1)
    wrong = [wrong_call(rng, left[:-1], at, words, profile.kinds, made) for at in range(start, len(left) - 1)]
    return [*left[:start], *wrong, left[-1]]


def _budget(rng: random.Random, profile: Profile, calls: int) -> tuple[list[str], list[int]]:
    """What is left of a budget for so many calls, and the best variants of these calls."""
    # For no call at all: what is left after some calls.
    of = calls or rng.randint(1, _MOST_CALLS)
    afford, chosen = _drawn(profile.name, of, rng.randrange(_BUDGETS))
    return ["afford:", *map(str, afford[of - calls])], list(chosen[of - calls :])


@cache
def _drawn(profile: str, calls: int, number: int) -> tuple[list[list[int]], list[int]]:
    return draw_variants(random.Random(f"gsm:budget:{profile}:{calls}:{number}"), PROFILES[profile].variants, calls)


def _written(calls: list[Call], variants: list[int]) -> list[str]:
    """Calls with their variants; ``answer`` has none and ends what is written."""
    written: list[str] = []
    for number, (kind, *args) in enumerate(calls):
        if number:
            written.append(";")
        variant = [] if kind == "answer" else [f"v{variants[number] + 1}"]
        written += [kind, *variant, *args]
    return written
