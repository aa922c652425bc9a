"""The settings of the search agents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from tape.engine.ablations import MOST
from tape.methods.cgdp.gates import RECENT, require_gate
from tape.protocols.method import MethodSettings

Memory = Literal["baseline", "lobotomized", "structured", "freeform"]
"""The paper's appendix B, as far as it names operations of the loop."""


class CgdpSettings(MethodSettings):
    """How a search agent remembers, stops and selects (CGDP sections 4 and 5); ``cgdp=`` of a search agent.

    A search agent takes its fields as keyword arguments too. What is out of range is a ``ValueError``.

    Examples:
        >>> from envs.search import Passage, SearchEnvironment, bm25
        >>> from tape import CgdpAgent, CgdpSettings
        >>> corpus = bm25([Passage("p1", "Tarn", "The mayor of Tarn is Otto Lind.")])
        >>> env = SearchEnvironment("Who is the mayor of Tarn?", corpus, answers=["Otto Lind"])
        >>> settings = CgdpSettings(select="solver", gate="voi", context_tokens=384)
        >>> CgdpAgent("bundled:search", cgdp=settings).run(env).answer
        'Otto Lind'
    """

    memory: Memory | None = Field(
        default=None,
        description="what prompts hold of a search. baseline: its transcript; lobotomized: the newest observation "
        "alone; structured, freeform: a belief state (default: structured of cgdp, else baseline)",
    )
    gate: str = Field(
        default="none",
        description="when a search is exhausted: none, a configuration such as f_j0.6_u0.3_p2 "
        "(docs/reference/methods/cgdp.md), "
        "fixed:R after R rounds, or voi where no search is worth its price",
    )
    select: Literal["lm", "solver"] = Field(
        default="lm", description="solver: the exact solver says what is searched for next, and how deep (agent cgdp)"
    )
    persist: bool = Field(
        default=False,
        description="ours: a predicate stays open until a quote answers it, and queries widen instead of repeating "
        "(agent cgdp)",
    )
    verify: Literal["none", "aec"] = Field(
        default="none", description="aec: answer only from facts whose subject agrees with the question's, else abstain"
    )
    context_tokens: int | None = Field(
        default=None,
        ge=1,
        le=MOST,
        description="most tokens of a prompt; a longer one is never sent (default: the model's)",
    )
    rounds: int | None = Field(
        default=None, ge=1, le=1000, description="most rounds of a search (default: the harness's own)"
    )
    k_trigger: int = Field(
        default=10, ge=1, le=100, description="a belief of more items, facts and questions, is curated"
    )
    k_target: int = Field(default=6, ge=1, le=100, description="most items that curation leaves")
    belief_tokens: int | None = Field(
        default=None,
        ge=1,
        le=MOST,
        description="most tokens of a belief (default: half of what the window leaves beside the longest rules)",
    )
    jaccard_window: int = Field(
        default=RECENT, ge=1, le=1000, description="with how many of the last queries the gate compares a query"
    )
    answer_worth: int = Field(
        default=6000, ge=0, le=MOST, description="what a right answer is worth, in tokens, for solver and voi"
    )

    @field_validator("gate")
    @classmethod
    def _gate_is_known(cls, name: str) -> str:
        require_gate(name)
        return name

    @model_validator(mode="after")
    def _curation_is_consistent(self) -> CgdpSettings:
        if self.k_target > self.k_trigger:
            raise ValueError(
                f"k_target={self.k_target} is above k_trigger={self.k_trigger}: curation would leave more than "
                "what it starts at"
            )
        return self

    @model_validator(mode="after")
    def _answers_have_facts(self) -> CgdpSettings:
        if self.verify == "aec" and self.memory in ("baseline", "lobotomized"):
            raise ValueError(
                f"verify='aec' answers from facts, and memory={self.memory!r} has none; use structured or freeform"
            )
        return self

    @property
    def believes(self) -> bool:
        """Whether a belief replaces the transcript; defined once ``memory`` is decided."""
        return self.memory in ("structured", "freeform")
