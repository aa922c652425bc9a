"""HTTP to an endpoint that is not trusted: one request a call, and an answer of bounded size.

The providers' own clients follow redirects (a prompt would go wherever an endpoint points), decompress without end and
read until nothing more comes. So they are given a client that does none of this.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any

from tape.lm.hosted.wire import HttpFailure, HttpReply, decoded, first_words, json_object, kind_of_status, retry_after
from tape.passed_on import traceparent_now
from tape.redaction import hide

MOST_BYTES = 4 << 20
"""Longest body of an answer that is read, as sent and decompressed. A million tokens have about as many bytes."""
MOST_ERROR_BYTES = 64 << 10
"""How much is read of the body of an HTTP error."""

_UNSENT = ("ConnectError", "ConnectTimeout", "UnsupportedProtocol")
"""Names of the errors after which nothing was sent."""
_CREDENTIALS = ("authorization", "proxy-authorization", "x-api-key", "api-key", "cookie")
_COMPRESSED = ("gzip", "x-gzip", "deflate")
_PLAIN = ("identity", "utf-8", "none")


class NoAnswerError(Exception):
    """A request that was not answered; the clients hand it on, bare or as the cause of an error of theirs."""

    def __init__(self, failure: HttpFailure) -> None:
        self.failure = failure
        super().__init__(failure.message)


class _TooMuchError(Exception):
    """A body beyond the bounds."""


@lru_cache(maxsize=4)
def _client_class(sdk: ModuleType) -> Any:
    """The HTTP client of a provider's package, whichever library it uses, with bounded answers."""

    class Bounded(sdk.DefaultAsyncHttpxClient):  # type: ignore[misc, name-defined]  # the package is optional
        async def send(self, request: Any, **options: Any) -> Any:
            for name in _CREDENTIALS:
                # Also those that a package takes from variables of its own.
                for word in request.headers.get(name, "").split():
                    hide(word, quietly=True)
            if trace := traceparent_now():
                request.headers["traceparent"] = trace
            failure: HttpFailure | None
            try:
                response = await super().send(request, **{**options, "stream": True, "follow_redirects": False})
                try:
                    body, failure = await _read(response)
                finally:
                    await response.aclose()
            except Exception as error:  # whatever comes of sending and reading is the endpoint's or the network's doing
                failure = _broken(error)
            if failure is not None:
                # Outside of the handler: no error that holds the request with its key may hang on this one.
                raise NoAnswerError(failure)
            return type(response)(response.status_code, content=body, request=request)

    return Bounded


def bounded_client(sdk: ModuleType) -> Any:
    """A client for the ``http_client`` of a provider's package (``openai``, ``anthropic``).

    It sends one request for each call, follows no redirect, keeps no cookies, asks for uncompressed answers, reads at
    most :data:`MOST_BYTES` of one, decompressed too, and raises :class:`NoAnswerError` for all but a success.
    """
    from http.cookiejar import DefaultCookiePolicy

    client = _client_class(sdk)(timeout=None, headers={"Accept-Encoding": "identity"})
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return client


async def _read(response: Any) -> tuple[bytes, HttpFailure | None]:
    """The body of a success, or what went wrong."""
    status = int(response.status_code)
    if 200 <= status < 300:
        try:
            return await _body(response, MOST_BYTES), None
        except _TooMuchError as error:
            return b"", HttpFailure("garbage", str(error), status)
    if 300 <= status < 400:
        to = first_words(response.headers.get("location", ""))
        message = f"HTTP {status}: it points to {to!r}, and redirects are not followed; name the right URL"
        return b"", HttpFailure("redirect", message, status)
    try:
        body = await _body(response, MOST_ERROR_BYTES)
    except _TooMuchError as error:
        body = str(error).encode()
    text = decoded(body)
    message, wait = f"HTTP {status}: {_message(json_object(body), text)}", retry_after(response.headers)
    return b"", HttpFailure(kind_of_status(status, text), message, status, wait)


async def _body(response: Any, most: int) -> bytes:
    """The body, decompressed."""
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", *_PLAIN, *_COMPRESSED):
        raise _TooMuchError(f"the answer is compressed ({first_words(coding)!r}), which was not asked for")
    unzip, data, received = None, bytearray(), 0
    async for chunk in response.aiter_raw():
        # What gzip writes begins with 0x1f, and what zlib writes with a byte that ends in 8: no JSON and no page does.
        if chunk and not received and (chunk[0] == 0x1F or (coding in _COMPRESSED and chunk[0] & 15 == 8)):
            unzip = zlib.decompressobj(zlib.MAX_WBITS | 32)
        received += len(chunk)
        try:
            data += chunk if unzip is None else unzip.decompress(chunk, most + 1 - len(data))
        except zlib.error as error:
            raise _TooMuchError(f"the answer is not compressed as declared: {error}") from error
        if len(data) > most or received > most:
            raise _TooMuchError(f"the answer has more than {most} bytes")
    return bytes(data)


def _broken(error: Exception) -> HttpFailure:
    """What an error of the network means."""
    name = type(error).__name__
    message = first_words(f"{name}: {error}")
    if name in _UNSENT:
        return HttpFailure("connect", f"the endpoint cannot be reached ({message})")
    return HttpFailure("cut", f"the connection broke ({message})")


def _message(body: dict[str, Any] | None, text: str) -> str:
    """The endpoint's own message about an error."""
    error = (body or {}).get("error", body)
    message = error.get("message") if isinstance(error, dict) else error
    if not isinstance(message, str):
        return first_words(text)
    field = error.get("param") if isinstance(error, dict) else None
    return first_words(f"{field}: {message}" if isinstance(field, str) and field not in message else message)


def error_within(body: dict[str, Any]) -> HttpFailure:
    """The error that a body holds although its status is that of a success."""
    error = body["error"]
    code, words = error.get("code") if isinstance(error, dict) else None, _message(body, json.dumps(body))
    if not isinstance(code, int) or not 400 <= code < 600:
        return HttpFailure("garbage", f"the answer is an error: {words}", 500)  # which is not asked for again and again
    return HttpFailure(kind_of_status(code, words), f"the answer is an error: {words}", code)


NO_KEY = "none"
"""What is sent where no key is set: the client insists on one, servers on this machine need none."""


def opened(sdk: ModuleType, client: str, base_url: str, key: str) -> Any:
    """A client of a package, without retries and time limits of its own, whose key is hidden from now on."""
    hide(key, f"the key for {base_url}")
    options = {"max_retries": 0, "timeout": None, "http_client": bounded_client(sdk)}
    return getattr(sdk, client)(api_key=key or NO_KEY, base_url=base_url, **options)


async def post(
    sdk: ModuleType, call: Awaitable[Any], read: Callable[[dict[str, Any]], HttpReply]
) -> HttpReply | HttpFailure:
    """Await a raw call of a client that has a bounded client, and read the answer.

    The clients' exceptions hold the request with its headers, hence the key: none of them leaves this function, not
    even as the context of another.
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
