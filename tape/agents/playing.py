"""One episode from its reset to its result, for every agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from solvers.errors import SolverError
from tape.agents.final_answer import FinalAnswer
from tape.agents.options import Play
from tape.agents.reach import require_reachable
from tape.approval import Approval, ApprovalRequest, amounts
from tape.budget import amount_of
from tape.budget.deadline import KIND as WALL
from tape.engine.episode import Episode, EpisodeEnded, environment_faults
from tape.errors import (
    BudgetExceededError,
    ConstraintError,
    EnvironmentFaultError,
    GraphError,
    InvalidOutputError,
    ModelError,
    error_text,
)
from tape.protocols import FailedCall
from tape.protocols.result import judged_wrong
from tape.protocols.surroundings import Surroundings, nobody_is_asked
from tape.trace import FinishedEvent


async def play_to_end(episode: Episode, env_seed: int, play: Play) -> None:
    """Reset the environment and play; the way it ends gives the episode's end state."""
    result = episode.result
    result.end_state = "interrupted"
    try:
        async with episode.deadline.timeout() as timeout:
            await _until_it_ends(episode, env_seed, play)
    except BaseException as error:
        if not (isinstance(error, TimeoutError) and timeout.expired()):
            result.detail = f"interrupted by {error_text(error)}"
            raise
        left_behind = getattr(error.__cause__, "__notes__", ())  # calls that did not end when they were cancelled
        result.end_state = f"budget:{WALL}"
        result.detail = "; ".join((str(episode.deadline.error()), *left_behind))
    finally:
        await episode.at_once.end()


async def _until_it_ends(episode: Episode, env_seed: int, play: Play) -> None:
    result, answer = episode.result, None
    try:
        await episode.reset(env_seed)
        episode.require_known_costs()
        episode.end_if_solved()
        await require_reachable(episode)
        answer = FinalAnswer.reserved(episode)
        await play(episode)
        result.end_state = "failure"
    except EpisodeEnded as end:
        result.end_state, result.detail = end.end_state, end.detail
        if answer is not None and end.limit:
            await answer.give()
    except BudgetExceededError as error:
        result.end_state, result.detail = f"budget:{error.kind}", str(error)
        if answer is not None:
            await answer.give()
    except (ModelError, ConstraintError) as error:
        result.end_state, result.detail = "model_error", str(error)
    except EnvironmentFaultError as error:
        result.end_state, result.detail = "env_error", str(error)
    except InvalidOutputError as error:
        # Roles handle unreadable answers to their own requests; this one was not handled, and ends this episode only.
        result.end_state, result.detail = "invalid_output", str(error)
    except (SolverError, GraphError) as error:  # a problem that cannot be solved, or not even be written
        result.end_state, result.detail = "solver_error", str(error)
    finally:
        if answer is not None:
            answer.drop()


def surroundings(episode: Episode, run: str) -> Surroundings:
    """What the environment learns of an episode."""

    def left() -> Mapping[str, Decimal]:
        return {kind: amount_of(kind, count) for kind, count in episode.remaining().items()}

    approver = episode.approver

    async def ask(question: str) -> bool:
        assert approver is not None
        request = ApprovalRequest(question, question, "", {}, amounts(episode.remaining()), (), "asked", 0)
        request = replace(request, step=episode.result.steps)
        return (await approver.ask(request))[0] is Approval.ALLOW

    return Surroundings(run, left, nobody_is_asked if approver is None else ask)


def account(episode: Episode) -> None:
    """Fill in what the episode used and measured, log its end, and hand over its events."""
    result, lm, env = episode.result, episode.roles.lm, episode.env
    try:
        with environment_faults("reading the answer failed"):
            result.answer = env.answered_value()
        with environment_faults("measuring the episode failed"):
            measured = env.measures()
            result.measures = dict(sorted({**result.measures, **measured}.items()))
        with environment_faults("listing failed calls failed"):
            result.failed_calls = list(env.failed_calls())
    except EnvironmentFaultError as error:
        result.detail = f"{result.detail}; {error}".removeprefix("; ")
    if result.end_state == "failure" and not result.detail:
        result.detail = judged_wrong(result.answer) or "the agent has done all that it planned, short of the goal"
    if (refused := [action for action in episode.refused if action not in result.detail]) and not result.success:
        result.detail = f"{result.detail}; refused: {', '.join(refused)}".removeprefix("; ")
    if result.failed_calls and not result.success:
        result.detail = f"{result.detail}; {failures(result.failed_calls)}".removeprefix("; ")
    result.malformed = episode.roles.malformed
    result.lm_calls = dict(sorted(lm.calls.items()))
    result.prompt_tokens = dict(sorted(lm.prompts.items()))
    result.completion_tokens = dict(sorted(lm.completions.items()))
    result.used = dict(episode.ledger.used)
    result.paid = dict(episode.ledger.paid)
    result.unproven = {kind: count or 0 for kind, count in episode.ledger.unproven.items()}
    result.budget_violations = list(episode.ledger.overspent())
    result.broken_declarations = dict(episode.ledger.violations)
    result.wall_seconds = episode.deadline.elapsed()
    result.wall_overrun_seconds = episode.deadline.overrun()
    episode.trace.write(FinishedEvent(result=result.model_dump()))
    result.keep(episode.trace.events, env.history(result.end_state))


def failures(failed: Sequence[FailedCall]) -> str:
    """How many calls failed, and what the last one raised."""
    last = failed[-1]
    several = "1 call failed" if len(failed) == 1 else f"{len(failed)} calls failed, the last one"
    return f"{several}: {last.call}: {last.error}"
