"""The adapter of an environment."""

from __future__ import annotations

from tape.errors import ConfigError
from tape.methods.sdp.adapter import Adapter, SdpEnvironment
from tape.methods.sdp.tool_adapter import ToolAdapter
from tape.protocols import Environment
from tape.tools.domain import ToolDomain


def adapter_of(env: Environment) -> Adapter | None:
    """The environment's own adapter, or else the one for environments of tools; None if neither applies."""
    if isinstance(env, SdpEnvironment):
        return env.sdp()
    return ToolAdapter(env.domain) if isinstance(env.domain, ToolDomain) else None


def require_adapter(env: Environment) -> Adapter:
    """The adapter of an environment.

    Raises:
        ConfigError: The environment has none.
    """
    adapter = adapter_of(env)
    if adapter is None:
        raise ConfigError(
            f"the agent sdp needs an environment with an adapter, and {type(env).__name__} has none: use another "
            "agent, for instance tape, or give it one (tape.methods.sdp.adapter."
            "SdpEnvironment, docs/reference/methods/sdp.md)"
        )
    return adapter
