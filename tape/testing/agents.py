"""The conformance suite of agents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tape.agents.base import Agent
from tape.budget import Budget
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError
from tape.lm.base import LanguageModel
from tape.lm.scripted import ScriptedLM
from tape.protocols import Environment
from tape.protocols.result import END_STATES, EpisodeResult
from tape.testing.garbage import GARBAGE
from tape.testing.line import Line, LineModel
from tape.trace import FinishedEvent, StartedEvent, read_trace

CLOCKS = ("wall_seconds", "solver_seconds", "wall_overrun_seconds")


class AgentConformance:
    """The suite, to inherit from.

    Attributes:
        agent: The agent's class.
        settings: The fields of `TapeConfig` that it is tested with.
        solves: Whether it succeeds with the model of `model` and enough steps.
        fewest: The steps that this takes.

    Examples:
        >>> from tape import ReactAgent
        >>> from tape.testing import AgentConformance
        >>> class TestReact(AgentConformance):
        ...     agent = ReactAgent
        >>> TestReact().test_with_a_model_that_knows_it_succeeds()  # pytest calls this and all the others
    """

    agent: type[Agent]
    settings: Mapping[str, Any] = {}
    solves = True
    fewest = 3

    def environment(self, steps: int | None) -> Environment:
        """The environment, with a budget of steps; override it if the agent needs another one."""
        return Line(last=self.fewest, steps=steps)

    def model(self) -> LanguageModel:
        """A fresh model that answers correctly in the environment."""
        return LineModel()

    def play(
        self,
        steps: int | None = 8,
        budget: Mapping[str, int] | None = None,
        seed: int = 0,
        trace: Path | None = None,
        model: LanguageModel | None = None,
    ) -> EpisodeResult:
        """Play one episode."""
        agent = self.agent(model or self.model(), **self.settings)
        return agent.run(self.environment(steps), budget=Budget(dict(budget or {})), seed=seed, trace=trace)

    def test_it_has_a_name_and_resolves_its_configuration(self) -> None:
        """A resolved configuration resolves to itself."""
        assert self.agent.name
        config = self.agent.resolve(TapeConfig.make(**self.settings))
        assert self.agent.resolve(config) == config

    def test_with_a_model_that_knows_it_succeeds(self) -> None:
        """If `solves`, in `fewest` steps."""
        result = self.play()
        assert result.success is (result.end_state == "success") is self.solves
        if self.solves:
            assert result.steps == self.fewest

    @pytest.mark.parametrize("steps", range(5))
    def test_steps_are_kept_to(self, steps: int) -> None:
        """Even if there are too few."""
        result = self.play(steps)
        assert result.steps == len(result.actions) <= steps
        _fair(result)

    @pytest.mark.parametrize("kind", ["tokens", "calls"])
    def test_a_cap_is_never_exceeded(self, kind: str) -> None:
        """From 0 up to the use of an uncapped episode."""
        free = self.play().used.get(kind) or 0
        for cap in sorted({0, 1, 2, free // 3, free // 2, max(0, free - 1), free}):
            result = self.play(budget={kind: cap})
            assert (result.used.get(kind) or 0) <= cap
            _fair(result)

    def test_the_same_seed_gives_the_same_episode(self) -> None:
        """Without measured times."""
        model, two = (self.play(seed=3).model_dump(exclude=set(CLOCKS)) for _ in range(2))
        assert model == two

    def test_the_trace_has_the_episode(self, tmp_path: Path) -> None:
        """It can be read, begins with the start and ends with the result."""
        result = self.play(trace=tmp_path / "episode.jsonl")
        first, *_, last = list(read_trace(tmp_path / "episode.jsonl"))
        assert isinstance(first, StartedEvent)
        assert isinstance(last, FinishedEvent)
        assert EpisodeResult.model_validate(last.result) == result

    def test_a_model_that_writes_garbage_does_no_harm(self) -> None:
        """The episode ends in a known state, within its budget."""
        result = self.play(steps=4, model=ScriptedLM(GARBAGE, prompt_format=self.model().prompt_format))
        assert result.steps <= 4
        _fair(result)

    def test_the_bound_on_requests_holds(self) -> None:
        """If the agent knows one."""
        config = self.agent.resolve(TapeConfig.make(**self.settings))
        most = self.agent.most_lm_calls(config, steps=8, longest_plan=2 * self.fewest)
        if most is None:
            pytest.skip("it knows no bound")
        assert sum(self.play().lm_calls.values()) <= most

    def test_a_configuration_and_settings_are_not_given_both(self) -> None:
        """One of them would be ignored."""
        with pytest.raises(ConfigError, match="not both"):
            self.agent(self.model(), TapeConfig(), num_plans=2)


def _fair(result: EpisodeResult) -> None:
    """Check that the end state is known, and no cap was exceeded."""
    state, _, kind = result.end_state.partition(":")
    assert state in END_STATES
    assert (state == "budget") == bool(kind)
    assert not kind or kind in result.budget
    assert result.budget_violations == []
    assert result.success == (state == "success")
