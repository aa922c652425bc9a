"""Which paragraph a finding rests on."""

from hypothesis import given
from hypothesis import strategies as st

from envs.hotpotqa.evidence import overlap, ranked, reading_order, resolve_title
from envs.hotpotqa.operators import entities, fallback
from envs.hotpotqa.state import HopClaim, QaState, Searched, attributed_title, resolved
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
