"""The study of readers: its cases, how answers are judged, and what it keeps."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from envs.musique.wordings import RELATIONS
from experiments.studies.tools import reader
from experiments.studies.tools.reader import Case, chat_request, keep, made_up_cases, outcomes, summary, tools_request
from tape.errors import ModelError
from tape.lm.base import FREE, Completion, Price, Request, Usage
from tape.lm.registry import open_model


class Says:
    """A chat model that gives fixed answers, one a request."""

    name = identity = "says"
    prompt_format = "chat"
    price: Price | None = FREE

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = list(texts)

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        return [Completion((self._texts.pop(0),), ("stop",), (0.0,), Usage(1, 1)) for _ in requests]


def found(case: Case, answer: str) -> str:
    return json.dumps({"quote": "q", "answer": answer, "title": case.passages[0].title})


@pytest.mark.parametrize("paragraphs", [1, 3])
def test_cases_are_the_same_each_time_and_fewer_are_the_first_of_more(paragraphs: int) -> None:
    cases = made_up_cases(paragraphs, 12)
    assert made_up_cases(paragraphs, 5) == cases[:5]
    assert len({case.id for case in cases}) == 12
    for case in cases:
        assert len(case.passages) == paragraphs
        relation = case.query.split(" of ")[0]
        assert relation in RELATIONS
        assert any(case.answers[0] in p.text or case.answers[0] == p.title for p in case.passages)
        assert 0 < case.chance <= 1


def test_what_a_model_says_is_judged_by_exact_match() -> None:
    cases = made_up_cases(1, 12)
    said = [found(case, case.answers[0]) for case in cases]
    said[3], said[4], said[5] = found(cases[3], "Nobody"), found(cases[4], ""), "no JSON"
    rows = asyncio.run(outcomes(Says(said), cases))
    assert [row["right"] for row in rows] == [number not in (3, 4, 5) for number in range(12)]
    assert [row["valid"] for row in rows] == [number != 5 for number in range(12)]
    assert rows[4]["said"] == ""
    told = summary(rows)
    assert (told["n"], told["right"]) == (12, 0.75)
    assert told["ci95"][0] < 0.75 < told["ci95"][1]


def test_a_chat_model_is_shown_question_and_paragraphs() -> None:
    [case] = made_up_cases(3, 1)
    request, read = chat_request(case)
    assert not isinstance(request.prompt, str)
    last = request.prompt[-1].content
    assert case.question in last
    assert all(p.text in last for p in case.passages)
    assert read(found(case, "Abc")) == "Abc"


def test_the_bundled_model_is_asked_by_relation_and_name() -> None:
    [case] = made_up_cases(1, 1)
    request, _ = tools_request(case)
    assert f"<read> {case.query.split(' of ')[0]}" in str(request.prompt)
    with pytest.raises(ModelError, match="unsupported"):
        tools_request(Case("x", "x", "Who?", "", case.passages, ("a",)))


@pytest.mark.slow
def test_a_model_is_asked_and_its_row_replaces_an_earlier_one(tmp_path: Path) -> None:
    out = tmp_path / "reader.json"
    part = "made up, one paragraph"
    for _ in range(2):
        assert reader.main(["--model", "bundled:tools", "--part", part, "-n", "4", "--out", str(out)]) == 0
    [row] = json.loads(out.read_text())["rows"]
    assert (row["part"], row["n"], row["model"]) == (part, 4, "bundled:tools")
    assert row["identity"] == open_model("bundled:tools").identity
    assert len(row["outcomes"]) == 4
    keep(out, {**row, "model": "another"})
    assert [row["model"] for row in json.loads(out.read_text())["rows"]] == ["another", "bundled:tools"]


def test_an_unknown_part_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        reader.main(["--model", "bundled:tools", "--part", "nothing", "--out", str(tmp_path / "x")])
    assert "made up, one paragraph" in capsys.readouterr().err
