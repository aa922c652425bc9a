"""ReAct with a budget tracker in its prompt, as BATS has one [not in the paper].

After the budget tracker of "Budget-Aware Tool-Use Enables Effective Agent Scaling" (arXiv 2511.17006): before each
action the model reads what it has used and what is left of each budget, and how sparing that asks it to be. The words
are ours. BATS's own planning and verification are not here, and the ledger keeps the budget, as for all agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from tape.agents.react import ReactAgent
from tape.budget import in_units
from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.base import Message, Request
from tape.protocols import Action, Environment, State
from tape.protocols.prompt_format import PromptFormat

LEVELS = (
    (0.7, "HIGH", "there is room to look around where that helps"),
    (0.3, "MEDIUM", "choose calls that bring the task forward, and none twice"),
    (0.1, "LOW", "make only the calls that the task cannot do without"),
    (0.0, "CRITICAL", "finish now with what is known"),
)
"""From which share of a budget on a level holds that is left, and what it asks for."""


def tracked(caps: Mapping[str, int], remaining: Mapping[str, int]) -> str:
    """The tracker's lines: each budget, and the level of the one of which the least share is left."""
    lines = [
        f"- {kind}: {in_units(kind, max(0, cap - remaining.get(kind, 0)))} used of {in_units(kind, cap)}, "
        f"{in_units(kind, remaining.get(kind, 0))} left"
        for kind, cap in caps.items()
    ]
    share = min((remaining.get(kind, 0) / cap if cap else 0.0 for kind, cap in caps.items()), default=1.0)
    level, advice = next((name, text) for least, name, text in LEVELS if share >= least)
    return "\n".join(["Budget so far:", *lines, f"Level: {level}: {advice}."])


class _Tracked:
    """A prompt format whose requests for actions end with the tracker."""

    def __init__(self, prompt_format: PromptFormat, caps: Mapping[str, int]) -> None:
        self._prompt_format, self._caps = prompt_format, caps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._prompt_format, name)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        return self._told(self._prompt_format.act_request(state, remaining, action, plan), remaining)

    def line_request(self, done: Any, remaining: Mapping[str, int], plan: Sequence[Action], **given: Any) -> Request:
        return self._told(self._prompt_format.line_request(done, remaining, plan, **given), remaining)

    def _told(self, request: Request, remaining: Mapping[str, int]) -> Request:
        assert not isinstance(request.prompt, str)
        *before, last = request.prompt
        content = f"{last.content}\n\n{tracked(self._caps, remaining)}"
        return replace(request, prompt=(*before, Message(last.role, content)))


class BatsAgent(ReactAgent):
    """ReAct that reads before each action what was used, what is left, and how sparing to be."""

    name: ClassVar[str] = "bats"

    @classmethod
    def require_prompts(cls, config: TapeConfig, env: Environment, roles: RoleContext) -> None:
        """Refuse a model that reads no chat.

        Raises:
            ConfigError: It is one, or its prompts lack a role.
        """
        super().require_prompts(config, env, roles)
        if roles.lm.prompt_format != "chat":
            raise ConfigError(f"bats writes into chat prompts, which {roles.lm.name} does not read; use react")

    async def _play(self, episode: Episode) -> None:
        tracked_format = _Tracked(episode.roles.prompt_format, episode.remaining())
        episode.roles.prompt_format = cast("PromptFormat", tracked_format)
        await super()._play(episode)
