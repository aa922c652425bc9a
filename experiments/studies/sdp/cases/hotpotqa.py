"""Cases for the validator of multi-hop questions, measured by :mod:`experiments.studies.sdp.validators`.

All are made of our own test questions and their paragraphs, with the wording changed where a family asks for it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from envs.hotpotqa.actions import Answer, Find, write
from envs.hotpotqa.minds.scripted import ScriptedVerifier
from envs.hotpotqa.operators import ending, hop_target
from envs.hotpotqa.paragraphs import with_distractors
from envs.hotpotqa.search import TitledCorpus
from envs.hotpotqa.state import QaState
from envs.hotpotqa.validator import TwoStageValidator
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.evidence import gold_chain
from envs.musique.question import Question
from envs.musique.scripted_reader import read
from envs.musique.words import parse_query, query_text
from experiments.studies.sdp.cases.case import Case
from tape.protocols import Observation
from tape.protocols.search import Passage
from tape.sdp.operators import Outcome, Validate

NEGATIONS = (
    "The paragraph does not mention the {relation} of {subject}",
    "The {relation} of {subject} is not specified",
    "It is not stated who or what the {relation} of {subject} is",
    "{finding} is mentioned, but the text does not provide the {relation} of {subject}",
)
DENIALS = (
    "It is not true that {finding} is the {relation} of {subject}.",
    "{subject} has nothing to do with {finding}.",
    "{finding} was never the {relation} of {subject}.",
)
GARBAGE = ("unknown", "Not available.", "cannot determine", "N/A", "none", "The answer is not mentioned.", "?")


@dataclass(frozen=True)
class Hop:
    """A hop of a question with all that a case is made of.

    Attributes:
        question: The question.
        given: Its ten paragraphs.
        chain: Query, answer and paragraph of every hop.
        number: Which hop, from 1.
    """

    question: Question
    given: tuple[Passage, ...]
    chain: tuple[tuple[str, str, Passage], ...]
    number: int

    @property
    def query(self) -> str:
        """The sub-question."""
        return self.chain[self.number - 1][0]

    @property
    def finding(self) -> str:
        """The right finding."""
        return self.chain[self.number - 1][1]

    @property
    def passage(self) -> Passage:
        """The paragraph that states it."""
        return self.chain[self.number - 1][2]

    @property
    def words(self) -> dict[str, str]:
        """Relation, subject and finding."""
        parsed = parse_query(self.query)
        assert parsed is not None, "our own hops are queries"
        return {"relation": parsed[0].replace("_", " "), "subject": parsed[1], "finding": self.finding}


Make = Callable[[random.Random, Hop], "Case | None"]


@cache
def _passages() -> tuple[Passage, ...]:
    return load_corpus()


def _before(hop: Hop, count: int) -> QaState:
    """The state in which so many hops have been found."""
    state = QaState(hop.question.text, hop.given)
    for number, (_, finding, passage) in enumerate(hop.chain[:count], 1):
        state = state.with_claim(number, finding, passage.title, finding)
    return state


def _finding(family: str, hop: Hop, finding: str, title: str, k: int, given: tuple[Passage, ...] | None = None) -> Case:
    before = replace(_before(hop, hop.number - 1), given=hop.given if given is None else given)
    after = before.with_claim(hop.number, finding, title, finding)
    tail = (hop_target(hop.number, hop.query), *ending(hop.question.text))
    action = write(Find(hop.number, finding, title, finding))
    return Case(family, tail, Outcome(before, action, Observation("", after), after), k)


def _answer(family: str, hop: Hop, answer: str, k: int) -> Case:
    before = _before(hop, len(hop.chain))
    after = replace(before, answer=answer)
    outcome = Outcome(before, write(Answer(answer)), Observation("", after), after)
    return Case(family, ending(hop.question.text), outcome, k)


def _plain(rng: random.Random, hop: Hop) -> Case:
    if rng.random() < 0.25:
        return _answer("plain", hop, hop.chain[-1][1], 2)
    return _finding("plain", hop, hop.finding, hop.passage.title, 1)


def _wrong_object(rng: random.Random, hop: Hop) -> Case | None:
    """The same relation of another subject, cited with its own paragraph or with the right one."""
    relation = hop.query.split(" of ")[0]
    stated = [(p.title, read(query_text(relation, p.title), [p])) for p in _passages() if p != hop.passage]
    wrong = [(title, found) for title, found in stated if found not in (None, hop.finding)]
    here = [(title, found) for title, found in wrong if any(p.title == title for p in hop.given)]
    if not wrong:
        return None
    title, found = rng.choice(here or wrong)
    other = next(p for p in _passages() if p.title == title)
    given = hop.given if other in hop.given else (*hop.given[:-1], other)
    if hop.passage not in given:
        given = (*given[1:], hop.passage)
    cited = title if rng.random() < 0.5 else hop.passage.title
    return _finding("wrong_object", hop, str(found), cited, 0, given)


def _negation(rng: random.Random, hop: Hop) -> Case:
    """A finding that there is none; or a paragraph that denies what is claimed."""
    if rng.random() < 0.5:
        finding = rng.choice(NEGATIONS).format(**hop.words)
        return _finding("negation", hop, finding, hop.passage.title, 0)
    denied = replace(hop.passage, text=rng.choice(DENIALS).format(**hop.words))
    given = tuple(denied if p == hop.passage else p for p in _only_statement(hop))
    return _finding("negation", hop, hop.finding, hop.passage.title, 0, given)


def _only_statement(hop: Hop) -> list[Passage]:
    """The paragraphs without others that state the same."""
    return [p for p in hop.given if p == hop.passage or read(hop.query, [p]) is None]


def _truncated(rng: random.Random, hop: Hop) -> Case | None:
    """The paragraph breaks off inside the sentence that states the finding, before or after its name."""
    sentences = [f"{part.strip()}." for part in hop.passage.text.split(".") if part.strip()]
    at = next((i for i in range(len(sentences)) if read(hop.query, [_cut(hop.passage, sentences[: i + 1])])), None)
    if at is None:
        return None
    words = sentences[at].rstrip(".").split()
    kept = words[: rng.randint(1, len(words) - 1)]
    cut = _cut(hop.passage, [*sentences[:at], " ".join(kept)])
    given = tuple(cut if p == hop.passage else p for p in _only_statement(hop))
    return _finding("truncated", hop, hop.finding, hop.passage.title, 0, given)


def _cut(passage: Passage, sentences: Sequence[str]) -> Passage:
    return replace(passage, text=" ".join(sentences))


def _wrong_title(rng: random.Random, hop: Hop) -> Case:
    """The right finding under another title: the fallback has to find the paragraph."""
    titles = [p.title for p in hop.given if read(hop.query, [p]) is None]
    return _finding("wrong_title", hop, hop.finding, rng.choice([*titles, "Overview"]), 1)


def _garbage(rng: random.Random, hop: Hop) -> Case:
    text = rng.choice(GARBAGE)
    return _answer("garbage", hop, text, 0) if rng.random() < 0.5 else _finding("garbage", hop, text, "Overview", 0)


def _bridge(rng: random.Random, hop: Hop) -> Case | None:
    """What an earlier hop found, given as the answer."""
    earlier = [finding for _, finding, _ in hop.chain[:-1] if finding != hop.chain[-1][1]]
    return _answer("bridge_as_answer", hop, rng.choice(earlier), 0) if earlier else None


FAMILIES: dict[str, Make] = {
    "plain": _plain,
    "wrong_object": _wrong_object,
    "negation": _negation,
    "truncated": _truncated,
    "wrong_title": _wrong_title,
    "garbage": _garbage,
    "bridge_as_answer": _bridge,
}


def cases(seed: int, n: int) -> list[Case]:
    """Cases of all families in turn.

    Args:
        seed: Names the drawn ones.
        n: How many.
    """
    corpus = TitledCorpus(_passages())
    hops: list[Hop] = []
    for question in load_questions("test"):
        chain = gold_chain(question, corpus.corpus.passages)
        assert chain is not None, "our own questions know their hops"
        given = with_distractors(question, corpus)
        hops += [Hop(question, given, tuple(chain), number) for number in range(1, len(chain) + 1)]
    rng = random.Random(f"sdp-cases:hotpotqa:{seed}")
    made: list[Case] = []
    names = list(FAMILIES)
    while len(made) < n:
        case = FAMILIES[names[len(made) % len(names)]](rng, rng.choice(hops))
        if case is not None:
            made.append(case)
    return made


def validators() -> dict[str, Validate]:
    """The filters with the scripted reader."""
    return {"filters + scripted reader": scripted_validator()}


def scripted_validator() -> TwoStageValidator:
    """Filters and the scripted reader."""
    return TwoStageValidator(ScriptedVerifier(), 4, strict=True)
