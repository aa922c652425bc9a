"""Training text of the bundled tool LM for questions of several hops: planning them, and reading for each hop.

Half of the examples are states of a question, half are passages to read. All are drawn from small worlds of invented
entities with wordings that are not held out, and no question text is one of those reserved for evaluation
(:func:`envs.musique.corpus.is_held_out`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache

from envs.musique import wordings
from envs.musique.asking import ask, draw_chain, hops_of
from envs.musique.corpus import is_held_out
from envs.musique.retrieval import RETRIEVERS
from envs.musique.words import MOST_ENTITIES, RELATIONS, VOCABULARY, delexicalise
from envs.musique.world import World, describe, make_world
from experiments.training.tools.example import Example
from experiments.training.tools.retriever_budgets import Left, afford, choose, draw_left

MARKERS = ("text:", "got:", "failed:", "afford:", "plan:", "<plan>", "<act>", "<score>", "<read>", "->", ";", "=")
ANSWERS = ("right", "wrong", "none")
KINDS = ("search", "answer")
WORLDS = 512
"""So many worlds are drawn from; passages and questions are worded anew each time."""

MOST_READ_TOKENS = 150
MOST_DRAWS = 60
"""So often another question to passages is looked for."""
STATED_NONE_SHARE = 0.1
"""How often a relation is asked that is not stated, of a subject of which others are: makes about 35 % none in all."""

Query = tuple[list[str], list[str]]
Hops = Sequence[tuple[str, str]]


def vocabulary() -> list[str]:
    """Every word of these examples, sorted."""
    words = {*MARKERS, *ANSWERS, *KINDS, *RELATIONS, *VOCABULARY, *(f"v{i + 1}" for i in range(len(RETRIEVERS)))}
    words |= {f"#{i}" for i in range(1, 10)} | {str(digit) for digit in range(10)}
    return sorted(words | {f"e{i}" for i in range(1, MOST_ENTITIES + 1)})


def example(rng: random.Random, reading: float = 0.5, queries: tuple[int, int] = (2, 4)) -> Example:
    """Draw an example; the same state of the generator always gives the same one.

    Args:
        rng: Source of randomness.
        reading: Share of the passages to read; the others are states of a question.
        queries: Least and most that is asked of the same passages.
    """
    world = _world(rng.randrange(WORLDS))
    return _reading(rng, world, queries) if rng.random() >= 1 - reading else _question_state(rng, world)


@lru_cache(maxsize=WORLDS)
def _world(number: int) -> World:
    return make_world(f"training:{number}")


# Questions


def _call(hop: tuple[str, str], variant: int | None = None) -> list[str]:
    relation, subject = hop
    return ["search", relation, subject] if variant is None else ["search", f"v{variant + 1}", relation, subject]


def _afford(left: Left) -> list[str]:
    return ["afford:", *map(str, afford(left))]


def _plan(hops: Hops, done: int, chosen: Sequence[int]) -> list[str]:
    words: list[str] = []
    for hop, variant in zip(hops[done:], chosen, strict=True):
        words += [*_call(hop, variant), ";"]
    return [*words, "answer", f"#{len(hops)}"]


def _prefix(text: Sequence[str], got: Hops, failed: Sequence[tuple[tuple[str, str], int]]) -> list[str]:
    words = ["text:", *text, "got:"]
    for number, hop in enumerate(got):
        # The entity that the question names is e1, and each answer is a new one.
        words += [*_call(hop), "=", f"e{number + 2}", ";"]
    words.append("failed:")
    for hop, variant in failed:
        words += [*_call(hop, variant), ";"]
    return words


def _question_state(rng: random.Random, world: World) -> Example:
    while True:
        chain = draw_chain(rng, world, rng.choices((1, 2, 3, 4), (1, 3, 3, 4))[0])
        if chain is None:
            continue
        asked = ask(rng, chain)
        if not is_held_out(asked.text):
            break
    text = delexicalise([asked.text]).tokens[0]
    hops = [(relation, "e1" if number == 0 else subject) for number, (relation, subject) in enumerate(hops_of(chain))]
    if rng.random() < 0.2:
        return _corrupted(rng, text, hops)
    done = len(hops) if rng.random() < 0.3 else rng.randrange(len(hops))
    calls = len(hops) - done
    failed: list[int] = []
    if calls and rng.random() < 0.3:
        # Cheap retrievers fail most.
        failed = sorted(set(rng.choices(range(len(RETRIEVERS)), (9, 7, 5, 3, 1), k=rng.choice((1, 1, 2)))))
    left = draw_left(rng, calls or rng.randint(1, 2))
    chosen = choose(left, calls, failed) if calls else []
    plan = _plan(hops, done, chosen)
    step = plan[: plan.index(";")] if calls else plan
    queries = [
        (["<plan>", *_afford(left), "->"], plan),
        (["<act>", *_afford(left), "->"], step),
        _follow(rng, hops, done, left, chosen, failed),
    ]
    if not calls:
        queries.append((["<score>", "answer", f"#{done}", "->"], ["right"]))
    if done > 1 or (done and calls):
        # An earlier answer is not the one asked for, however well it was found.
        other = rng.randint(1, done if calls else done - 1)
        queries.append((["<score>", "answer", f"#{other}", "->"], ["wrong"]))
    entries = [(hops[done], variant) for variant in failed]
    if done and rng.random() < 0.1:
        # What failed for a hop that has been answered since no longer matters.
        entries.insert(0, (hops[done - 1], rng.randrange(len(RETRIEVERS))))
    return Example(_prefix(text, hops[:done], entries), queries)


def _follow(
    rng: random.Random, hops: Hops, done: int, left: Left, chosen: Sequence[int], failed: Sequence[int]
) -> Query:
    """The next call where a plan is given: the plan's, also where its retrievers are not the best."""
    variants = list(chosen)
    if variants and rng.random() < 0.5:
        affordable = [variant for variant, count in enumerate(afford(left)) if count] or [0]
        variants = [rng.choice(affordable) for _ in variants]
        # No plan is followed into what has just failed.
        if variants[0] in failed:
            variants[0] = chosen[0]
    plan = _plan(hops, done, variants)
    return ["<act>", *_afford(left), "plan:", *plan, "->"], plan[: plan.index(";")] if variants else plan


