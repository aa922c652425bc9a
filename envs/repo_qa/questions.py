"""Questions over a repository with exact gold: chains of facts, asked in words, and ones without an answer.

The same repository, seed and part give the same questions. A question is asked only where every hop has one answer in
the whole repository (:mod:`envs.repo_qa.relations`) and its text gives away neither the answer nor what lies between.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Literal, get_args

from envs.repo_qa.errors import RepoQaError
from envs.repo_qa.index import Repository
from envs.repo_qa.relations import CodeFact, FactEvidence, Facts
from envs.repo_qa.wordings import ARGUMENTS, WORDINGS, Wordings, chosen, wording
from envs.search.metrics import normalise
from tape.protocols.search import UNANSWERABLE
from tape.reading import short
from tape.seeds import derive

Part = Literal["dev", "test"]
PARTS: tuple[Part, ...] = get_args(Part)
PER_KIND = 20
"""Questions of a kind, by default."""
SHARE = 8
"""At most one in so many questions of a kind has the same answer, so that guessing a common one gets nowhere."""

SHAPES: tuple[tuple[str, ...], ...] = (
    ("class_of",),
    ("base",),
    ("module",),
    ("raises",),
    ("calls",),
    ("default",),
    ("returns",),
    ("class_of", "base"),
    ("class_of", "subclass"),
    ("base", "base"),
    ("base", "module"),
    ("base", "raiser"),
    ("raises", "base"),
    ("raises", "module"),
    ("calls", "default"),
    ("calls", "raises"),
    ("calls", "module"),
    ("calls", "returns"),
    ("class_of", "base", "base"),
    ("class_of", "base", "module"),
    ("base", "base", "module"),
    ("raises", "base", "module"),
    ("raises", "base", "base"),
    ("calls", "raises", "base"),
    ("calls", "raises", "module"),
    ("calls", "calls", "default"),
)
"""The relations of a question, from what it names to its answer. ``module`` after ``class_of`` or ``subclass`` would be
no second hop: the passage that states the class states its module."""


@dataclass(frozen=True)
class RepoHop:
    """One step of a question.

    Attributes:
        relation: What is asked for.
        subject: Of what, by its name.
        question: The step as a question of its own, with what the steps before led to filled in.
        answer: What it leads to; ``UNANSWERABLE`` where nothing is there.
        evidence: Where the answer is stated, or where it would be.
    """

    relation: str
    subject: str
    question: str
    answer: str
    evidence: FactEvidence


@dataclass(frozen=True)
class RepoQuestion:
    """A question with its gold.

    Attributes:
        id: Unique within a repository and part.
        text: As asked.
        answers: The spellings that count; none where there is no answer.
        kind: Its relations, joined by ``-``; of questions without an answer also what was swapped.
        hops: Its steps, in order.
        part: ``dev`` or ``test``.
        heldout: Whether one of its wordings is held out from training.
        answerable: False where it has no answer.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    kind: str
    hops: tuple[RepoHop, ...]
    part: Part
    heldout: bool
    answerable: bool = True

    @property
    def sub_questions(self) -> tuple[str, ...]:
        """Gold sub-questions, in order."""
        return tuple(hop.question for hop in self.hops)

    @property
    def evidence(self) -> tuple[str, ...]:
        """Ids of the passages that hold the answer, in order, each once."""
        return tuple(dict.fromkeys(hop.evidence.passage for hop in self.hops))


@dataclass(frozen=True)
class _Candidate:
    """A question before it is worded.

    Attributes:
        kind: Of the question.
        facts: Its hops.
        argument: In the place of the argument of the fact at ``swapped``.
        swapped: Position of the fact that has no answer; -1 where all have.
        name: In the place of the name of the first subject; empty where it is its own.
        evidence: In the place of that of the fact that has no answer; None where it is its own.
    """

    kind: str
    facts: tuple[CodeFact, ...]
    argument: str = ""
    swapped: int = -1
    name: str = ""
    evidence: FactEvidence | None = None

    @property
    def answer(self) -> str:
        """What counts as the same answer."""
        return UNANSWERABLE if self.swapped >= 0 else normalise(self.facts[-1].answers[0])


@lru_cache(maxsize=8)
def facts_of(repository: Repository) -> Facts:
    """The facts of a repository, read once."""
    return Facts(repository)


