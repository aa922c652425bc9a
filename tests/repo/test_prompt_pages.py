"""The pages of prompts show what is sent."""

from __future__ import annotations

import pytest

from tape.lm.base import JsonSchema, OneOf
from tape.plugins import load
from tests.places import ROOT
from tools.site import prompts
from tools.site.search_prompts import asked


@pytest.mark.parametrize("environment", prompts.probed())
def test_a_page_shows_the_prompt_of_every_role_and_a_right_answer(environment: str) -> None:
    text, plugin = prompts.page(environment), load(prompts.ENVIRONMENTS, environment)
    for role in plugin.roles:
        [case] = plugin.role_cases(prompts.PROMPTS, role, 1, 0)
        assert f"## {role}\n" in text
        for shown in (*(message.content for message in case.request.prompt), case.ideal):
            assert f"\n{shown}\n```" in text


def test_the_site_has_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page for page in prompts.pages() if f"- {page}\n" not in nav] == []


def test_what_is_right_on_the_page_of_searches_is_admitted() -> None:
    for name, _, request, ideal in asked():
        match request.constraint:
            case OneOf(options):
                assert ideal in options
            case JsonSchema(model):
                model.model_validate_json(ideal)
            case other:
                pytest.fail(f"{name}: {other}")
        assert not isinstance(request.prompt, str)
        assert len(request.prompt[-1].content) < 1000
