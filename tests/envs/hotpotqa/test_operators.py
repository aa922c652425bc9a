"""PROPOSE, REALIZE and REPLAN: functions of the typed state alone."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.hotpotqa.actions import Find, HotpotAnswer, ParagraphSearch, read, write
from envs.hotpotqa.minds.base import NOT_FOUND, HopTask
from envs.hotpotqa.minds.scripted import ScriptedReader, ScriptedVerifier
from envs.hotpotqa.operators import DecompositionChain, HopRealize, ending, hop_target
from envs.hotpotqa.search import TitledCorpus, with_distractors
from envs.hotpotqa.state import Certified, QaState, Searched, fields_of
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.evidence import gold_chain
from tape.methods.sdp.operators import Realized
from tape.methods.sdp.state import Attempt, CertifiedState, MarkovState
from tape.methods.sdp.target import Chain
from tests.envs.hotpotqa.helpers import PASSAGES, QUESTION, SUBS, environment, knowing, run, sub_questions, tools_for

ENV = environment()
ROLES = tools_for(knowing(), ENV).roles
TAIL = (hop_target(2, "Who founded #1?"), *ending(QUESTION.text))
HOP1 = hop_target(1, SUBS[0])


class Parrot:
    """Writes numbered queries, or none, and always finds the same."""

    def __init__(self, guess: str | None = "Ada", repeats: bool = False) -> None:
        self.guessed, self._repeats, self.tasks = guess, repeats, list[HopTask]()

    async def query(self, task: HopTask) -> str | None:
        self.tasks.append(task)
        return None if self._repeats else f"query {len(task.queries)}"

    async def guess(self, task: HopTask) -> str | None:
        return self.guessed

    async def find(self, task: HopTask) -> Find:
        self.tasks.append(task)
        return Find(task.hop, "Ada Quill", "Belmar Yards", "Ada Quill")

    async def answer(self, question: str, findings: tuple[Certified, ...], rejected: tuple[str, ...]) -> str | None:
        return None if findings[-1].finding in rejected else findings[-1].finding


def at(state: QaState, tail: Chain, certified: Chain = (HOP1,), attempts: tuple[Attempt, ...] = ()) -> MarkovState:
    return MarkovState(CertifiedState(certified, fields_of(state), state), tail, attempts)


def realized(reader: Parrot, here: MarkovState, searches: bool = True, escalates: bool = False) -> Realized:
    return run(HopRealize(reader, ROLES, searches, escalates).realize(here))  # type: ignore[arg-type]


START = QaState(QUESTION.text).with_claim(1, "Belmar Yards", "Aldera", "Belmar Yards")


def searched(state: QaState, count: int) -> QaState:
    made = tuple(Searched(f"query {k}", PASSAGES[:2]) for k in range(count))
    return replace(state, searches=(*state.searches, *made))


def test_a_hop_is_searched_then_found_then_searched_again() -> None:
    reader = Parrot()
    assert realized(reader, at(START, TAIL)).action == "search: query 0"
    state = searched(START, 1)
    action = realized(reader, at(state, TAIL)).action
    assert action == write(Find(2, "Ada Quill", "Belmar Yards", "Ada Quill", "Who founded Belmar Yards?"))
    rejected = state.with_claim(2, "Fenn", "Elmo Works", "Fenn")
    assert realized(reader, at(rejected, TAIL)).action == "search: query 1"
    given_ = replace(START, given=PASSAGES)  # what came with the question is read at once
    assert isinstance(read(realized(reader, at(given_, TAIL), searches=False).action or ""), Find)


def test_searches_of_the_hop_before_are_no_tries_at_this_one_and_are_not_repeated() -> None:
    for earlier, query in (("Aldera", "query 0"), ("query 0", "Belmar Yards")):
        reader, made = Parrot(), (Searched(earlier, PASSAGES[:2]),)
        state = QaState(QUESTION.text, searches=made).with_claim(1, "Belmar Yards", "Aldera", "Belmar Yards")
        assert realized(reader, at(state, TAIL)).action == f"search: {query}"
        assert reader.tasks[0].queries == ()
        assert set(reader.tasks[0].paragraphs) == set(PASSAGES[:2])  # but what they brought is at hand


def test_the_reader_sees_certified_findings_alone_and_references_replaced() -> None:
    reader = Parrot()
    claimed = searched(START, 1).with_claim(2, "Fenn", "Elmo Works", "Fenn")
    realized(reader, at(searched(claimed, 1), TAIL))
    [task] = reader.tasks
    assert task.sub_question == "Who founded Belmar Yards?"
    assert [hop.finding for hop in task.findings] == ["Belmar Yards"]


@pytest.mark.parametrize(
    ("tries", "guess", "escalates", "query"),
    [
        (3, "Ada", True, "query 3"), (4, "Ada", True, "Belmar Yards"), (5, "Ada", True, "Belmar Yards"),
        (6, "Ada", True, "Ada"), (6, None, True, "Belmar Yards"), (7, "Ada", False, "query 7"),
    ],
)  # fmt: skip
def test_search_escalates_on_musique(tries: int, guess: str | None, escalates: bool, query: str) -> None:
    state = searched(START, tries).with_claim(2, "x", "y", "z")
    assert realized(Parrot(guess), at(state, TAIL), escalates=escalates).action == f"search: {query}"


def test_a_model_that_repeats_its_queries_is_helped_until_nothing_is_left() -> None:
    reader, state = Parrot(repeats=True), START
    queries = []
    for _ in range(9):
        if (text := realized(reader, at(state, TAIL)).action) is None:
            break
        action = read(text)
        assert isinstance(action, ParagraphSearch)
        queries.append(action.query)
        state = replace(state, searches=(*state.searches, Searched(action.query, ()))).with_claim(2, "x", "y", "z")
    assert queries[:2] == ["Belmar Yards", "Who founded Belmar Yards?"]
    assert len(queries) == len(set(queries)) < 9


def test_the_answer_is_written_once_and_a_rejected_one_not_again() -> None:
    state = START.with_claim(2, "Ada Quill", "Belmar Yards", "Ada Quill")
    certified = (HOP1, TAIL[0])
    assert realized(Parrot(), at(state, TAIL[1:], certified)).action == write(HotpotAnswer("Ada Quill"))
    rejected = replace(state, answer="Ada Quill")
    assert realized(Parrot(), at(rejected, TAIL[1:], certified)) == Realized(None, "there is no other answer")
    # Without cascade the goal is looked at on its own: the certified answer is given again.
    assert realized(Parrot(), at(rejected, TAIL[2:], (*certified, TAIL[1]))).action == write(HotpotAnswer("Ada Quill"))


@given(st.integers(0, 5), st.integers(0, 2))
def test_equal_typed_inputs_give_equal_outputs_whatever_came_before(tries: int, failed: int) -> None:
    state = searched(START, tries)
    attempts = tuple(Attempt(TAIL[0], f"find: {k}", "no") for k in range(failed))
    fresh, used = Parrot(), Parrot()
    for prefix in range(3):  # another episode's calls before
        realized(used, at(searched(QaState("other"), prefix), (HOP1, *ending("other")), ()))
    assert realized(fresh, at(state, TAIL, attempts=attempts)) == realized(used, at(state, TAIL, attempts=attempts))


class Counting:
    """Numbers its sub-questions."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int, tuple[tuple[str, str], ...]]] = []

    async def decompose(
        self, question: str, certified: tuple[Certified, ...], count: int, failures: list[tuple[str, str]]
    ) -> tuple[str, ...]:
        self.calls.append((len(certified), count, tuple(failures)))
        return tuple(f"sub {len(self.calls)}.{k}" for k in range(count))


