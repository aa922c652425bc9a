"""Tools as an environment: functions with declared costs, called along plans, under hard budgets."""

from envs.tools.cost import Fixed, PerUnit, Uniform, Unknown
from envs.tools.environment import ToolEnvironment
from envs.tools.errors import ToolError, ToolFailedError
from envs.tools.mcp import mcp_tools
from envs.tools.tool import Tool, Toolbox, tool

__all__ = [
    "Fixed",
    "PerUnit",
    "Tool",
    "ToolEnvironment",
    "ToolError",
    "ToolFailedError",
    "Toolbox",
    "Uniform",
    "Unknown",
    "mcp_tools",
    "tool",
]
