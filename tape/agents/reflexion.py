"""Reflexion (Shinn et al. 2023, arXiv:2303.11366): trials of one task, each with what was learned from failed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import ClassVar, TypeAlias

from tape.agents.lm_agent import LmAgent
from tape.agents.options import require_bounded
from tape.agents.react import act_freely
from tape.engine.act import LmActor
from tape.engine.episode import Episode, EpisodeEnded, environment_faults
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.protocols import Acted, Action, Environment, State
from tape.trace import TrialEvent

TRIAL_STEPS = 30
"""Steps of a trial where ``horizon`` says nothing: more without success are inefficient planning (its section 4.1)."""
REPEATS = 3
"""The same action in the same state so many times in a row ends a trial (its section 4.1)."""
REMEMBERED = 3
"""Reflections in a prompt: the last ones (its section 3)."""
REFLECTION_TOKENS, SHOWN_ACTIONS = 120, 40
RULE_BASED = "rule-based reflection"
"""Name of what stands in for a reflection where the model cannot write one."""
ROLE = "reflect"

Tried: TypeAlias = list[tuple[str, Action]]
"""The actions of a trial, each with the key of the state it was taken in."""


class Memory:
    """What failed trials have taught: words of the model, or actions to leave out.

    Attributes:
        words: Reflections that the model has written, the oldest first.
        avoided: By the key of a state, actions that led nowhere from it.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.avoided: dict[str, list[Action]] = {}

    def in_prompt(self, request: Request) -> Request:
        """A request with the last reflections before its question; only chats have any."""
        if not self.words or isinstance(request.prompt, str):
            return request
        lessons = "\n".join(f"- {one}" for one in self.words[-REMEMBERED:])
        *before, last = request.prompt
        text = (
            f"Earlier attempts at this very task have failed. What you wrote after them:\n{lessons}\n\n{last.content}"
        )
        return replace(request, prompt=(*before, replace(last, content=text)))


class RememberingActor(LmActor):
    """Chooses freely, with the memory of failed trials in the prompt.

    Args:
        episode: The episode.
        memory: The memory; it grows.
    """

    def __init__(self, episode: Episode, memory: Memory) -> None:
        super().__init__(episode.roles, "free", episode.config.temperature)
        self._episode, self._memory = episode, memory

    async def sample(
        self,
        state: State,
        remaining: Mapping[str, int],
        action: Action | None,
        plan: Sequence[Action],
        seed: int,
        count: int,
    ) -> list[Acted]:
        """See :meth:`tape.engine.act.LmActor.sample`."""
        del action
        episode, domain = self._episode, self._episode.env.domain
        here = domain.key(episode.state)
        avoided = self._memory.avoided.get(here, [])
        if avoided and domain.choices is not None:
            taken = episode.taken.get(here, []) if episode.config.no_repeat else []
            state = domain.choices.without(state, [*episode.refused, *taken, *avoided])
        request = self._memory.in_prompt(self._context.prompt_format.act_request(state, remaining, None, plan))
        request = replace(request, n=count, temperature=self._temperature, seed=seed)
        [completion] = await self._context.lm.generate([request])
        return [self._read(state, text, None) for text in completion.texts]


