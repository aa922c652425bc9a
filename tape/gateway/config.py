"""The configuration file of the gateway: checked as a whole before anything is started."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from tape.budget import Budget, declare
from tape.budget.accounts import accounts_of
from tape.budget.price_reading import PRICE_WORDS, count_of, read_price
from tape.budget.prices import Price
from tape.budget.stores.addresses import read_address
from tape.errors import ConfigError, FieldError
from tape.gateway.settings import (
    ClientSettings,
    File,
    GatewayLimits,
    LedgerSettings,
    PythonSettings,
    Resource,
    ServerSettings,
    ToolSettings,
)
from tape.reading import read_text, short, wrong
from tape.toml_reading import line_of, parse_toml

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
LOCAL = "local"
"""The client of stdio, and of HTTP where no clients are named."""


@dataclass(frozen=True)
class Declared:
    """A tool's settings with its price read."""

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
    limits: GatewayLimits
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


def _shaped(raw: Mapping[str, Any]) -> File:
    try:
        return File.model_validate(raw)
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
    kind: Any = File
    for key in path:
        is_table = isinstance(kind, type) and issubclass(kind, BaseModel)
        kind = kind.model_fields[str(key)].annotation if is_table else get_args(kind)[-1]
    return sorted(kind.model_fields)


def _checked(path: Path, file: File, where: Callable[[Sequence[str | int]], str]) -> GatewayConfig:
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
        name: of_each if settings.budget is None else _budget(settings.budget, ("clients", name, "budget"))
        for name, settings in file.clients.items()
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
        {name: _price(settings.price, ("servers", name, "price")) for name, settings in file.servers.items()},
        {
            name: {
                tool: _declared(settings, ("servers", name, "tools", tool)) for tool, settings in server.tools.items()
            }
            for name, server in file.servers.items()
        },
        {name: _declared(settings, ("python", name)) for name, settings in file.python.items()},
        file.python,
        where,
    )


def _declare(name: str, resource: Resource) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name) or name in PRICE_WORDS:
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
    if not address:
        raise FieldError(at, f"the environment variable {given.url_env} is not set" if given.url_env else "it is empty")
    try:
        has_password = read_address(address).has_password
    except ConfigError as error:
        raise FieldError(at, str(error)) from None
    if given.url is not None and has_password:
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
    variables: list[tuple[str, str | int, str]] = [("env_from", i, text) for i, text in enumerate(server.env_from)]
    variables += [("headers_from", header, text) for header, text in server.headers_from.items()]
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
