"""The shipped corpus and questions."""

from collections import Counter

import pytest

from envs.musique.corpus import PARTS, load_corpus, load_questions
from envs.musique.errors import MusiqueError
from envs.musique.evidence import gold_chain


def test_sizes_and_balance() -> None:
    assert 150 <= len({passage.id for passage in load_corpus()}) == len(load_corpus()) <= 250
    parts, whole = [load_questions(part) for part in PARTS], load_questions()
    assert [len(part) for part in parts] == [40, 80]
    assert {question.id for part in parts for question in part} == {question.id for question in whole}
    assert len({question.id for question in whole}) == 120
    assert Counter(question.operations for question in whole) == {2: 40, 3: 40, 4: 40}
    with pytest.raises(MusiqueError, match="no part 'train'; there is dev and test"):
        load_questions("train")


def test_every_question_is_answered_by_the_passages_alone() -> None:
    for question in load_questions()[::4]:
        chain = gold_chain(question, load_corpus())
        assert question.passages is None
        assert chain is not None
        assert question.operations == len(chain)
        assert chain[-1][1] == question.answer
        assert all(answer in passage.text for _, answer, passage in chain)
