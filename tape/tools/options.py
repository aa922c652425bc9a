"""The options of an environment of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from tape.budget import BudgetLike
from tape.protocols.prompt_format import PromptFormat
from tape.tools.answer_rules import AnswerCheck, Judge
from tape.tools.briefing import Briefing
from tape.tools.copies.base import CopyableState
from tape.tools.domain import ToolDomain

PromptFormats = Mapping[str, Callable[[ToolDomain], PromptFormat]]
"""How a task is written for each family of models, by the prompt format's name."""


class ToolEnvironmentOptions(TypedDict, total=False):
    """What :class:`ToolEnvironment` takes by keyword beside ``answer``."""

    budget: BudgetLike
    judge: Judge | None
    prompt_formats: PromptFormats | None
    tracebacks: bool
    longest_plan: int
    state: CopyableState | Mapping[str, CopyableState] | None
    deps: Any
    briefing: Briefing
    answer_check: AnswerCheck | None
    answer_tries: int
