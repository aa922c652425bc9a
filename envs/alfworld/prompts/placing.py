"""What is made of the commands that models write: places for lamps, no going to where one is, no repetitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.game.kinds import OPENABLE, kind_of
from envs.alfworld.prompts.lexicon import MOST_STEPS
from envs.alfworld.state import Knowledge, as_state
from tape.lm.base import Request
from tape.protocols import State
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import PromptFormat


class PlaceBeliefs(PromptFormat):
    """Beliefs about what is unseen: one question for all places of a kind, and one for each door."""

    def shut_request(self, state: Knowledge, place: str) -> Request:
        """Ask whether a receptacle is closed."""
        raise NotImplementedError

    def predict_request(
        self, state: State, predicates: Sequence[Predicate]
    ) -> list[tuple[Request, Sequence[Predicate]]]:
        """One question for all places of a kind, one for each receptacle that may be closed; no other predicates."""
        asked: list[tuple[Request, Sequence[Predicate]]] = []
        for request, options in self.weigh_requests(state, predicates):
            if about := [p for p in predicates if p in set(options.values())]:
                asked.append((request, about))
        here = as_state(state)
        return [*asked, *((self.shut_request(here, p.args[0]), [p]) for p in predicates if p.name == "shut")]


def placed(state: Knowledge, commands: Sequence[AlfworldCommand]) -> list[AlfworldCommand]:
    """With the place of every lamp that is used, and without going to where one is."""
    at, alfworld_commands = state.at, []
    for command in commands:
        if command.verb == "go":
            if command.place in at:
                continue
            at = state.layout.reached_with(command.place)
        alfworld_commands.append(with_place(state, command, at))
    return alfworld_commands


def with_place(state: Knowledge, command: AlfworldCommand, at: tuple[str, ...]) -> AlfworldCommand:
    """The same command; a lamp that is used without saying where is one in reach, where one is known or assumed."""
    if command.verb != "use" or command.place:
        return command
    there = state.inside | state.assumed
    stands = [where for where in at if any(kind_of(t) == kind_of(command.thing) and r == where for t, r in there)]
    return replace(command, place=(stands or list(at) or [""])[0])


def free_choices(
    state: Knowledge, actions: Sequence[str], text: Callable[[AlfworldCommand], str] = lambda command: command.text
) -> tuple[str, ...]:
    """The texts of the commands that a free choice is left with.

    Args:
        state: Says which commands were tried in it to no use.
        actions: What there is to choose from: what the engine admits, where that is shown.
        text: How the prompt format writes a command; commands that it writes alike are tried together.

    Returns:
        Commands on what the goal is about; all of them where every one was tried.
    """
    goal, texts = state.layout.goal, dict[str, bool]()
    for command in map(read_command, actions):
        if command is None or (command.thing and kind_of(command.thing) not in goal.kinds):
            continue
        if command.verb in ("open", "close") and kind_of(command.place) not in OPENABLE:
            continue
        written = text(command)
        texts[written] = texts.get(written, False) or was_tried(state, command)
    left = tuple(written for written, tried in texts.items() if not tried)
    return left or tuple(texts)


def was_tried(state: Knowledge, command: AlfworldCommand) -> bool:
    """Whether a command was given before in this very state, however its object was called."""
    return not state.tried.isdisjoint((command.of_kind.text, with_place(state, command, state.at).of_kind.text))


_FAR = 0.4
"""The score of a state one step from the goal; it falls to 0 with the steps that the model counts."""


def score_of_steps(steps: int) -> float:
    """The score of a state from which the goal is some steps away."""
    return 1.0 if steps == 0 else _FAR * (1 - steps / (MOST_STEPS + 1))


def taken(state: Knowledge, kind: str) -> Knowledge:
    """With an object of a kind in hand, from within reach where there is one."""
    for place in state.at:
        if there := [thing for thing in state.contents(place) if kind_of(thing) == kind]:
            return rules.take(state, rules.meant(state, there), place)
    return replace(state, holding=state.unseen_name(kind))


def switched_on(state: Knowledge, kind: str) -> Knowledge:
    """With a lamp of a kind switched on, one within reach where there is one."""
    lamps = sorted(thing for thing, where in state.inside if kind_of(thing) == kind and where in state.at)
    return replace(state, marks=state.marks | {((lamps or [state.unseen_name(kind)])[0], "lit")})


def hopeless(state: Knowledge, command: AlfworldCommand) -> bool:
    """Whether the agent need only look at its hand, or at the list of furniture, to know that a command fails."""
    if command.place and command.place not in state.layout.number:
        return True
    if command.verb == "take":
        return bool(state.holding)
    handled = command.verb not in ("go", "open", "close", "use")
    return handled and (not state.holding or kind_of(state.holding) != kind_of(command.thing))