def test_replanning_keeps_certified_hops_and_knows_what_failed_at_this_one() -> None:
    counting = Counting()
    chain = DecompositionChain(counting, 2, ROLES)  # type: ignore[arg-type]
    history = [Attempt(HOP1, None, "old news"), Attempt(TAIL[0], "find: x", "not supported")]
    tail = run(chain.replan(at(START, TAIL), history))
    assert counting.calls == [(1, 1, (("Who founded #1?", "not supported"),))]
    assert [target.kind for target in tail] == ["hop", "answer", "goal"]
    assert (tail[0].field("hop"), tail[0].field("sub")) == ("2", "sub 1.0")
    claim = START.with_claim(2, "Ada Quill", "Belmar Yards", "Ada Quill")
    assert run(chain.replan(at(claim, TAIL[1:], (HOP1, TAIL[0])), history)) == ending(QUESTION.text)
    assert len(counting.calls) == 1  # nothing was left to ask


def test_the_chain_is_hops_answer_and_goal_and_one_of_another_length_is_refused() -> None:
    before = CertifiedState((), fields_of(QaState(QUESTION.text)), QaState(QUESTION.text))
    made = run(DecompositionChain(Counting(), 3, ROLES).propose(before))  # type: ignore[arg-type]
    assert [(target.kind, target.goal) for target in made] == [("hop", False)] * 3 + [("answer", False), ("goal", True)]
    assert [target.field("hop") for target in made[:3]] == ["1", "2", "3"]

    def short(request: object, text: str) -> str | None:
        return sub_questions("only one") if "Split the question" in text else None

    tools = tools_for(knowing(short, obey=False), ENV)
    assert run(ENV.sdp().operators(tools).propose.propose(before)) == ()
    assert tools.roles.malformed >= 1


@cache
def tasks() -> list[tuple[HopTask, str]]:
    corpus = TitledCorpus(load_corpus())
    pairs = []
    for question in load_questions("dev"):
        given_ = with_distractors(question, corpus)
        for number, (query, answer, _) in enumerate(gold_chain(question, given_) or [], 1):
            pairs.append((HopTask(question.text, number, query, (), given_, (), ()), answer))
    return pairs


def test_without_errors_the_scripted_reader_reads_what_is_stated() -> None:
    reader, verifier = ScriptedReader(), ScriptedVerifier()
    for task, answer in tasks():
        match = run(reader.find(task))
        assert match.finding == answer
        passage = next(p for p in task.paragraphs if p.title == match.title)
        assert run(verifier.supports(task.sub_question, match.finding, passage))
    nothing = replace(task, sub_question="mayor of Nowhere")
    assert run(reader.find(nothing)).finding == NOT_FOUND


def test_simulated_errors_are_as_frequent_as_asked_for_seeded_and_caught() -> None:
    verifier = ScriptedVerifier()
    outcomes = []
    for seed in range(2):
        reader = ScriptedReader(0.5, seed)
        for task, answer in tasks():
            match = run(reader.find(task))
            assert match == run(ScriptedReader(0.5, seed).find(task))
            passage = next((p for p in task.paragraphs if p.title == match.title), None)
            supported = passage is not None and run(verifier.supports(task.sub_question, match.finding, passage))
            outcomes.append(supported)
            if supported:
                assert match.finding == answer
    wrong = outcomes.count(False) / len(outcomes)
    assert 0.35 < wrong < 0.55  # a few have nothing to be confused with
    retries = {run(reader.find(replace(task, failures=("no",) * k))).finding for k in range(12)}
    assert answer in retries  # another attempt may read rightly
    assert len(retries) > 1
