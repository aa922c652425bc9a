"""Errors of the tool environment."""

from __future__ import annotations

from tape.errors import ConfigError, InvalidOutputError, TapeError


class ToolError(ConfigError):
    """A tool or a toolbox is declared wrongly."""


class InvalidCallError(InvalidOutputError):
    """A text is no call of a tool."""


class ToolFailedError(TapeError):
    """Raised by a tool that cannot do what it was asked for; the agent sees the message, and the call is paid."""


class ToolWarning(UserWarning):
    """Tools of a server that cannot be offered and are left out; the message names them, with reasons."""
