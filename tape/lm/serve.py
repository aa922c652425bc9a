"""A small OpenAI-compatible server for any model of TAPE, with enforced choices, patterns and JSON schemas.

It answers one request after the other. Whoever reaches its port may send anything: a browser on this machine that some
page directs here, too. So it answers to its own name only (a page of a foreign site comes with a foreign ``Host`` or
``Origin``), reads within bounds of size and time, refuses what asks for too much, and computes nothing for a client
that is gone. Beyond this machine it serves only who knows a token.
"""

from __future__ import annotations

import hmac
import io
import ipaddress
import json
import select
import socket
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tape.errors import ConfigError, TapeError
from tape.lm.base import BatchError, EndpointError, LanguageModel
from tape.lm.serve_chat import complete, constraint_of, events
from tape.lm.serve_connections import MOST_WAITING, BusyError, GoneError, Server, TimedReader, Turns, error_body
from tape.reading import parse_json

__all__ = ["Handler", "check_access", "complete", "constraint_of", "make_server"]

MOST_BYTES = 2_000_000
"""Longest request body that is read."""
SECONDS = 10.0
"""For a whole request to come in, and for an answer to be taken."""
DRAIN_SECONDS = 1.0
"""For a body that nobody reads: a connection that is closed on unread bytes loses the answer."""
SHORTEST_TOKEN = 16


def make_server(
    model: LanguageModel, host: str = "127.0.0.1", port: int = 0, token: str = "", names: Sequence[str] = ()
) -> ThreadingHTTPServer:
    """A server that listens but does not serve yet; port 0 takes a free one (``server.server_port``).

    Args:
        model: Answers.
        host: The address to listen on.
        port: The port.
        token: What clients must send as their API key, if it is not empty.
        names: Further names that this machine goes by, for the ``Host`` header.

    Raises:
        ConfigError: Others could reach it and there is no token, or the token is too weak.
        OSError: The port is taken, or there is no such address.
    """
    check_access(host, token)
    turns = Turns()

    class Bound(Handler):
        expected = token
        own_names = frozenset({"localhost", host.lower(), *(name.lower() for name in names)})
        everywhere = host in ("", "0.0.0.0", "::")  # noqa: S104 - refused above without a token

        def answer(self, body: dict[str, Any]) -> dict[str, Any]:
            with turns.next(self.is_gone):
                return complete(model, body)

        def models(self) -> list[str]:
            return [model.name]

    return Server((host, port), Bound, socket.AF_INET6 if ":" in host else socket.AF_INET)


def check_access(host: str, token: str) -> None:
    """Refuse to serve others than this machine without a token.

    Raises:
        ConfigError: Others could reach it and there is no token, or the token is too weak.
    """
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        raise ConfigError(f"a token has at least {SHORTEST_TOKEN} ASCII characters and no spaces; make a random one")
    if not token and not _is_loopback(host):
        raise ConfigError(
            f"others can reach {host or 'every address of this machine'}, so it is served only with a token: put one "
            "into a file and name it with --token-file, or leave --host out"
        )


