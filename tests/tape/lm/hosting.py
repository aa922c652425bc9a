"""Hosted models behind a real HTTP endpoint on loopback, for tests."""

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, Field

from tape.lm.base import Completion, Constraint, Message, Request, TokenPrice
from tape.lm.hosted.model import HostedLM
from tape.lm.hosted.providers import OPENAI

PROMPT = (Message("system", "You play."), Message("user", "What next?"))
PRICE = TokenPrice(Decimal("1e-6"), Decimal("2e-6"))


class Move(BaseModel):
    action: Literal["U", "D"]
    row: int = Field(ge=0, le=9)
    cell: tuple[int, int] = (0, 0)


MOVE = '{"action":"U","row":3,"cell":[1,2]}'


def wrapped(text: str) -> Callable[[dict[str, Any]], list[str]]:
    return lambda body: [json.dumps({"answer": text})] * body.get("n", 1)


def replies(text: str) -> Callable[[dict[str, Any]], list[str]]:
    return lambda body: [text] * body.get("n", 1)


def opened(endpoint: Any, provider: Any = OPENAI, price: TokenPrice | None = None, **limits: Any) -> HostedLM:
    """The model behind an endpoint; it waits for nothing before a retry."""
    asked = ",".join(f"{name}={value}" for name, value in {"backoff": 0, "timeout": 30, **limits}.items())
    url = endpoint.url if provider.package == "openai" else endpoint.root
    model = provider(f"test@{url}#{asked}", price)
    assert isinstance(model, HostedLM)
    return model


def ask(model: Any, constraint: Constraint | None = None, **fields: Any) -> Completion:
    [completion] = asyncio.run(model.generate([Request(PROMPT, 20, constraint, **fields)]))
    assert isinstance(completion, Completion)
    return completion
