"""The errors of the engine, in one hierarchy. Each message names what is wrong, where, and what to do."""

from __future__ import annotations

import threading
from collections.abc import Iterable


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
    """Base of every error the engine raises on purpose."""


class ConfigError(TapeError, ValueError):
    """A setting is out of range or settings contradict each other."""


class DataError(TapeError, ValueError):
    """A file from outside cannot be read; the message gives file, line and field."""


class UnknownNameError(TapeError, LookupError):
    """A plugin of that name does not exist.

    Args:
        what: The kind of plugin, for instance ``"agent"``.
        name: The name that was asked for.
        known: The names there are.
        hint: One more sentence, if it helps.
    """

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.what, self.name, self.known = what, name, tuple(sorted(known))
        listed = ", ".join(self.known) or "none"
        super().__init__(f"there is no {what} {name!r}; there is: {listed}" + (f". {hint}" if hint else ""))


class PluginError(TapeError):
    """A plugin exists but cannot be loaded."""


class ShadowedPackageError(PluginError, ImportError):
    """Another package of the same name comes before one of ours; the message names it and what to do."""


class MissingExtraError(TapeError, ImportError):
    """An optional dependency is missing; the message names the extra to install."""


class BudgetExceededError(TapeError):
    """A reservation did not fit into a hard budget, so nothing was spent.

    Made by :func:`tape.budget.exceeded`, whose message has units.

    Attributes:
        kind: The resource.
        limit: The cap, in counts of the resource's resolution like the others.
        used: What is settled or reserved already.
        requested: What the refused reservation asked for.
        ledger: Whose cap it is, for instance ``episode`` or ``run``.
    """

    def __init__(self, kind: str, limit: int, used: int, requested: int, ledger: str = "", message: str = "") -> None:
        self.kind, self.limit, self.used, self.requested = kind, limit, used, requested
        self.ledger = ledger
        super().__init__(message or f"{kind}: {requested} requested, {used} of {limit} used or reserved")

    def wanted_for(self, what: str) -> None:
        """Put into the message what the reservation was for."""
        self.args = (f"{what}: {self}",)


class UnknownCostError(TapeError):
    """A cost is unknown under a hard cap: declare it or lift the cap."""


class LockOrderError(TapeError):
    """A budget is used from where that could block for ever; see :mod:`tape.budget.locks`."""


class ModelError(TapeError):
    """A language model could not be loaded or failed to answer."""


class ConstraintError(TapeError, ValueError):
    """A decoding constraint cannot be met by this model or by any text."""


class InvalidOutputError(TapeError, ValueError):
    """A completion could not be read; agents count it and go on."""


class ApprovalError(TapeError):
    """The approving function failed or returned something unusable; the action was not executed."""


class EnvironmentFaultError(TapeError):
    """The environment itself failed."""


class GraphError(TapeError, ValueError):
    """A plan graph file or operation is malformed."""


class TraceError(TapeError, ValueError):
    """A trace file is malformed; the message gives file and line."""


class ResumeError(TapeError, ValueError):
    """An episode cannot go on from its trace; nothing was called, and the trace is as it was."""


class UnfinishedCallError(ResumeError):
    """An episode was cut off amid a call that may have changed something; who resumes it has to decide.

    Attributes:
        action: The call.
    """

    def __init__(self, message: str, action: str) -> None:
        self.action = action
        super().__init__(message)


class RunDirectoryError(TapeError):
    """A run directory holds something else than this run."""


class EndpointWarning(UserWarning):
    """A hosted model ignores a constraint, reports impossible usage, or its key cannot be hidden; issued once."""