class Handler(BaseHTTPRequestHandler, ABC):
    """HTTP around :func:`complete`; subclasses say which model answers.

    Attributes:
        expected: The token that clients must send, if it is not empty.
        own_names: The names that the server goes by, besides the addresses of this machine alone.
        everywhere: It listens on every address, so it goes by each.
    """

    protocol_version, default_request_version = "HTTP/1.1", "HTTP/1.0"
    server_version, sys_version = "tape", ""
    expected: ClassVar[str] = ""
    own_names: ClassVar[frozenset[str]] = frozenset({"localhost"})
    everywhere: ClassVar[bool] = False

    @abstractmethod
    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a chat completion."""

    @abstractmethod
    def models(self) -> list[str]:
        """Names of the models served."""

    def setup(self) -> None:
        """Read within a deadline."""
        super().setup()
        self.rfile.close()
        self._timed = TimedReader(self.connection)
        self.rfile = io.BufferedReader(self._timed)

    def handle_one_request(self) -> None:
        """Answer a request, whatever it is."""
        self._timed.deadline = time.monotonic() + SECONDS
        super().handle_one_request()

    def do_GET(self) -> None:
        """List the models."""
        if not self._is_welcome():
            return
        if self._path() == "/v1/models":
            self.reply(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models()]})
        elif self._path() == "/v1/chat/completions":
            self._refuse(405, "chat completions are asked for by POST", {"Allow": "POST"})
        else:
            self._refuse(404, "there is /v1/models and /v1/chat/completions")

    def do_POST(self) -> None:
        """Complete a chat."""
        if not self._is_welcome():
            return
        if self._path() != "/v1/chat/completions":
            known = self._path() == "/v1/models"
            self._refuse(405 if known else 404, "there is /v1/chat/completions to POST to")
            return
        if self.headers.get_content_type() != "application/json" or "Content-Type" not in self.headers:
            self._refuse(415, "the Content-Type must be application/json")
            return
        length = self._length()
        if length is None:
            return
        raw = self.rfile.read(length)
        if len(raw) < length:
            self.close_connection = True
            return
        try:
            body = parse_json(raw, "the body", error=ConfigError)
            if not isinstance(body, dict):
                raise ConfigError("the body is no JSON object")
            answer = self.answer(body)
            if body.get("stream"):
                self._send(200, "".join(events(answer, body)).encode(), "text/event-stream")
            else:
                self.reply(200, answer)
        except GoneError:
            self.close_connection = True
        except BusyError:
            self.reply(
                429, error_body(429, f"{MOST_WAITING} requests wait already; try again later"), {"Retry-After": "1"}
            )
        except (EndpointError, BatchError) as error:
            self.reply(503, error_body(503, str(error)))
        except TapeError as error:
            self.reply(400, error_body(400, str(error)))
        except OSError:
            raise  # the client hung up
        except BaseException as error:  # also what native code raises when it panics
            print(f"tape serve: a request failed: {type(error).__name__}: {str(error)[:500]!r}", file=sys.stderr)
            self.reply(500, error_body(500, f"the server failed at this request ({type(error).__name__})"))

    def is_gone(self) -> bool:
        """Whether the client has hung up."""
        try:
            readable = select.poll()
            readable.register(self.connection, select.POLLIN)
            return bool(readable.poll(0)) and not self.connection.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True

    def reply(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Send a JSON object."""
        self._send(status, json.dumps(body).encode(), "application/json", headers)

    def _send(self, status: int, raw: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.connection.settimeout(SECONDS)
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(raw)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request that is understood here, as all else is refused."""
        code = {501: 405, 414: 400, 431: 400, 505: 400}.get(code, code)
        self._refuse(code, explain or message or "the request is not understood")

    def _is_welcome(self) -> bool:
        """Whether a request is meant for this server by somebody who may ask; otherwise it is refused."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1:
            self._refuse(400, "a request has one Host header")
        elif not self._is_own(hosts[0]):
            self._refuse(403, "this server does not go by that name; `tape serve --name NAME` gives it one")
        elif any(origin != f"http://{hosts[0]}" for origin in self.headers.get_all("Origin", [])):
            self._refuse(403, "pages of other sites are not served")
        elif not self._knows_the_token():
            self._refuse(401, "send the token as API key (Authorization: Bearer ...)", {"WWW-Authenticate": "Bearer"})
        else:
            return True
        return False

    def _is_own(self, host: str) -> bool:
        name, colon, port = host.strip().lower().rpartition(":")
        if not colon or not (port.isascii() and port.isdigit()):
            name = host.strip().lower()
        name = name.removeprefix("[").removesuffix("]")
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self.own_names
        # An address, unlike a name, is nothing that a site can make point here.
        return address.is_loopback or self.everywhere or name in self.own_names

    def _knows_the_token(self) -> bool:
        if not self.expected:
            return True
        said = self.headers.get_all("Authorization", [])
        if len(said) != 1:
            return False
        scheme, _, token = said[0].partition(" ")
        same = hmac.compare_digest(token.strip().encode("utf-8", "replace"), self.expected.encode())
        return same and scheme.lower() == "bearer"

    def _path(self) -> str:
        return self.path.partition("?")[0].rstrip("/")

    def _length(self) -> int | None:
        """The length of the body; None where the request was refused."""
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or len(lengths) != 1:
            self._refuse(400, "a request has one Content-Length and no Transfer-Encoding")
        elif not (lengths[0].isascii() and lengths[0].isdigit()):
            self._refuse(400, "the Content-Length is no whole number")
        elif len(lengths[0]) > 12 or int(lengths[0]) > MOST_BYTES:
            self._refuse(413, f"a body has at most {MOST_BYTES} bytes")
        else:
            return int(lengths[0])
        return None

    def _refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        """Refuse a request whose body is not read, so that the connection cannot go on."""
        self.close_connection = True
        self.reply(status, error_body(status, message), {"Connection": "close", **(headers or {})})
        deadline, rest = time.monotonic() + DRAIN_SECONDS, 2 * MOST_BYTES
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            while rest > 0 and (left := deadline - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not (read := len(self.connection.recv(1 << 16))):
                    return
                rest -= read

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: prompts and keys do not belong on a terminal."""


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