class ReflexionAgent(LmAgent):
    """ReAct in trials: after a failed one it reflects, the environment is reset, and the reflection is remembered.

    A trial ends with the environment's own end, after ``horizon`` steps (:data:`TRIAL_STEPS` by default), or when it
    repeats itself. All trials are paid from the episode's one ledger, and its budget ends the last of them: an episode
    with several trials is not the one-episode setting of other agents, and ``measures["trials"]`` says how many there
    were. Whether a trial has succeeded is the environment's word.

    A model that reads ``chat`` prompts writes the reflection. Models without words get a rule from the trace (ours,
    :data:`RULE_BASED`): what changed nothing, led back to a state of the same trial, or ended it in failure, is left
    out in that state.
    """

    name: ClassVar[str] = "reflexion"

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        """Set the length of a trial, if none is given."""
        return config if config.horizon is not None else config.model_copy(update={"horizon": TRIAL_STEPS})

    @classmethod
    def require(cls, config: TapeConfig, env: Environment) -> None:
        """Also refuse an environment that cannot be begun anew.

        Raises:
            ConfigError: Its actions reach the world outside.
        """
        super().require(config, env)
        if env.records:
            raise ConfigError(
                f"reflexion begins a failed task anew, and what is done in {type(env).__name__} reaches the world "
                "outside and stays done; take 'react'"
            )

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """One action a step, sampled again while it cannot be read; every trial but the last has a reflection."""
        del longest_plan
        return steps * (1 + cls.most_calls_per_step(config))

    async def _play(self, episode: Episode) -> None:
        length = episode.config.horizon
        assert length is not None, "configure sets it"
        episode.config = episode.config.model_copy(update={"horizon": None})  # it is a trial's, not the episode's
        require_bounded(episode, self.name)
        memory = Memory()
        actor = RememberingActor(episode, memory)
        for number in count(1):
            episode.result.measures["trials"] = float(number)
            tried, why = await self._trial(episode, actor, length)
            episode.require_affordable_action()
            await self._reflect(episode, memory, tried, why)
            await self._begin_anew(episode, memory, number + 1)

    @staticmethod
    async def _trial(episode: Episode, actor: LmActor, length: int) -> tuple[Tried, str]:
        """Play one trial; returns its steps, and why it has failed.

        Raises:
            EpisodeEnded: It has succeeded, or no action could be chosen or was allowed.
            BudgetExceededError: The budget of the whole episode is used up.
        """
        key, tried = episode.env.domain.key, Tried()
        while len(tried) < length:
            before, steps = key(episode.state), episode.result.steps
            end = None
            try:
                await act_freely(episode, actor)
            except EpisodeEnded as ended:
                if ended.end_state != "failure" or episode.result.steps == steps:
                    raise
                end = ended
            tried.append((before, episode.result.actions[-1]))
            if end is not None:
                return tried, end.detail
            if len(tried) >= REPEATS and len({*tried[-REPEATS:]}) == 1:
                return tried, f"{tried[-1][1]!r} was done {REPEATS} times with the same result"
        return tried, f"{length} steps were not enough"

    async def _reflect(self, episode: Episode, memory: Memory, tried: Tried, why: str) -> None:
        """Let the model say what to do otherwise; a rule does so for models without words."""
        prompts = episode.roles.prompt_format
        if episode.roles.lm.prompt_format != "chat" or prompts.ask is None:
            with environment_faults("the check whether it has ended failed"):
                over = bool(episode.env.ended())
            for state, action in futile(tried, episode.env.domain.key(episode.state), over=over):
                memory.avoided.setdefault(state, []).append(action)
            return
        done = "; ".join(action for _, action in tried[-SHOWN_ACTIONS:])
        question = (
            f"This attempt at the task has failed: {why}.\nWhat was done: {done}.\nThe task now begins anew. Say in "
            "two or three sentences what went wrong, and what you will do otherwise in the next attempt."
        )
        asked = prompts.ask(episode.state, question)
        seed = episode.seed_for(ROLE, episode.result.steps)
        request = Request(asked, REFLECTION_TOKENS, temperature=self.config.temperature, seed=seed, role=ROLE)
        [completion] = await episode.roles.lm.generate([request])
        if text := " ".join(completion.texts[0].split()):
            memory.words.append(text)

    @staticmethod
    async def _begin_anew(episode: Episode, memory: Memory, number: int) -> None:
        """Reset the environment for a trial."""
        seed, [wrote] = episode.seed_for("trial", number), memory.words[-1:] or [RULE_BASED]
        episode.trace.write(TrialEvent(step=episode.result.steps, number=number, seed=seed, reflection=wrote))
        episode.taken.clear()
        await episode.reset(seed)


def futile(tried: Tried, last: str, *, over: bool) -> Iterator[tuple[str, Action]]:
    """The steps of a failed trial that led nowhere: nothing changed, or a state of the trial came back.

    Args:
        tried: The steps.
        last: The key of the state at the end.
        over: Whether the last step has ended the trial in failure; it led nowhere, too.
    """
    known: set[str] = set()
    for place, (state, action) in enumerate(tried, 1):
        known.add(state)
        after = tried[place][0] if place < len(tried) else last
        if after in known or (over and place == len(tried)):
            yield state, action
