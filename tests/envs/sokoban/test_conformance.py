"""Sokoban passes the suite that other environments inherit."""

from __future__ import annotations

from envs.sokoban.plugin import PLUGIN
from tape.testing import EnvironmentConformance


class TestSokoban(EnvironmentConformance):
    plugin = PLUGIN
    prompt_formats = ("chat", "compact")
