"""Nothing that a model, a tool or a file holds is obeyed by a terminal."""

import io
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from tape.cli.main import main
from tape.screen import bare, guard, guarded, printable
from tape.show.console import GuardedConsole

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[8mhidden\r\x9b31m\x00\x7f\u202egnp.exe\u2066\ud800\u2028"


def test_what_is_to_be_seen_stays_and_all_else_is_escaped() -> None:
    assert printable("höher\t5 €\n日本 👩‍👩‍👧") == "höher\t5 €\n日本 👩‍👩‍👧"
    assert printable("\x1b[2J\x07\r\u202e\ud800") == r"\x1b[2J\x07\r\u202e\ud800"


@given(st.text(st.characters(), max_size=40))
def test_nothing_hidden_is_left(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    kept = [c for c in shown if c not in "\n\t"]
    assert not [c for c in kept if ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000]
    shown.encode("utf-8")  # raises nothing


def test_a_guard_stands_on_both_streams_and_is_taken_off(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    with guarded(), guarded():
        print(HOSTILE)
        print(HOSTILE, file=sys.stderr)
        sys.stdout.writelines(["a\x1b", "b\n"])
        assert bare(sys.stdout) is before[0]
        assert sys.stdout.encoding == before[0].encoding
        sys.stdout.flush()
    assert (sys.stdout, sys.stderr) == before
    out, err = capsys.readouterr()
    assert out == printable(HOSTILE) + "\n" + r"a\x1bb" + "\n"
    assert err == printable(HOSTILE) + "\n"


def test_a_process_without_a_console_has_nothing_to_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    undo = guard()
    assert sys.stdout is None
    undo()


def test_a_console_moves_the_cursor_and_guards_its_words() -> None:
    out = io.StringIO()
    console = GuardedConsole(out, force_terminal=True, width=60, _environ={"TERM": "xterm"})
    table = Table()
    table.add_column(Text(HOSTILE))
    table.add_row(HOSTILE)
    with console.status(Text(HOSTILE)):
        console.print(table)
        console.print(HOSTILE, style="bold")
    written = out.getvalue()
    assert "\x1b[1m" in written, "our own style"
    assert "\x1b[?25l" in written, "our own cursor"
    for sequence in ("\x1b]", "\x1b[2J", "\x1b[8m", "\x9b", "\x07", "\u202e"):
        assert sequence not in written


def on_a_terminal(command: list[str]) -> bytes:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    written = b""
    with suppress(OSError):  # Linux raises it where the other end is closed
        while part := os.read(ours, 65536):
            written += part
    os.close(ours)
    process.wait()
    return written


FAILING = """
import sys
import tape.cli.solvers as solvers
from tape.cli.main import main

def fail(argv):
    raise RuntimeError("\\x1b]0;owned\\x07\\x1b[2J, a traceback")

main(["show", "no/\\x1b]0;owned\\x07\\x1b[2J, a message"])
sys.argv, solvers.main = ["tape", "solvers"], fail
main()
"""


def test_the_command_guards_a_terminal() -> None:
    written = on_a_terminal([sys.executable, "-c", FAILING])
    for what in (b"a message", b"a traceback"):
        assert rb"\x1b]0;owned\x07\x1b[2J, " + what in written
    assert b"\x1b]" not in written
    assert b"\x1b[2J" not in written


def test_the_command_in_this_process_guards_and_stops(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before = sys.stdout
    assert main(["show", str(tmp_path / "\x1b[2J")]) == 2
    assert sys.stdout is before
    assert r"\x1b[2J" in capsys.readouterr().err
