"""The filters that need no model."""

import pytest

from envs.hotpotqa.filters import (
    answer_problem,
    garbage,
    negation,
    self_referential,
    wrong_type,
)

NEGATIONS = [
    "not mentioned",
    "The text does not provide the founder",
    "It isn't specified",
    "The founder is not specified in the paragraph",
    "no information about the founder",
    "cannot be determined",
    "The paragraph doesn't say",
]


@pytest.mark.parametrize("text", ["", *NEGATIONS])
def test_findings_without_a_finding_are_rejected(text: str) -> None:
    assert negation(text)


@pytest.mark.parametrize("text", ["unknown", "Unknown.", "N/A", "not available", "Cannot determine", "", " ?", "None"])
def test_garbage_is_no_answer(text: str) -> None:
    assert garbage(text)


@pytest.mark.parametrize(
    "text", ["Ada Quill", "Not Fade Away", "Knot", "No Doubt", "The Unknown Soldier", "Notting Hill"]
)
def test_names_with_such_words_are_kept(text: str) -> None:
    assert negation(text) is None
    assert garbage(text) is None


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


@pytest.mark.parametrize(
    ("answer", "question", "rejected"),
    [
        ("Ada Quill", "When was Aldera built?", True),
        ("1904", "When was Aldera built?", False),
        ("the nineteenth century", "When was Aldera built?", False),
        ("many", "How many masts has Aldera?", True),
        ("two", "How many masts has Aldera?", False),
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
    for wrong in ("Aldera", "belmar yards", "word " * 16):  # of the question, of an earlier hop, too long
        assert answer_problem(wrong, question, findings, strict=False) is None
        assert answer_problem(wrong, question, findings, strict=True)
    for fine, found in (("Ada Quill", findings), ("Ada Quill", ["Ada Quill"] * 2), ("word " * 15, []), ("any", [])):
        assert answer_problem(fine, question, found, strict=True) is None
