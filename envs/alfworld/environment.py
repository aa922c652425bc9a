"""An ALFWorld game as an environment: the real engine behind a sound grounder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from envs.alfworld.domain import STEP, AlfworldDomain
from envs.alfworld.errors import GameError
from envs.alfworld.game.games import AlfworldGame
from envs.alfworld.game.textworld_game import GameView, TextWorldGame
from envs.alfworld.grounder import Grounder
from envs.alfworld.projector import all_seen, layout_of, updated
from envs.alfworld.prompts import prompt_format
from envs.alfworld.state import Knowledge
from tape.budget import Resources
from tape.protocols import Environment, Observation
from tape.protocols.prompt_format import PromptFormat

if TYPE_CHECKING:
    from tape.methods.sdp.adapter import Adapter
    from tape.methods.sdp.target import Target
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.game.kinds import kind_of
from envs.alfworld.game.oracle import put_command
from envs.alfworld.rules import meant


def resolved(state: Knowledge, action: str, put_template: str) -> str:
    """The command for the game.

    An object that is named by its kind is the one in hand, or for ``take`` and ``use`` one of those known to be there:
    of several the one that is treated as the goal asks, else the first by name. Where none is known the kind is passed
    on as it is, and nothing happens.

    Args:
        state: What is known now.
        action: The action.
        put_template: The game's command for putting ``{o}`` into ``{r}``.
    """
    command = read_command(action)
    if command is None:
        return action
    named = command if not command.thing or " " in command.thing else replace(command, thing=_named(state, command))
    if named.verb == "put":
        return put_command(put_template, named.thing, named.place)
    return (replace(named, place="") if named.verb == "use" else named).text


def _named(state: Knowledge, command: AlfworldCommand) -> str:
    if command.verb in ("take", "use"):
        places = (command.place,) if command.place else state.at
        there = [t for t, where in state.inside if where in places and kind_of(t) == command.thing]
        return meant(state, there) if there else command.thing
    return state.holding if state.holding and kind_of(state.holding) == command.thing else command.thing


Mode = Literal["partial", "full"]
MODES: tuple[Mode, ...] = ("partial", "full")


class AlfworldEnvironment(Environment):
    """A game of ALFWorld.

    Every episode is played in an engine of its own. Success is the engine's ``won``.

    Args:
        game: The game.
        observation: ``partial`` is the original game; in ``full`` mode the first observation also lists what is in
            every receptacle and which of them share a spot, as in TAPE appendix E.1.
        shown: Whether agents are shown the commands that the engine admits.
    """

    domain: AlfworldDomain
    """The furniture and the goal, as the first observation lists them."""

    def __init__(self, game: AlfworldGame, observation: Mode = "partial", *, shown: bool = False) -> None:
        self._game, self._full, self._shown = game, observation == "full", shown
        self.domain = AlfworldDomain(layout_of(game.house, full=self._full), shown=shown)
        self._engine: TextWorldGame | None = None
        self._grounder = Grounder(self.domain.layout.receptacles)
        self._known = Knowledge.start(self.domain.layout)
        self._won = False
        self._admissible: tuple[str, ...] = ()

    def prompt_format(self, name: str) -> PromptFormat:
        """See :meth:`tape.protocols.Environment.prompt_format`."""
        return prompt_format(self.domain, name)

    def sdp(self) -> Adapter:
        """Predicate chains for :mod:`tape.methods.sdp`, which is loaded only where it is asked for."""
        from envs.alfworld.sdp import adapter

        return adapter(self.domain)

    @property
    def engine(self) -> TextWorldGame:
        """The engine of the current episode, for tests and measurements: no agent may see it.

        Raises:
            GameError: The game was not started.
        """
        if self._engine is None:
            raise GameError(f"{self._game.name}: the game was not started, call reset() first")
        return self._engine

    @property
    def engine_commands(self) -> tuple[str, ...]:
        """The commands that the engine admits now; agents see them only where they are shown."""
        return self._admissible

    def reset(self, seed: int) -> Observation:
        """Start the game in a fresh engine; there is no chance in it."""
        del seed
        self.close()
        self._engine = TextWorldGame(self._game.data())
        self._grounder = Grounder(self.domain.layout.receptacles)
        view = self._engine.reset()
        self._known = all_seen(self._game.house) if self._full else Knowledge.start(self.domain.layout)
        return self._observe("look", view, self._listing() if self._full else "")

    def step(self, action: str) -> tuple[Observation, Resources]:
        """Give a command; one that the game does not understand or admit uses the step all the same."""
        command = resolved(self._known, action, self._game.put_template)
        return self._observe(command, self.engine.step(command)), STEP

    def _observe(self, command: str, view: GameView, more: str = "") -> Observation:
        self._won, self._admissible = view.won, view.admissible
        self._known = updated(self._known, command, self._grounder.observe(command, view.text))
        if self._shown:
            self._known = replace(self._known, shown=view.admissible)
        return Observation("\n".join(part for part in (view.text, more) if part), self._known)

    def _listing(self) -> str:
        """What is in every receptacle, in words."""
        lines, spots = [], dict[int, list[str]]()
        for receptacle in self._game.house.receptacles:
            things = ", ".join(self._known.contents(receptacle.name)) or "nothing"
            closed = " (closed)" if receptacle.openable else ""
            lines.append(f"{receptacle.name}{closed}: {things}.")
            spots.setdefault(receptacle.place, []).append(receptacle.name)
        lines += [f"Within one reach: {', '.join(names)}." for names in spots.values() if len(names) > 1]
        return "\n".join(lines)

    def success(self) -> bool:
        """Whether the game is won, by the engine."""
        return self._won

    def truth(self, target: Target) -> bool | None:
        """Whether a target of a chain holds, by the engine's own facts: to measure validators by."""
        from envs.alfworld.sdp import truth

        return truth(target, self.engine.facts(), won=self._won)

    def close(self) -> None:
        """Give the engine back."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
