"""The settings of the search agents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from tape.cgdp.gates import RECENT, require_gate
from tape.engine.settings import MOST, MethodSettings

Memory = Literal["baseline", "lobotomized", "structured", "freeform"]


class CgdpSettings(MethodSettings):
    """How a search agent remembers, stops and selects (CGDP sections 4 and 5).

    Attributes:
        memory: What prompts hold of the search. ``baseline``: the transcript, oldest rounds left out where it does not
            fit; ``lobotomized``: the newest observation alone; ``structured`` or ``freeform``: a belief state in the
            place of both. None: the agent's own, ``structured`` of cgdp and ``baseline`` of all others.
        gate: When a search is exhausted: ``none``; a configuration such as ``f_j0.6_u0.3_p2``
            (:data:`tape.cgdp.gates.CONFIGURATIONS`); ``lm_conservative``, ``lm_neutral``; ``fixed:R``, after R rounds;
            ``voi``, where no further search is worth its price.
        select: Who chooses retriever and depth: ``lm``, as in the paper: the default option, for the query that the
            model writes; ``solver``: the exact solver, among all options that fit (agent ``cgdp`` alone).
        verify: ``aec``: answer only from facts whose subject agrees with the question's (:mod:`tape.cgdp.alignment`),
            else abstain.
        context_tokens: Most tokens of a prompt, counted by the model's own tokenizer; None: no cap but the model's.
        rounds: Most rounds of the search; None: the harness's own (IRCoT 10, ReAct 7, MemGPT 12, Iter-RetGen 4).
        k_trigger: A belief of more items, facts and open questions together, is curated.
        k_target: Most items that curation leaves.
        belief_tokens: Most tokens of a belief in a prompt; None: half of what the cap leaves beside the longest rules.
        jaccard_window: With how many of the last queries the gate compares a query.
        answer_worth: What a right answer is worth, in tokens: the price at which ``solver`` and ``voi`` weigh what a
            search may find against what it costs.
    """

    memory: Memory | None = None
    gate: str = "none"
    select: Literal["lm", "solver"] = "lm"
    verify: Literal["none", "aec"] = "none"
    context_tokens: int | None = Field(default=None, ge=1, le=MOST)
    rounds: int | None = Field(default=None, ge=1, le=1000)
    k_trigger: int = Field(default=10, ge=1, le=100)
    k_target: int = Field(default=6, ge=1, le=100)
    belief_tokens: int | None = Field(default=None, ge=1, le=MOST)
    jaccard_window: int = Field(default=RECENT, ge=1, le=1000)
    answer_worth: int = Field(default=6000, ge=0, le=MOST)

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
        """Whether there is a belief in the place of a transcript; asked where ``memory`` is decided."""
        return self.memory in ("structured", "freeform")
