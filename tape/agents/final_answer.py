"""``on_limit="final_answer"``: one last call, reserved from the start, for an answer at a limit."""

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
    """Refuse a configuration with a final answer if the environment takes none."""
    if config.on_limit == "final_answer" and env.answers_at_limit is None:
        raise ConfigError(
            f"on_limit='final_answer': {type(env).__name__} takes no final answer (its answers_at_limit is None); use "
            "on_limit='stop'"
        )


class FinalAnswer:
    """The reserved call."""

    def __init__(self, episode: Episode, answers: AnswersAtLimit, reservation: Reservation) -> None:
        self._episode, self._answers, self._reservation = episode, answers, reservation

    @classmethod
    def reserved(cls, episode: Episode) -> FinalAnswer | None:
        """Reserve the call, if configured.

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
        """Request the answer and hand it to the environment; if that fails, the episode's end stays as it was."""
        episode, result = self._episode, self._episode.result
        try:
            with environment_faults("no final answer can be asked for"):
                request = self._answers.answer_request(episode.state, episode.roles.lm.prompt_format)
            [completion] = await episode.roles.lm.generate([replace(request, role=ROLE)], self._reservation)
            text = completion.texts[0]
            with environment_faults("the final answer was not accepted"):
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
        """Release the reservation if it was not needed."""
        if self._reservation.open:
            self._reservation.release()
