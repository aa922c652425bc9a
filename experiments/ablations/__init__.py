"""Parts of TAPE that studies replace, named by ``--ablation NAME=module:Class``."""

from __future__ import annotations

from tape.engine.context import RoleContext
from tape.errors import ConfigError


def require_ask(roles: RoleContext, role: str) -> None:
    """Refuse a model whose prompts have no question of the engine's own.

    Raises:
        ConfigError: Names the role and what to do.
    """
    prompts = roles.prompt_format
    if prompts.ask is None:
        raise ConfigError(
            f"the prompts that {roles.lm.name} reads have no {role} role ({type(prompts).__name__} has no method ask, "
            "and the model was not trained on it); leave the part declared, or take a general model, which reads chat "
            "prompts"
        )
