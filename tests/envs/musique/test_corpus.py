"""The shipped corpus and questions."""

from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from envs.musique.corpus import PARTS, SPLITS, is_held_out, load_corpus, load_questions
from envs.musique.errors import MusiqueError
from envs.musique.make_corpus import SEED, SIZES, main
from envs.musique.words import delexicalise
from envs.musique.world import make_world


def test_the_script_makes_the_shipped_files_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path)])
    assert "120 records" in capsys.readouterr().out
    shipped = resources.files("envs.musique") / "data"
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.jsonl", "questions.jsonl"}
    for path in tmp_path.iterdir():
        assert (shipped / path.name).read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_sizes_and_balance() -> None:
    assert 150 <= len({passage.id for passage in load_corpus()}) == len(load_corpus()) <= 250
    parts, whole = [load_questions(part) for part in ("dev", "test")], load_questions()
    assert [len(part) for part in parts] == [40, 80]
    assert {question.id for part in parts for question in part} == {question.id for question in whole}
    assert len({question.id for question in whole}) == 120
    for split in SPLITS:
        assert Counter(q.operations for q in load_questions(split=split)) == {2: 20, 3: 20, 4: 20}
        for part in PARTS:
            counts = Counter(q.operations for q in load_questions(part, split))
            assert max(counts.values()) - min(counts[hops] for hops in (2, 3, 4)) <= 1
    with pytest.raises(MusiqueError, match="no part 'train'; there is dev and test"):
        load_questions("train")
    with pytest.raises(MusiqueError, match="no split 'seen'"):
        load_questions(split="seen")


def test_every_question_is_held_out_and_answered_by_the_passages_alone() -> None:
    world = make_world(SEED, SIZES)
    texts = {passage.title: passage.text for passage in load_corpus()}
    assert set(texts) == set(world.kinds)
    for question in load_questions():
        assert is_held_out(question.text)
        assert question.passages is None
        assert question.hops is not None
        assert question.operations == len(question.hops)
        found: list[str] = []
        for relation, reference in question.hops:
            subject = found[int(reference[1:]) - 1] if reference.startswith("#") else reference
            answer = world.answer(relation, subject)
            assert answer is not None
            assert answer in texts[subject]
            found.append(answer)
        assert found[-1] == question.answer
        assert delexicalise([question.text]).entities == (question.hops[0][1],)


def test_one_question_text_in_four_is_held_out_whatever_the_names() -> None:
    assert is_held_out("Who founded Aldera?") == is_held_out("Who founded Belmar Yards?")
    texts = [f"Who {a}ed the {b} of Aldera?" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmnopqrst"]
    assert 0.18 < sum(map(is_held_out, texts)) / len(texts) < 0.32
