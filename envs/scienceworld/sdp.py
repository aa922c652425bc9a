"""SDP on ScienceWorld: chains and actions by the model, verdicts by three hard shortcuts first (SDP appendix A.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envs.scienceworld import changes
from envs.scienceworld.changes import target_of
from envs.scienceworld.domain import as_state
from envs.scienceworld.predicates import ShownState
from envs.scienceworld.prompts.chat_text import RULES, known, task_line
from envs.scienceworld.reading import refused
from envs.scienceworld.state import ScienceTask
from tape.methods.sdp.adapter import Caps, Tools
from tape.methods.sdp.chat_prompts import ChatPrompts
from tape.methods.sdp.lm_operators import LmPropose, LmRealize, LmValidate
from tape.methods.sdp.operators import Check, Operators, Outcome, Verdict
from tape.methods.sdp.state import CertifiedState
from tape.methods.sdp.target import Chain, Fields, Target
from tape.protocols import Action, State

CAPS = Caps(attempts=30, replans=5, steps=500)
"""SDP table 8."""


class SciencePrompts(ChatPrompts):
    """What ScienceWorld adds to the prompts: its rooms, what the world has refused, and what a step has changed."""

    def target(self, text: str) -> Target:
        """A target, typed where the sentence has one of the known forms."""
        return target_of(text)

    def notes(self, state: CertifiedState) -> Sequence[str]:
        """The rooms that there are, and what the world has refused so far."""
        here = as_state(state.projected)
        lines = [f"Speak of no other rooms than these: {', '.join(here.rooms)}"]
        if here.refused:
            lines.append(f"never understood by the world so far: {'; '.join(here.refused)}")
        return lines

    def seen(self, outcome: Outcome) -> Sequence[str]:
        """The score's change, and whether a room was entered for the first time."""
        before, after = as_state(outcome.before), as_state(outcome.after)
        return (
            f"score change: {after.score - before.score}",
            f"entered a room for the first time: {'yes' if _new_room(outcome) else 'no'}",
        )


def _new_room(outcome: Outcome) -> str | None:
    """The room that was entered for the first time."""
    before, after = as_state(outcome.before), as_state(outcome.after)
    return after.room.name if after.room.name not in before.visited else None


def rejected(outcome: Outcome) -> str | None:
    """Shortcut 2: the world did not take the text for a command."""
    if refused(outcome.observation.text):
        return f"the world does not understand {outcome.action!r} here: {outcome.observation.text.strip()}"
    return None


def credit(target: Target, outcome: Outcome) -> str | None:
    """Visited-room credit: a target about exploring is met by a new room, by the one it names if it names one."""
    entered = _new_room(outcome)
    if target.kind != "explore" or entered is None:
        return None
    named = [room for room in as_state(outcome.after).rooms if re.search(rf"\b{re.escape(room)}\b", target.text, re.I)]
    return f"the {entered} was entered for the first time" if not named or entered in named else None


class ScienceValidate(LmValidate):
    """VALIDATE: hard shortcuts, then what the descriptions show, then the model's verdict on what they leave open."""

    def __init__(self, prompts: SciencePrompts, tools: Tools) -> None:
        super().__init__(prompts, tools, rejected=rejected, credit=credit, ground=_shown, unknown="ask")

    async def validate(self, tail: Chain, outcome: Outcome) -> Verdict:
        """Shortcut 1 first: where the world reports the task as done, all that is left is certified."""
        if outcome.completed:
            return Verdict(tuple(Check(True, "completion", "the score is 100") for _ in tail))
        return await super().validate(tail, outcome)


class ScienceAdapter:
    """Implements :class:`tape.methods.sdp.adapter.Adapter`."""

    def __init__(self, task: ScienceTask) -> None:
        self._prompts = SciencePrompts(task_line(task), changes.GOAL, rules=RULES)

    @property
    def caps(self) -> Caps:
        """Table 8."""
        return CAPS

    def fields(self, state: State) -> Fields:
        """Room description, inventory, score, focus, measurements, visited rooms, history, refused commands."""
        return tuple(known(as_state(state)))

    def along(self, states: Sequence[State], actions: Sequence[Action]) -> Chain:
        """What shows that each edge was taken, then the goal."""
        del actions
        return (*changes.along([as_state(state) for state in states]), changes.GOAL)

    def validator(self, tools: Tools) -> ScienceValidate:
        """The hard shortcuts, then what the descriptions show, then the model's verdict."""
        return ScienceValidate(self._prompts, tools)

    def operators(self, tools: Tools) -> Operators:
        """All four by the model."""
        chains = LmPropose(self._prompts, tools)
        return Operators(chains, LmRealize(self._prompts, tools), self.validator(tools), chains)


def _shown(state: State) -> ShownState:
    return ShownState(as_state(state))
