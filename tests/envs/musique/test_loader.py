"""Questions in the public format."""

import json
from pathlib import Path
from typing import Any

import pytest

from envs.data_files import DataFileError
from envs.musique.loader import UnanswerableWarning, load
from envs.musique.question import MusiqueQuestion
from tape.protocols.search import Passage


def record(**changes: Any) -> dict[str, Any]:
    """A question of a public file with fields changed; ``...`` takes a field out."""
    texts = {"Tarn": "The mayor of Tarn is Otto Lind.", "Holm": "Holm lies by the sea.", "Ada": "Ada was born in Tarn."}
    steps = [("Ada >> place of birth", "Tarn", 2), ("mayor of #1", "Otto Lind", 0)]
    whole = {
        "id": "2hop__1_2", "question": "Who is the mayor of the town where Ada was born?", "answer": "Otto Lind",
        "answer_aliases": ["Lind"], "answerable": True,
        "paragraphs": [{"idx": i, "title": t, "paragraph_text": texts[t]} for i, t in enumerate(texts)],
        "question_decomposition": [{"question": q, "answer": a, "paragraph_support_idx": i} for q, a, i in steps],
    }  # fmt: skip
    return {name: value for name, value in (whole | changes).items() if value is not ...}


def write(path: Path, *records: Any) -> Path:
    file = path / "questions.jsonl"
    file.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records), encoding="utf-8")
    return file


def test_a_question_brings_its_own_passages(tmp_path: Path) -> None:
    paragraphs = [PARAGRAPH, {"idx": 1, "title": "Belmar", "paragraph_text": "More."}]
    longer = record(paragraphs=paragraphs, question_decomposition=[{}, {}, {}])
    [question] = load(write(tmp_path, longer, ""))
    assert question == MusiqueQuestion(
        id="2hop__1_2", text="Who is the mayor of the town where Ada was born?", answer="Otto Lind", aliases=("Lind",),
        passages=(Passage("0", "Aldera", "Text."), Passage("1", "Belmar", "More.")), operations=3,
    )  # fmt: skip
    assert question.answers == ("Otto Lind", "Lind")
    [shorter] = load(write(tmp_path, record(question_decomposition=..., answer_aliases=..., answerable=...)))
    assert (shorter.operations, shorter.hops) == (2, None)
    assert shorter.digest != question.digest == load(write(tmp_path, longer))[0].digest


def test_unanswerable_questions_are_left_out_and_counted(tmp_path: Path) -> None:
    records = [record(id=str(i), answerable=i % 3 == 0) for i in range(6)]
    with pytest.warns(UnanswerableWarning, match="4 of 6 questions are unanswerable"):
        assert [q.id for q in load(write(tmp_path, *records))] == ["0", "3"]
    with pytest.raises(DataFileError, match=r"no answerable question \(1 unanswerable\)"):
        load(write(tmp_path, record(answerable=False)))


PARAGRAPH = {"idx": 0, "title": "Aldera", "paragraph_text": "Text."}


@pytest.mark.parametrize(
    ("bad", "field", "problem"),
    [
        (record(id=...), "id", "is missing"),
        (record(id="first"), "id", "came before"),
        (record(question=""), "question", "not empty"),
        (record(answer=7), "answer", "is 7"),
        (record(answerable="yes"), "answerable", "true or false"),
        (record(answer_aliases="Oris"), "answer_aliases", "give a list"),
        (record(answer_aliases=["Oris", " "]), "answer_aliases", "not empty"),
        (record(question="why " * 600), "question", "at most 2000"),
        (record(paragraphs=[PARAGRAPH | {"idx": ""}]), "paragraphs[0].idx", "give a number"),
        (record(paragraphs=[PARAGRAPH | {"title": "-", "paragraph_text": "..."}]), "paragraphs", "no word"),
        (record(paragraphs=[]), "paragraphs", "missing or empty"),
        (record(paragraphs=["Text."]), "paragraphs[0]", "give idx, title and paragraph_text"),
        (record(paragraphs=[PARAGRAPH, PARAGRAPH]), "paragraphs", "idx twice"),
        (record(paragraphs=[PARAGRAPH, {"title": "T"}]), "paragraphs[1].paragraph_text", "is missing"),
        (record(question_decomposition=3), "question_decomposition", "give a list"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, bad: Any, field: str, problem: str) -> None:
    file = write(tmp_path, record(id="first"), bad)
    with pytest.raises(DataFileError) as caught:
        load(file)
    assert (caught.value.file, caught.value.place, caught.value.field) == (str(file), 2, field)
    assert problem in str(caught.value)
