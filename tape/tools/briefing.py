"""What a model is told beside a task: instructions, worked examples, and the conversation so far."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tape.errors import ConfigError
from tape.plan.program import Program
from tape.plan.reader import read
from tape.plan.shown import stub
from tape.plan.vocabulary import Vocabulary
from tape.tools.history import HISTORY_TOKENS, History, HistoryTurn


@dataclass(frozen=True)
class Briefing:
    """What stands before a task in each prompt.

    Attributes:
        instructions: How to work, in words.
        examples: Tasks and their programs, in the place of those of another subject.
        history: The turns before.
        earlier: The same as they are shown.
    """

    instructions: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    history: History | None = None
    earlier: str = ""

    def after(
        self, given: History | Mapping[str, Any] | str | None, tools: Mapping[str, str], count: Callable[[str], int],
        most: int = HISTORY_TOKENS,
    ) -> Briefing:  # fmt: skip
        """The same for a conversation that goes on.

        Args:
            given: Its history; None at its beginning.
            tools: The digests of the tools.
            count: Tokens of a text.
            most: Tokens that the history may take.

        Raises:
            ConfigError: See :meth:`tape.tools.history.History.read`.
        """
        if given is None:
            return self
        return self.going_on(History.read(given, tools), count, most)

    def going_on(self, history: History, count: Callable[[str], int], most: int = HISTORY_TOKENS) -> Briefing:
        """The same after a history that is known to be whole."""
        return replace(self, history=history, earlier=history.shown(count, most))

    @property
    def turns(self) -> tuple[HistoryTurn, ...]:
        """The turns before."""
        return () if self.history is None else self.history.turns

    @property
    def first(self) -> str:
        """The task that the conversation began with; empty at its beginning."""
        return self.turns[0].task if self.turns else ""

    def made_with(self) -> dict[str, Any]:
        """What of it an episode has to be resumed with; only what there is."""
        history = None if self.history is None else self.history.model_dump(mode="json")
        parts = {"instructions": self.instructions, "history": history}
        return {name: part for name, part in parts.items() if part}


NO_BRIEFING = Briefing()
"""Nothing beside the task."""


def digests(words: Vocabulary) -> dict[str, str]:
    """Of each tool what tells it from another of its name: how it is called, whatever it costs."""
    stubs = {name: stub(replace(signature, price="")) for name, signature in words.tools.items()}
    return {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in stubs.items()}


def checked_examples(examples: Sequence[tuple[str, str]], words: Vocabulary) -> tuple[tuple[str, str], ...]:
    """Examples whose programs can be read with these tools.

    Raises:
        ConfigError: One is no pair of a task and a program, or its program cannot be read whole; names the line.
    """
    checked: list[tuple[str, str]] = []
    for number, example in enumerate(examples, 1):
        if not (isinstance(example, tuple | list) and len(example) == 2 and all(isinstance(t, str) for t in example)):
            raise ConfigError(f"examples={number}: a pair of a task and a program, not {example!r:.80}")
        task, text = example
        program: Program = read(text, words, {})
        if program.stopped is not None:
            stopped = program.stopped
            raise ConfigError(f"examples={number}: {stopped.text!r:.120} is no line of a program here: {stopped.why}")
        if not any(statement.answers for statement in program.statements):
            raise ConfigError(f"examples={number}: its program has no answer(...)")
        checked.append((f"Task: {task}", text.strip()))
    return tuple(checked)
