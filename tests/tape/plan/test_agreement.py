"""Programs that come to the same and do the same are one class, what few do is left out, and what was done counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tape.plan.agreement import OPEN, Agreement, computes
from tape.plan.reader import read
from tape.plan.record import CallRecord, Effects, FollowedProgram, MadeCall
from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary

WORDS = Vocabulary.of(
    ToolSignature("get", (Parameter("name", "str"),)),
    ToolSignature("mail", (Parameter("to", "str"), Parameter("text", "str")), changes=True),
    ToolSignature("pay", (Parameter("amount", "int"),), changes=True),
)


def effect(name: str, arguments: Mapping[str, Any]) -> str:
    """Mails are counted, payments are told apart by their amount."""
    return "mail" if name == "mail" else f"{name}({arguments.get('amount')})"


EFFECTS = Effects(effect, lambda name: name == "pay")


def record(*made: MadeCall, since: int = 0, allowed: Mapping[str, int] | None = None) -> CallRecord:
    return CallRecord(WORDS, made, since, EFFECTS, allowed or {})


def runs(*texts: str, made: Sequence[MadeCall] = (), since: int = 0) -> list[FollowedProgram]:
    return [record(*made, since=since).follow(read(text, WORDS)) for text in texts]


def got(name: str, value: Any, *, failure: str = "") -> MadeCall:
    return MadeCall("get", {"name": name}, value, failure)


MAIL = MadeCall("mail", {"to": "ann", "text": "Hi"}, "sent", changes=True)


def test_equal_values_are_one_class_however_they_are_written() -> None:
    agreement = Agreement(runs("answer(0.1 + 0.2)", "x = 3 / 10\nanswer(x)", "answer('0.3')"))
    first, second, third = agreement.classes()
    assert first == second != third
    assert agreement.shares()[first] == 2 / 3


def test_programs_that_do_something_else_for_good_are_other_classes() -> None:
    classes, two, three = Agreement(runs("pay(3)\nanswer(1)", "pay(4)\nanswer(1)", "answer(1)")).classes()
    assert classes != two
    assert three == "", "it calls nothing where others call a tool"


def test_unreadable_samples_count_among_all() -> None:
    agreement = Agreement(runs("answer(get('a'))", "for x in y:\n    pay(1)", "answer(get('a'))"))
    assert [*agreement.shares().values()] == [2 / 3]


def test_a_program_that_only_looks_is_open_until_it_has_looked() -> None:
    [run] = runs("a = get('x')")
    assert Agreement([run]).classes() == [OPEN]
    [run] = runs("a = get('x')", made=[got("x", 1)])
    assert run.ended
    assert Agreement([run]).classes() == [""]


def test_equally_large_classes_are_led_by_the_first_sample() -> None:
    two = runs("answer(get('b'))", "answer(get('a'))", "answer(get('a'))", "answer(get('b'))")
    assert Agreement(two).leader() is two[0]


@pytest.mark.parametrize(
    ("texts", "decided"),
    [
        (["answer(get('a'))"] * 3, True),
        (["answer(get('a'))"] * 3 + ["answer(get('b'))"], True),
        (["answer(get('a'))"] * 2 + ["answer(get('b'))"], False),
        (["answer(get('a'))"] * 2, False),
    ],
)
def test_sampling_ends_when_the_lead_exceeds_what_is_to_come(texts: list[str], decided: bool) -> None:
    assert Agreement(runs(*texts)).decided(5) is decided


@pytest.mark.parametrize(
    ("asks", "others", "supported"), [(1, 2, False), (2, 1, True), (2, 2, True), (2, 3, False), (2, 0, False)]
)
def test_an_effect_needs_half_of_the_readable_and_two_of_three(asks: int, others: int, supported: bool) -> None:
    texts = ["mail('ann', 'Hi')\nanswer(get('a'))"] * asks + ["answer(get('a'))"] * others
    assert Agreement(runs(*texts)).supports("mail", 1) is supported
    assert not Agreement(runs(*texts)).supports("mail", 2)


def test_what_is_not_supported_is_left_out_and_the_rest_goes_on() -> None:
    [run] = runs("a = get('x')\nmail('ann', 'Hi')\nanswer(a)")
    without, dropped = record().left_out(run, lambda name, times: True)
    assert [statement.text for statement in dropped] == ["mail('ann', 'Hi')"]
    assert without.effects == ()
    assert without.unfolded.answer is not None


def test_a_program_ends_before_what_needs_a_result_that_was_left_out() -> None:
    [run] = runs("said = mail('ann', 'Hi')\nanswer(said)")
    without, _ = record().left_out(run, lambda name, times: True)
    assert without.unfolded.answer is None


def test_a_pure_call_is_answered_by_its_record_until_something_changes() -> None:
    text = "a = get('x')\nmail('ann', 'Hi')\nb = get('x')\nanswer([a, b])"
    [run] = runs(text, made=[got("x", 1), MAIL])
    assert [call.name for call in run.unfolded.calls] == ["get"]
    [run] = runs(text, made=[got("x", 1), MAIL, got("x", 2)])
    assert run.unfolded.answer.value == [1, 2]


def test_a_continuation_does_not_trust_what_was_read_before_a_change() -> None:
    [run] = runs("answer(get('x'))", made=[got("x", 1), MAIL], since=2)
    assert [call.name for call in run.unfolded.calls] == ["get"]


def test_a_failed_call_fails_its_request_and_may_be_made_again_by_the_next() -> None:
    failed = got("x", None, failure="no such name")
    [run] = runs("answer(get('x'))", made=[failed])
    assert (run.unfolded.failure.why, run.unfolded.failure.tool) == ("no such name", "get")
    [run] = runs("answer(get('x'))", made=[failed], since=1)
    assert [call.ready for call in run.unfolded.calls] == [True]


def test_an_effect_that_was_done_is_not_done_again() -> None:
    [run] = runs("mail('ann', 'Hello again')\nanswer(1)", made=[MAIL], since=1)
    assert not run.unfolded.calls
    [run] = runs("mail('ann', 'Hello again', again=True)\nanswer(1)", made=[MAIL], since=1)
    assert [call.again for call in run.unfolded.calls] == [True]


def test_a_continuation_makes_as_many_counted_calls_as_the_program_that_it_continues() -> None:
    program = read("mail('bob', 'Hi')\nanswer(1)", WORDS)
    assert not record(MAIL, since=1, allowed={"mail": 1}).follow(program).unfolded.calls
    assert [call.name for call in record(MAIL, since=1, allowed={"mail": 2}).follow(program).unfolded.calls] == ["mail"]


def test_a_program_without_what_was_done_is_not_followed() -> None:
    with_mail, without = runs("mail('ann', 'Hi')\nanswer(get('a'))", "answer(get('a'))", made=[MAIL])
    assert with_mail.compatible
    assert not without.compatible
    assert Agreement([with_mail, without]).classes()[1] == ""


def test_of_a_program_that_was_not_understood_the_pure_beginning_is_left() -> None:
    [run] = runs("a = get('x')\nmail('ann', 'Hi')\nb = get('y')\nwhile a: pass")
    assert [call.name for call in run.unfolded.calls] == ["get"]
    [run] = runs("a = get('x')\nmail('ann', 'Hi')\nwhile a: pass", made=[got("x", 1)])
    assert run.failed


@pytest.mark.parametrize(
    ("line", "computed"), [("a * 2", True), ("sum(a)", True), ("a['k']", False), ("a + 'x'", False)]
)
def test_what_is_computed_is_worth_more_samples(line: str, computed: bool) -> None:
    [run] = runs(f"a = get('x')\nanswer({line})")
    assert computes(run) is computed
