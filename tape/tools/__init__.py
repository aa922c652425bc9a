"""Tools as an environment: functions with declared costs, called along plans, under hard budgets."""

from tape.budget.chances import Likely, Uniform
from tape.budget.prices import Answer, Fixed, PerUnit
from tape.tools.context import ToolContext
from tape.tools.environment import ToolEnvironment
from tape.tools.errors import ToolError, ToolFailedError, ToolWarning
from tape.tools.happened import Happened
from tape.tools.making import tool
from tape.tools.mcp import mcp_tools
from tape.tools.tool import FreeText, Tool
from tape.tools.toolbox import Toolbox
from tape.tools.uncertain import learned

__all__ = [
    "Answer",
    "Fixed",
    "FreeText",
    "Happened",
    "Likely",
    "PerUnit",
    "Tool",
    "ToolContext",
    "ToolEnvironment",
    "ToolError",
    "ToolFailedError",
    "ToolWarning",
    "Toolbox",
    "Uniform",
    "learned",
    "mcp_tools",
    "tool",
]
