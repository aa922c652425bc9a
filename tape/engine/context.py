"""The model, the prompts and the trace that all LM roles of one episode share."""

from __future__ import annotations

from dataclasses import dataclass, field

from tape.budget import Budget, Ledger
from tape.budget.deadline import Deadline
from tape.errors import InvalidOutputError
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel
from tape.protocols import Domain, Environment
from tape.protocols.prompt_format import PromptFormat
from tape.trace import MalformedEvent, TraceWriter


@dataclass
class RoleContext:
    """The episode's model, prompts and trace.

    Attributes:
        lm: The accounted model.
        prompt_format: The task's prompts for that model.
        domain: The task.
        trace: The event log.
        malformed: Number of completions so far that could not be read.
    """

    lm: AccountedLM
    prompt_format: PromptFormat
    domain: Domain
    trace: TraceWriter
    malformed: int = field(default=0)

    def count_malformed(self, role: str, text: str, error: InvalidOutputError | None = None) -> None:
        """Count and log a completion that could not be read."""
        self.malformed += 1
        shown = text if error is None else f"{text} [{error}]"
        self.trace.write(MalformedEvent(role=role, text=shown[:400]))


def unplayed(env: Environment, model: LanguageModel) -> RoleContext:
    """A context for checks before an episode: no budget, no trace file."""
    trace = TraceWriter("unplayed")
    lm = AccountedLM(model, Ledger(Budget()), trace, Deadline())
    return RoleContext(lm, env.prompt_format(lm.prompt_format), env.domain, trace)
