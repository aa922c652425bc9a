"""The errors of tool chains."""

from __future__ import annotations

from tape.errors import ConfigError


class ToolChainsError(ConfigError):
    """A problem that cannot be made or read; names what to ask for instead."""
