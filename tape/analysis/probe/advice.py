"""From what was measured to the agent's settings: who should play each role.

A role is taken from the model where it is no good at it and the environment has something declared or exact to play it.
What good enough means is a rule of thumb for each role (:data:`NEEDED`), written where it is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tape.agents.base import Agent
from tape.agents.declared import require_declared_scores
from tape.agents.lm_agent import LmAgent
from tape.agents.tape import TapeAgent
from tape.analysis.probe.record import Probe, RoleRecord
from tape.engine.settings import TapeConfig
from tape.engine.verification import verifying_method
from tape.errors import ConfigError
from tape.plugins import PROPOSERS, load
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.protocols.method import ROLE_SETTINGS, method
from tape.waiting import run_sync

FEWEST = 5
"""With fewer cases a role is not judged."""

FEWEST_CHOICES = 12
"""With fewer cases what is better than chance, but not significantly so, is no reason to take a role away."""

NEEDED = {
    "next": (0.8, "a path of several predictions is only as good as all of them together"),
    "rollout": (0.5, "else most paths are selected on wrong predictions"),
    "act": (0.5, "else it is wrong more often than right"),
    "project": (0.5, "an answer rests on everything that is read on the way"),
    "answer": (0.5, "else it is wrong more often than right"),
}
"""The least share right that makes the model good enough for a role, and why; roles that choose among options have to
be better than chance as well."""


TAKEN = (
    ("world_model", "simulator", ("next", "rollout")),
    ("scorer", "declared", ("score",)),
    ("execution", "forced", ("act",)),
    ("on_limit", "stop", ("answer",)),
)
"""Settings, their values, and the roles that the model does not play then."""


@dataclass(frozen=True)
class RoleVerdict:
    """Whether a model is good enough for a role.

    Attributes:
        good: None where too few cases were measured.
        why: The figures, and what would be needed.
    """

    good: bool | None
    why: str


@dataclass(frozen=True)
class Advice:
    """What fits.

    Attributes:
        settings: Switches of :class:`TapeConfig` that differ from the defaults, by name.
        reasons: Why, by the same names.
        notes: What else to know, a sentence each.
        environment: Whether the model is good enough for the environment with these settings: for all roles that they
            leave to it. None where a role is not judged, or none is left; ``why`` names the weakest role.
    """

    settings: Mapping[str, str]
    reasons: Mapping[str, str]
    notes: tuple[str, ...]
    environment: RoleVerdict


def verdict(record: RoleRecord | None, plans: int = 4) -> RoleVerdict:
    """Judge one role.

    Args:
        record: What was measured; None where nothing was.
        plans: Plans that are sampled at once.
    """
    if record is not None and record.failure and record.n < FEWEST:
        return RoleVerdict(False, f"the model fails: {record.failure}")
    if record is None or record.n < FEWEST:
        figures = "not measured" if record is None or not record.n else f"only {record.n} cases"
        return RoleVerdict(None, figures)
    low, high = record.interval
    share = record.right / record.n
    figures = f"{record.right} of {record.n} right ({low:.2f} to {high:.2f})"
    if record.valid < record.n:
        figures += f", {record.n - record.valid} unreadable"
    chance = record.chance
    if chance is not None:
        if chance >= 1:
            return RoleVerdict(None, "there is nothing to choose")
        if low <= chance < share and record.n < FEWEST_CHOICES:
            return RoleVerdict(None, f"{figures}: too few to distinguish it from chance, {chance:.2f}")
        if low <= chance:
            return RoleVerdict(False, f"{figures}: not shown to be better than chance, {chance:.2f}")
        figures += f", chance {chance:.2f}"
    need, because = _need(record.role, plans), NEEDED.get(record.role, (0.0, "none is right"))[1]
    if record.role == "plan":
        because = f"else most samplings of {plans} plans hold no right one"
    if share < need or record.right == 0:
        return RoleVerdict(False, f"{figures}: {need:.2f} are needed, {because}")
    return RoleVerdict(True, figures)


def _need(role: str, plans: int) -> float:
    """The least share right that is good enough."""
    return 1 - 0.5 ** (1 / plans) if role == "plan" else NEEDED.get(role, (0.01, ""))[0]


def advise(
    probe: Probe,
    plugin: EnvironmentPlugin,
    task: Task,
    config: TapeConfig | None = None,
    given: frozenset[str] | None = None,
    agent: str = "tape",
) -> Advice:
    """Say who should play each role.

    Args:
        probe: What was measured.
        plugin: The environment.
        task: One of its tasks, to try on what is declared.
        config: The agent's switches otherwise.
        given: The switches that were set explicitly, which are left alone.
        agent: The agent's name.
    """
    return _Adviser(probe, plugin, task, config or TapeConfig(), given or frozenset(), agent).advice()


class _Adviser:
    def __init__(
        self, probe: Probe, plugin: EnvironmentPlugin, task: Task, config: TapeConfig, given: frozenset[str], agent: str
    ) -> None:
        self._plugin, self._task, self._config, self._given = plugin, task, config, given
        self._agent: type[Agent] = load("tape.agents", agent)
        self._env = plugin.make(task)
        self._roles = probe.roles
        self._settings: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._notes: list[str] = []

    def advice(self) -> Advice:
        own = {*ROLE_SETTINGS}.intersection(*(method(name).advisable(self._config) for name in self._config.methods))
        if issubclass(self._agent, TapeAgent) and verifying_method(self._config) is None and own:
            for setting, give in (
                ("world_model", self._world_model),
                ("scorer", self._scorer),
                ("proposer", self._proposer),
                ("execution", self._execution),
            ):
                if setting in own:
                    give()
        else:
            self._notes.append(f"the agent {self._agent.name!r} here has no role that something declared could play")
        self._reading()
        if {"world_model", "scorer", "proposer", "execution"} <= self._settings.keys():
            self._notes.append(
                "with these settings the model decides nothing any more: what is measured then is the search through "
                "what the environment declares, and no result of this model"
            )
        return Advice(self._settings, self._reasons, tuple(self._notes), self._environment())

    def _environment(self) -> RoleVerdict:
        """The verdict on the weakest of the roles that the model keeps: the share right over what is needed."""
        config = self._config.model_copy(update=self._settings).resolved(self._env.domain)
        taken = {role for setting, value, roles in TAKEN if getattr(config, setting) == value for role in roles}
        taken |= {"plan"} if config.proposer != "lm" else set()
        judged = {
            role: (verdict(record, config.num_plans), record.right / max(record.n, 1) / _need(role, config.num_plans))
            for role, record in self._roles.items()
            if role not in taken
        }
        if not judged:
            return RoleVerdict(None, "no role is left to the model")
        # What is not good enough comes before what is not judged.
        order = {False: 0, None: 1, True: 2}
        weakest, (role_verdict, _) = min(judged.items(), key=lambda item: (order[item[1][0].good], item[1][1]))
        return RoleVerdict(role_verdict.good, f"its weakest role is {weakest}: {role_verdict.why}")

    def _bad(self, role: str) -> str:
        """Why a role is to be taken from the model; empty where it is not."""
        role_verdict = verdict(self._roles.get(role), self._config.num_plans)
        return f"{role}: {role_verdict.why}" if role_verdict.good is False else ""

    def _give(self, setting: str, value: str, why: str) -> None:
        if setting in self._given:
            self._notes.append(f"{setting} is left as it was given, although {why}")
            return
        self._settings[setting], self._reasons[setting] = value, why

    def _world_model(self) -> None:
        if self._env.domain.outcomes is not None or self._config.world_model != "lm":
            return  # nothing is predicted by the model
        why = self._bad("rollout" if "rollout" in self._roles else "next")
        if not why:
            return
        if knows_no_more(self._plugin, self._env):
            self._give("world_model", "simulator", why)
            return
        self._notes.append(
            f"{why}; the outcomes of actions are not all declared here, so the model has to predict them: expect to "
            "replan at most steps (--agent tape_all_step), or take a better model"
        )

    def _scorer(self) -> None:
        if self._config.scorer != "lm" or self._config.ablations.goal_test == "lm":
            return
        if not (why := self._bad("score")):
            return
        try:
            require_declared_scores(self._env.domain)
        except ConfigError:
            self._notes.append(f"{why}; no goal test is declared here, so the model has to score states all the same")
            return
        self._give("scorer", "declared", why)

    def _proposer(self) -> None:
        if self._config.proposer != "lm" or not (why := self._bad("plan")):
            return
        if self._env.domain.planner is not None or self._searchable():
            self._give("proposer", "two_frontier" if self._env.domain.planner is None else "declared", why)
            return
        self._notes.append(
            f"{why}; nothing declared here can plan in its place: more plans a round help where some are right "
            "(--num-plans), else a better model"
        )

    def _searchable(self) -> bool:
        """Whether the search through declared predicates finds a plan for the task."""
        domain = self._env.domain
        if domain.predicates is None or not issubclass(self._agent, LmAgent):
            return False
        proposer = load(PROPOSERS, "two_frontier")(domain)
        state = domain.project(self._env.reset(0))
        try:
            [plans] = run_sync(proposer.propose([(state, dict(self._task.budget))], 1, 0))
        except ConfigError:
            return False  # its actions are open
        return any(plan.actions for plan in plans)

    def _execution(self) -> None:
        execution = self._config.resolved(self._env.domain).execution
        if execution == "constrained" and (why := self._bad("act")):
            self._give("execution", "forced", f"{why}, so thoughts about planned actions do not justify a call each")

    def _reading(self) -> None:
        if why := self._bad("project"):
            self._notes.append(f"{why}; nothing declared can read in its place: a model that reads better is needed")
        if why := self._bad("answer"):
            self._notes.append(f"{why}; so an answer at a limit (--on-limit final_answer) does not justify its call")


def knows_no_more(plugin: EnvironmentPlugin, env: Environment) -> bool:
    """Whether an environment has an exact world model that uses nothing but what is declared and seen.

    So it is where all effects of actions are declared and nothing is hidden, as on Sokoban. Elsewhere a simulator knows
    what the agent cannot know, and is an upper bound to be asked for by name.
    """
    domain = env.domain
    declared = domain.predicates is not None and domain.predicates.complete and not domain.hooks.unseen
    if not declared or not domain.deterministic:
        return False
    try:
        plugin.simulator(env)
    except ConfigError:
        return False
    return True
