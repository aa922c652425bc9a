"""What the experiment on certified predicate chains plays: one setting per environment and set of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.harness.matrix import own_options, tasks_of
from experiments.harness.methods import GUARD, PAPER, PLAN_AND_ACT, REACT, REPLANNING, TAPE, Method
from tape.protocols import Task

AEC = Method("AEC", "tape", {"aec": True})
SDP = Method("SDP", "sdp", {"sdp": {"chain": "sample"}})
SDP_OWN = Method("SDP", "sdp", {"sdp": {"chain": "adapter"}})
PATH = Method(f"SDP x {TAPE.label}", "sdp")
ALL = Method(f"SDP x {TAPE.label} x AEC", "sdp", {"aec": True})

DECLARED = (REACT, REPLANNING, PAPER, TAPE, AEC, SDP, PATH, ALL)
"""Where predicates are declared."""

TRIPS = {"num_plans": 1, "execution": "forced", "on_infeasible": "stop"}
"""No model decides: the first plan is the declared one, and the graph holds its variants."""


@dataclass(frozen=True)
class Setting:
    """Some tasks of one environment and who plays them.

    Attributes:
        name: Its name in tables.
        environment: The environment.
        options: The environment's own options, as on its command line.
        models: Played by default.
        methods: Compared.
        switches: Of every agent.
        quick: Tasks with ``--quick``.
    """

    name: str
    environment: str
    options: tuple[str, ...]
    models: tuple[str, ...]
    methods: tuple[Method, ...]
    switches: Mapping[str, Any] = field(default_factory=dict)
    quick: int = 6

    def own(self) -> dict[str, Any]:
        """The environment's options, with its defaults."""
        return own_options(self.environment, self.options)

    def tasks(self) -> tuple[Task, ...]:
        """The tasks.

        Raises:
            TapeError: The environment cannot be played here; says what is missing.
        """
        return tasks_of(self.environment, self.own())


SIMULATED = ("simulated:scienceworld", "simulated:scienceworld?alike=1")
"""The default never repeats an error that it sees, and predicts by the gold path; the other errs alike in all roles."""

SETTINGS: Mapping[str, tuple[Setting, ...]] = {
    "declared": (
        Setting("sokoban", "sokoban", ("--levels", "hard-fresh"), ("bundled:nano", "bundled:mini"), DECLARED, quick=12),
        Setting(
            "household, all seen",
            "alfworld",
            ("--observation", "full", "--tightness", "tight"),
            ("bundled:household",),
            DECLARED,
            GUARD,
        ),
        Setting("household", "alfworld", (), ("bundled:household",), DECLARED, GUARD),
    ),
    "own": (
        Setting(
            "ScienceWorld, simulated model",
            "scienceworld",
            ("--split", "test", "--variations", "1"),
            ("simulated:scienceworld",),
            (REACT, PLAN_AND_ACT, REPLANNING, PAPER, TAPE, SDP_OWN, PATH),
            {"execution": "forced"},
            quick=4,
        ),
        Setting(
            "trips, tight budget",
            "travelplanner",
            ("--problems", "test", "--count", "60", "--tightness", "tight"),
            ("declared:first",),
            (PAPER, TAPE, SDP_OWN, PATH),
            TRIPS,
        ),
    ),
    "scienceworld": (
        Setting(
            "ScienceWorld, fresh variations",
            "scienceworld",
            ("--split", "test", "--variations", "1", "--skip", "3"),
            SIMULATED,
            (REACT, PAPER, TAPE),
            {"execution": "forced"},
            quick=4,
        ),
    ),
}
"""Where predicates are declared, where SDP has operators of its own, and a fresh part of ScienceWorld.

Another setting is one more entry."""

SETTINGS_BY_NAME = {setting.name: setting for settings in SETTINGS.values() for setting in settings}