def _corrupted(rng: random.Random, text: Sequence[str], hops: Sequence[tuple[str, str]]) -> Example:
    """All calls made, but not those that the question asks for: the answer is wrong."""
    got = list(hops)
    how = rng.random()
    if how < 0.5:
        at = rng.randrange(len(got))
        near = {name for kind in wordings.RELATIONS[got[at][0]].subjects for name in wordings.OF_TYPE[kind]}
        others = sorted(near - {got[at][0]}) if rng.random() < 0.6 else []
        got[at] = (rng.choice(others or [name for name in RELATIONS if name != got[at][0]]), got[at][1])
    elif how < 0.7:
        got.append((rng.choice(RELATIONS), f"#{len(got)}"))
    elif how < 0.85 and len(got) > 1:
        at = rng.randrange(len(got))
        del got[at]
        got = [(relation, "e1" if i == 0 else f"#{i}") for i, (relation, _) in enumerate(got)]
    else:
        at = rng.randrange(len(got))
        if at == 0:
            return _corrupted(rng, text, hops)
        got[at] = (got[at][0], rng.choice(["e1", *(f"#{i}" for i in range(1, at))]))
    return Example(_prefix(text, got, []), [(["<score>", "answer", f"#{len(got)}", "->"], ["wrong"])])


# Reading


def _reading(rng: random.Random, world: World, queries: tuple[int, int]) -> Example:
    names = list(world.kinds)
    asked = rng.choice(names)
    shown = [asked] if rng.random() < 0.8 else []
    count = rng.choice((1, 2, 3, 3, 3))
    # Real retrieval brings passages that speak of the same things: those of its answers, and of its own kind.
    near = [answer for _, answer in world.stated[asked]] + rng.sample(world.of_kind(world.kinds[asked]), 2)
    while len(shown) < count:
        other = rng.choice(near) if rng.random() < 0.6 else rng.choice(names)
        if other not in shown and (shown or other != asked):
            shown.append(other)
    rng.shuffle(shown)
    texts = [describe(rng, world, name)[0] for name in shown]
    first = [asked]
    if rng.random() < 0.4:
        # An agent may number other names first, for instance those of its question, whether the passages have them.
        first = rng.sample([*(n for n in rng.sample(names, 3) if n != asked), asked], rng.randint(1, 3))
        first = first if asked in first else [*first, asked]
    words = delexicalise(texts, first)
    while sum(map(len, words.tokens)) > MOST_READ_TOKENS - 1:
        texts.pop()
        shown.pop()
        words = delexicalise(texts, first)
    facts = _facts(world, shown)
    slots = {name: f"e{number}" for number, name in enumerate(words.entities, 1)}
    wanted = rng.randint(*queries)
    pairs: dict[tuple[str, str], str] = {}
    for _ in range(MOST_DRAWS):
        if len(pairs) == wanted:
            break
        subject = asked if rng.random() < 0.6 else rng.choice([*shown, rng.choice(words.entities)])
        pair = _draw_pair(rng, world, facts, subject)
        if pair is not None:
            pairs[pair] = slots[facts[pair]] if pair in facts else "none"
    prefix = ["text:", *(token for tokens in words.tokens for token in tokens)]
    asked_all = [
        (["<read>", relation, slots[subject], "->"], [answer]) for (relation, subject), answer in pairs.items()
    ]
    return Example(prefix, asked_all)


def _facts(world: World, shown: Sequence[str]) -> dict[tuple[str, str], str]:
    """What the passages state, both ways round where a relation holds both ways."""
    stated = {(relation, name): answer for name in shown for relation, answer in world.stated[name]}
    turned = {(r, answer): name for (r, name), answer in stated.items() if world.truth.get((r, answer)) == name}
    return {pair: answer for pair, answer in turned.items() if wordings.RELATIONS[pair[0]].symmetric} | stated


_ANY_SHARE = 0.05
"""How often a relation is asked for that entities of the type do not have at all."""


def _draw_pair(
    rng: random.Random, world: World, facts: Mapping[tuple[str, str], str], subject: str
) -> tuple[str, str] | None:
    """Draw a relation to ask of a subject; None if this draw would ask for what is only implied."""
    stated = [relation for relation, name in facts if name == subject]
    if stated and rng.random() >= STATED_NONE_SHARE:
        return rng.choice(stated), subject
    possible: Sequence[str] = RELATIONS if rng.random() < _ANY_SHARE else wordings.OF_TYPE[world.kinds[subject]]
    absent = [relation for relation in possible if relation not in stated]
    # It is harder to say none where the passages state the same relation of something else.
    tempting = [relation for relation in absent if any(relation == other for other, _ in facts)]
    if not absent:
        return None
    relation = rng.choice(tempting if tempting and rng.random() < 0.6 else absent)
    reverse = {"country": "capital", "river": "mouth"}.get(relation)
    implied = any(other == reverse and answer == subject for (other, _), answer in facts.items())
    return None if implied else (relation, subject)
