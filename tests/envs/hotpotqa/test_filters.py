"""The filters that need no model."""

import pytest

from envs.hotpotqa.filters import (
    answer_problem,
    garbage,
    intermediate,
    negation,
    self_referential,
    too_long,
    wrong_type,
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not mentioned",
        "The text does not provide the founder",
        "It isn't specified",
        "The founder is not specified in the paragraph",
        "no information about the founder",
        "cannot be determined",
        "The paragraph doesn't say",
    ],
)
def test_findings_that_say_that_there_is_none_are_rejected(text: str) -> None:
    assert negation(text)


@pytest.mark.parametrize(
    "text", ["Ada Quill", "Not Fade Away", "Knot", "No Doubt", "The Unknown Soldier", "Notting Hill"]
)
def test_names_with_such_words_are_kept(text: str) -> None:
    assert negation(text) is None
    assert garbage(text) is None


@pytest.mark.parametrize("text", ["unknown", "Unknown.", "N/A", "not available", "Cannot determine", "", " ?", "None"])
def test_garbage_is_no_answer(text: str) -> None:
    assert garbage(text)


@pytest.mark.parametrize(
    ("answer", "question", "rejected"),
    [
        ("Aldera", "Who founded the firm that built Aldera?", True),
        ("the Aldera", "Who founded the firm that built Aldera?", True),
        ("Ada Quill", "Who founded the firm that built Aldera?", False),
        ("Alder", "Who founded the firm that built Aldera?", False),  # whole words alone
        ("yes", "Is Aldera older than Belmar, yes?", False),
        ("Aldera", "Which is older, Aldera or Belmar?", False),
    ],
)
def test_entities_of_the_question_are_no_answers(answer: str, question: str, rejected: bool) -> None:
    assert bool(self_referential(answer, question)) is rejected


def test_what_an_earlier_hop_found_is_no_answer() -> None:
    assert intermediate("belmar yards", ["Belmar Yards", "Ada Quill"])
    assert intermediate("Ada Quill", ["Belmar Yards", "Ada Quill"]) is None
    assert intermediate("Ada Quill", ["Ada Quill", "Ada Quill"]) is None
    assert intermediate("anything", []) is None


def test_an_answer_has_at_most_fifteen_words() -> None:
    assert too_long(" ".join(["word"] * 16))
    assert too_long(" ".join(["word"] * 15)) is None


@pytest.mark.parametrize(
    ("answer", "question", "rejected"),
    [
        ("Ada Quill", "When was Aldera built?", True),
        ("1904", "When was Aldera built?", False),
        ("in March", "When was Aldera built?", False),
        ("the nineteenth century", "When was Aldera built?", False),
        ("many", "How many masts has Aldera?", True),
        ("two", "How many masts has Aldera?", False),
        ("2", "How many masts has Aldera?", False),
        ("Ada Quill", "In what year did she die?", True),
        ("Ada Quill", "Who was mayor when he died?", False),  # asks for a person
        ("Ada Quill", "Who founded Aldera?", False),
    ],
)
def test_answers_have_the_type_that_is_asked_for(answer: str, question: str, rejected: bool) -> None:
    assert bool(wrong_type(answer, question)) is rejected


def test_musique_checks_more_than_hotpotqa() -> None:
    question, findings = "Who founded the firm that built Aldera?", ["Belmar Yards", "Ada Quill"]
    assert answer_problem("unknown", question, findings, strict=False)
    for wrong in ("Aldera", "Belmar Yards", "a " * 20 + "name"):
        assert answer_problem(wrong, question, findings, strict=False) is None
        assert answer_problem(wrong, question, findings, strict=True)
    assert answer_problem("Ada Quill", question, findings, strict=True) is None
