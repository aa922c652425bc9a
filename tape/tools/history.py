"""A conversation as data: what was asked in each turn, what was called for it with what came of it, and the answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tape.errors import ConfigError
from tape.plan.prompt import Done
from tape.plan.shown import LONGEST_RESULT, comment, literal
from tape.reading import storable
from tape.redaction import redacted

MOST_TURNS = 1_000
"""Of a conversation; it is refused where it has more."""
HISTORY_TOKENS = 1_500
"""Of a prompt that earlier turns take at most, by default."""


class HistoryLine(BaseModel):
    """A call of an earlier turn.

    Attributes:
        text: As a line of a program.
        result: What came of it, as it was shown; empty where it failed.
        failure: Why nothing came of it; empty where something did.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    text: str
    result: str = ""
    failure: str = ""


class HistoryTurn(BaseModel):
    """A task and what was done for it.

    Attributes:
        task: In words.
        lines: The calls, in order.
        answer: In JSON; None where there was none.
        end_state: How the run ended.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    task: str
    lines: tuple[HistoryLine, ...] = ()
    answer: Any = None
    end_state: str = ""

    @property
    def short(self) -> str:
        """The task and its answer."""
        return f"Task: {self.task}\n{self._ending}"

    @property
    def whole(self) -> str:
        """The task, its calls with their results, and its answer."""
        return "\n".join([f"Task: {self.task}", *map(_shown, self.lines), self._ending])

    @property
    def _ending(self) -> str:
        given = self.answer
        if given is None:
            return f"# No answer: {self.end_state}"
        if isinstance(given, dict) and given and all(str(name).isidentifier() for name in given):
            return f"answer({', '.join(f'{name}={literal(value)}' for name, value in given.items())})"
        return f"answer({literal(given)})"


class History(BaseModel):
    """The turns of a conversation, as ``result.history`` has them and ``agent.run(..., history=...)`` takes them.

    It is data for you to keep: ``history.model_dump_json()`` and ``History.model_validate_json(text)``. It holds no
    keys and nothing of ``deps``. Take none from a client: what it says is shown to the model as done.

    Attributes:
        version: Of this form.
        tools: A digest of each tool, by name.
        turns: The oldest first.
        digest: Of all of it; what was cut or edited is refused.

    Examples:
        >>> from tape.tools.history import History
        >>> History.of({"query": "3f"}, []).turns
        ()
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    version: Literal[1] = 1
    tools: dict[str, str]
    turns: tuple[HistoryTurn, ...] = ()
    digest: str = ""

    @classmethod
    def of(cls, tools: Mapping[str, str], turns: Sequence[HistoryTurn]) -> History:
        """A history of these turns."""
        made = cls(tools=dict(tools), turns=tuple(turns))
        return made.model_copy(update={"digest": made._digest()})

    @classmethod
    def read(cls, given: History | Mapping[str, Any] | str, tools: Mapping[str, str]) -> History:
        """A history to go on with.

        Args:
            given: The history, or its JSON as a text or as plain values.
            tools: The digests of the tools that there are now.

        Raises:
            ConfigError: It is none, was cut or edited, is too long, or is of an agent with other tools.
        """
        try:
            if isinstance(given, str):
                given = cls.model_validate_json(given)
            elif not isinstance(given, History):
                given = cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the text"
            raise ConfigError(f"history= is no history: {where}: {first['msg']}; give result.history") from None
        if given.digest != given._digest():
            raise ConfigError("history= was cut or edited since it was made; give result.history as it was")
        if len(given.turns) > MOST_TURNS:
            raise ConfigError(f"history= has {len(given.turns)} turns; the most is {MOST_TURNS}: history.last(100)")
        if other := sorted(name for name in {*given.tools, *tools} if given.tools.get(name) != tools.get(name)):
            raise ConfigError(
                f"history= is of an agent with other tools ({', '.join(other[:5])}); go on with the agent that made it"
            )
        return given

    def last(self, turns: int) -> History:
        """The same with the last turns alone."""
        return History.of(self.tools, self.turns[-turns:] if turns > 0 else ())

    def shown(self, count: Callable[[str], int], most: int = HISTORY_TOKENS) -> str:
        """The turns as they stand in a prompt; the oldest are cut to their answers, then left out, where they must be.

        Args:
            count: Tokens of a text.
            most: Tokens that all may take.
        """
        if not self.turns:
            return ""
        shown = [turn.whole for turn in self.turns]
        left_out = 0
        for number, turn in enumerate(self.turns):
            if count(_joined(shown, 0)) <= most:
                break
            shown[number] = turn.short
        while shown and count(_joined(shown, left_out)) > most:
            del shown[0]
            left_out += 1
        return _joined(shown, left_out) if shown else ""

    def _digest(self) -> str:
        content = json.dumps(self.model_dump(mode="json", exclude={"digest"}), sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def turn_of(task: str, done: Sequence[Done], answer: Any, end_state: str) -> HistoryTurn:
    """What was done for a task, without keys."""
    lines: list[HistoryLine] = []
    for step in done:
        if not step.noted:
            result = "" if step.failure else literal(step.result, LONGEST_RESULT)
            lines.append(
                HistoryLine(text=step.text, result=result, failure=comment(step.failure) if step.failure else "")
            )
    turn = HistoryTurn(task=task, lines=tuple(lines), answer=answer, end_state=end_state)
    return HistoryTurn.model_validate(storable(redacted(turn.model_dump(mode="json"))))


def _joined(shown: Sequence[str], left_out: int) -> str:
    head = f"Earlier in this conversation ({left_out} turns before are left out):" if left_out else (
        "Earlier in this conversation:"
    )  # fmt: skip
    return "\n\n".join([head, *shown])


def _shown(line: HistoryLine) -> str:
    return f"{line.text}  # failed: {line.failure}" if line.failure else f"{line.text}  # -> {line.result}"
