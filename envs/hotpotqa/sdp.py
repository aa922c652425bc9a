"""SDP on multi-hop questions: hops, answer and goal (SDP appendix A.5 and A.6, tables 10 and 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from envs.hotpotqa.actions import Find, HotpotAnswer, ParagraphSearch, read_or_none
from envs.hotpotqa.minds.chat import ChatMind
from envs.hotpotqa.minds.scripted import ScriptedReader, ScriptedVerifier
from envs.hotpotqa.operators import DecompositionChain, HopRealize, hop_target
from envs.hotpotqa.setting import Setting
from envs.hotpotqa.state import ANSWER, FINISHED, GOAL, REFUSED, SEARCHED, as_state, fields_of
from envs.hotpotqa.validator import TwoStageValidator
from tape.methods.sdp.adapter import Caps, Tools
from tape.methods.sdp.operators import Operators
from tape.methods.sdp.target import Chain, Fields, Target
from tape.protocols import Action, State

CAPS: Mapping[str, Caps] = MappingProxyType(
    {"hotpotqa": Caps(attempts=3, replans=2, steps=20), "musique": Caps(attempts=3, replans=2, steps=25)}
)
"""SDP tables 10 and 11."""


@dataclass(frozen=True)
class HopAdapter:
    """Implements :class:`tape.methods.sdp.adapter.Adapter`."""

    setting: Setting

    @property
    def caps(self) -> Caps:
        """Those of the benchmark."""
        return CAPS[self.setting.benchmark]

    def fields(self, state: State) -> Fields:
        """Question, paragraphs' titles, findings, queries and the standing answer."""
        return fields_of(as_state(state))

    def prepares(self, action: Action) -> bool:
        """Whether an action only prepares an attempt: a search does."""
        return action.startswith("search:")

    def along(self, states: Sequence[State], actions: Sequence[Action]) -> Chain:
        """The chain of a path: a predicate per action, and the goal."""
        del states
        goal = Target(f"the question is answered: {self.setting.question}", GOAL, goal=True)
        return (*(_target(action, self.setting.question) for action in actions), goal)

    def validator(self, tools: Tools) -> TwoStageValidator:
        """Two-stage validation with the script or the model as the verifier."""
        setting = self.setting
        verifier = ScriptedVerifier() if setting.scripted else ChatMind(tools)
        return TwoStageValidator(verifier, setting.hops, setting.strict)

    def operators(self, tools: Tools) -> Operators:
        """All four."""
        setting, mind = self.setting, ChatMind(tools)
        chain = DecompositionChain(mind, setting.hops, tools.roles)
        reader = ScriptedReader(setting.errors, tools.seed("errors")) if setting.scripted else mind
        realize = HopRealize(reader, tools.roles, setting.searches, setting.strict)
        return Operators(chain, realize, self.validator(tools), chain)


def _target(action: Action, question: str) -> Target:
    parsed = read_or_none(action)
    if parsed is None:
        return Target(f"{action[:80]} has been done", REFUSED)
    if isinstance(parsed, ParagraphSearch):
        return Target(f"{parsed.query!r} has been searched", SEARCHED, fields=(("query", parsed.query),))
    if isinstance(parsed, Find):
        return hop_target(parsed.hop, parsed.sub or question)
    if isinstance(parsed, HotpotAnswer):
        return Target("the answer follows from the certified findings", ANSWER)
    return Target("the episode has ended with the answer that stands", FINISHED)
