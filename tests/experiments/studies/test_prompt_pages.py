"""The pages of prompts show what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.studies.roles import pages
from experiments.studies.roles.search_page import asked
from tape.lm.base import Choice, Forced, JsonSchema, Regex, Request


@pytest.mark.parametrize("environment", [*pages.probed(), pages.SEARCH])
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
    assert written == {"prompts/sokoban.md"}


@pytest.mark.parametrize(
    ("constraint", "told"),
    [(None, "anything."), (Choice(("a", "b")), "one of `a`, `b`."), (Regex("a+"), "a+"), (Forced("x"), "`Forced`.")],
)
def test_what_is_admitted_is_told(constraint: Choice | Regex | Forced | None, told: str) -> None:
    assert told in pages.admitted(Request("x", 1, constraint=constraint))
