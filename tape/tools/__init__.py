"""Tools as an environment: functions with declared costs, called along plans, under hard budgets."""

from tape.tools.cost import Fixed, PerUnit, Uniform
from tape.tools.environment import ToolEnvironment
from tape.tools.errors import ToolError, ToolFailedError, ToolWarning
from tape.tools.mcp import mcp_tools
from tape.tools.tool import Tool, tool
from tape.tools.toolbox import Toolbox

__all__ = [
    "Fixed",
    "PerUnit",
    "Tool",
    "ToolEnvironment",
    "ToolError",
    "ToolFailedError",
    "ToolWarning",
    "Toolbox",
    "Uniform",
    "mcp_tools",
    "tool",
]
