"""The examples of docs/tools.md run as they stand and print what they say."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from tape.tools import mcp_tools, tool
from tests.places import ROOT

PAGE = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=["variants", "costs", "limits", "mcp"])
def test_examples_print_what_they_say(
    code: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "mcp_tools" in code and importlib.util.find_spec("mcp") is None:
        pytest.skip("the extra mcp is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)$", code, re.MULTILINE)


def test_every_setting_is_documented() -> None:
    for name in inspect.signature(tool).parameters:
        assert f"`{name}=" in PAGE or name == "fixed"
    for name in ("costs", "quality", "variants", "reads", "only", "env"):
        assert name in inspect.signature(mcp_tools).parameters
        assert f"`{name}" in PAGE
