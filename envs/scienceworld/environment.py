"""A task of ScienceWorld as an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envs.scienceworld.prompts import prompt_format
from tape.protocols.prompt_format import PromptFormat

if TYPE_CHECKING:
    from tape.methods.sdp.adapter import Adapter
    from tape.methods.sdp.target import Target

from collections.abc import Mapping, Sequence
from dataclasses import replace

from envs.scienceworld import reading
from envs.scienceworld.commands import joins
from envs.scienceworld.domain import STEP, ScienceWorldDomain, as_state
from envs.scienceworld.engine import ScienceGame, SimulatorView
from envs.scienceworld.errors import ScienceWorldError
from envs.scienceworld.reading import refused
from envs.scienceworld.state import FULL_SCORE, MOST_HISTORY, MOST_REFUSED, ScienceState, ScienceTask
from envs.scienceworld.things import every_name, read_things
from tape.budget import Resources
from tape.protocols import Action, Environment, Observation, Prediction, State


class ScienceWorldEnvironment(Environment):
    """A task of ScienceWorld, in one of its variations.

    Args:
        task: The task's name, for instance ``boil``.
        variation: Which of its variations.
        simplification: Simplifications of the simulator, by commas; empty for none.

    Raises:
        EngineError: The simulator cannot be started.
        NotPlayableError: The package or a Java runtime is not there, or of another version.
        ScienceWorldError: There is no such task, variation or simplification.
    """

    domain: ScienceWorldDomain

    def __init__(self, task: str, variation: int = 0, simplification: str = "easy") -> None:
        self._game: ScienceGame | None = ScienceGame(task, variation, simplification)
        self.task = ScienceTask(task, variation, simplification, _sentence(self._game.description))
        self.domain = ScienceWorldDomain(self.task)
        self._state: ScienceState | None = None

    def prompt_format(self, name: str) -> PromptFormat:
        """The prompts of this task in a prompt format."""
        return prompt_format(name)

    def sdp(self) -> Adapter:
        """Predicate chains for :mod:`tape.methods.sdp`, which is loaded only where it is asked for."""
        from envs.scienceworld.sdp import ScienceAdapter

        return ScienceAdapter(self.domain.task)

    @property
    def game(self) -> ScienceGame:
        """The simulator, for tests and measurements: no agent may see it.

        Raises:
            ScienceWorldError: The environment is closed.
        """
        if self._game is None:
            raise ScienceWorldError(f"{self.task.name}, variation {self.task.variation}: the environment is closed")
        return self._game

    @property
    def state(self) -> ScienceState:
        """What is known now.

        Raises:
            ScienceWorldError: The game was not started.
        """
        if self._state is None:
            raise ScienceWorldError(f"{self.task.name}: the game was not started, call reset() first")
        return self._state

    def reset(self, seed: int) -> Observation:
        """Start the game; there is no chance in it, so the seed is not used."""
        del seed
        if self._game is None:
            self._game = ScienceGame(self.task.name, self.task.variation, self.task.simplification)
        self._state = started(self.task, self._game.reset())
        self._learn_rooms()
        return Observation(self._state.observation, self._state)

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Type a command.

        One that the simulator did not take for an action costs its step. In the state in which it was refused it would
        be refused again, so there the simulator is not asked any more.
        """
        if self.state.done or action in self.state.rejected:
            text = reading.REFUSALS[0] if not self.state.done else "The task is over."
            self._state = replace(self.state, observation=text)
        else:
            self._state = after(self.state, action, self.game.step(action))
            self._learn_rooms()
        return Observation(self._state.observation, self._state), STEP

    def _learn_rooms(self) -> None:
        """Ground the rooms: from the simulator's valid actions, once in every room."""
        state, here = self.state, self.state.room.name
        if here not in state.visited:
            rooms = {*state.rooms, *reading.rooms_of(self.game.valid_actions()), *(to for to, _ in state.room.doors)}
            self._state = replace(state, visited=(*state.visited, here), rooms=tuple(sorted({*rooms, here})))

    def truth(self, target: Target) -> bool | None:
        """Whether a target really holds, by the simulator's tree of all objects; for measurements alone."""
        if target.goal:
            return self.success()
        if not target.requires:
            return None
        from envs.scienceworld.predicates import truth

        return truth(target.requires, self.game.objects(), self.state.focused)

    def success(self) -> bool:
        """Whether the score has reached 100."""
        return self._state is not None and self._state.complete

    def ended(self) -> bool:
        """Whether the task is over; a wrong focus ends it at once."""
        return self._state is not None and self._state.done

    def measures(self) -> Mapping[str, float]:
        """``score``: partial credit in [0, 1]; ``completed``: 1 where all of it was reached."""
        score = self._state.score if self._state is not None else 0
        return {"score": min(max(score, 0), FULL_SCORE) / FULL_SCORE, "completed": float(score >= FULL_SCORE)}

    def close(self) -> None:
        """Give the simulator's place back."""
        if self._game is not None:
            self._game.close()
        self._game, self._state = None, None


