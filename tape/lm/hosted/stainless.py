"""What the ``openai`` and ``anthropic`` clients share: one generator made both, so their errors have the same names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import ModuleType
from typing import Any

from tape.lm.hosted.wire import Failure, first_words, json_object, kind_of_status, redacted, retry_after

_UNREACHED = ("ConnectError", "ConnectTimeout", "UnsupportedProtocol")
"""Names of the transport's errors after which nothing was sent."""


async def post(sdk: ModuleType, call: Awaitable[Any], key: str) -> dict[str, Any] | Failure:
    """Await a raw call of a client; returns the body's JSON object.

    The clients' exceptions hold the request with its headers, hence the key: none of them leaves this function, not
    even as the context of another.
    """
    try:
        response = await call
        body = json_object(response.http_response.content, key)
        if body is None:
            text = redacted(response.http_response.text, key)
            return Failure("garbage", f"the answer is no JSON object: {first_words(text)!r}")
        return body
    except asyncio.CancelledError:
        raise
    except sdk.APIStatusError as error:
        status = int(error.status_code)
        body = json_object(error.response.content, key)
        text = redacted(error.response.text, key)
        kind = kind_of_status(status, text)
        return Failure(kind, f"HTTP {status}: {_said(body, text)}", status, retry_after(error.response.headers))
    except sdk.APITimeoutError:
        return Failure("timeout", "the endpoint did not answer in time")
    except sdk.APIConnectionError as error:
        cause = error.__cause__
        said = redacted(f"{type(cause).__name__}: {cause}" if cause else str(error), key)
        if type(cause).__name__ in _UNREACHED:
            return Failure("connect", f"the endpoint cannot be reached ({first_words(said)})")
        return Failure("cut", f"the connection broke ({first_words(said)})")


def _said(body: dict[str, Any] | None, text: str) -> str:
    """The endpoint's own words about an error."""
    error = (body or {}).get("error", body)
    message = error.get("message") if isinstance(error, dict) else error
    return first_words(message if isinstance(message, str) else text)
