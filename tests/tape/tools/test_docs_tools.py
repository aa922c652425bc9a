"""docs/tools.md: every setting of a tool is documented."""

import inspect

from tape.tools import mcp_tools, tool
from tests.places import ROOT

PAGE = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")


def test_every_setting_is_documented() -> None:
    for name in inspect.signature(tool).parameters:
        assert f"`{name}=" in PAGE or name == "fixed"
    for name in ("costs", "quality", "variants", "reads", "pure", "destructive", "only", "env"):
        assert name in inspect.signature(mcp_tools).parameters
        assert f"`{name}" in PAGE
