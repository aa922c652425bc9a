"""Sokoban: simulator, levels, oracle, and the glue that makes it an environment of the engine."""

from envs.sokoban.environment import SokobanEnvironment
from envs.sokoban.generator import generate
from envs.sokoban.level_sets import load_set
from envs.sokoban.state import ACTIONS, Level, State
from envs.sokoban.xsb import parse

__all__ = ["ACTIONS", "Level", "SokobanEnvironment", "State", "generate", "load_set", "parse"]