def started(task: ScienceTask, view: SimulatorView) -> ScienceState:
    """What is known at the start."""
    held = reading.read_inventory(view.inventory)
    return ScienceState(
        task, view.text, view.look, held, view.score, done=view.done, seen=_listed(view, held), looks=(view.look,)
    )


def after(state: ScienceState, action: Action, view: SimulatorView) -> ScienceState:
    """What is known after a command (the projector z: everything in the answer is read here)."""
    held, focused = reading.read_inventory(view.inventory), reading.focus(view.text)
    known = replace(
        state,
        observation=view.text,
        look=view.look,
        inventory=held,
        cut=not view.inventory.endswith("\n"),
        score=view.score,
        done=view.done,
        path=(*state.path, action),
        excluded=(),
        choices=reading.choices(view.text),
        reading=reading.measured(view.text) or state.reading,
        focused=(*state.focused, focused) if focused else state.focused,
        seen=tuple(dict.fromkeys((*state.seen, *_listed(view, held)))),
    )
    done = not joins(action) or "is now connected to" in view.text
    known = known.following(state, action, understood=done and not reading.refused(view.text))
    if reading.refused(view.text):
        same = known.place == state.place
        ever = (*(text for text in state.refused if text != action), action)[-MOST_REFUSED:]
        return replace(known, rejected=(*state.rejected, action) if same else (), refused=ever)
    history = (*state.history, action)
    return replace(
        known,
        history=history[-MOST_HISTORY:],
        dropped=state.dropped + max(0, len(history) - MOST_HISTORY),
        rejected=state.rejected if known.place == state.place else (),
    )


def _listed(view: SimulatorView, held: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the things in the room and among what is carried."""
    return every_name(read_things((*reading.read_room(view.look).things, *held)))


def _sentence(description: str) -> str:
    """The task without the simulator's heading, on one line."""
    return " ".join(description.removeprefix("Task Description:").split())


class ScienceSimulator:
    """Exact transitions: a second game is brought into the state by typing all that led there.

    Rooms that the agent has not been to are known to it, so it is no model that an agent could have.
    """

    def __init__(self, task: ScienceTask) -> None:
        self._task = task
        self._game: ScienceGame | None = None
        self._at: ScienceState | None = None

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """The true next states."""
        return [Prediction(self._next(as_state(state), action)) for state, action in pairs]

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """The true states along each plan, up to its first action that the simulator refuses."""
        rollouts = []
        for state, actions in items:
            here: ScienceState | None = as_state(state)
            predictions: list[Prediction] = []
            for action in actions:
                if here is None:
                    break
                here = self._next(here, action)
                predictions.append(Prediction(here))
            rollouts.append(predictions)
        return rollouts

    def _next(self, state: ScienceState, action: Action) -> ScienceState | None:
        if state.done or action in state.rejected:
            return None
        game = self._brought_to(state)
        view = game.step(action)
        self._at = after(state, action, view)
        return None if refused(view.text) else self._at

    def _brought_to(self, state: ScienceState) -> ScienceGame:
        """The second game, in a state."""
        typed = self._at.path if self._at is not None else ()
        if self._game is None:
            self._game = ScienceGame(self._task.name, self._task.variation, self._task.simplification)
        if self._at is None or state.path[: len(typed)] != typed:
            self._game.reset()
            typed = ()
        for action in state.path[len(typed) :]:
            self._game.step(action)
        return self._game
