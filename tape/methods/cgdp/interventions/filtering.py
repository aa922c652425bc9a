"""Observation filtering (CGDP appendix B): what is clearly irrelevant is cut before the belief is updated.

Which text that is, is ours: of passages whose title shares no word with the question, the open predicates, the query
and what is known, the sentences and lines that share none either, unless the one before does. Words count by their
first letters, and short ones do not count. What is left stands verbatim; a quote across a cut is in no source, and is
refused as ever.
"""

from __future__ import annotations

from dataclasses import replace

from tape.methods.cgdp.gates import words
from tape.methods.cgdp.prompts.lexicon import sentences
from tape.methods.cgdp.remembered import Remembered
from tape.protocols.search import Passage

LEAST, STEM = 4, 5
"""Letters of a word that counts, and those by which words are compared."""


def filtered(search: Remembered, passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
    """What is to be read of an observation; what was cut is recorded.

    Args:
        search: The memory of the search.
        passages: The newest observation.
    """
    belief = search.belief
    assert belief is not None
    known = [f"{fact.subject} {fact.quote}" for fact in belief.facts]
    asked = _stems(" ".join([search.domain.question, *belief.questions, *known, search.rounds[-1].query]))
    kept: list[Passage] = []
    cut: list[str] = []
    for passage in passages:
        parts = sentences(passage.text)
        near = [bool(_stems(part) & asked) for part in parts]
        whole = bool(_stems(passage.title) & asked)
        left = [part for i, part in enumerate(parts) if whole or near[i] or (i and near[i - 1])]
        if left:
            kept.append(passage if len(left) == len(parts) else replace(passage, text="\n".join(left)))
        if len(left) < len(parts):
            cut.append(f"{passage.id}: {len(left)} of {len(parts)} sentences are left")
    if cut:
        search.log_intervention("filter", "sentences share no word with what is asked", cut)
    return tuple(kept)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in words(text) if len(word) >= LEAST)
