"""Reflexion (Shinn et al. 2023, arXiv:2303.11366): trials of one task, each with what was learned from failed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import ClassVar, TypeAlias

from tape.agents.lines import free_prompts
from tape.agents.lm_agent import LmAgent
from tape.agents.options import DepsT, require_bounded
from tape.agents.react import act_freely
from tape.engine.act import LmActor
from tape.engine.episode import Episode, EpisodeEnded, environment_faults
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.base import Request
from tape.protocols import Action, AnswerT, Environment, State
from tape.protocols.prompt_format import ActPrompts
from tape.trace import TrialEvent

TRIAL_STEPS, REPEATS = 30, 3
"""What ends a trial: so many steps, if no horizon is given, or the same action in the same state so often in a row."""
REMEMBERED = 3
"""Reflections in a prompt: the last ones."""
REFLECTION_TOKENS, SHOWN_ACTIONS = 120, 40
RULE_BASED = "rule-based reflection"

Tried: TypeAlias = list[tuple[str, Action]]
"""The actions of a trial, each with the key of the state it was taken in."""


class RememberingActor(LmActor):
    """Chooses freely, with what failed trials have taught.

    Attributes:
        words: Reflections that the model has written, the oldest first.
        avoided: By the key of a state, actions that led nowhere from it.
    """

    def __init__(self, episode: Episode) -> None:
        super().__init__(episode.roles, "free", episode.config.temperature, self)
        self._inner: ActPrompts = free_prompts(episode) or episode.roles.prompt_format
        self._episode = episode
        self.words: list[str] = []
        self.avoided: dict[str, list[Action]] = {}

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """See :class:`~tape.protocols.prompt_format.ActPrompts`."""
        episode, domain = self._episode, self._episode.env.domain
        here = domain.key(episode.state)
        avoided = self.avoided.get(here, [])
        if avoided and domain.choices is not None:
            taken = episode.taken.get(here, []) if episode.config.no_repeat else []
            state = domain.choices.without(state, [*episode.refused, *taken, *avoided])
        return self._reminded(self._inner.act_request(state, remaining, action, plan))

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """See :class:`~tape.protocols.prompt_format.ActPrompts`."""
        return self._inner.read_act(state, text)

    def unfinished(self, state: State) -> Action | None:
        """See :class:`~tape.protocols.prompt_format.ActPrompts`."""
        return self._inner.unfinished(state)

    def _reminded(self, request: Request) -> Request:
        """A request with the last reflections before its question; only chats have any."""
        if not self.words or isinstance(request.prompt, str):
            return request
        *before, last = request.prompt
        lessons = "\n".join(f"- {word}" for word in self.words[-REMEMBERED:])
        text = f"Earlier attempts at this task have failed. What you wrote after them:\n{lessons}\n\n{last.content}"
        return replace(request, prompt=(*before, replace(last, content=text)))


class ReflexionAgent(LmAgent[DepsT, AnswerT]):
    """ReAct in trials: after a failed one it reflects, the environment is reset, and the reflection is remembered.

    A trial ends with the environment's own end, after ``horizon`` steps, or when it repeats itself. All are paid from
    the episode's one ledger, whose end is that of the last trial; ``measures["trials"]`` counts them. So it is not the
    one-episode setting of other agents. Whether a trial has succeeded is the environment's word.

    A model that reads ``chat`` prompts writes the reflection. For others it is a rule from the trace [ours],
    :func:`futile`. It takes what :class:`~tape.TapeAgent` takes.

    Raises:
        ConfigError: As there; when it is run, also an environment that cannot be begun anew.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import ReflexionAgent
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = ReflexionAgent("bundled:nano", horizon=20).run(env, budget="500 tokens")
        >>> print(result.end_state, result.measures["trials"])
        success 1.0
    """

    name: ClassVar[str] = "reflexion"

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        """Set the length of a trial, if none is given."""
        return config if config.horizon is not None else config.model_copy(update={"horizon": TRIAL_STEPS})

    @classmethod
    def require(cls, config: TapeConfig, env: Environment) -> None:
        """Also refuse an environment that cannot be begun anew."""
        super().require(config, env)
        if env.records:
            raise ConfigError(
                f"reflexion begins a failed task anew, but what is done in {type(env).__name__} reaches the world "
                "outside and stays done; take 'react'"
            )

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """One action a step, sampled again while it cannot be read, and at most one reflection a step."""
        del longest_plan
        return steps * (1 + cls.most_calls_per_step(config))

    async def _play(self, episode: Episode) -> None:
        length = episode.config.horizon
        assert length is not None, "configure sets it"
        episode.config = episode.config.model_copy(update={"horizon": None})  # it is a trial's, not the episode's
        require_bounded(episode, self.name)
        actor = RememberingActor(episode)
        for number in count(1):
            episode.result.measures["trials"] = float(number)
            tried, why = await _trial(episode, actor, length)
            episode.require_affordable_action()
            wrote = await self._reflect(episode, actor, tried, why)
            seed = episode.seed_for("trial", number + 1)
            event = TrialEvent(step=episode.result.steps, number=number + 1, seed=seed, reflection=wrote)
            episode.trace.write(event)
            episode.taken.clear()
            await episode.reset(seed)

    async def _reflect(self, episode: Episode, actor: RememberingActor, tried: Tried, why: str) -> str:
        """Let the model say what to do otherwise, or a rule for models without words; returns what was said."""
        asking = episode.roles.prompt_format.ask
        if episode.roles.lm.prompt_format != "chat" or asking is None:
            with environment_faults("the check whether it has ended failed"):
                over = bool(episode.env.ended())
            for state, action in futile(tried, episode.env.domain.key(episode.state), over=over):
                actor.avoided.setdefault(state, []).append(action)
            return RULE_BASED
        done = "; ".join(action for _, action in tried[-SHOWN_ACTIONS:])
        question = (
            f"This attempt at the task has failed: {why}.\nWhat was done: {done}.\nThe task now begins anew. Say in "
            "two or three sentences what went wrong, and what you will do otherwise in the next attempt."
        )
        seed = episode.seed_for("reflect", episode.result.steps)
        request = Request(asking(episode.state, question), REFLECTION_TOKENS, seed=seed, role="reflect")
        [completion] = await episode.roles.lm.generate([replace(request, temperature=self.config.temperature)])
        actor.words.append(" ".join(completion.texts[0].split()))
        return actor.words[-1]


async def _trial(episode: Episode, actor: LmActor, length: int) -> tuple[Tried, str]:
    """Play one trial; returns its steps, and why it has failed.

    Raises:
        EpisodeEnded: It has succeeded, or no action could be chosen or was allowed.
        BudgetExceededError: The budget of the whole episode is used up.
    """
    tried: Tried = []
    while len(tried) < length:
        here, steps, end = episode.env.domain.key(episode.state), episode.result.steps, None
        try:
            await act_freely(episode, actor)
        except EpisodeEnded as ended:
            if ended.end_state != "failure" or episode.result.steps == steps:
                raise
            end = ended
        tried.append((here, episode.result.actions[-1]))
        if end is not None:
            return tried, end.detail
        if len(tried) >= REPEATS and len({*tried[-REPEATS:]}) == 1:
            return tried, f"{tried[-1][1]!r} was done {REPEATS} times with the same result"
    return tried, f"{length} steps were not enough"


def futile(tried: Tried, last: str, *, over: bool) -> Iterator[tuple[str, Action]]:
    """The steps of a failed trial that led nowhere: nothing changed, or a state of the trial came back.

    ``last`` is the key of the state at the end. If the last step has ended the trial (``over``), it led nowhere, too.
    """
    known: set[str] = set()
    for place, (state, action) in enumerate(tried, 1):
        known.add(state)
        after = tried[place][0] if place < len(tried) else last
        if after in known or (over and place == len(tried)):
            yield state, action
