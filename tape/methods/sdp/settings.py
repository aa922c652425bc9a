"""The settings of the agent ``sdp``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tape.engine.ablations import MOST
from tape.protocols.method import MethodSettings


class SdpSettings(MethodSettings):
    """How chains of predicates are made and certified; ``sdp=`` of :class:`~tape.SdpAgent`.

    The ablation without REPLAN is the engine's ``replan=False``. What is out of range is a ``ValueError``.

    Examples:
        >>> from envs.sokoban import SokobanEnvironment, load_set
        >>> from tape import SdpAgent, SdpSettings
        >>> env = SokobanEnvironment(load_set("easy")[0], steps=8)
        >>> result = SdpAgent("bundled:nano", sdp=SdpSettings(chain="sample", attempts=2)).run(env)
        >>> print(result.end_state, result.method["certified"], result.method["chain_length"])
        success 6 6
    """

    chain: Literal["walk", "sample", "adapter"] = Field(
        default="walk",
        description="where the predicates come from. walk: the path that the solver picks; sample: one plan of the "
        "model; adapter: the environment's own operators",
    )
    grain: Literal["edge", "predicate"] = Field(
        default="edge",
        description="what a target of a sampled plan requires. edge: all that its action should bring about; "
        "predicate: one predicate each, so that an action may certify several",
    )
    attempts: int | None = Field(
        default=None,
        ge=1,
        le=MOST,
        description="b, failed attempts at a predicate before it is replanned (default: 1 on a path, else the "
        "environment's)",
    )
    target_replans: int | None = Field(
        default=None,
        ge=0,
        le=MOST,
        description="most replans of one predicate (default: as many attempts in all as the environment's)",
    )
    step_cap: int | None = Field(
        default=None,
        ge=1,
        le=MOST,
        description="most steps of the loop, attempts without an action included (default: the environment's)",
    )
    strict_algorithm1: bool = Field(
        default=False, description="replan after b + 1 failures, as algorithm 1 of the paper has it, instead of after b"
    )
    cascade: bool = Field(
        default=True, description="off: an action certifies one predicate at most, but for the last (ablation)"
    )
    validation: Literal["environment", "always"] = Field(
        default="environment", description="always: every action counts as having made its predicate true (ablation)"
    )
