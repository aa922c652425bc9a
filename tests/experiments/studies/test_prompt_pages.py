"""The pages of prompts show what is sent."""

from __future__ import annotations

import pytest

from experiments.studies.roles import pages
from experiments.studies.roles.search_page import asked
from tape.lm.base import Choice, JsonSchema


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
