"""Searches with real retrieval, played by an expert that knows the gold facts: what states are made of.

The expert asks for the first fact that is missing, in another wording after each failure, and gives up after
:data:`TRIES`. One query in eight is none of his: it asks for something else, or once more.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from experiments.training.search.task import Hop, Task
from tape.cgdp.prompts.compact import Tagged
from tape.cgdp.prompts.lexicon import sentences
from tape.protocols.search import Passage

TRIES = 3
"""So many different queries for one fact fail before the expert gives up."""
MOST_ROUNDS = 8
STRAY_SHARE = 0.12

Style = Literal["queries", "question first", "thoughts"]
"""How queries are written: for a fact each; the first one is the question; or each is the thought before it (IRCoT)."""


@dataclass(frozen=True)
class Played:
    """One round of a search.

    Attributes:
        query: What was searched for.
        hop: The fact that it was to find.
        wording: Of that fact's queries; empty where it is none of them.
        passages: What came back.
        thought: What the expert wrote after it.
    """

    query: str
    hop: int
    wording: str
    passages: tuple[Passage, ...]
    thought: str


def play(
    rng: random.Random, task: Task, depth: int, style: Style, strays: float = STRAY_SHARE, beyond: int = 0
) -> list[Played]:
    """Search until all facts are found, or the expert gives up.

    Args:
        rng: Source of randomness.
        task: The task.
        depth: Passages of a round.
        style: How queries are written.
        strays: Share of the queries that are none of the expert's.
        beyond: Stray rounds after the end, so that evidence stands far from it.
    """
    rounds: list[Played] = []
    found: set[int] = set()
    tries = [0] * len(task.hops)
    while len(rounds) < MOST_ROUNDS:
        wanted = task.next_hop(found)
        if wanted is None or tries[wanted] >= min(TRIES, len(task.hops[wanted].queries)):
            if not rounds or not beyond:
                break
            beyond -= 1
            query = _stray(rng, task)
            rounds.append(replace(rounds[-1], query=query, wording="", passages=task.index.search(query, depth)))
            continue
        wording = query = task.hops[wanted].queries[tries[wanted]]
        if not rounds and style != "queries":
            wording, query = "", task.question
        elif rng.random() < strays:
            wording, query = "", rng.choice([*(one.query for one in rounds), _stray(rng, task)])
        else:
            tries[wanted] += 1
            if style == "thoughts":
                query = rounds[-1].thought
        passages = task.index.search(query, depth)
        found |= {i for i, hop in enumerate(task.hops) if shown(hop, passages)}
        thought = _thought(task, [*(p for one in rounds for p in one.passages), *passages], found, tries)
        rounds.append(Played(query, wanted, wording, passages, thought))
    return rounds


def shown(hop: Hop, passages: Sequence[Passage]) -> bool:
    """Whether passages hold evidence of a hop."""
    ids = {passage.id for passage in passages}
    return any(source in ids for source, _ in hop.evidence)


def stated_alone(title: str, sentence: str) -> str:
    """A sentence as it stands in notes and thoughts."""
    return Tagged("sentence", sentence, subject=title).sentence


def _thought(task: Task, passages: Sequence[Passage], found: set[int], tries: Sequence[int]) -> str:
    """What :meth:`tape.cgdp.prompts.compact.CompactSearchFormat.read_think` makes of the expert's thought."""
    parts = []
    if found:
        titles = {passage.id: passage.title for passage in passages}
        source, sentence = min(pair for pair in task.hops[max(found)].evidence if pair[0] in titles)
        text = stated_alone(titles[source], sentence)
        parts.append(text if text.endswith((".", "!", "?")) else f"{text}.")
    following = task.next_hop(found)
    if following is not None and tries[following] < len(task.hops[following].queries):
        parts.append(f"Next: {task.hops[following].queries[tries[following]]}.")
    return " ".join(parts)


def _stray(rng: random.Random, task: Task) -> str:
    passage = rng.choice(task.index.passages)
    return " ".join(rng.choice(sentences(passage.text) or (passage.title,)).split()[:6])
