"""BM25 with title boosting, and the paragraphs that come with a question."""

from envs.hotpotqa.search import GIVEN, TitledCorpus, with_distractors
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.evidence import gold_chain
from envs.musique.scripted_reader import read
from tape.protocols.search import Passage
from tests.envs.hotpotqa.helpers import PASSAGES

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
