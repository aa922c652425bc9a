"""The domain of an ALFWorld game: keys, pictures, actions, costs, prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from envs.alfworld import rules
from envs.alfworld.assumptions import plain
from envs.alfworld.commands import AlfworldCommand, commands_of, read_command
from envs.alfworld.game.kinds import TREATMENTS, kind_of
from envs.alfworld.hypotheses import AlfworldHypotheses
from envs.alfworld.predicates import AlfworldPredicates
from envs.alfworld.state import NEW, Layout, as_state
from tape.budget import Resources
from tape.protocols import Action, Observation, Prediction, State
from tape.protocols.domain import Domain
from tape.protocols.parts import Choices, GoalTest

STEP = Resources({"steps": 1})


class AlfworldDomain(AlfworldPredicates, AlfworldHypotheses, Domain, GoalTest, Choices):
    """What an ALFWorld game declares.

    Args:
        layout: What does not change during the game.
        shown: Whether agents are shown the commands that the engine admits.
    """

    deterministic = True

    def __init__(self, layout: Layout, *, shown: bool = False) -> None:
        super().__init__(layout)
        self.shown = shown

    def task_text(self) -> str:
        """The task as the game poses it."""
        return self.layout.goal.sentence()

    def key(self, state: State) -> str:
        """Where the agent is, what it holds, where the goal's kinds are, and what it has looked into."""
        here = as_state(state)
        held = " ".join([kind_of(here.holding), *here.marks_of(here.holding)]) if here.holding else "-"
        pairs = plain(here).pairs(self.layout.goal.kinds)
        objects = ",".join(" ".join([kind, receptacle, *marks]) for kind, receptacle, marks in pairs)
        looked = zip(self.layout.receptacles, here.status, strict=True)
        seen = ",".join(f"{name} {status}" for name, status in looked if status != NEW)
        return f"at {here.at[0] if here.at else '-'} | hold {held} | {objects} | {seen}"

    def render(self, state: State) -> str:
        """A line on where the agent is and what it holds, and one on the goal's objects."""
        here = as_state(state)
        held = " ".join([*here.marks_of(here.holding), here.holding]) if here.holding else "nothing"
        lines = [f"at {', '.join(here.at) or 'the middle of the room'}, holding {held}"]
        for kind, receptacle, marks in here.pairs(self.layout.goal.kinds):
            lines.append(" ".join([*marks, kind, "in/on", receptacle]))
        left = len(rules.unsearched(here))
        return "\n".join([*lines, f"{left} of {len(here.status)} places not looked into"])

    def project(self, observation: Observation) -> State:
        """What is known after an observation: the environment's grounder has read it."""
        return as_state(observation.data)

    def admissible(self, state: State) -> Sequence[Action]:
        """Every command that can be written here, possible or not, objects by kind; and the commands that are shown.

        What is shown is no limit: a plan's next command may turn out not to be possible.
        """
        here = as_state(state)
        places, goal = self.layout.receptacles, self.layout.goal
        commands = [AlfworldCommand(verb, place) for verb in ("go", "open", "close") for place in places]
        seen = sorted({(kind_of(thing), where) for thing, where in here.inside})
        for kind in dict.fromkeys([*goal.kinds, *(kind for kind, _ in seen)]):
            # What the goal is not about is spoken of where it was seen only: that keeps the list short.
            stands = places if kind in goal.kinds else [where for thing, where in seen if thing == kind]
            commands += [AlfworldCommand("take", place, kind) for place in stands]
            commands += [AlfworldCommand("use", place, kind) for place in stands] + [AlfworldCommand("use", "", kind)]
        for kind in dict.fromkeys([goal.thing, *([kind_of(here.holding)] if here.holding else [])]):
            commands += [AlfworldCommand("put", place, kind) for place in places]
            for verb, (appliance, _) in TREATMENTS.items():
                commands += [AlfworldCommand(verb, place, kind) for place in places if kind_of(place) == appliance]
        return tuple(dict.fromkeys([*(command.text for command in commands), *here.shown]))

    def offered(self, state: State) -> Sequence[Action]:
        """What a free choice is made from: what the engine admits, where that is shown."""
        return as_state(state).shown or self.admissible(state)

    def cost(self, state: State, action: Action) -> Resources:
        """One step."""
        del state, action
        return STEP

    def assumed(self, state: State) -> str:
        """Where objects are assumed to be."""
        pairs = sorted(as_state(state).assumed)
        return f" | {pairs}" if pairs else ""

    def without(self, state: State, actions: Sequence[Action]) -> State:
        """The state in which some commands may not be given, however their objects are called."""
        kinds = frozenset(command.of_kind.text for command in commands_of(actions))
        return replace(as_state(state), tried=kinds)

    def satisfied(self, state: State) -> bool:
        """Whether the goal is reached by what is known."""
        return rules.satisfied(as_state(state))


class RulesWorldModel:
    """Implements :class:`tape.protocols.WorldModel` by :mod:`envs.alfworld.rules`."""

    def __init__(self, domain: AlfworldDomain) -> None:
        self._domain = domain

    async def predict(self, pairs: Sequence[tuple[State, Action]]) -> list[Prediction]:
        """The states after actions, as far as they follow from what is known and assumed."""
        return [self._after(state, action) for state, action in pairs]

    @staticmethod
    def _after(state: State, action: Action) -> Prediction:
        command = read_command(action)
        return Prediction(None if command is None else rules.apply(as_state(state), command))

    async def rollout(self, items: Sequence[tuple[State, Sequence[Action]]]) -> list[list[Prediction]]:
        """Each plan's states under what it assumes."""
        return [self._along(state, actions) for state, actions in items]

    def _along(self, state: State, actions: Sequence[Action]) -> list[Prediction]:
        predictions: list[Prediction] = []
        here: State | None = state
        for i, action in enumerate(actions):
            if here is None:
                break
            predictions.append(self._after(self._domain.assume(here, actions[i:]), action))
            here = predictions[-1].state
        return predictions
