"""What the LM roles of one episode share."""

from __future__ import annotations

from dataclasses import dataclass, field

from tape.budget import Budget, Ledger
from tape.budget.deadline import Deadline
from tape.engine.settings import LM_ROLES, TapeConfig
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel, Message
from tape.protocols import Domain, Environment, State
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

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """A question of the engine's own about a state, for the roles that :func:`require_roles` has checked."""
        asking = self.prompt_format.ask
        assert asking is not None
        return asking(state, question)


def unplayed(env: Environment, model: LanguageModel) -> RoleContext:
    """What the roles of an episode would share, of which nothing is played: for checks beforehand.

    Raises:
        UnknownNameError: The environment has no prompts that the model reads.
    """
    trace = TraceWriter("unplayed")
    lm = AccountedLM(model, Ledger(Budget()), trace, Deadline())
    return RoleContext(lm, env.prompt_format(lm.prompt_format), env.domain, trace)


def require_whole(prompt_format: PromptFormat, model: str) -> None:
    """Refuse prompts that have no requests for plans, scores, actions and answers.

    Raises:
        ConfigError: Says what can be played with them.
    """
    if prompt_format.instead:
        raise ConfigError(
            f"the prompts that {model} reads here ask for no plans and no actions: {prompt_format.instead}"
        )


def require_roles(config: TapeConfig, domain: Domain, prompt_format: PromptFormat, model: str) -> None:
    """Refuse switches that ask for a role which a model's prompts do not have, or that mean nothing in a domain.

    Args:
        config: The switches.
        domain: The task.
        prompt_format: Its prompts for the model.
        model: The model's name, for the message.

    Raises:
        ConfigError: Names the switch and says what to do.
    """
    for name, role in LM_ROLES.items():
        if getattr(config, name) == "lm" and prompt_format.ask is None:
            raise ConfigError(
                f"{name}='lm': the prompts that {model} reads have no {role} role "
                f"({type(prompt_format).__name__} has no method ask, and the model was not trained on it); use "
                f"{name}='declared', or a general model, which reads chat prompts"
            )
    if config.mismatch == "needed" and domain.mismatch_test is None:
        raise ConfigError(
            f"mismatch='needed': {type(domain).__name__} does not say which differences from a prediction matter (its "
            "mismatch_test is None); use mismatch='exact'"
        )
    if config.projector == "lm" and domain.outcomes is not None:
        raise ConfigError(
            f"projector='lm': {type(domain).__name__} declares what actions lead to, so there is nothing to merge that "
            "its keys do not tell; use projector='declared'"
        )
