"""What is searched and read, and what of that is no answer."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.hotpotqa.evidence import overlap, ranked, reading_order, resolve_title
from envs.hotpotqa.filters import answer_problem, garbage, negation, self_referential, wrong_type
from envs.hotpotqa.operators import entities, fallback
from envs.hotpotqa.search import GIVEN, TitledCorpus, with_distractors
from envs.hotpotqa.state import HopClaim, QaState, Searched, attributed_title, resolved
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.evidence import gold_chain
from envs.musique.scripted_reader import read
from tape.protocols.search import Passage
from tests.envs.hotpotqa.helpers import PASSAGES


def test_a_title_is_resolved_exactly_then_by_containment_then_in_the_cache() -> None:
    shown, cached = PASSAGES[:2], PASSAGES
    assert resolve_title("aldera", shown, cached) == PASSAGES[0]
    assert resolve_title("Belmar", shown, cached) == PASSAGES[1]
    assert resolve_title("The Belmar Yards company", shown, cached) == PASSAGES[1]
    assert resolve_title("Elmo Works", shown, cached) == PASSAGES[3]
    assert resolve_title("Corvo", shown, cached) == PASSAGES[2]
    assert resolve_title("Nowhere", shown, cached) is None
    assert resolve_title(" ", shown, cached) is None
    assert resolve_title("Alder", shown, cached) is None  # whole words alone
    both = [Passage("1", "Quill (film)", "x"), Passage("2", "Quill", "y")]
    assert resolve_title("Quill", both, ()) == both[1]  # an exact title goes before a longer one


@given(st.text(max_size=30), st.permutations(list(PASSAGES)))
def test_ranking_loses_nothing_and_keeps_ties_in_order(text: str, passages: list[Passage]) -> None:
    order = ranked(text, passages)
    assert sorted(order, key=passages.index) == passages
    scores = [overlap(text, passage) for passage in order]
    assert scores == sorted(scores, reverse=True)
    for score in set(scores):
        tied = [passages.index(passage) for passage in order if overlap(text, passage) == score]
        assert tied == sorted(tied)


def test_the_paragraph_that_a_sub_question_names_is_read_first() -> None:
    assert reading_order("founder of Fenn Garrow", PASSAGES)[0].title == "Fenn Garrow"


def test_a_wrong_title_is_corrected_in_what_later_hops_see() -> None:
    assert attributed_title(HopClaim(1, "Ada Quill", "Elmo Works", "", 0), PASSAGES[:4]) == "Belmar Yards"
    assert attributed_title(HopClaim(1, "Ada Quill", "belmar", "", 0), PASSAGES) == "Belmar Yards"
    assert attributed_title(HopClaim(1, "Zzz", "Elmo Works", "", 0), PASSAGES) == "Elmo Works"


def test_references_are_replaced_by_bridges() -> None:
    assert resolved("Who founded #1 in #2?", ["Belmar Yards"]) == "Who founded Belmar Yards in #2?"


def test_entities_are_names_without_question_words() -> None:
    assert entities("Who founded Belmar Yards of Corvo in 1904?") == ("Belmar Yards of Corvo", "1904")
    assert entities('Which town is in "the long song"?') == ("the long song",)
    assert entities("mayor of Faladaros") == ("Faladaros",)
    assert entities("what is it?") == ()


def test_without_a_model_names_are_tried_before_the_question() -> None:
    asked, question = "founder of Belmar Yards", "Who founded the firm that built Aldera?"
    tried: tuple[str, ...] = ()
    while (query := fallback(asked, question, tried)) is not None:
        tried = (*tried, query)
    assert tried == ("Belmar Yards", asked, question, "Aldera")


def test_the_latest_search_comes_first_among_the_paragraphs() -> None:
    state = QaState("q", (), (Searched("a", PASSAGES[:2]), Searched("b", PASSAGES[1:3])))
    assert [p.id for p in state.paragraphs] == ["2", "3", "1"]
    assert state.queries == ("a", "b")


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


CORPUS = TitledCorpus(PASSAGES)


def test_titles_in_the_query_go_before_its_words() -> None:
    # "founded" is in two other paragraphs; the title alone names this one.
    assert CORPUS.search("who founded Fenn Garrow")[0].title == "Fenn Garrow"
    assert CORPUS.search("a letter")[0].title == "Fenn Garrow"  # without a title the words decide
    assert CORPUS.search("zzz") == ()


def test_titles_are_found_without_their_disambiguation_the_longest_first() -> None:
    for text in ("the film Corvo", "corvo film"):
        assert [p.title for p in CORPUS.by_title(text)] == ["Corvo (film)"]
    corpus = TitledCorpus([Passage("1", "Quill", "a"), Passage("2", "Ada Quill", "b"), Passage("3", "The Who", "c")])
    assert [p.title for p in corpus.by_title("who is Ada Quill the who")] == ["Ada Quill", "Quill"]


def test_all_our_questions_come_with_their_paragraphs_and_hard_others() -> None:
    corpus = TitledCorpus(load_corpus())
    confusing = 0
    questions = load_questions("dev")[::4]
    for question in questions:
        chain = gold_chain(question, load_corpus())
        assert chain[-1][1] == question.answer
        given = with_distractors(question, corpus)
        assert len(set(given)) == GIVEN
        assert {passage for _, _, passage in chain} <= set(given)
        assert given == with_distractors(question, corpus)
        for query, _, passage in chain:
            relation = query.split(" of ")[0]
            confusing += any(read(f"{relation} of {p.title}", [p]) for p in given if p != passage)
    hops = sum(question.operations for question in questions)
    assert confusing > hops / 2  # most relations are also stated of another entity
