"""What the prompt formats of tool environments share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import takewhile

from tape.lm.base import Request
from tape.protocols import Plan, State
from tape.protocols.prompt_format import PromptFormat
from tape.tools.calls import Call, parse
from tape.tools.domain import ToolDomain, as_state
from tape.tools.errors import InvalidCallError
from tape.tools.plans import in_order
from tape.tools.state import ToolState

JUDGED_WRONG = 0.1
"""The value of an answer that the model judges wrong, relative to one judged right.

Judgements err, and of answers that are all judged wrong the one by better tools is still the better one.
"""

UNREAD = (
    "A bundled model reads only the tasks that it was trained on. Tools need a general model, such as openai:NAME, or "
    "plans that are scripted, by tape.lm.scripted.ScriptedLM"
)
"""What to do about a model that reads none of an environment's formats."""


class ToolFormat(PromptFormat):
    """What all have alike, for models that predict nothing: tools declare what they lead to.

    Args:
        domain: The task and its tools.
    """

    def __init__(self, domain: ToolDomain) -> None:
        self._domain = domain

    def unread(self, state: State) -> ToolState:
        """What cannot be read was not found."""
        return as_state(state).read(None)

    def plan_of(self, state: State, calls: Sequence[Call], *, valid: bool) -> Plan:
        """A plan of calls, pure ones in canonical order; it ends before the first that cannot be read from its text."""
        here = as_state(state)
        written = list(takewhile(_can_be_read, calls))
        obtained, outdated = [found.call for found in here.got], self._domain.outdated(here)
        ordered = in_order(written, obtained, pure=self._domain.toolbox.is_pure, outdated=outdated)
        return Plan(tuple(call.text for call in ordered), valid and len(written) == len(calls))

    @abstractmethod
    def answer_request(self, state: ToolState) -> Request:
        """Ask for the answer with what has been obtained."""

    @abstractmethod
    def longest_answer_request(self) -> Request:
        """A request as long as any that :meth:`answer_request` may make."""

    @abstractmethod
    def read_answer(self, state: ToolState, text: str) -> Call:
        """Read the answer.

        Raises:
            InvalidOutputError: It cannot be read.
        """


def _can_be_read(call: Call) -> bool:
    """Whether a call's text stands for it: a model may put anything into names, and write without end."""
    try:
        return parse(call.text) == call
    except InvalidCallError:
        return False
