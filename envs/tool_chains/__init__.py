"""Chains of typed tools: a thing is made to order at least cost, while prices, tools and wishes change."""

from envs.tool_chains.environment import ToolChainsEnvironment
from envs.tool_chains.generator import generate
from envs.tool_chains.problem import ChainProblem

__all__ = ["ChainProblem", "ToolChainsEnvironment", "generate"]