def questions(
    repository: Repository,
    seed: int = 0,
    part: Part = "dev",
    *,
    per_kind: int = PER_KIND,
    wordings: Wordings | None = None,
) -> list[RepoQuestion]:
    """Make the questions of a part; kinds take turns, so that the first ones are of all kinds.

    Args:
        repository: Of which :func:`envs.repo_qa.read_package` or ``read_repo`` made.
        seed: Which questions are drawn, and how they are worded.
        part: ``dev`` or ``test``. What a question begins with decides: no definition begins questions of both.
        per_kind: At most so many of a kind; fewer where there are fewer, or where too many would have one answer.
        wordings: ``trained``, ``heldout`` or ``all`` wordings; by default ``trained`` for ``dev``, ``all`` for
            ``test``.

    Raises:
        RepoQaError: There is no such part or choice of wordings, or per_kind is below 1.
    """
    if part not in PARTS:
        raise RepoQaError(f"there is no part {short(part)}; there is: {', '.join(PARTS)}")
    if wordings is not None and wordings not in WORDINGS:
        raise RepoQaError(f"there are no wordings {short(wordings)}; there is: {', '.join(WORDINGS)}")
    if isinstance(per_kind, bool) or not isinstance(per_kind, int) or per_kind < 1:
        raise RepoQaError(f"per_kind is a number of questions from 1, got {short(per_kind)}")
    maker = _Maker(repository, seed, part, wordings or ("trained" if part == "dev" else "all"))
    kinds = [maker.some(candidates, per_kind) for candidates in (*maker.answerable(), *maker.unanswerable())]
    return [question for turn in zip_longest(*kinds) for question in turn if question is not None]


