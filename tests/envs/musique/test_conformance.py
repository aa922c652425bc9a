"""Questions over priced retrievers pass the suite that other environments inherit."""

from __future__ import annotations

from collections.abc import Sequence

from envs.musique.environment import MusiqueEnvironment
from envs.musique.plugin import PLUGIN
from tape.protocols import Action, Environment, State
from tape.testing import EnvironmentConformance
from tape.tools.calls import answer, call


class TestMusique(EnvironmentConformance):
    plugin = PLUGIN
    prompt_formats = ("chat", "tools")

    def actions(self, environment: Environment, state: State) -> Sequence[Action]:
        assert isinstance(environment, MusiqueEnvironment)
        assert environment.question.hops is not None
        relation, subject = environment.question.hops[0]  # names for which the bundled model has words
        made = [call("search", f"v{number}", query=f"{relation} of {subject}") for number in range(1, 6)]
        return [one.text for one in (*made, answer("nobody"))]
