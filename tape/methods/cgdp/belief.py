"""The belief state: the update by an observation (CGDP section 5.1).

A quote has to stand in its source word for word, whatever the width of its spaces; otherwise it is refused. So the
trace proves every fact. No model is called here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tape.methods.cgdp.prompts import Extracted, Finding
from tape.methods.cgdp.view import Belief, Fact
from tape.protocols.search import Passage

MOST_WORDS = 60
"""Most words of a quote, a finding or a sub-question."""


@dataclass(frozen=True)
class RefusedClaim:
    """A finding that did not become a fact, and the reason."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Update:
    """A belief after an observation."""

    belief: Belief
    added: tuple[Fact, ...] = ()
    refused: tuple[RefusedClaim, ...] = ()
    resolved: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def updated(belief: Belief, passages: Sequence[Passage], extracted: Extracted) -> Update:
    """Add what was extracted from an observation.

    New sub-questions come before the open ones, because they have to be answered first. A question is resolved only if
    the belief holds a fact by then.
    """
    sources = {passage.id: passage for passage in passages}
    added: list[Fact] = []
    refused: list[RefusedClaim] = []
    known = {(fact.subject, _plain(fact.quote)) for fact in belief.facts}
    for finding in extracted.findings:
        fact = _fact(finding, sources)
        if isinstance(fact, str):
            refused.append(RefusedClaim(finding, fact))
        elif (fact.subject, _plain(fact.quote)) in known:
            refused.append(RefusedClaim(finding, "known already"))
        else:
            known.add((fact.subject, _plain(fact.quote)))
            added.append(fact)
    facts = (*belief.facts, *added)
    resolved = tuple(belief.questions[i] for i in extracted.resolved if 0 <= i < len(belief.questions)) if facts else ()
    still_open = tuple(question for question in belief.questions if question not in resolved)
    asked = {_plain(question) for question in (*belief.questions, *belief.resolved)}
    questions = tuple(_new(extracted.questions, asked))
    after = replace(
        belief,
        facts=facts,
        questions=(*questions, *still_open),
        resolved=tuple(dict.fromkeys((*belief.resolved, *resolved))),
    )
    return Update(after, tuple(added), tuple(refused), resolved, questions)


def verified(fact: Fact, passages: Mapping[str, Passage]) -> bool:
    """Whether a fact's quote is in its source, and its subject the source's title."""
    passage = passages.get(fact.source)
    return passage is not None and fact.subject == passage.title and _holds(passage, fact.quote)


def _fact(finding: Finding, sources: Mapping[str, Passage]) -> Fact | str:
    """The fact, or why the finding is refused."""
    passage = sources.get(finding.source)
    if passage is None:
        return f"there is no source {finding.source!r} in this observation"
    quote = finding.quote.strip()
    if not quote:
        return "it quotes nothing"
    if len(quote.split()) > MOST_WORDS or len(finding.text.split()) > MOST_WORDS:
        return f"it is longer than {MOST_WORDS} words"
    if not _holds(passage, quote):
        return f"the quote is not in {finding.source!r}"
    text = finding.text.strip()
    own = bool(text) and _plain(text) != _plain(quote)
    return Fact(text if own else quote, passage.id, passage.title, quote, "llm" if own else "deterministic")


def _holds(passage: Passage, quote: str) -> bool:
    """Whether a quote stands in a passage, as whole words."""
    text, plain = _plain(passage.text), _plain(quote)
    before = r"(?<!\w)" if plain[:1].isalnum() else ""
    after = r"(?!\w)" if plain[-1:].isalnum() else ""
    return bool(plain) and re.search(before + re.escape(plain) + after, text) is not None


def _plain(text: str) -> str:
    return " ".join(text.split())


def _new(questions: Iterable[str], asked: set[str]) -> Iterable[str]:
    for question in questions:
        plain = _plain(question)
        if plain and plain not in asked and len(plain.split()) <= MOST_WORDS:
            asked.add(plain)
            yield plain
