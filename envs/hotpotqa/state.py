"""The typed state: question, paragraphs, findings, search cache and the standing answer (SDP appendix A.5)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from envs.hotpotqa.evidence import overlap, ranked, reading_order, resolve_title
from tape.methods.sdp.target import Chain, Fields
from tape.protocols import State
from tape.protocols.search import Passage

HOP, ANSWER, GOAL = "hop", "answer", "goal"
"""Kinds of predicates."""

SEARCHED, FINISHED, REFUSED = "searched", "finished", "refused"
"""Kinds that occur on paths alone; the last one is never true: no action that cannot be read is taken."""

_REFERENCE = re.compile(r"#([1-9])")


@dataclass(frozen=True)
class HopClaim:
    """The claimed finding of a hop, certified or not.

    Attributes:
        hop: The hop, from 1.
        finding: What was found.
        title: Title of the paragraph cited.
        bridge: The entity that the next hop asks about.
        searches: How many searches had been made before it.
        sub: The sub-question, references replaced.
    """

    hop: int
    finding: str
    title: str
    bridge: str
    searches: int
    sub: str = ""

    @property
    def entity(self) -> str:
        """What the next hop asks about: the bridge, or the finding where none was named."""
        return self.bridge or self.finding


@dataclass(frozen=True)
class Searched:
    """An entry of the search cache."""

    query: str
    found: tuple[Passage, ...]


@dataclass(frozen=True)
class QaState:
    """The state of an episode.

    Attributes:
        question: As asked.
        given: The paragraphs that came with the question (distractor mode).
        searches: The search cache, oldest first; it is kept over hops.
        claims: The last claim of each hop, by hop.
        answer: The answer that stands; empty before.
        over: Whether the episode has ended.
        note: What was refused last, if anything.
    """

    question: str
    given: tuple[Passage, ...] = ()
    searches: tuple[Searched, ...] = ()
    claims: tuple[HopClaim, ...] = ()
    answer: str = ""
    over: bool = False
    note: str = ""

    @property
    def paragraphs(self) -> tuple[Passage, ...]:
        """All paragraphs at hand, each once: those given, then those retrieved, the latest search first."""
        searches = [passage for search in reversed(self.searches) for passage in search.found]
        return tuple(dict.fromkeys([*self.given, *searches]))

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries tried, oldest first."""
        return tuple(search.query for search in self.searches)

    def claim(self, hop: int) -> HopClaim | None:
        """The last claim of a hop."""
        return next((claim for claim in self.claims if claim.hop == hop), None)

    def with_claim(self, hop: int, finding: str, title: str, bridge: str, sub: str = "") -> QaState:
        """After a claim, which takes the place of an earlier one of its hop."""
        others = [claim for claim in self.claims if claim.hop != hop]
        made = HopClaim(hop, finding, title, bridge, len(self.searches), sub)
        return replace(self, claims=tuple(sorted([*others, made], key=lambda claim: claim.hop)), note="")

    def key(self) -> str:
        """The identity for plans: which queries, which findings, which answer; not what was retrieved.

        Bridges are a part of it: the next hop asks about them.
        """
        claims = [[claim.hop, claim.finding, claim.title, claim.entity] for claim in self.claims]
        return json.dumps([sorted(self.queries), claims, self.answer, self.over], ensure_ascii=False)


def as_state(state: State) -> QaState:
    """Narrow the engine's opaque state."""
    assert isinstance(state, QaState), f"not a state of a multi-hop question: {state!r}"
    return state


@dataclass(frozen=True)
class Certified:
    """A certified hop: all that later hops may see of it.

    Attributes:
        sub_question: As the chain has it.
        title: The paragraph.
        finding: What was found.
        bridge: The entity for chaining; the finding where none was named.
    """

    sub_question: str
    title: str
    finding: str
    bridge: str


def certified_hops(certified: Chain, state: QaState) -> tuple[Certified, ...]:
    """The findings of the certified hops, in order.

    A hop gets no new claim once it is certified, so its last claim is the certified one.
    """
    result = []
    for target in certified:
        claim = state.claim(int(target.field("hop"))) if target.kind == HOP else None
        if claim is not None:
            title = attributed_title(claim, state.paragraphs)
            result.append(Certified(target.field("sub"), title, claim.finding, claim.entity))
    return tuple(result)


def attributed_title(claim: HopClaim, passages: Sequence[Passage]) -> str:
    """The title that a finding is kept with: the cited one if that paragraph has the finding, else the best match.

    It is the correction that validation accepted: its fallback asks about that paragraph.
    """
    cited = resolve_title(claim.title, passages, ())
    if cited is not None and claim.finding.lower() in cited.text.lower():
        return cited.title
    best = ranked(claim.finding, reading_order(claim.sub, passages))[:1]
    return best[0].title if best and overlap(claim.finding, best[0]) else claim.title


def resolved(sub_question: str, bridges: Sequence[str]) -> str:
    """A sub-question with ``#k`` replaced by the k-th bridge; a reference to a hop that is not there stays."""
    return _REFERENCE.sub(lambda m: bridges[int(m[1]) - 1] if int(m[1]) <= len(bridges) else m[0], sub_question)


def bridges_before(state: QaState, hop: int) -> tuple[str, ...]:
    """The bridges of the hops before one, which are certified wherever that one is the current target."""
    return tuple(claim.entity for claim in state.claims if claim.hop < hop)


def fields_of(state: QaState) -> Fields:
    """What the projector reads, as plain values."""
    return (
        ("question", state.question),
        ("paragraphs", tuple(passage.title for passage in state.paragraphs)),
        ("findings", tuple((claim.hop, claim.sub, claim.finding, claim.title, claim.bridge) for claim in state.claims)),
        ("queries", state.queries),
        ("answer", state.answer),
    )
