"""ALFWorld tasks pass the suite that other environments inherit, observed in part, in full, and with errors."""

from __future__ import annotations

from typing import ClassVar

from envs.alfworld.plugin import PLUGIN
from tape.testing import EnvironmentConformance


class TestAlfworld(EnvironmentConformance):
    plugin = PLUGIN
    arguments: ClassVar = ("--count", "4")
    prompt_formats = ("chat", "household")


class TestAlfworldObservedInFull(TestAlfworld):
    arguments: ClassVar = ("--count", "2", "--observation", "full", "--commands", "shown", "--tightness", "tight")


class TestAlfworldWithErrors(TestAlfworld):
    arguments: ClassVar = ("--count", "2", "--query-errors", "0.3")
