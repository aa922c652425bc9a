"""What the LM roles of one episode share."""

from __future__ import annotations

from dataclasses import dataclass, field

from tape.errors import InvalidOutputError
from tape.lm.accounting import AccountedLM
from tape.protocols import Domain
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
        malformed: Completions that could not be read, so far.
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
