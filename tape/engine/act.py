"""pi_Act (TAPE sections 2.2, 3.3): the LM writes the next action, constrained, hinted or free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tape.budget import Resources
from tape.engine.context import RoleContext
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.settings import Execution
from tape.errors import InvalidOutputError
from tape.lm.base import Message, Request
from tape.protocols import Acted, Action, Actor, State
from tape.protocols.prompt_format import ActPrompts, GoOnError

MAX_RETRIES = 3
"""Most further samples after an action that could not be read."""
MOST_LINES = 8
"""Lines of a program that may compute only, between two calls."""
LONGEST_REASON = 400
"""Characters of why it could not be."""


class LmActor:
    """Writes one action.

    Args:
        context: The episode's model and prompts.
        execution: How a planned action is written; see :class:`tape.engine.settings.TapeConfig`.
        temperature: Sampling temperature of thoughts and free actions.
        prompts: What is asked, where it is not the context's prompt format.
    """

    def __init__(
        self, context: RoleContext, execution: Execution, temperature: float, prompts: ActPrompts | None = None
    ) -> None:
        self._context, self._execution, self._temperature = context, execution, temperature
        self._prompts = prompts or context.prompt_format
        self._went_on = False  # of what was read last something does nothing yet
        self._lines: tuple[State, int] = None, 0  # lines that only compute, in which state
        self._wrong: tuple[State, str, str] | None = None  # what was written last in which state, and why it is none

    async def act(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action], seed: int
    ) -> Acted:
        """Write one action.

        ``constrained`` and ``forced`` execution admit only the planned ``action``; ``forced`` makes no call.
        ``Acted.action`` is None if nothing could be read.
        """
        if action is not None and self._execution == "forced":
            return Acted(action)
        if (due := self.due(state)) is not None:
            return Acted(due)
        return (await self.sample(state, remaining, action, plan, seed, 1))[0]

    def due(self, state: State) -> Action | None:
        """The next action of what was chosen last, where a text has several."""
        return self._prompts.unfinished(state) if self._execution == "free" else None

    async def sample(
        self,
        state: State,
        remaining: Mapping[str, int],
        action: Action | None,
        plan: Sequence[Action],
        seed: int,
        count: int,
    ) -> list[Acted]:
        """Sample actions from one request, again where all only compute; an unreadable one is counted and is None."""
        fixed = action if self._execution == "constrained" else None
        while True:
            self._went_on = False
            request = self._prompts.act_request(state, remaining, fixed, plan)
            request = replace(self._again(state, request), n=count, temperature=self._temperature, seed=seed)
            [completion] = await self._context.lm.generate([request])
            acted = [self._read(state, text, fixed) for text in completion.texts]
            if not self._went_on or any(item.action is not None for item in acted):
                return acted
            self._lines = (state, 1 + (self._lines[1] if self._lines[0] is state else 0))
            if self._lines[1] >= MOST_LINES:
                return acted

    def _read(self, state: State, text: str, fixed: Action | None) -> Acted:
        try:
            thought, written = self._prompts.read_act(state, text)
        except GoOnError:
            self._went_on = True
            self._context.lm.report(readable=True)
            return Acted(None, text)
        except InvalidOutputError as error:
            self._context.count_malformed("act", text, error)
            self._context.lm.report(readable=False)
            self._wrong = state, text, str(error)[:LONGEST_REASON]
            # Under the constraint the action is known; only the thought can be cut off.
            return Acted(fixed, text)
        self._context.lm.report(readable=True)
        return Acted(written, thought)

    def _again(self, state: State, request: Request) -> Request:
        """In a chat the model is told what was wrong with its last words in this state."""
        if self._wrong is None or self._wrong[0] != state or isinstance(request.prompt, str):
            return request
        _, text, why = self._wrong
        return replace(request, prompt=(*request.prompt, Message("assistant", text), Message("user", f"{why}. Again.")))

    def worst_case(self, state: State, remaining: Mapping[str, int], plan: Sequence[Action]) -> Resources:
        """The most that acting once with ``plan`` as the rest of the path can use, retries included."""
        if self._execution == "forced":
            return Resources()
        request = self._prompts.act_request(state, remaining, None, plan)
        once = self._context.lm.worst_case(request)
        if self._execution == "constrained":
            return once
        told = 0 if isinstance(request.prompt, str) else request.max_tokens + LONGEST_REASON  # its last words, and why
        longer = replace(request, max_tokens=request.max_tokens + told)
        return sum([self._context.lm.worst_case(longer)] * MAX_RETRIES, once)


async def write_action(
    episode: Episode, actor: Actor, planned: Action | None, plan: Sequence[Action], tries: int = 0
) -> tuple[Action, str]:
    """Let the actor write an action of the environment; try again if it cannot be read.

    Args:
        episode: The episode.
        actor: Writes it.
        planned: The action to write, or None for a free choice.
        plan: The part of a plan that the actor's prompt has.
        tries: How often an action was written before in this step; part of the seed.

    Returns:
        The action and the text around it.

    Raises:
        ActionRefused: The planned action was refused; no call was made for it.
        EpisodeEnded: ``invalid_output``.
    """
    if planned is not None and episode.config.execution != "free":
        await episode.approve(planned, plan[1:])  # before the model is paid for writing it
    admissible = episode.env.domain.admissible(episode.state)
    for attempt in range(MAX_RETRIES + 1):
        seed = episode.seed_for("act", episode.result.steps, tries * (MAX_RETRIES + 1) + attempt)
        state = episode.state if planned is not None else episode.to_choose_in()
        acted = await actor.act(state, episode.remaining(), planned, plan, seed)
        if acted.action is not None and (admissible is None or acted.action in admissible):
            return acted.action, acted.text
    raise EpisodeEnded("invalid_output", f"no action could be read in {MAX_RETRIES + 1} samples")
