"""The filters that need no model."""

from collections.abc import Callable

import pytest

from envs.hotpotqa.filters import answer_problem, garbage, negation, self_referential, wrong_type

NEGATIONS = [
    "not mentioned", "The text does not provide the founder", "It isn't specified",
    "The founder is not specified in the paragraph", "no information about the founder", "cannot be determined",
    "The paragraph doesn't say",
]  # fmt: skip
GARBAGE = ["unknown", "Unknown.", "N/A", "not available", "Cannot determine", " ?", "None"]
NAMES = ["Ada Quill", "Not Fade Away", "Knot", "No Doubt", "The Unknown Soldier", "Notting Hill"]


def test_negations_and_garbage_are_rejected_and_names_with_such_words_are_kept() -> None:
    assert all(map(negation, ["", *NEGATIONS]))
    assert all(map(garbage, ["", *GARBAGE]))
    assert not any(negation(name) or garbage(name) for name in NAMES)


FOUNDER, WHEN = "Who founded the firm that built Aldera?", "When was Aldera built?"


@pytest.mark.parametrize(
    ("check", "answer", "question", "rejected"),
    [
        (self_referential, "Aldera", FOUNDER, True),
        (self_referential, "the Aldera", FOUNDER, True),
        (self_referential, "Ada Quill", FOUNDER, False),
        (self_referential, "Alder", FOUNDER, False),  # whole words alone
        (self_referential, "yes", "Is Aldera older than Belmar, yes?", False),
        (self_referential, "Aldera", "Which is older, Aldera or Belmar?", False),
        (wrong_type, "Ada Quill", WHEN, True),
        (wrong_type, "1904", WHEN, False),
        (wrong_type, "the nineteenth century", WHEN, False),
        (wrong_type, "many", "How many masts has Aldera?", True),
        (wrong_type, "two", "How many masts has Aldera?", False),
        (wrong_type, "Ada Quill", "In what year did she die?", True),
        (wrong_type, "Ada Quill", "Who was mayor when he died?", False),  # asks for a person
        (wrong_type, "Ada Quill", FOUNDER, False),
    ],
)
def test_answers_are_no_entity_of_the_question_and_have_the_type_that_is_asked_for(
    check: Callable[[str, str], str | None], answer: str, question: str, rejected: bool
) -> None:
    assert bool(check(answer, question)) is rejected


def test_musique_checks_more_than_hotpotqa() -> None:
    question, findings = FOUNDER, ["Belmar Yards", "Ada Quill"]
    assert answer_problem("unknown", question, findings, strict=False)
    for wrong in ("Aldera", "belmar yards", "word " * 16):  # of the question, of an earlier hop, too long
        assert answer_problem(wrong, question, findings, strict=False) is None
        assert answer_problem(wrong, question, findings, strict=True)
    for fine, texts in (("Ada Quill", findings), ("Ada Quill", ["Ada Quill"] * 2), ("word " * 15, []), ("any", [])):
        assert answer_problem(fine, question, texts, strict=True) is None
