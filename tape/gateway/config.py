"""The configuration file of the gateway: checked as a whole before anything is started."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tape.budget import Budget, declare
from tape.errors import ConfigError
from tape.gateway.errors import FieldError
from tape.gateway.prices import WORDS, Price, count_of, read_price
from tape.ledger import is_address
from tape.ledger.accounts import accounts_of
from tape.reading import read_text, short, wrong
from tape.toml_reading import line_of, parse_toml

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
LOCAL = "local"
"""The client of stdio, and of HTTP where no clients are named."""

MOST_SECONDS = 1_000_000
"""Longest time that can be waited: eleven days, which every platform's timers can."""
Seconds: TypeAlias = Annotated[float, Field(ge=0.001, le=MOST_SECONDS)]
MOST_RESULT = 256 << 20
"""Most bytes of a result that can be let through."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ToolSettings(_Table):
    """What is declared of a tool; see docs/reference/gateway.md."""

    price: Any = None
    quality: float | None = Field(None, gt=0, le=1)
    kind: str | None = None
    pure: bool | None = None
    destructive: bool | None = None
    allow_destructive: bool | None = None
    description: str | None = None
    hide: bool = False


class ServerSettings(_Table):
    """A downstream MCP server."""

    command: list[str] | None = Field(None, min_length=1)
    url: str | None = None
    env: dict[str, str] = {}
    env_from: list[str] = []
    headers_from: dict[str, str] = {}
    cwd: str | None = None
    prefix: str = ""
    only: list[str] = []
    start_seconds: Seconds = 30.0
    call_seconds: Seconds | None = None
    price: Any = None
    allow_destructive: bool | None = None
    tools: dict[str, ToolSettings] = {}


class PythonSettings(ToolSettings):
    """A Python function."""

    function: str
    call_seconds: Seconds | None = None


class ClientSettings(_Table):
    """A client over HTTP, known by its token."""

    token_env: str | None = None
    token_file: str | None = None
    budget: dict[str, Any] | None = None
    watch: bool = False


class _Budgets(_Table):
    run: dict[str, Any] = {}
    client: dict[str, Any] = {}
    session: dict[str, Any] = {}


class LedgerSettings(_Table):
    """A ledger that other programs and hosts pay from too; see docs/reference/ledger.md.

    Attributes:
        url: Its address.
        url_env: The environment variable that has the address, for one with a password.
        scope: Who pays.
        labels: What the calls are for.
    """

    url: str | None = None
    url_env: str | None = None
    scope: str = "gateway"
    labels: dict[str, str] = {}


class _Resource(_Table):
    unit: str = Field(min_length=1)
    resolution: str | int = 1


class Limits(_Table):
    """Limits of everything behind the gateway.

    Attributes:
        name: The name of the gateway.
        call_seconds: How long a call may take.
        approve_seconds: How long the user may think about a destructive call.
        most_result_bytes: Of a result, as JSON; a longer one is paid and not passed on.
        allow_destructive: Make destructive calls without asking.
        most_sessions: Over HTTP, open at once for each client, and so many session budgets it has.
        idle_seconds: Over HTTP, after which a session without a request ends.
        audit: The file of the audit log; none is kept where it is not given.
    """

    name: str = Field("tape-gateway", min_length=1, max_length=64)
    call_seconds: Seconds = 120.0
    approve_seconds: Seconds = 300.0
    most_result_bytes: int = Field(1_000_000, ge=1000, le=MOST_RESULT)
    allow_destructive: bool = False
    most_sessions: int = Field(16, ge=1, le=1000)
    idle_seconds: float = Field(1800.0, gt=0, le=1e6)
    audit: str | None = Field(None, min_length=1)


class _File(_Table):
    gateway: Limits = Limits()
    resources: dict[str, _Resource] = {}
    budgets: _Budgets = _Budgets()
    ledger: LedgerSettings = LedgerSettings()
    clients: dict[str, ClientSettings] = {}
    servers: dict[str, ServerSettings] = {}
    python: dict[str, PythonSettings] = {}


@dataclass(frozen=True)
class Declared:
    """A tool's settings with its price read.

    Attributes:
        settings: As the file has them.
        price: None where none is declared.
    """

    settings: ToolSettings
    price: Price | None


@dataclass(frozen=True)
class GatewayConfig:
    """A checked configuration.

    Attributes:
        path: The file; relative paths in it are relative to its folder.
        limits: Of time and size.
        run: The caps of all that one journal remembers.
        ledger: What is paid from beside that.
        client: By client, its caps.
        session: The caps of one session of a client.
        clients: The clients over HTTP.
        servers: Downstream servers by name.
        server_prices: By server: the price of its tools that have none of their own.
        tools: By server, then by the server's name of a tool: what is declared.
        python: Python tools by name: what is declared.
        functions: The same: which function.
        where: Gives file and line of a field.
    """

    path: Path
    limits: Limits
    run: Budget
    ledger: LedgerSettings
    client: Mapping[str, Budget]
    session: Budget
    clients: Mapping[str, ClientSettings]
    servers: Mapping[str, ServerSettings]
    server_prices: Mapping[str, Price | None]
    tools: Mapping[str, Mapping[str, Declared]]
    python: Mapping[str, Declared]
    functions: Mapping[str, PythonSettings]
    where: Callable[[Sequence[str | int]], str] = field(compare=False)

    def error(self, path: Sequence[str | int], message: str) -> ConfigError:
        """An error of a field that only shows once the servers are there."""
        return ConfigError(f"{self.where(path)}: field {_dotted(path)}: {message}")

    def folder(self) -> Path:
        """What paths in the file are relative to."""
        return self.path.resolve().parent


def load_config(path: Path) -> GatewayConfig:
    """Read a configuration file.

    Raises:
        ConfigError: Something is wrong; names file, line, field and remedy.
    """
    text = read_text(path, error=ConfigError)
    raw = parse_toml(text, str(path), error=ConfigError)

    def where(field_path: Sequence[str | int]) -> str:
        return f"{path}:{line_of(text, field_path)}"

    try:
        return _checked(path, _shaped(raw), where)
    except FieldError as error:
        raise ConfigError(f"{where(error.path)}: field {_dotted(error.path)}: {error.message}") from None


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path))


def _shaped(raw: Mapping[str, Any]) -> _File:
    try:
        return _File.model_validate(raw)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        path = tuple(first["loc"])
        if first["type"] == "extra_forbidden":
            known = _known(path[:-1])
            near = difflib.get_close_matches(str(path[-1]), known, 1)
            hint = f"; do you mean {near[0]}?" if near else ";"
            raise FieldError(path, f"there is no such setting{hint} there is: {', '.join(known)}") from None
        if first["type"] == "missing":
            raise FieldError(path, "is missing; add it") from None
        raise FieldError(path, wrong(problem).removeprefix(f"field {_dotted(path)}: ")) from None


def _known(path: Sequence[str | int]) -> list[str]:
    """The settings of the table at a path."""
    kind: Any = _File
    for key in path:
        is_table = isinstance(kind, type) and issubclass(kind, BaseModel)
        kind = kind.model_fields[str(key)].annotation if is_table else get_args(kind)[-1]
    return sorted(kind.model_fields)


def _checked(path: Path, file: _File, where: Callable[[Sequence[str | int]], str]) -> GatewayConfig:
    for name, resource in file.resources.items():
        _declare(name, resource)
    for table in ("servers", "clients", "python"):
        for name in getattr(file, table):
            if not NAME.fullmatch(name):
                raise FieldError((table, name), "names have letters, digits, - and _, and begin with a letter")
    if not file.servers and not file.python:
        raise FieldError((), "there is nothing to offer: add a server by [servers.NAME] or a function by [python.NAME]")
    for name, server in file.servers.items():
        _check_server(name, server)
    for name, function in file.python.items():
        module, colon, named = function.function.partition(":")
        if not colon or not all(part.isidentifier() for part in (*module.split("."), named)):
            message = f'expected "MODULE:FUNCTION", for instance "my_tools:rate"; got {short(function.function)}'
            raise FieldError(("python", name, "function"), message)
        _check_tool(function, ("python", name))
    for name, client in file.clients.items():
        if (client.token_env is None) == (client.token_file is None):
            raise FieldError(("clients", name), "give either token_env = VARIABLE or token_file = FILE")
    of_each = _budget(file.budgets.client, ("budgets", "client"))
    budgets = {LOCAL: of_each} | {
        name: of_each if one.budget is None else _budget(one.budget, ("clients", name, "budget"))
        for name, one in file.clients.items()
    }
    return GatewayConfig(
        path,
        file.gateway,
        _budget(file.budgets.run, ("budgets", "run")),
        _ledger(file.ledger),
        budgets,
        _budget(file.budgets.session, ("budgets", "session")),
        file.clients,
        file.servers,
        {name: _price(one.price, ("servers", name, "price")) for name, one in file.servers.items()},
        {
            name: {tool: _declared(one, ("servers", name, "tools", tool)) for tool, one in server.tools.items()}
            for name, server in file.servers.items()
        },
        {name: _declared(one, ("python", name)) for name, one in file.python.items()},
        file.python,
        where,
    )


def _declare(name: str, resource: _Resource) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name) or name in WORDS:
        raise FieldError(
            ("resources", name), "a resource has a name of small letters, digits and _ that prices do not use"
        )
    try:
        declare(name, resource.unit, resource.resolution)
    except ConfigError as error:
        raise FieldError(("resources", name), str(error)) from None


def _ledger(given: LedgerSettings) -> LedgerSettings:
    if given.url is not None and given.url_env is not None:
        raise FieldError(("ledger",), "give either url or url_env = VARIABLE")
    address = os.environ.get(given.url_env, "") if given.url_env else given.url
    if address is None:
        return given
    at = ("ledger", "url_env" if given.url_env else "url")
    if not is_address(address):
        raise FieldError(at, "expected postgresql://user@host/database or file:///path/to/budget.ledger")
    if given.url is not None and urlsplit(given.url).password is not None:
        raise FieldError(at, "a password must not stand in the file; give the address by url_env = VARIABLE")
    try:
        accounts_of(given.scope, given.labels)
    except ConfigError as error:
        raise FieldError(("ledger", "scope"), str(error)) from None
    return given.model_copy(update={"url": address})


def _budget(given: Mapping[str, Any], path: Sequence[str | int]) -> Budget:
    caps = {}
    for name, amount in given.items():
        if name == "wall_seconds":
            raise FieldError((*path, name), "is real time, which cannot be reserved; limit it by gateway.call_seconds")
        caps[name] = count_of(name, amount, path)
    return Budget(caps)


def _check_server(name: str, server: ServerSettings) -> None:
    path = ("servers", name)
    if (server.command is None) == (server.url is None):
        raise FieldError(path, 'give either command = ["PROGRAM", "ARGUMENT"] or url = "http://..."')
    if server.prefix and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,31}", server.prefix):
        raise FieldError((*path, "prefix"), "a prefix has letters, digits, - and _, and begins with a letter")
    if server.url is not None:
        parts = urlsplit(server.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise FieldError((*path, "url"), "a URL begins with http:// or https:// and names a host")
        if parts.username is not None or parts.password is not None:
            raise FieldError((*path, "url"), "a password must not stand in the file; give it by headers_from")
        for setting in ("env", "env_from", "cwd"):
            if getattr(server, setting):
                raise FieldError((*path, setting), "goes with command, not with url")
    elif server.headers_from:
        raise FieldError((*path, "headers_from"), "goes with url, not with command")
    variables: list[tuple[str, str | int, str]] = [("env_from", i, one) for i, one in enumerate(server.env_from)]
    variables += [("headers_from", header, one) for header, one in server.headers_from.items()]
    for table, key, variable in variables:
        if variable not in os.environ:
            raise FieldError((*path, table, key), f"the environment variable {variable} is not set; set it")
    for tool, settings in server.tools.items():
        _check_tool(settings, (*path, "tools", tool))


def _check_tool(tool: ToolSettings, path: Sequence[str | int]) -> None:
    if tool.kind is not None and not NAME.fullmatch(tool.kind):
        raise FieldError((*path, "kind"), "a kind has letters, digits, - and _, and begins with a letter")
    if tool.pure and tool.destructive:
        raise FieldError(
            (*path, "pure"), "a pure tool changes nothing, so it cannot be destructive; declare one of them"
        )


def _price(given: Any, path: Sequence[str | int]) -> Price | None:
    return None if given is None else read_price(given, path)


def _declared(settings: ToolSettings, path: Sequence[str | int]) -> Declared:
    return Declared(settings, _price(settings.price, (*path, "price")))
