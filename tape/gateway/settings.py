"""The tables of the gateway's configuration file: what can be set, with its type, its default and its meaning.

docs/operating/configuration.md is made from these classes. A text in ``Annotated`` is what the page calls the type.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

MOST_SECONDS = 1_000_000
"""Longest time that can be waited: eleven days, which every platform's timers can."""
MOST_RESULT = 256 << 20
"""Most bytes of a result that can be let through."""

Seconds: TypeAlias = Annotated[float, Field(ge=0.001, le=MOST_SECONDS)]
Amounts: TypeAlias = Annotated[dict[str, Any], "amounts by resource"]
Price: TypeAlias = Annotated[Any, "price"]
OwnTools: TypeAlias = Annotated[
    list[Literal["plan", "budget", "checkpoint", "resume"]], "list of `plan`, `checkpoint` and `resume`"
]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ToolSettings(_Table):
    """What is declared of a tool.

    Attributes:
        price: What a call costs. Without one the cost is unknown, and every call is refused under a cap on money.
        quality: The probability that a result is what was asked for. ``plan`` counts 1 where none is declared.
        kind: Tools of one kind can replace each other. By default each tool is of a kind of its own.
        pure: A call changes nothing. By default as the server hints.
        destructive: A call may destroy something, so a person is asked first. By default as the server hints.
        allow_destructive: Make destructive calls without asking. By default as the server's setting.
        description: Shown to clients in the place of the server's words.
        hide: Do not offer the tool.
    """

    price: Price = None
    quality: float | None = Field(None, gt=0, le=1)
    kind: str | None = None
    pure: bool | None = None
    destructive: bool | None = None
    allow_destructive: bool | None = None
    description: str | None = None
    hide: bool = False


class ServerSettings(_Table):
    """A downstream MCP server.

    Attributes:
        command: The program that is started, with its arguments. A server has a ``command`` or a ``url``.
        url: The address of a server over streamable HTTP.
        env: Environment variables that the program gets.
        env_from: Names of environment variables of the gateway that the program gets too, such as keys.
        headers_from: HTTP headers of requests to ``url``, each with the environment variable that has its value.
        cwd: The folder in which the program starts. By default that of the configuration file.
        prefix: Put before the names of the server's tools.
        only: The tools that are offered. By default all.
        start_seconds: How long the server may take to start and to list its tools.
        call_seconds: How long a call may take. By default as in ``[gateway]``.
        price: The price of its tools that declare none.
        allow_destructive: Make destructive calls of its tools without asking. By default as in ``[gateway]``.
        tools: What is declared of single tools, in ``[servers.NAME.tools.TOOL]``.
    """

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
    price: Price = None
    allow_destructive: bool | None = None
    tools: dict[str, ToolSettings] = {}


class PythonSettings(ToolSettings):
    """A Python function.

    Attributes:
        function: ``"MODULE:FUNCTION"``, found beside the configuration file or on Python's path.
        call_seconds: How long a call may take. By default as in ``[gateway]``.
    """

    function: str
    call_seconds: Seconds | None = None


class ClientSettings(_Table):
    """A client over HTTP, known by its token.

    Attributes:
        token_env: The environment variable that has the token. A client has a ``token_env`` or a ``token_file``.
        token_file: The file that has the token. Only its owner may be able to read it.
        budget: The caps of this client, in the place of ``client`` in ``[budgets]``.
        watch: The client may read ``/metrics``, which is about all clients.
    """

    token_env: str | None = None
    token_file: str | None = None
    budget: Amounts | None = None
    watch: bool = False


class Budgets(_Table):
    """Caps; every call has to fit into all of them.

    Attributes:
        run: The caps of everything that one journal holds.
        client: The caps of each client that has no ``budget`` of its own.
        session: The caps of each session.
    """

    run: Amounts = {}
    client: Amounts = {}
    session: Amounts = {}


class LedgerSettings(_Table):
    """A ledger that other programs and hosts pay from too; see docs/reference/ledger.md.

    Attributes:
        url: The address of the ledger. It must not have a password.
        url_env: The environment variable that has the address, for one with a password.
        scope: The scope that pays, such as ``org/gateway``.
        labels: Labels of the calls, such as ``{ customer = "42" }``.
    """

    url: str | None = None
    url_env: str | None = None
    scope: str = "gateway"
    labels: dict[str, str] = {}


class Resource(_Table):
    """A resource of the user's own.

    Attributes:
        unit: What one of it is called, such as ``page``.
        resolution: The smallest amount that is counted, such as ``"0.1"``.
    """

    unit: str = Field(min_length=1)
    resolution: str | int = 1


class GatewayLimits(_Table):
    """Limits of everything behind the gateway.

    Attributes:
        name: The name that clients see.
        call_seconds: How long a call may take. One that takes longer is booked at its worst case.
        approve_seconds: How long a person may think about a destructive call.
        most_result_bytes: The longest result that is passed on, as JSON. A longer one is paid and not passed on.
        allow_destructive: Make destructive calls without asking.
        most_sessions: Over HTTP, how many sessions each client may have open. It has as many session budgets, and one
            more for requests without a session.
        idle_seconds: Over HTTP, after how long a session without a request ends.
        audit: The file of the audit log. Without it no log is kept.
        own_tools: The gateway's own tools that are offered beside ``budget``. Each takes room in every prompt.
    """

    name: str = Field("tape-gateway", min_length=1, max_length=64)
    call_seconds: Seconds = 120.0
    approve_seconds: Seconds = 300.0
    most_result_bytes: int = Field(1_000_000, ge=1000, le=MOST_RESULT)
    allow_destructive: bool = False
    most_sessions: int = Field(16, ge=1, le=1000)
    idle_seconds: float = Field(1800.0, gt=0, le=MOST_SECONDS)
    audit: str | None = Field(None, min_length=1)
    own_tools: OwnTools = []


class File(_Table):
    """The whole file."""

    gateway: GatewayLimits = GatewayLimits()
    resources: dict[str, Resource] = {}
    budgets: Budgets = Budgets()
    ledger: LedgerSettings = LedgerSettings()
    clients: dict[str, ClientSettings] = {}
    servers: dict[str, ServerSettings] = {}
    python: dict[str, PythonSettings] = {}
