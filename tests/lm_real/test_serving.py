"""A general model behind the endpoint for tests, asked by the official client of OpenAI."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from tape.lm.base import LanguageModel
from tape.testing.endpoint import ModelEndpoint

openai = pytest.importorskip("openai")


class City(BaseModel):
    name: str = Field(max_length=20)
    continent: Literal["Europe", "Asia", "Africa"]
    river: str = Field(max_length=20)


QUESTION: Any = [{"role": "user", "content": "Describe Paris: its name, its continent, and a river in it."}]


def test_the_client_gets_what_its_schema_asks_for(general: LanguageModel) -> None:
    with ModelEndpoint(general) as endpoint:
        client = openai.OpenAI(base_url=endpoint.url, api_key="none", max_retries=0)
        asked: Any = {"model": general.name, "messages": QUESTION, "max_tokens": 60, "seed": 1, "temperature": 0}
        answer = client.chat.completions.parse(**asked, response_format=City)
        [choice] = answer.choices
        assert choice.finish_reason == "stop"
        assert choice.message.parsed.name
        free = client.chat.completions.create(**{**asked, "max_tokens": 8})
        assert free.usage.completion_tokens <= 8
        assert free.choices[0].message.content
