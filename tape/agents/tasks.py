"""Tasks in words: what an agent has for them, and the environment that it makes of one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Generic, get_origin

from tape.agents.options import DepsT, TaskTools
from tape.errors import ConfigError
from tape.lm.base import LanguageModel, Message, Request
from tape.protocols import AnswerT
from tape.tools.answer_rules import ANSWER_TRIES, AnswerRules
from tape.tools.answers import AnswerType
from tape.tools.briefing import Briefing, checked_examples, digests
from tape.tools.context import Instructions, ToolContext, fits
from tape.tools.domain import ToolDomain
from tape.tools.environment import ToolEnvironment
from tape.tools.history import HISTORY_TOKENS, History
from tape.tools.tool import Tool
from tape.tools.toolbox import Toolbox
from tape.trace import StartedEvent


class TaskMaker(Generic[DepsT, AnswerT]):
    """Makes environments of tasks in words.

    Args:
        tools: What may be called.
        deps_type: The type of ``deps``.
        answer: The type of an answer.
        options: The rest.

    Attributes:
        kind: What it makes.

    Raises:
        ConfigError: Tools need deps of another type, or an example cannot be read; or an option is malformed.
        ToolError: The tools contradict each other, or an answer cannot have the type.
    """

    def __init__(self, tools: Sequence[Tool], deps_type: type[DepsT] | None, answer: Any, options: TaskTools) -> None:
        self._toolbox, self.deps_type = Toolbox(tools), deps_type
        self.kind: type[ToolEnvironment] = ToolEnvironment
        self._instructions: Instructions = options.get("instructions", "")
        self._check, self._tries = options.get("answer_check"), options.get("answer_tries", ANSWER_TRIES)
        self._history_tokens = options.get("history_tokens", HISTORY_TOKENS)
        if not (isinstance(self._instructions, str) or callable(self._instructions)):
            raise ConfigError(f"instructions= is a text or a function of the context, not {self._instructions!r:.80}")
        self._asked = asked = None if answer is None else AnswerType(answer)
        AnswerRules(asked, None, self._check, self._tries)
        self._words = ToolDomain("", self._toolbox, answer=asked).words(())
        self._examples = checked_examples(options.get("examples", ()), self._words)
        for item in self._toolbox.all():
            if deps_type is not None and item.context is not None and not _accepts(item.needs, deps_type):
                raise ConfigError(
                    f"{item.name} takes a context with deps of the type {item.needs!r}, and deps_type= is {deps_type!r}"
                )

    async def environment(
        self,
        task: str,
        deps: DepsT | None,
        history: History | Mapping[str, Any] | str | None,
        model: LanguageModel,
        told: str | None = None,
    ) -> ToolEnvironment[AnswerT]:
        """The environment of a task.

        Args:
            task: In words.
            deps: What the tools get.
            history: The conversation before.
            model: Counts the tokens that earlier turns take.
            told: The instructions, where the task was begun before; else they are asked for.

        Raises:
            ConfigError: ``deps`` is of another type, or the history cannot be gone on with.
            ToolError: A tool needs ``deps``, and there are none.
        """
        if deps is not None and self.deps_type is not None and not fits(deps, self.deps_type):
            raise ConfigError(f"deps= is of the type {type(deps).__name__}, and deps_type= is {self.deps_type!r}")

        def count(text: str) -> int:
            return model.prompt_tokens(Request((Message("user", text),), 1))

        briefing = Briefing(await self._told(deps) if told is None else told, self._examples)
        briefing = briefing.after(history, digests(self._words), count, self._history_tokens)
        return self._made(task, deps, briefing)

    async def again(self, started: StartedEvent, deps: DepsT | None, model: LanguageModel) -> ToolEnvironment[AnswerT]:
        """The environment of a task that was begun before, from what its trace says of it."""
        told = started.environment
        return await self.environment(started.task, deps, told.get("history"), model, told.get("instructions", ""))

    def _made(self, task: str, deps: DepsT | None, briefing: Briefing) -> ToolEnvironment[AnswerT]:
        return self.kind(
            task, self._toolbox, answer=self._asked, deps=deps, briefing=briefing,
            answer_check=self._check, answer_tries=self._tries,
        )  # fmt: skip

    async def _told(self, deps: DepsT | None) -> str:
        given = self._instructions
        if isinstance(given, str):
            return given.strip()
        said = given(ToolContext(deps))
        text = await said if inspect.isawaitable(said) else said
        if not isinstance(text, str):
            raise ConfigError(f"instructions= returned {text!r:.80}; it returns a text")
        return text.strip()


def _accepts(needed: Any, given: Any) -> bool:
    """Whether a type of deps is what a tool needs, as far as that can be told."""
    needed, given = get_origin(needed) or needed, get_origin(given) or given
    return (
        Any in (needed, given)
        or not (isinstance(needed, type) and isinstance(given, type))
        or issubclass(given, needed)
    )
