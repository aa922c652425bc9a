"""Without its packages, an export names the extra to install, before anything is read."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from tape.adapters.otel import Spans
from tape.cli import main
from tape.errors import MissingExtraError
from tests.tape.show.view_runs import episode, write_run


@pytest.mark.parametrize(
    ("to", "package", "extra"),
    [("otel", "opentelemetry", "otel"), ("otel", "opentelemetry.sdk", "otel"), ("inspect", "inspect_ai", "inspect")],
)
def test_the_extra_is_named(
    to: str,
    package: str,
    extra: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = write_run(tmp_path / "run", [episode()])
    without(package, monkeypatch)
    assert main(["export", str(run), "--to", to]) == 2
    assert f"needs the package {package!r}, which is not installed: pip install 'tape-planner[{extra}]'" in (
        capsys.readouterr().err
    )


def test_live_too(monkeypatch: pytest.MonkeyPatch) -> None:
    without("opentelemetry", monkeypatch)
    with pytest.raises(MissingExtraError, match=r"tape-planner\[otel\]"):
        Spans()


def without(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a package look as if it were not installed, and what it lies in as if it were."""
    real = importlib.util.find_spec
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)

    def find(name: str, *rest: str) -> ModuleSpec | None:
        if name == package:
            return None
        return ModuleSpec(name, None) if package.startswith(f"{name}.") else real(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", find)
