"""Command lines run in this process, and what they write."""

import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tape.cli import main


class Written(NamedTuple):
    """What a command line has come to: its exit status, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What stdout holds as JSON."""
        return json.loads(self.out)


Tape = Callable[..., Written]


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def tape(capsys: pytest.CaptureFixture[str]) -> Tape:
    """Runs a command line; a malformed one ends in the parser."""

    def run(*argv: object) -> Written:
        capsys.readouterr()
        try:
            code = main([str(word) for word in argv])
        except SystemExit as ended:
            code = int(str(ended.code or 0))
        return Written(code, *capsys.readouterr())

    return run
