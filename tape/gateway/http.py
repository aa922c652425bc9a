"""The gateway over streamable HTTP, on this machine: for clients that know a token and come from no foreign page."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from tape.errors import ConfigError
from tape.gateway.approval import Desk
from tape.gateway.config import LOCAL, GatewayConfig
from tape.gateway.gateway import Gateway
from tape.gateway.http_connections import MOST_ANONYMOUS, MOST_OF_CLIENT, TICK_SECONDS, Connection, Connections
from tape.gateway.http_requests import MOST_BODY_BYTES, HttpRoute, Requests, refuse
from tape.gateway.http_sessions import Sessions
from tape.gateway.metrics import Metrics
from tape.gateway.page import GatewayPage
from tape.gateway.page_serving import routes_of
from tape.gateway.serving import make_server
from tape.gateway.tokens import holder_of, is_here, made_token, read_token, weakness_of
from tape.redaction import hide

HOST, PATH = "127.0.0.1", "/mcp"
_END_SECONDS = 2
_ACCEPTED_AT_ONCE, _BACKLOG = 64, 2048
_OTHER_FILES = 256
"""That a process may have open beside connections: servers, the journal, Python's own."""


async def serve_http(gateway: Gateway, port: int, token_file: Path, people_file: Path) -> None:
    """Serve until the process is asked to end.

    Args:
        gateway: What is served.
        port: 0 takes a free one, which is reported on standard error.
        token_file: Holds the token where the configuration names no clients; made if missing.
        people_file: Holds the token for people; made if missing.

    Raises:
        ConfigError: The port is taken, or a token is missing or weak.
    """
    tokens = tokens_of(gateway.config, token_file)
    people = people_token(people_file, tokens)
    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise ConfigError(
            f"cannot serve at port {port}: {error.strerror or error}; give another --http (0: any)"
        ) from error
    limits = gateway.config.limits
    logging.getLogger("mcp").setLevel(logging.ERROR)  # what clients send is no reason to write anything
    _allow_files(MOST_ANONYMOUS + MOST_OF_CLIENT * (len(tokens) + 1) + _OTHER_FILES)
    desk = Desk()
    metrics = Metrics(gateway)
    gateway.watchers.append(metrics)
    clients = gateway.config.clients
    watching = {name: token for name, token in tokens.items() if not clients or clients[name].watch}
    routes = routes_of(GatewayPage(gateway, desk), people, metrics, watching)
    with listening:
        app = make_server(gateway, desk).streamable_http_app(
            streamable_http_path=PATH,
            host=HOST,
            max_sessions=None,  # each client has a limit of its own
            session_idle_timeout=limits.idle_seconds,
            max_request_body_size=MOST_BODY_BYTES,
        )
        sessions = Sessions(app, gateway.ledgers.end_session, limits.most_sessions, limits.idle_seconds)

        class Bound(Connection):
            registry = Connections()

        config = uvicorn.Config(
            AccessControl(app, Requests(sessions), tokens, routes),
            http=Bound,
            ws="none",
            log_level="error",
            access_log=False,
            lifespan="on",
            backlog=_ACCEPTED_AT_ONCE,
            callback_notify=Bound.registry.tick,
            timeout_notify=TICK_SECONDS,
            timeout_graceful_shutdown=_END_SECONDS,
            server_header=False,
        )
        url = f"http://{HOST}:{listening.getsockname()[1]}"
        where = "of a client in the configuration" if gateway.config.clients else f"in {token_file}"
        print(f"tape gateway: serving at {url}{PATH} clients that send the token {where}", file=sys.stderr, flush=True)
        seen = f"{url}/#token={people}" if sys.stderr.isatty() else f"{url}/, which asks for the token in {people_file}"
        print(f"tape gateway: a page for people is at {seen}", file=sys.stderr, flush=True)
        await _Server(config).serve(sockets=[listening])


class _Server(uvicorn.Server):
    """Accepts few connections at a time, so that a flood leaves time for requests, and lets many wait."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for item in sockets or []:
            item.listen(_BACKLOG)


def _allow_files(count: int) -> None:
    """Raise the number of files that this process may have open, as far as it may be raised."""
    try:
        import resource
    except ImportError:  # no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def tokens_of(config: GatewayConfig, token_file: Path) -> dict[str, str]:
    """The token of each client.

    Raises:
        ConfigError: One is missing, weak, the same as another, or in a file that others can read.
    """
    texts: dict[str, str] = {}
    for name, client in config.clients.items():
        if client.token_env is not None:
            path, token = ("clients", name, "token_env"), os.environ.get(client.token_env, "").strip()
            if not token:
                raise config.error(path, f"the environment variable {client.token_env} is not set; put the token there")
        else:
            path = ("clients", name, "token_file")
            assert client.token_file is not None
            token = read_token(config.folder() / client.token_file)
        if problem := weakness_of(token):
            raise config.error(path, problem)
        if token in texts.values():
            raise config.error(path, "another client has the same token; give each its own")
        texts[name] = token
    if not texts:
        texts[LOCAL] = made_token(token_file, "--token-file")
        if problem := weakness_of(texts[LOCAL]):
            raise ConfigError(f"{token_file}: {problem}")
    for token in texts.values():
        hide(token, quietly=True)
    return texts


def people_token(file: Path, tokens: Mapping[str, str]) -> str:
    """The token for people, which lets none of the clients in: what they ask for is decided with it.

    Raises:
        ConfigError: It is weak, that of a client, or in a file that others can read.
    """
    token = made_token(file, "--people-token-file")
    problem = "a client has the same token; delete one of them" if token in tokens.values() else weakness_of(token)
    if problem:
        raise ConfigError(f"{file}: {problem}")
    hide(token, quietly=True)
    return token


class AccessControl:
    """Lets through a client that knows a token, comes from no foreign page, and asks for this machine by its own name.

    Args:
        lifespan: The application that is started and stopped with the server.
        app: The application behind this one, for requests.
        tokens: By client.
        routes: What else is served, by path.
    """

    def __init__(self, lifespan: Any, app: Any, tokens: Mapping[str, str], routes: Mapping[str, HttpRoute]) -> None:
        self._lifespan, self._routes, self._protocol = lifespan, routes, HttpRoute(app, tokens)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        route = self._routes.get(scope["path"], self._protocol)
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if len(hosts) != 1 or not is_here(hosts[0]):
            await refuse(send, 403, "the gateway goes by localhost and 127.0.0.1 only")
        elif any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            await refuse(send, 403, "pages of other sites are not served")
        elif route.tokens is None:
            await route.app(scope, receive, send)
        elif (client := _client(headers, route.tokens)) is None:
            await refuse(send, 401, "send the token (Authorization: Bearer ...)")
        elif not scope["state"]["connection"].belongs_to(client):
            await refuse(send, 429, f"this client has {MOST_OF_CLIENT} connections with a request each; wait for them")
        else:
            # So the SDK lets no client into the session of another.
            user = AuthenticatedUser(AccessToken(token=client, client_id=client, scopes=[]))
            await route.app({**scope, "user": user}, receive, send)


def _client(headers: list[tuple[bytes, bytes]], tokens: Mapping[str, str]) -> str | None:
    given = [value for name, value in headers if name == b"authorization"]
    return holder_of(given[0].decode("latin-1"), tokens) if len(given) == 1 else None
