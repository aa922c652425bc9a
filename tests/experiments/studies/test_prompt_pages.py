"""The pages of prompts show what is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envs.sokoban.role_cases import role_cases
from experiments.studies.roles import pages
from experiments.studies.roles.__main__ import cut, main, probed
from experiments.studies.roles.search_page import asked
from tape.lm.base import Choice, Forced, JsonSchema, Regex, Request


@pytest.mark.parametrize("environment", [*probed(), pages.SEARCH])
def test_a_page_is_what_the_prompts_make(environment: str) -> None:
    file = pages.FOLDER / f"{environment}.md"
    assert file.read_text(encoding="utf-8") == pages.page(environment), (
        f"write it again: python -m experiments.studies.roles.pages {environment}"
    )


def test_what_is_right_on_the_page_of_searches_is_admitted() -> None:
    for name, _, request, ideal in asked():
        match request.constraint:
            case Choice(options):
                assert ideal in options
            case JsonSchema(model):
                model.model_validate_json(ideal)
            case other:
                pytest.fail(f"{name}: {other}")
        assert not isinstance(request.prompt, str)
        assert len(request.prompt[-1].content) < 1000


def test_pages_are_written_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path / "prompts")
    assert pages.main(["sokoban"]) == 0
    written = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.md")}
    assert written == {"prompts/sokoban.md", "roles.md"}


def test_the_page_of_results_is_what_the_figures_make() -> None:
    file = pages.FOLDER.parent / "roles.md"
    assert file.read_text(encoding="utf-8") == pages.results(), (
        "write it again: python -m experiments.studies.roles.pages"
    )


@pytest.mark.parametrize(
    ("constraint", "told"),
    [(None, "anything."), (Choice(("a", "b")), "one of `a`, `b`."), (Regex("a+"), "a+"), (Forced("x"), "`Forced`.")],
)
def test_what_is_admitted_is_told(constraint: Choice | Regex | Forced | None, told: str) -> None:
    assert told in pages.admitted(Request("x", 1, constraint=constraint))


def test_the_harness_prints_a_row_a_role(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers, script = tmp_path / "answers.jsonl", tmp_path / "script.json"
    script.write_text('["no JSON"]')
    arguments = ["--model", f"scripted:{script}", "--environment", "sokoban", "--role", "act", "-n", "2"]
    assert main([*arguments, "--answers", str(answers)]) == 0
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row[:5] == ["sokoban", "act", "2", "0", "0"]
    assert len(answers.read_text().splitlines()) == 2


def test_measured_roles_are_kept_and_not_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, script = tmp_path / "roles.json", tmp_path / "script.json"
    script.write_text('["no JSON"]')
    common = ["--model", f"scripted:{script}", "--environment", "sokoban", "--out", str(out), "--answer-tokens", "9"]
    assert main([*common, "--role", "act", "-n", "2"]) == 0
    first = json.loads(out.read_text())
    capsys.readouterr()
    assert main([*common, "--role", "act", "-n", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[2:] == ["is", "in", str(out)]
    assert json.loads(out.read_text()) == first
    assert main([*common, "--role", "act", "-n", "3"]) == 0
    assert main([*common, "--role", "plan", "-n", "2"]) == 0
    [rows] = json.loads(out.read_text()).values()
    assert [(row["role"], row["n"], row["answer_tokens_at_most"]) for row in rows] == [("act", 3, 9), ("plan", 2, 9)]


def test_an_answer_is_cut_where_that_is_asked_for() -> None:
    [case] = role_cases("chat", "plan", 1, 0)
    assert cut(case, 5).request.max_tokens == 5
    assert cut(case, 10**6).request.max_tokens == case.request.max_tokens
