"""A question over a corpus as an environment: searches, and one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from envs.search.domain import LONGEST, STEP, PassageSearchDomain, SearchAnswer, SearchObservation, SearchState
from envs.search.errors import SearchError
from envs.search.index import Index
from envs.search.metrics import exact_match, f1, meteor_exact_stem, rouge1
from tape.budget import Budget, Resources
from tape.protocols import Action, Environment
from tape.protocols.search import UNANSWERABLE, Passage, SearchOption, is_abstention
from tape.reading import short

DEPTHS = (5, 3, 10)
"""How many passages a search brings; the first is the default (CGDP appendix H.3 has the same three)."""

SUCCESS = 0.5
"""The assumed share of searches that find what is asked for, where it was not measured."""


class SearchEnvironment(Environment):
    """One question. Queries may be repeated; the answer ends the episode.

    Args:
        question: The question.
        index: What is searched; of several the first is the default. They hold the same passages.
        answers: The answers that count; empty where there is none.
        evidence: Ids of the passages that hold the answer; for measures, never shown to an agent.
        answerable: False where the corpus holds no answer and ``UNANSWERABLE`` is right.
        depths: How many passages a search brings; the first is the default.
        calibration: How often each option finds what is asked for, by its name (``bm25-5``), in [0, 1];
            :data:`SUCCESS` where it is missing.
        noun: What the corpus is made of, for prompts.
        sub_questions: Gold sub-questions, where the task gives them away.
        hops: How many facts such a question usually takes, from 1: the searches that a plan has to allow for.
        budget: Hard caps.

    Raises:
        SearchError: The arguments are malformed or contradict each other.
    """

    domain: PassageSearchDomain

    def __init__(
        self,
        question: str,
        index: Index | Sequence[Index],
        *,
        answers: Sequence[str],
        evidence: Sequence[str] = (),
        answerable: bool = True,
        depths: Sequence[int] = DEPTHS,
        calibration: Mapping[str, float] | None = None,
        noun: str = "passage",
        sub_questions: Sequence[str] = (),
        hops: int = 1,
        budget: Budget | None = None,
    ) -> None:
        if not isinstance(index, Index | Sequence):
            raise SearchError(f"index takes what bm25(), dense() or hybrid() made, one or several; got {short(index)}")
        indexes = (index,) if isinstance(index, Index) else tuple(index)
        _check_question(question, noun, sub_questions, hops)
        _check_corpus(indexes, answers, evidence, answerable)
        _check_depths(depths)
        self.budget = budget or Budget()
        self._indexes = {each.name: each for each in indexes}
        if not isinstance(calibration, Mapping | None):
            raise SearchError(f"calibration has the share that each option finds, by name; got {short(calibration)}")
        options = _options(indexes, depths, dict(calibration or {}))
        self.domain = PassageSearchDomain(question, noun, sub_questions, hops, self._indexes, options)
        self.answerable, self.answers = answerable, tuple(answers) if answerable else (UNANSWERABLE,)
        self.evidence = tuple(dict.fromkeys(evidence))
        self._state = SearchState()

    def prompt_format(self, name: str) -> Any:
        """The prompts of a search agent in a prompt format, a :class:`tape.methods.cgdp.prompts.SearchFormat`."""
        from envs.search.prompts import search_format  # a search by hand does without

        return search_format(name, self.domain.noun)

    def reset(self, seed: int) -> SearchObservation:
        """Start again; a search is the same whatever the seed."""
        del seed
        self._state = SearchState()
        return SearchObservation(self.domain.question, (), self._state)

    def step(self, action: Action) -> tuple[SearchObservation, Resources]:
        """Search or answer.

        Raises:
            SearchError: The action is none, or the answer has been given.
        """
        parsed = self.domain.parse(action)
        if self._state.answer is not None:
            raise SearchError("the answer has been given, which ends the episode; reset the environment")
        if isinstance(parsed, SearchAnswer):
            self._state = SearchState(self._state.found, parsed.text)
            return SearchObservation(f"answered: {parsed.text}", (), self._state), STEP
        option = self.domain.option(parsed.option)
        passages = self._indexes[option.retriever].search(parsed.query, option.depth)
        self._state = SearchState(self._state.found | {passage.id for passage in passages})
        return SearchObservation(shown(passages), passages, self._state), option.cost

    def success(self) -> bool:
        """Whether the answer is an exact match; ``UNANSWERABLE`` where there is none."""
        return self._state.answer is not None and exact_match(self._state.answer, self.answers)

    def ended(self) -> bool:
        """Whether the answer has been given."""
        return self._state.answer is not None

    def answered_value(self) -> str | None:
        """The answer; None before."""
        return self._state.answer

    def gold(self) -> tuple[Sequence[str], Sequence[str]]:
        """The answers that count, and the evidence."""
        return self.answers, self.evidence

    def measures(self) -> Mapping[str, float]:
        """Exact match, F1, ROUGE-1 and METEOR of the answer, evidence recall, and whether it was abstained.

        ``UNANSWERABLE`` counts as the answer of a question that has none. Evidence recall is the share of the gold
        passages that any search brought; it is left out where none are known.
        """
        given, answers, gold = self._state.answer or "", self.answers, self.evidence
        recall = {"evidence_recall": sum(name in self._state.found for name in gold) / len(gold)} if gold else {}
        return {
            "exact_match": float(self.success()),
            "f1": f1(given, answers),
            "rouge1": rouge1(given, answers),
            "meteor_exact_stem": meteor_exact_stem(given, answers),
            **recall,
            "abstained": float(is_abstention(given)),
        }


def shown(passages: Sequence[Passage]) -> str:
    """Passages as they are shown, one a line."""
    lines = [f"[{passage.id}] {passage.title}: {' '.join(passage.text.split())}" for passage in passages]
    return "\n".join(lines) or "nothing was found"


def _options(
    indexes: Sequence[Index], depths: Sequence[int], calibration: Mapping[str, float]
) -> tuple[SearchOption, ...]:
    made = [SearchOption(index.name, depth, SUCCESS) for index in indexes for depth in depths]
    names = [option.name for option in made]
    for name, success in calibration.items():
        if name not in names:
            raise SearchError(f"calibration: there is no option {short(name)}; there is: {', '.join(names)}")
        if isinstance(success, bool) or not isinstance(success, int | float) or not 0 <= success <= 1:
            raise SearchError(f"calibration of {name}: {short(success)} is no share; give a number from 0 to 1")
    return tuple(
        SearchOption(option.retriever, option.depth, float(calibration.get(option.name, SUCCESS))) for option in made
    )


def _check_question(question: str, noun: str, sub_questions: Sequence[str], hops: int) -> None:
    for what, texts in (("question", [question]), ("noun", [noun]), ("sub_questions", sub_questions)):
        _check_texts(what, texts)
    if len(question) > LONGEST:
        raise SearchError(f"the question has {len(question)} characters; give at most {LONGEST}")
    if isinstance(hops, bool) or not isinstance(hops, int) or hops < 1:
        raise SearchError(f"hops is a number of facts from 1, got {short(hops)}")


def _check_corpus(indexes: Sequence[Index], answers: Sequence[str], evidence: Sequence[str], answerable: bool) -> None:
    _check_texts("answers", answers)
    _check_texts("evidence", evidence)
    if not indexes or not all(isinstance(index, Index) for index in indexes):
        raise SearchError("index takes what bm25(), dense() or hybrid() made, one or several")
    if len({index.name for index in indexes}) < len(indexes):
        raise SearchError(f"two indexes have one name: {', '.join(index.name for index in indexes)}")
    corpus = indexes[0].passages
    if any(index.passages is not corpus and index.passages != corpus for index in indexes):
        raise SearchError("the indexes hold different passages; make them from the same")
    if answerable != bool(answers):
        raise SearchError("give the answers of a question that has some, and answerable=False with none of one without")
    ids = {passage.id for passage in corpus}
    if unknown := [gold for gold in evidence if gold not in ids]:
        raise SearchError(f"evidence {short(unknown[0])} is the id of no passage of the corpus")


def _check_depths(depths: Sequence[int]) -> None:
    if not isinstance(depths, Sequence):
        raise SearchError(f"depths is a list of numbers of passages, got {short(depths)}")
    for depth in depths:
        if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
            raise SearchError(f"a depth is a number of passages from 1, got {short(depth)}")
    if not depths or len(set(depths)) < len(depths):
        raise SearchError(f"depths are numbers of passages, each once, got {short(list(depths))}")


def _check_texts(what: str, texts: Sequence[str]) -> None:
    if not isinstance(texts, Sequence):
        raise SearchError(f"{what}: give a list of texts, got {short(texts)}")
    if isinstance(texts, str):
        raise SearchError(f"{what}: give a list of texts, got one text {short(texts)}")
    if wrong := [text for text in texts if not isinstance(text, str) or not text.strip()]:
        raise SearchError(f"{what}: {short(wrong[0])} is no text; give one that is not empty")
