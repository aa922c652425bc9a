"""The pages of prompts show what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.studies.roles import pages
from experiments.studies.roles.__main__ import main, probed
from tape.lm.base import Choice, Forced, Regex, Request


@pytest.mark.parametrize("environment", probed())
def test_a_page_is_what_the_prompts_make(environment: str) -> None:
    file = pages.FOLDER / f"{environment}.md"
    assert file.read_text(encoding="utf-8") == pages.page(environment), (
        f"write it again: python -m experiments.studies.roles.pages {environment}"
    )


def test_pages_are_written_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    assert pages.main(["sokoban"]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["sokoban.md"]


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
