"""Two-stage validation, and what it may never certify."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.hotpotqa.actions import Find, Finish, HotpotAnswer, ParagraphSearch, Parsed, write
from envs.hotpotqa.minds.base import HopVerifier
from envs.hotpotqa.minds.scripted import ScriptedVerifier
from envs.hotpotqa.operators import ending, hop_target
from envs.hotpotqa.sdp import HopAdapter
from envs.hotpotqa.state import Certified, QaState, Searched
from envs.hotpotqa.validator import TwoStageValidator
from tape.methods.sdp.operators import How, Outcome, Verdict
from tape.methods.sdp.target import Chain
from tape.protocols import Observation
from tape.protocols.search import Passage
from tests.envs.hotpotqa.helpers import PASSAGES, QUESTION, run, setting


class Judge:
    """Supports what stands in the paragraph, and records its questions."""

    how: How = "lm"
    answers_by: How = "lm"
    label = "judge"

    def __init__(self, consistent: bool = True) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self._consistent = consistent

    async def supports(self, sub_question: str, finding: str, passage: Passage) -> bool:
        self.asked.append((sub_question, finding, passage.title))
        return finding in passage.text and "founded" in passage.text

    async def consistent(self, question: str, findings: tuple[Certified, ...], answer: str) -> bool:
        return self._consistent


def validated(
    action: Parsed, before: QaState, tail: Chain, judge: HopVerifier, strict: bool = False, after: QaState | None = None
) -> Verdict:
    if isinstance(action, Find):
        after = before.with_claim(action.hop, action.finding, action.title, action.bridge)
    if isinstance(action, HotpotAnswer) and after is None:
        after = replace(before, answer=action.text)
    after = after or before
    outcome = Outcome(before, write(action), Observation("", after), after)
    return run(TwoStageValidator(judge, 2, strict).validate(tail, outcome))


START = QaState(QUESTION.text, PASSAGES).with_claim(1, "Belmar Yards", "Aldera", "Belmar Yards")
TAIL = (hop_target(2, "Who founded #1?"), *ending(QUESTION.text))


def test_a_supported_finding_certifies_its_hop_alone() -> None:
    judge = Judge()
    verdict = validated(Find(2, "Ada Quill", "Belmar Yards"), START, TAIL, judge)
    assert (verdict.k, verdict.checks[0].how) == (1, "lm")
    assert judge.asked == [("Who founded Belmar Yards?", "Ada Quill", "Belmar Yards")]


def test_a_wrong_title_is_mended_by_the_paragraph_that_shares_most_words() -> None:
    judge = Judge()
    verdict = validated(Find(2, "Ada Quill", "Elmo Works"), START, TAIL, judge)
    assert verdict.k == 1
    assert "'Belmar Yards' supports 'Ada Quill', where 'Elmo Works' was cited" in verdict.checks[0].evidence
    assert validated(Find(2, "Ada Quill", "Overview"), START, TAIL, judge).k == 1  # no such paragraph
    assert [title for _, _, title in judge.asked] == ["Elmo Works", "Belmar Yards", "Belmar Yards"]


def test_what_no_paragraph_supports_is_rejected_with_the_reason() -> None:
    judge = Judge()
    verdict = validated(Find(2, "Zed Nobody", "Belmar Yards"), START, TAIL, judge)
    assert (verdict.k, verdict.counts) == (0, True)
    assert "'Belmar Yards' does not support it" in verdict.reason
    assert len({title for _, _, title in judge.asked}) == len(judge.asked)  # no paragraph is judged twice


@pytest.mark.parametrize("text", ["not mentioned", "The text does not provide the founder", "unknown", "?"])
def test_negation_and_garbage_are_rejected_without_the_verifier(text: str) -> None:
    judge = Judge()
    verdict = validated(Find(2, text, "Belmar Yards"), START, TAIL, judge)
    assert (verdict.k, verdict.checks[0].how) == (0, "filter")
    assert judge.asked == []


def test_a_search_only_prepares() -> None:
    before = replace(START, given=(), searches=(Searched("x", PASSAGES[:2]),))
    verdict = validated(ParagraphSearch("x"), before, TAIL, Judge())
    assert (verdict.k, verdict.counts) == (0, False)
    assert "2 paragraphs" in verdict.reason


def test_a_finding_for_another_hop_certifies_nothing() -> None:
    judge = Judge()
    assert validated(Find(1, "Ada Quill", "Belmar Yards"), START, TAIL, judge).k == 0
    assert validated(HotpotAnswer("Ada Quill"), START, TAIL, judge).k == 0
    assert judge.asked == []


FOUND = START.with_claim(2, "Ada Quill", "Belmar Yards", "Ada Quill")


def test_an_answer_certifies_the_goal_with_it() -> None:
    verdict = validated(HotpotAnswer("Ada Quill"), FOUND, TAIL[1:], Judge())
    assert [(check.holds, check.how) for check in verdict.checks] == [(True, "filter")] * 2
    assert validated(HotpotAnswer("Ada Quill"), FOUND, TAIL[2:], Judge()).k == 1  # the goal alone, without cascade
    rejected = validated(HotpotAnswer("unknown"), FOUND, TAIL[1:], Judge())
    assert (rejected.k, rejected.checks[0].how) == (0, "filter")


def test_musique_also_asks_whether_the_answer_follows() -> None:
    verdict = validated(HotpotAnswer("Ada Quill"), FOUND, TAIL[1:], ScriptedVerifier(), strict=True)
    assert [check.how for check in verdict.checks] == ["filter"] * 2  # never "deterministic": it is no observation
    assert validated(HotpotAnswer("Ada Quill"), FOUND, TAIL[1:], Judge(), strict=True).k == 2
    refused = validated(HotpotAnswer("Ada Quill"), FOUND, TAIL[1:], Judge(consistent=False), strict=True)
    assert (refused.k, refused.checks[0].how) == (0, "lm")
    assert "does not follow" in refused.reason
    for wrong in ("Belmar Yards", "Aldera", "word " * 20):
        assert validated(HotpotAnswer(wrong), FOUND, TAIL[1:], Judge(), strict=True).k == 0
        assert validated(HotpotAnswer(wrong), FOUND, TAIL[1:], Judge()).k == 2


def test_what_was_refused_or_cannot_be_read_certifies_nothing() -> None:
    noted = replace(FOUND, answer="Ada Quill", note="refused")
    assert validated(HotpotAnswer("Ada Quill"), FOUND, TAIL[1:], Judge(), after=noted).k == 0
    outcome = Outcome(FOUND, "nonsense", Observation("", FOUND), FOUND)
    assert run(TwoStageValidator(Judge(), 2, strict=False).validate(TAIL[1:], outcome)).k == 0


END = replace(FOUND, answer="Fenn Garrow", over=True)
PATH_TAIL = HopAdapter(setting()).along([None] * 2, ["finish"])


@pytest.mark.parametrize(
    ("after", "tail", "hows", "k"),
    [
        (END, PATH_TAIL, ["deterministic", "filter"], 2),  # the end is seen, the goal by the answer that stands
        (END, PATH_TAIL[1:], ["filter"], 1),  # the path's last target is the goal itself
        (replace(END, answer="unknown"), PATH_TAIL, ["deterministic", "filter"], 1),
        (replace(END, answer=""), PATH_TAIL, ["deterministic", "filter"], 1),
        (END, ending(QUESTION.text), ["deterministic"], 0),  # finish gives no answer
    ],
)
def test_only_finish_certifies_the_end_of_a_path(after: QaState, tail: Chain, hows: list[str], k: int) -> None:
    verdict = validated(Finish(), FOUND, tail, Judge(), after=after)
    assert ([check.how for check in verdict.checks], verdict.k) == (hows, k)
    for other in (PATH_TAIL, HopAdapter(setting()).along([None] * 2, ["dance"])):
        assert validated(HotpotAnswer("Ada Quill"), FOUND, other, Judge()).k == 0


def test_a_completed_task_certifies_all_that_is_left_by_its_completion() -> None:
    outcome = Outcome(FOUND, "finish", Observation("", FOUND), FOUND, completed=True)
    verdict = run(TwoStageValidator(Judge(), 2, strict=False).validate(TAIL, outcome))
    assert [check.how for check in verdict.checks] == ["completion"] * 3


@given(st.text(max_size=60), st.sampled_from([p.title for p in PASSAGES] + ["Overview", ""]))
def test_nothing_is_certified_that_the_verifier_does_not_support(finding: str, title: str) -> None:
    verdict = validated(Find(2, finding, title), START, TAIL, Judge())
    supported = any(finding.strip() and finding.strip() in p.text and "founded" in p.text for p in PASSAGES)
    assert verdict.k <= int(supported)