class _Maker:
    def __init__(self, repository: Repository, seed: int, part: Part, wordings: Wordings) -> None:
        self._repository, self._seed, self._part, self._wordings = repository, seed, part, wordings
        self._facts = facts_of(repository)
        self._texts: set[str] = set()

    def some(self, candidates: Sequence[_Candidate], most: int) -> list[RepoQuestion]:
        """So many questions of one kind, drawn; of each beginning once before any comes twice."""
        if not candidates:
            return []
        kind = candidates[0].kind
        drawn = sorted(candidates, key=lambda item: derive(self._seed, "repo_qa", kind, *_key(item)))
        begun: Counter[str] = Counter()
        turns = []
        for candidate in drawn:
            begun[candidate.facts[0].subject.id] += 1
            turns.append((begun[candidate.facts[0].subject.id], candidate))
        repo_questions: list[RepoQuestion] = []
        answers: Counter[str] = Counter()
        for _, candidate in sorted(turns, key=lambda pair: pair[0]):
            if len(repo_questions) == most:
                break
            if candidate.swapped < 0 and answers[candidate.answer] >= max(1, most // SHARE):
                continue
            question = self._worded(candidate)
            if question is not None and question.text not in self._texts:
                self._texts.add(question.text)
                answers[candidate.answer] += 1
                repo_questions.append(question)
        return repo_questions

    # --- candidates

    def answerable(self) -> Iterator[list[_Candidate]]:
        """The candidates of every shape."""
        for shape in SHAPES:
            yield [_Candidate("-".join(shape), chain) for chain in self._chains(shape)]

    def _chains(self, shape: Sequence[str]) -> Iterator[tuple[CodeFact, ...]]:
        for fact in self._facts.all:
            if fact.relation == shape[0] and self._mine(fact):
                yield from self._longer((fact,), shape[1:])

    def _longer(self, chain: tuple[CodeFact, ...], rest: Sequence[str]) -> Iterator[tuple[CodeFact, ...]]:
        if not rest:
            yield chain
            return
        target = chain[-1].target
        if target is None or target.id in {fact.subject.id for fact in chain}:
            return
        for fact in self._facts.about(target):
            if fact.relation == rest[0]:
                yield from self._longer((*chain, fact), rest[1:])

    def _mine(self, fact: CodeFact) -> bool:
        """Whether questions that begin with a definition belong to the part."""
        number = hashlib.sha256(fact.subject.title.encode()).digest()[0]
        return PARTS[number % len(PARTS)] == self._part

    def unanswerable(self) -> Iterator[list[_Candidate]]:
        """Candidates of questions with one thing exchanged, such that nothing answers them."""
        words = [fact.argument for fact in self._facts.all if fact.relation == "default"]
        yield list(self._other_parameter(("default",), words))
        yield list(self._other_parameter(("calls", "default"), words))
        yield list(self._other_keyword())
        yield list(self._other_class())

    def _rng(self, kind: str, chain: Sequence[CodeFact]) -> random.Random:
        return random.Random(derive(self._seed, "repo_qa", "swap", kind, *_titles(chain)))

    def _other_parameter(self, shape: tuple[str, ...], words: Sequence[str]) -> Iterator[_Candidate]:
        kind = f"{'-'.join(shape)}-swapped_parameter"
        for chain in self._chains(shape):
            asked = chain[-1].subject
            if not self._facts.lacks_all_but_its_parameters(asked):
                continue
            own = {parameter.name for parameter in self._facts.parameters[asked.id]}
            word = self._rng(kind, chain).choice(words)
            if word not in own:
                yield _Candidate(kind, chain, word, len(chain) - 1)

    def _other_keyword(self) -> Iterator[_Candidate]:
        kind = "calls-default-swapped_keyword"
        words = [fact.argument for fact in self._facts.all if fact.relation == "calls"]
        for chain in self._chains(("calls", "default")):
            caller = chain[0].subject
            if self._repository.shown(caller).whole:
                word = self._rng(kind, chain).choice(words)
                if word not in self._facts.keywords(caller):
                    yield _Candidate(kind, chain, word, 0)

    def _other_class(self) -> Iterator[_Candidate]:
        kind = "default-swapped_class"
        classes = [definition for definition in self._repository.definitions if self._facts.is_closed(definition)]
        for chain in self._chains(("default",)) if classes else ():
            method = chain[0].subject
            other = self._rng(kind, chain).choice(classes)
            if method.kind == "method" and method.name not in self._facts.members(other):
                evidence = FactEvidence(other.id, other.path, other.line, self._repository.shown(other).header.strip())
                yield _Candidate(kind, chain, "", 0, f"{other.name}.{method.name}", evidence)

    # --- words

    def _worded(self, candidate: _Candidate) -> RepoQuestion | None:
        """The question in words; None where its text gives something away."""
        words, rng = wording(), random.Random(derive(self._seed, "repo_qa", "words", candidate.kind, *_key(candidate)))
        heldout = False
        hops: list[RepoHop] = []
        text = ""
        for position, fact in enumerate(candidate.facts):
            worded, last = words.relations[fact.relation], position == len(candidate.facts) - 1
            swapped = position == candidate.swapped
            name = self._facts.name(fact.subject) or ""
            if position == 0:
                name = candidate.name or name
                text = words.names[fact.subject.kind].format(name=name)
            gaps = _gaps(fact, candidate.argument if swapped else "")
            text, drawn_last = self._further(rng, text, fact, gaps, last)
            heldout = heldout or drawn_last
            own = rng.choice(chosen(worded.questions, self._wordings))
            question = own.format(x=words.names[fact.subject.kind].format(name=name), **gaps)
            answer = UNANSWERABLE if swapped else fact.answers[0]
            evidence = candidate.evidence or fact.evidence if swapped else fact.evidence
            hops.append(RepoHop(fact.relation, name, question, answer, evidence))
            if swapped:
                hidden = [other.answers[0] for other in candidate.facts[:-1] if candidate.swapped != 0]
                rest = candidate.facts[position + 1 :]
                for number, other in enumerate(rest, 1):  # the text goes on, though nothing can be found there
                    text, drawn_last = self._further(rng, text, other, _gaps(other), number == len(rest))
                    heldout = heldout or drawn_last
                break
        else:
            hidden = [spelling for fact in candidate.facts for spelling in fact.answers]
        if any(_holds(text, part) for part in hidden):
            return None
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        answerable = candidate.swapped < 0
        answers = candidate.facts[-1].answers if answerable else ()
        return RepoQuestion(
            f"{candidate.kind}-{digest}", text, answers, candidate.kind, tuple(hops), self._part, heldout, answerable
        )

    def _further(
        self, rng: random.Random, text: str, fact: CodeFact, gaps: Mapping[str, str], last: bool
    ) -> tuple[str, bool]:
        """A text with one more step around it, and whether its wording is held out."""
        worded = wording().relations[fact.relation]
        group = worded.questions if last else worded.phrases
        form = rng.choice(chosen(group, self._wordings))
        return form.format(x=text, **gaps), form == group[-1]


def _gaps(fact: CodeFact, argument: str = "") -> dict[str, str]:
    """What fills a wording beside the subject: the fact's argument, or another one."""
    return {gap: argument or fact.argument for gap in [ARGUMENTS.get(fact.relation)] if gap}


def _titles(chain: Sequence[CodeFact]) -> list[str]:
    return [part for fact in chain for part in (fact.relation, fact.subject.title, fact.argument)]


def _key(candidate: _Candidate) -> list[str]:
    return [*_titles(candidate.facts), candidate.argument, candidate.name]


def _holds(text: str, part: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None
