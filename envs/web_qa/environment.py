"""A task over the recorded web as an environment: search, scrape, and one answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from envs.web_qa.measure import AnswerScore, score
from envs.web_qa.prompts import WebFormat
from envs.web_qa.web import Web, WebTask
from tape.budget import Budget, Resources
from tape.budget.prices import Fixed
from tape.tools.domain import ToolDomain
from tape.tools.environment import ToolEnvironment
from tape.tools.making import make_tool
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from envs.web_qa.sdp import WebAdapter

CAPS = Budget({"steps": 30, "lookups": 8, "scrapes": 20, "tokens": 200_000})
"""Of an episode: the steps of SDP table 9; searches ("lookups"), pages and tokens that leave room for our tasks."""


def note(step: int, attempt: int, finding: str, quotes: list[dict[str, str]], complete: bool) -> str:
    """Keep the finding of a step of a narrowing chain, with the sentences that support it."""
    del step, attempt, finding, quotes, complete
    return "noted"


class WebEnvironment(ToolEnvironment):
    """One task."""

    def __init__(self, task: WebTask, web: Web) -> None:
        reading = web.tools()

        def written(domain: ToolDomain) -> ProgramFormat:
            return WebFormat(ToolDomain(domain.task, reading))  # models are not offered the notes

        super().__init__(
            task.text,
            Toolbox([*reading.all(), make_tool(note, cost=Fixed(Resources({})), pure=True)]),
            budget=CAPS,
            judge=lambda answer: score(answer, task.answer).exact,
            prompt_formats={"chat": written, "web_qa": written},
        )
        self.asked = task

    def sdp(self) -> WebAdapter:
        """Narrowing chains for :mod:`tape.methods.sdp`, which is loaded only where it is asked for."""
        from envs.web_qa.sdp import WebAdapter

        return WebAdapter(self.domain)

    def scored(self) -> AnswerScore:
        """The answer by AssistantBench's measure; nothing is answered before the end."""
        return score(self.answered, self.asked.answer)

    def measures(self) -> Mapping[str, float]:
        """Accuracy, whether there is an answer, and whether it is exact; without a known answer the second alone."""
        scored = self.scored()
        known = {"accuracy": scored.accuracy, "exact_match": float(scored.exact)} if self.asked.answer else {}
        return {**known, "answered": float(scored.answered)}
