"""Multi-hop questions as an environment: searches, findings and an answer that may be revised until the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from envs.hotpotqa.actions import ParagraphSearch, read
from envs.hotpotqa.domain import STEP, QaDomain, lines_of
from envs.hotpotqa.errors import HotpotError
from envs.hotpotqa.prompts import prompt_format
from envs.hotpotqa.prompts.chat import ChatQaFormat
from envs.hotpotqa.sdp import CAPS, HopAdapter
from envs.hotpotqa.search import TitledCorpus
from envs.hotpotqa.setting import BENCHMARKS, Setting, require_reader
from envs.hotpotqa.state import (
    ANSWER,
    FINISHED,
    GOAL,
    HOP,
    SEARCHED,
    QaState,
    Searched,
    as_state,
    bridges_before,
    resolved,
)
from envs.musique.evidence import gold_chain
from envs.musique.question import MusiqueQuestion
from envs.musique.scripted_reader import read as scripted_read
from envs.musique.wordings import parse_query
from envs.search.metrics import exact_match, f1, normalise
from tape.budget import Budget, Resources
from tape.lm.base import Request
from tape.methods.sdp.target import Target
from tape.protocols import Action, AnswersAtLimit, Environment, Observation, State
from tape.protocols.search import Passage


class HotpotEnvironment(Environment, AnswersAtLimit):
    """One question.

    An answer stands until another takes its place; it is judged once, when the agent stops or takes ``finish``. So a
    validator may reject an answer, and the agent never learns whether it was right.

    Args:
        question: The question.
        benchmark: ``hotpotqa`` or ``musique`` (dynamic hop count, stricter answers, escalating search).
        given: The paragraphs that come with the question (distractor mode).
        corpus: What is searched (open mode).
        reader: ``lm``, or ``scripted`` for the scripted reader and verifier, on our own questions.
        errors: How often the scripted reader misreads (simulated errors), in [0, 1).

    Raises:
        HotpotError: The arguments contradict each other.
    """

    domain: QaDomain

    def __init__(
        self,
        question: MusiqueQuestion,
        *,
        benchmark: str = "hotpotqa",
        given: Sequence[Passage] = (),
        corpus: TitledCorpus | None = None,
        reader: str = "lm",
        errors: float = 0.0,
    ) -> None:
        if benchmark not in BENCHMARKS:
            raise HotpotError(f"there is no benchmark {benchmark!r}; there is: {', '.join(BENCHMARKS)}")
        if bool(given) == (corpus is not None):
            raise HotpotError("a question comes with paragraphs or with a corpus to search: give one of the two")
        require_reader(reader, errors, own=question.hops is not None)
        self.question, self._given, self._corpus = question, tuple(given), corpus
        setting = Setting(
            question.text, benchmark, question.operations, corpus is not None, reader == "scripted", errors
        )
        self.domain = QaDomain(setting)
        self.budget = Budget({"steps": CAPS[benchmark].steps})
        self.reset(0)

    def reset(self, seed: int) -> Observation:
        """Start again."""
        del seed
        self._concluded = False
        self.state = QaState(self.question.text, self._given)
        return self._observation()

    def _observation(self) -> Observation:
        shown = self.state.given or (self.state.searches[-1].found if self.state.searches else ())
        text = "\n".join([*lines_of(self.state), *(f"[{passage.title}] {passage.text}" for passage in shown)])
        return Observation(text, self.state)

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Act. What cannot be done is refused, which takes a step and changes nothing else."""
        refused = self.domain.refusal(self.state, action)
        if refused is not None:
            self.state = replace(self.state, note=refused)
            return self._observation(), STEP
        parsed = read(action)
        if isinstance(parsed, ParagraphSearch):
            assert self._corpus is not None, "a search without a corpus is refused"
            match = self._corpus.search(parsed.query)
            searches = (*self.state.searches, Searched(parsed.query, match))
            self.state = replace(self.state, searches=searches, note="")
        else:
            self.state = self.domain.after(self.state, parsed)
        return self._observation(), STEP

    def success(self) -> bool:
        """Whether the answer that stands at the end is an exact match; False before the end."""
        return (self.state.over or self._concluded) and exact_match(self.state.answer, self.question.answers)

    def ended(self) -> bool:
        """Whether the agent has taken ``finish``."""
        return self.state.over

    def conclude(self) -> bool:
        """The agent has stopped: the answer that stands is its answer."""
        self._concluded = True
        return True

    def prompt_format(self, name: str) -> ChatQaFormat:
        """See :meth:`tape.protocols.Environment.prompt_format`."""
        return prompt_format(self.domain.setting, name)

    def sdp(self) -> HopAdapter:
        """Predicate chains for :mod:`tape.methods.sdp`; stateless."""
        return HopAdapter(self.domain.setting)

    def longest_answer_request(self, prompt_format: str) -> Request:
        """As long as a request for a final answer may be."""
        return self.prompt_format(prompt_format).longest_answer_request()

    def answer_request(self, state: State, prompt_format: str) -> Request:
        """Ask for the answer at a limit, whatever stands."""
        return self.prompt_format(prompt_format).answer_request(as_state(state))

    def answer(self, text: str) -> None:
        """Take the final answer."""
        self.state = replace(self.state, answer=self.prompt_format("chat").read_answer(text), over=True)

    def answered_value(self) -> str | None:
        """The answer that stands, if there is one."""
        return self.state.answer or None

    def measures(self) -> Mapping[str, float]:
        """Exact match and F1 of the answer that stands; 0 where none does."""
        given, answers = self.state.answer, self.question.answers
        return {"exact_match": float(bool(given) and exact_match(given, answers)), "f1": f1(given, answers)}

    def truth(self, target: Target) -> bool | None:
        """Whether a predicate is true, hops by the question's own decomposition; None where that is unknown."""
        if target.kind in (ANSWER, GOAL):
            return bool(self.measures()["exact_match"])
        if target.kind == SEARCHED:
            return target.field("query") in self.state.queries
        if target.kind == FINISHED:
            return self.state.over
        return self._hop_truth(int(target.field("hop")), target.field("sub")) if target.kind == HOP else None

    def _hop_truth(self, hop: int, sub: str) -> bool | None:
        """Whether what was found at a hop answers its sub-question.

        A sub-question in the corpus' own terms, a relation of a name, is looked up in all paragraphs. One in other
        words is taken for the decomposition's of the same number, unless what was found is another hop's answer: hops
        may come in another order.
        """
        passages = self._given if self._corpus is None else self._corpus.corpus.passages
        chain = gold_chain(self.question, passages)
        if chain is None:
            return None
        claim = self.state.claim(hop)
        if claim is None:
            return False
        asked = resolved(sub, bridges_before(self.state, hop)).rstrip("?. ")
        answers = [normalise(answer) for _, answer, _ in chain]
        name = normalise(claim.finding)
        parsed = parse_query(asked)
        if parsed is not None and parsed[1].istitle():
            return normalise(scripted_read(asked, passages) or "") == name != ""
        if hop > len(answers) or (name in answers and name != answers[hop - 1]):
            return None
        return name == answers[hop - 1]
