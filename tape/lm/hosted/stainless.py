"""What the ``openai`` and ``anthropic`` clients share: one generator made both, so their errors have the same names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from tape.lm.hosted.http import NoAnswerError, bounded_client, error_within
from tape.lm.hosted.wire import HttpFailure, HttpReply, decoded, first_words, json_object
from tape.redaction import hide

NO_KEY = "none"
"""What is sent where no key is set: the client insists on one, servers on this machine need none."""


def opened(sdk: ModuleType, client: str, base_url: str, key: str) -> Any:
    """A client of a package, without retries and time limits of its own, whose key is hidden from now on.

    Args:
        sdk: The package.
        client: The class of the client.
        base_url: Where the API is.
        key: The API key.
    """
    hide(key, f"the key for {base_url}")
    options = {"max_retries": 0, "timeout": None, "http_client": bounded_client(sdk)}
    return getattr(sdk, client)(api_key=key or NO_KEY, base_url=base_url, **options)


async def post(
    sdk: ModuleType, call: Awaitable[Any], read: Callable[[dict[str, Any]], HttpReply]
) -> HttpReply | HttpFailure:
    """Await a raw call of a client that has a bounded client, and read the answer.

    The clients' exceptions hold the request with its headers, hence the key: none of them leaves this function, not
    even as the context of another.

    Args:
        sdk: The client's package.
        call: The call.
        read: Makes the reply of the body's JSON object; one without samples where it holds none.
    """
    try:
        raw = (await call).http_response.content
    except NoAnswerError as error:
        return error.failure
    except sdk.APIError as error:
        if isinstance(error.__cause__, NoAnswerError):
            return error.__cause__.failure
        return HttpFailure("garbage", f"the package {sdk.__name__} refuses the answer ({type(error).__name__})")
    body = json_object(raw)
    reply = None if body is None else read(body)
    if reply is not None and reply.samples:
        return reply
    if body is not None and body.get("error"):
        return replace(error_within(body), read=reply)
    what = "no JSON object" if body is None else "none that was asked for"
    return HttpFailure("garbage", f"the answer is {what}: {first_words(decoded(raw))!r}", read=reply)
