"""Planning problems in PDDL, read by unified-planning: exact states, actions as calls, numbers as budgets."""

from envs.pddl.environment import PddlEnvironment
from envs.pddl.errors import PddlError

__all__ = ["PddlEnvironment", "PddlError"]
