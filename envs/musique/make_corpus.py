"""Makes the shipped corpus and questions: ``python -m envs.musique.make_corpus [FOLDER]``.

One world of invented entities with a passage for each, and 40 questions each of 2, 3 and 4 hops, all from the quarter
of question texts that training never sees (:func:`envs.musique.corpus.is_held_out`). Half of them, the split
``trained``, have only wordings that training text has, in the question and in the sentences that answer it; the other
half, ``heldout``, have at least one in the question that it has not. A third of each is ``dev``, the rest ``test``.
The seeds are fixed, so the files always come out the same.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envs.musique.asking import WorldQuestion, ask, draw_chain, hops_of
from envs.musique.corpus import is_held_out
from envs.musique.words import delexicalise
from envs.musique.world import EntityWorld, describe, make_world
from tape.protocols.search import Passage

SEED = "shipped"
SIZES: Mapping[str, int] = {
    "person": 58,
    "town": 28,
    "country": 8,
    "river": 14,
    "firm": 26,
    "ship": 18,
    "book": 16,
    "school": 14,
    "festival": 10,
}
HELD_OUT_SENTENCES = 0.15
PER_SPLIT = 20
"""Questions of each number of hops in each split."""
DEV = {(2, "trained"): 7, (2, "heldout"): 7, (3, "trained"): 7, (3, "heldout"): 6, (4, "trained"): 6, (4, "heldout"): 7}
"""How many of these are for development."""


def make_passages(world: EntityWorld, seed: int | str) -> tuple[list[Passage], set[tuple[str, str]]]:
    """Write a passage for each entity, in random order.

    Returns:
        The passages, and the facts that they word in a held-out way, by relation and subject.
    """
    rng = random.Random(f"musique:passages:{seed}")
    unseen: set[tuple[str, str]] = set()
    passages = []
    for number, subject in enumerate(rng.sample(list(world.kinds), len(world.kinds)), 1):
        text, relations = describe(rng, world, subject, HELD_OUT_SENTENCES)
        unseen.update((relation, subject) for relation in relations)
        passages.append(Passage(f"p{number:03d}", subject, text))
    return passages, unseen


def _asks(rng: random.Random, world: EntityWorld, hops: int, split: str, unseen: set[tuple[str, str]]) -> WorldQuestion:
    while True:
        chain = draw_chain(rng, world, hops)
        if chain is None:
            continue
        asked = ask(rng, chain, 0.5 if split == "heldout" else 0.0)
        seen_facts = not any((relation, subject) in unseen for relation, subject, _ in chain)
        if asked.held_out == (split == "heldout") and (seen_facts or asked.held_out) and is_held_out(asked.text):
            return asked


def make_questions(world: EntityWorld, unseen: set[tuple[str, str]], seed: int | str) -> list[dict[str, Any]]:
    """Draw the questions: no chain of facts twice, and no text twice even if the names are left out."""
    rng = random.Random(f"musique:questions:{seed}")
    records: list[dict[str, Any]] = []
    chains: set[tuple[tuple[str, str, str], ...]] = set()
    texts: set[tuple[str, ...]] = set()
    for hops in (2, 3, 4):
        for split in ("trained", "heldout"):
            made = 0
            while made < PER_SPLIT:
                asked = _asks(rng, world, hops, split, unseen)
                words = delexicalise([asked.text]).tokens[0]
                if asked.chain in chains or words in texts:
                    continue
                chains.add(asked.chain)
                texts.add(words)
                records.append(
                    {
                        "id": f"q{len(records) + 1:03d}",
                        "text": asked.text,
                        "answer": asked.chain[-1][2],
                        "hops": hops_of(asked.chain),
                        "split": split,
                        "part": "dev" if made < DEV[hops, split] else "test",
                    }
                )
                made += 1
    return records


def make_files() -> dict[str, str]:
    """The text of each file."""
    world = make_world(SEED, SIZES)
    passages, unseen = make_passages(world, SEED)
    corpus = [{"id": passage.id, "title": passage.title, "text": passage.text} for passage in passages]
    questions = make_questions(world, unseen, SEED)
    files: dict[str, list[dict[str, Any]]] = {"corpus.jsonl": corpus, "questions.jsonl": questions}
    return {name: "".join(f"{json.dumps(record)}\n" for record in records) for name, records in files.items()}


def main(arguments: list[str]) -> None:
    """Write the files into the folder given, or the package's own."""
    folder = Path(arguments[0]) if arguments else Path(__file__).parent / "data"
    for name, text in make_files().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(f"{folder / name}: {len(text.splitlines())} records")


if __name__ == "__main__":
    main(sys.argv[1:])
