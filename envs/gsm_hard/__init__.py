"""Word problems with big numbers, solved by calling arithmetic tools of several prices and qualities."""

from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.generator import generate, problem_set
from envs.gsm_hard.problem import Problem

__all__ = ["GsmHardEnvironment", "Problem", "generate", "problem_set"]
