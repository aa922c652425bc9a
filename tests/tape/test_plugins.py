"""Optional packages: looked up, named by one sentence, never imported."""

import sys

import pytest

from tape.errors import MissingExtraError
from tape.plugins import missing_extra, require_extra


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    sentence = "it needs the package 'ray', which is not installed: pip install 'tape-planner[ray]'"
    assert missing_extra("ray", "numpy", "ray") == sentence
    with pytest.raises(MissingExtraError, match=r"^the run needs the package 'ray', .*'tape-planner\[ray\]'$"):
        require_extra("ray", "ray", what="the run")


def test_what_is_there_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    assert missing_extra("local", "this", "numpy") is None
    assert "this" not in sys.modules
