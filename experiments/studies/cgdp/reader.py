"""Scripted readers, which are no model's results: one that knows the gold evidence, and one that knows nothing.

The first is an upper bound.

It searches for the sub-question that it is told to find out, word for word; of what comes back it quotes gold evidence
and nothing else; and it answers rightly where all of it was found, else not at all. It reads the ``chat`` prompts. Its
tokens are the words of the task that it is shown (question, belief, passages) and of what it writes; the rules of the
roles, which a bundled model does without, are not counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tape.cgdp.belief import MOST_WORDS
from tape.cgdp.entailment import VERDICTS, content
from tape.errors import ModelError
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols.search import UNANSWERABLE

NAME = "scripted:gold-evidence-reader"
"""In the place of a model's name."""

QUERY, QUOTE, FINDINGS = 120, 12, 4
"""Most characters of a query, most words of a quote, and most quotes at once."""
MOST_WRITTEN = {"query": 30, "extract": FINDINGS * (QUOTE + 4) + 8, "answer": 30}
"""The most words that it writes, by role; the worst case of a call is made of it."""

_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_TARGET = re.compile(r"^Find out: (.*)$", re.MULTILINE)
_OPEN = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_PASSAGE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_FACT = re.compile(r'"source": ("(?:[^"\\]|\\.)*")')
_TEXT = re.compile(r'"fact": ("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class GoldQuestion:
    """What the reader knows of a question.

    Attributes:
        text: As asked.
        evidence: Sub-questions, each with the id and the text of the passage that answers it.
        answer: The answer.
    """

    text: str
    evidence: tuple[tuple[str, str, str], ...]
    answer: str


class GoldReader:
    """Answers chat requests of the roles that ``cgdp`` with a structured belief has.

    Args:
        questions: All that it may be asked. Two of one text are told apart by what was retrieved.
    """

    def __init__(self, questions: Iterable[GoldQuestion]) -> None:
        self._known: dict[str, list[GoldQuestion]] = {}
        for question in questions:
            self._known.setdefault(_plain(question.text), []).append(question)

    def __call__(self, request: Request, sample: int) -> str:
        """The answer to a request.

        Raises:
            ModelError: It is of a role or a question that the reader does not know.
        """
        del sample
        assert not isinstance(request.prompt, str)
        asked = request.prompt[-1].content
        found = _QUESTION.search(asked)
        known = self._known.get(_plain(found[1])) if found else None
        if known is None:
            raise ModelError(f"{NAME} was made without gold evidence for {asked[:80]!r}; it can read nothing else")
        roles = {"query": self._query, "extract": self._extract, "answer": self._answer}
        if request.role not in roles:
            raise ModelError(f"{NAME} plays cgdp with a structured belief alone, and was asked to {request.role}")
        return json.dumps(roles[request.role](asked, known), ensure_ascii=False)

    @staticmethod
    def _query(asked: str, known: list[GoldQuestion]) -> dict[str, object]:
        target = _TARGET.search(asked)
        text = target[1] if target else known[0].text
        short = text if len(text) <= QUERY else text[:QUERY].rsplit(" ", 1)[0]
        return {"thought": "", "move": "search", "text": short}

    @staticmethod
    def _extract(asked: str, known: list[GoldQuestion]) -> dict[str, object]:
        head, _, shown = asked.rpartition("<found>")
        numbers = {_plain(one[2]): int(one[1]) for one in _OPEN.finditer(head.rpartition("Open questions:")[2])}
        passages = {int(one[1]): one[2] for one in _PASSAGE.finditer(shown)}
        findings: dict[int, str] = {}
        answered: list[int] = []
        for question in known:
            for sub_question, _, text in question.evidence:
                # A passage stands there in one line behind its title, and its marks are changed.
                plain = re.sub(r"<(/?found>)", r"< \1", _plain(text), flags=re.IGNORECASE)
                source = next((number for number, line in passages.items() if line.endswith(f": {plain}")), None)
                if source is not None and _plain(sub_question) in numbers:
                    findings[source] = " ".join(_plain(text).split()[:QUOTE])
                    answered.append(numbers[_plain(sub_question)])
        return {
            "findings": [{"source": source, "quote": quote} for source, quote in [*findings.items()][:FINDINGS]],
            "answered": sorted(set(answered)),
            "ask_next": [],
        }

    @staticmethod
    def _answer(asked: str, known: list[GoldQuestion]) -> dict[str, object]:
        held = {json.loads(one[1]) for one in _FACT.finditer(asked)}
        right = [one.answer for one in known if held and held >= {source for _, source, _ in one.evidence}]
        return {"evidence": "", "answer": right[0] if right else UNANSWERABLE}


def _plain(text: str) -> str:
    return " ".join(text.split())


class GoldReaderLM(ScriptedLM):
    """The reader as a model.

    Args:
        questions: All that it may be asked.
    """

    def __init__(self, questions: Iterable[GoldQuestion]) -> None:
        super().__init__(GoldReader(questions), identity=NAME)

    def prompt_tokens(self, request: Request) -> int:
        """Words of the task, without the rules of the role."""
        assert not isinstance(request.prompt, str)
        return len(request.prompt[-1].content.split())

    def most_completion_tokens(self, request: Request) -> int:
        """The most words that it writes in a role."""
        return request.n * MOST_WRITTEN[request.role]


KEYWORDS = "scripted:keyword-reader"
MOST_KEYWORDS = 4


def keyword_reader(request: Request, sample: int) -> str:
    """A reader of public texts without gold, as careless as small models were seen to be.

    Its query is the first words of the predicate that say something, each time the same, since a belief shows none that
    was tried. It quotes the two sentences with the most words of the predicate, and takes any quote for an answer.
    """
    del sample
    assert not isinstance(request.prompt, str)
    asked = request.prompt[-1].content
    target = _TARGET.search(asked) or _QUESTION.search(asked)
    words = content(target[1]) if target else []
    found: dict[str, object] | str
    if request.role == "query":
        found = {"thought": "", "move": "search", "text": " ".join(words[:MOST_KEYWORDS]) or asked[:QUERY]}
    elif request.role == "extract":
        head, _, shown = asked.rpartition("<found>")
        quotes = [
            (sum(word in sentence.lower() for word in words), -int(one[1]), sentence)
            for one in _PASSAGE.finditer(shown)
            for sentence in re.split(r"(?<=[.!?])\s+", one[2].partition(": ")[2])
            if 0 < len(sentence.split()) <= MOST_WORDS
        ]
        best = [(-number, text) for count, number, text in sorted(quotes, reverse=True)[:2] if count]
        opened = [int(one[1]) for one in _OPEN.finditer(head.rpartition("Open questions:")[2])]
        findings = [{"source": number, "quote": text} for number, text in best]
        found = {"findings": findings, "answered": opened if best else [], "ask_next": []}
    elif request.role == "curate":
        found = {"items": []}
    elif request.role == "answer":
        held = [str(json.loads(one[1])) for one in _TEXT.finditer(asked)]
        found = {"evidence": "", "answer": held[-1][:QUERY] if held else UNANSWERABLE}
    else:
        return VERDICTS[0]
    return json.dumps(found, ensure_ascii=False)
