"""The settings of the agent ``sdp``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tape.engine.settings import MOST, MethodSettings


class SdpSettings(MethodSettings):
    """How chains of predicates are made and certified.

    Attributes:
        chain: The predicates come from the path that the solver picks (``walk``); from one ``sample`` of the model,
            rolled out and not selected; or from the environment's ``adapter``, which asks the model or knows a fixed
            chain.
        attempts: b, failed attempts at a predicate before it is replanned; None: as in the environment's table.
        target_replans: Most replans of one predicate; None as above.
        step_cap: Most steps of the loop in an episode, attempts without an action included; None as above.
        strict_algorithm1: Replan after b + 1 failures (r > b), as algorithm 1 has it, instead of after b (appendix A).
        cascade: False: an action certifies one predicate at most, but for the one that completes the task (ablation).
        validation: ``environment``, or ``always``: every action counts as having made its predicate true (ablation).
            The ablation without REPLAN is the engine's ``replan=False``.
    """

    chain: Literal["walk", "sample", "adapter"] = "walk"
    attempts: int | None = Field(default=None, ge=1, le=MOST)
    target_replans: int | None = Field(default=None, ge=0, le=MOST)
    step_cap: int | None = Field(default=None, ge=1, le=MOST)
    strict_algorithm1: bool = False
    cascade: bool = True
    validation: Literal["environment", "always"] = "environment"
