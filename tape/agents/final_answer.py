"""``on_limit="final_answer"``: one last call, kept back from the start, to answer with what is known."""

from __future__ import annotations

from dataclasses import replace

from tape.budget import Reservation
from tape.engine.episode import Episode, environment_faults
from tape.engine.settings import TapeConfig
from tape.errors import (
    BudgetExceededError,
    ConfigError,
    ConstraintError,
    EnvironmentFaultError,
    InvalidOutputError,
    ModelError,
)
from tape.protocols import AnswersAtLimit, Environment
from tape.trace import AnsweredEvent

ROLE = "answer"


def require_answers_taken(config: TapeConfig, env: Environment) -> None:
    """Refuse a configuration whose final answer nobody would take.

    Raises:
        ConfigError: It asks for one.
    """
    if config.on_limit == "final_answer" and env.answers_at_limit is None:
        raise ConfigError(
            f"on_limit='final_answer': {type(env).__name__} takes no final answer (its answers_at_limit is None); use "
            "on_limit='stop'"
        )


class FinalAnswer:
    """The call that is kept back.

    Args:
        episode: The episode.
        answers: The part of its environment that takes the answer.
        reservation: The worst case of the call.
    """

    def __init__(self, episode: Episode, answers: AnswersAtLimit, reservation: Reservation) -> None:
        self._episode, self._answers, self._reservation = episode, answers, reservation

    @classmethod
    def reserved(cls, episode: Episode) -> FinalAnswer | None:
        """Keep the call back, if the configuration asks for it.

        Raises:
            BudgetExceededError: The budget does not even cover that call.
        """
        if episode.config.on_limit != "final_answer":
            return None
        answers, lm = episode.env.answers_at_limit, episode.roles.lm
        assert answers is not None
        with environment_faults("no final answer can be asked for"):
            request = answers.longest_answer_request(lm.prompt_format)
        return cls(episode, answers, lm.keep_back(replace(request, role=ROLE)))

    async def give(self) -> None:
        """Ask for the answer and hand it in; where that fails, the episode has ended as it had."""
        episode, result = self._episode, self._episode.result
        try:
            with environment_faults("no final answer can be asked for"):
                request = self._answers.answer_request(episode.state, episode.roles.lm.prompt_format)
            [completion] = await episode.roles.lm.generate([replace(request, role=ROLE)], self._reservation)
            text = completion.texts[0]
            with environment_faults("the final answer was not taken"):
                try:
                    self._answers.answer(text)
                except InvalidOutputError as error:
                    episode.roles.count_malformed(ROLE, text, error)
                    return
                result.success = bool(episode.env.success())
        except (BudgetExceededError, ModelError, ConstraintError, EnvironmentFaultError) as error:
            result.detail = f"{result.detail}; no final answer: {error}"
            return
        result.final_answer = text
        episode.trace.write(AnsweredEvent(text=text, success=result.success))
        if result.success:
            result.end_state = "success"

    def drop(self) -> None:
        """Give the reservation back where it was not needed."""
        if self._reservation.open:
            self._reservation.release()
