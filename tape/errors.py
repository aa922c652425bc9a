"""The errors of the engine, in one hierarchy. Each message names what is wrong, where, and what to do."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def error_text(error: BaseException) -> str:
    """The type and the message of an exception, whatever its ``__str__`` does."""
    try:
        message = str(error)
    except BaseException as failure:
        if is_ctrl_c(failure):
            raise
        message = "its message cannot be read"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def is_ctrl_c(error: BaseException) -> bool:
    """Whether the user interrupts the program; in other threads than the main one only their own code raises it."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


class TapeError(Exception):
    """Base of every error the engine raises on purpose.

    Examples:
        >>> from tape import Budget, TapeError
        >>> try:
        ...     Budget.of(usd="much")
        ... except TapeError as error:
        ...     print(type(error).__name__, error)
        ConfigError usd: 'much' is not a number of US dollars; write 0.05, '$0.05', '0.05 usd' or '5 cents'
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """So that every error can be pickled, whatever it is made with."""
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[TapeError], args: Sequence[Any], state: Mapping[str, Any]) -> TapeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class ConfigError(TapeError, ValueError):
    """A setting is out of range or settings contradict each other.

    Examples:
        >>> from tape import TapeConfig
        >>> TapeConfig.make(num_plans=0)
        Traceback (most recent call last):
        ...
        tape.errors.ConfigError: setting num_plans = 0: Input should be greater than or equal to 1
    """


class DataError(TapeError, ValueError):
    """A file from outside cannot be read; the message gives file, line and field.

    Examples:
        >>> from pathlib import Path
        >>> from tape.reading import read_json
        >>> read_json(Path("missing.json"))
        Traceback (most recent call last):
        ...
        tape.errors.DataError: missing.json: cannot be read: No such file or directory
    """


class UnknownNameError(TapeError, LookupError):
    """A plugin of that name does not exist.

    Args:
        what: The kind of plugin, for instance ``"agent"``; the error has it as an attribute, like the next two.
        name: The name that was asked for.
        known: The names there are; the attribute is sorted.
        hint: One more sentence, if it helps.

    Examples:
        >>> from tape import open_model
        >>> from tape.errors import UnknownNameError
        >>> try:
        ...     open_model("bundled:nona")
        ... except UnknownNameError as error:
        ...     print(error.what, error.name, "nano" in error.known)
        bundled model nona True
    """

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.what, self.name, self.known = what, name, tuple(sorted(known))
        listed = ", ".join(self.known) or "none"
        super().__init__(f"there is no {what} {name!r}; there is: {listed}" + (f". {hint}" if hint else ""))


class PluginError(TapeError):
    """A plugin exists but cannot be loaded.

    Raised for a part that an installed package declares as an entry point, and whose module or name is not there. The
    message names the entry point, and where its package was found.

    Examples:
        >>> from tape.errors import PluginError
        >>> from tape.plugins import load, names
        >>> for name in names("tape.agents"):
        ...     try:
        ...         _ = load("tape.agents", name)
        ...     except PluginError as error:
        ...         print(name, "is left out:", error)
    """


class ShadowedPackageError(PluginError, ImportError):
    """Another package of the same name comes before one of ours; the message names it and what to do."""


class MissingExtraError(TapeError, ImportError):
    """An optional dependency is missing; the message names the extra to install.

    Examples:
        >>> from tape.plugins import require_extra
        >>> require_extra("otel", "no_such_package", what="the export")
        Traceback (most recent call last):
        ...
        tape.errors.MissingExtraError: the export needs the package 'no_such_package', which is not installed: ...
    """


class BudgetExceededError(TapeError):
    """A reservation did not fit into a hard budget, so nothing was spent.

    Made by :func:`tape.budget.exceeded`, whose message has units.

    Attributes:
        kind: The resource.
        limit: The cap, in counts of the resource's resolution like the others.
        used: What is settled or reserved already.
        requested: What the refused reservation asked for.
        ledger: Whose cap it is, for instance ``episode`` or ``run``.

    Examples:
        >>> from tape import Budget, BudgetExceededError, Ledger, Resources
        >>> ledger = Ledger(Budget.of(usd="$0.05"))
        >>> try:
        ...     ledger.reserve(Resources.of(usd="$0.08"))
        ... except BudgetExceededError as error:
        ...     print(error.kind, error.limit, error.used, error.requested, error.ledger)
        usd 50000 0 80000 episode
    """

    def __init__(self, kind: str, limit: int, used: int, requested: int, ledger: str = "", message: str = "") -> None:
        self.kind, self.limit, self.used, self.requested = kind, limit, used, requested
        self.ledger = ledger
        super().__init__(message or f"{kind}: {requested} requested, {used} of {limit} used or reserved")

    def wanted_for(self, what: str) -> None:
        """Put into the message what the reservation was for."""
        self.args = (f"{what}: {self}",)


class UnknownCostError(TapeError):
    """A cost is unknown under a hard cap: declare it or lift the cap.

    Examples:
        >>> from tape import Budget, Ledger, Resources
        >>> Ledger(Budget.of(usd=1)).reserve(Resources.of(usd=None))
        Traceback (most recent call last):
        ...
        tape.errors.UnknownCostError: the worst case of usd is unknown under the hard cap of $1 of the episode ledger...
    """


class LockOrderError(TapeError):
    """A budget is used from where that could block for ever; see :mod:`tape.budget.locks`."""


class ModelError(TapeError):
    """A language model could not be loaded or failed to answer.

    An agent ends its episode as ``model_error`` where the model fails to answer; one that cannot be loaded raises it.

    Examples:
        >>> from tape import open_model
        >>> open_model("scripted:missing.json")
        Traceback (most recent call last):
        ...
        tape.errors.ModelError: missing.json: cannot be read: No such file or directory; scripted:missing.json is a ...
    """


class ConstraintError(TapeError, ValueError):
    """A decoding constraint cannot be met by this model or by any text.

    Examples:
        >>> from tape.lm.base import OneOf
        >>> OneOf(())
        Traceback (most recent call last):
        ...
        tape.errors.ConstraintError: a choice needs at least one option and no duplicates, got ()
    """


class InvalidOutputError(TapeError, ValueError):
    """A completion could not be read; agents count it and go on.

    The readers of a :class:`tape.protocols.PromptFormat` raise it. How often that was is
    :attr:`tape.EpisodeResult.malformed`.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> level = load_set("easy")[0]
        >>> SokobanEnvironment(level).prompt_format("compact").read_act(level.start, "no move")
        Traceback (most recent call last):
        ...
        tape.errors.InvalidOutputError: expected 'action:' and one of U, D, L, R
    """


class ApprovalError(TapeError):
    """The approving function failed or returned something unusable; the action was not executed.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import ReactAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> ReactAgent("bundled:nano").run(env, approve=lambda request: None, approve_when=lambda request: True)
        Traceback (most recent call last):
        ...
        tape.errors.ApprovalError: approve returned None for 'L', not True, False or a member of tape.Approval; ...
    """


class EnvironmentFaultError(TapeError):
    """The environment itself failed.

    An agent that meets it ends its episode as ``env_error``, whatever exception the environment's code has raised.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import ReactAgent
        >>> class Broken(SokobanEnvironment):
        ...     def step(self, action):
        ...         raise OSError("the board is gone")
        >>> result = ReactAgent("bundled:nano").run(Broken(load_set("easy")[0], steps=8))
        >>> print(result.end_state, result.detail)
        env_error step('L') failed: OSError: the board is gone
    """


class GraphError(TapeError, ValueError):
    """A plan graph file or operation is malformed.

    Examples:
        >>> from tape import PlanGraph
        >>> PlanGraph().edge(3)
        Traceback (most recent call last):
        ...
        tape.errors.GraphError: there is no edge 3
    """


class TraceError(TapeError, ValueError):
    """A trace file is malformed; the message gives file and line.

    Examples:
        >>> from pathlib import Path
        >>> from tape import read_trace
        >>> _ = Path("trace.jsonl").write_text("{}")
        >>> next(read_trace(Path("trace.jsonl")))
        Traceback (most recent call last):
        ...
        tape.errors.TraceError: trace.jsonl:1: not a trace event: field schema is missing
    """


class ResumeError(TapeError, ValueError):
    """An episode cannot go on from its trace; nothing was called, and the trace is as it was.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import OpenLoopAgent, ReactAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> _ = OpenLoopAgent("bundled:nano").run(env, trace="trace.jsonl")
        >>> ReactAgent("bundled:nano").resume("trace.jsonl", env, steps_again=True)
        Traceback (most recent call last):
        ...
        tape.errors.ResumeError: ...trace.jsonl: the episode was begun with agent='open_loop', not 'react'; ...
    """


class UnfinishedCallError(ResumeError):
    """An episode was cut off amid a call that may have changed something; who resumes it has to decide.

    Attributes:
        action: The call.

    Examples:
        >>> from contextlib import suppress
        >>> from tape import TapeAgent, ToolEnvironment, tool
        >>> from tape.lm.scripted import ScriptedLM
        >>> @tool
        ... def send(to: str) -> str:
        ...     "Send a mail."
        ...     raise KeyboardInterrupt
        >>> agent = TapeAgent(ScriptedLM(lambda request, sample: 'answer(send("ann"))'))
        >>> with suppress(KeyboardInterrupt):
        ...     agent.run(ToolEnvironment("Tell Ann.", [send]), trace="trace.jsonl")
        >>> agent.resume("trace.jsonl", tools=[send])
        Traceback (most recent call last):
        ...
        tape.errors.UnfinishedCallError: send(to="ann") had begun when the episode was cut off, and may be done; ...
    """

    def __init__(self, message: str, action: str) -> None:
        self.action = action
        super().__init__(message)


class RunDirectoryError(TapeError):
    """A run directory holds something else than this run.

    Examples:
        >>> from pathlib import Path
        >>> from tape.runner.directory import RunDirectory
        >>> _ = Path("run").write_text("")
        >>> RunDirectory(Path("run"))
        Traceback (most recent call last):
        ...
        tape.errors.RunDirectoryError: run is a file, not a folder; name another --out
    """


class EndpointWarning(UserWarning):
    """A hosted model ignores a constraint, reports impossible usage, or its key cannot be hidden; issued once.

    Examples:
        >>> import asyncio, warnings
        >>> from tape import open_model
        >>> from tape.errors import EndpointWarning
        >>> from tape.lm.base import OneOf, Message, Request
        >>> from tape.lm.scripted import ScriptedLM
        >>> from tape.testing.endpoint import ModelEndpoint
        >>> asked = Request((Message("user", "Yes or no?"),), 5, OneOf(("yes", "no")))
        >>> with ModelEndpoint(ScriptedLM(["maybe"])) as endpoint, warnings.catch_warnings():
        ...     warnings.simplefilter("error", EndpointWarning)
        ...     asyncio.run(open_model(f"openai:any@{endpoint.url}").generate([asked]))
        Traceback (most recent call last):
        ...
        tape.errors.EndpointWarning: openai:any@... ignores the schema that it is asked to enforce: ...
    """


class FieldError(ConfigError):
    """A field of the configuration is wrong; the reader of the file adds where it stands.

    Args:
        path: The keys that lead to the field.
        message: What is wrong, and what to do.
    """

    def __init__(self, path: Sequence[str | int], message: str) -> None:
        self.path, self.message = tuple(path), message
        super().__init__(f"field {'.'.join(map(str, path))}: {message}")


class ChargeError(TapeError):
    """The cost of a call does not follow from its arguments; the call is refused."""
