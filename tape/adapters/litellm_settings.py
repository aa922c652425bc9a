"""What can be set of the budget inside LiteLLM's proxy: ``callback_settings: {tape: ...}``.

docs/operating/configuration.md is made from this class. A text in ``Annotated`` is what the page calls the type.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

MOST_CALLS = 1024
"""Calls that are asked for at once, each in a thread while it waits for room or for a person."""
MOST_GUARDS = 1000
"""Scopes that are kept open; one more takes the place of the one that was not used for longest."""
MOST_MODELS = 50
"""Models that are tried for what would fit."""


class Settings(BaseModel):
    """``callback_settings: {tape: ...}``.

    Attributes:
        ledger: The address of the ledger.
        scope: Above the scopes of all calls. The team, the key and the session of a call come below it.
        session: The caps of each session, such as ``"$1"``.
        labels: Names of labels that clients may give in the header ``x-tape-labels``.
        most_tokens: The completion tokens of a call that sets no limit.
        least_tokens: A call that does not fit is limited to fewer tokens, but not below this. 0 refuses it instead.
        bytes_per_token: So many bytes of a prompt count as a token before the call. 1 is always safe, 3 is usual.
        tokenizers: What counts the tokens of a deployment's prompts: the address of a server of llama.cpp or vLLM, or
            an encoding of tiktoken.
        models: The price of a deployment, in dollars per million tokens of prompts and completions; or another name of
            it, such as ``azure:gpt-4o``.
        prices: A price file.
        content: The most that a part of a request takes whose bytes do not bound its cost, such as ``{image: 1600}``.
        substitutes: Deployments or models that may answer in the place of a deployment though they are dearer.
        unreserved: Let calls through that no request has paid for, such as health checks and ``/rag/query``.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    ledger: str
    scope: str = "litellm"
    session: str = ""
    labels: list[str] = []
    most_tokens: int = Field(4096, ge=1)
    least_tokens: int = Field(16, ge=0)
    bytes_per_token: int = Field(1, ge=1)
    tokenizers: Annotated[dict[str, str], "an address or an encoding by deployment"] = {}
    models: Annotated[dict[str, tuple[Decimal | str, Decimal | str] | str], "prices or names by deployment"] = {}
    prices: str | None = None
    content: Annotated[dict[str, Any], "amounts by kind of part"] = {}
    substitutes: Annotated[dict[str, list[str]], "names by deployment"] = {}
    unreserved: bool = False
