"""Every command of the command line, and the places, users and streams that it may be started with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tape.cli.ledger import _DO
from tape.cli.main import COMMANDS
from tests.places import ROOT
from tests.tape.cli.commands import places

PLAN = """
plans = [["größer", "→ weiter"], ["größer"]]
value = [1, 0.5]
budget = { usd = 3 }
[cost]
"größer" = { usd = 1 }
"→ weiter" = { usd = 1 }
"""
AS_NOBODY = ["/usr/bin/unshare", "--user", "--map-user=54321", "--map-group=54321"]
"""Runs a command under a user id without a name, as containers do."""
NAMES = ("USER", "LOGNAME", "LNAME", "USERNAME", "HOME", "XDG_CACHE_HOME")


def make_data(folder: Path) -> None:
    """What the commands read."""
    places(folder)
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    ledger = f"file://{folder / 'org.ledger'}"
    for words in (["cap", "org", "$10"], ["rule", "org", "--warn", "50"], ["pause", "org", "--why", "größer →"]):
        subprocess.run([sys.executable, "-m", "tape", "ledger", "--url", ledger, *words], check=True, cwd=ROOT)


def commands(data: str) -> dict[str, list[str]]:
    """Commands of every kind, with the files of a folder; under each name begins what it is about."""
    run, graph, out = (os.path.join(data, name) for name in ("run", "graph.json", "out"))
    play = ["run", "sokoban", "--levels", f"{data}/levels.xsb", "--agent", "open_loop", "--out", out]
    solve = ["solve", graph, "--budget", "usd=$0.008,steps=6"]
    ledger = ["ledger", "--url", f"file://{data}/org.ledger"]
    org = {
        "cap": ["$5"],
        "add": ["$1", "--why", "größer"],
        "reset": ["usd"],
        "rule": ["--at-limit", "ask", "--seconds", "9"],
    }
    texts = {
        "run": [*play, "--model", f"scripted:{data}/script.json"],
        "show": ["show", run], "show without pictures": ["show", run, "1", "--no-pictures"],
        "show list": ["show", run, "--list"], "why": ["why", run], "why as JSON": ["why", run, "--json"],
        "view": ["view", run], "view elsewhere": ["view", run, "-o", f"{data}/größer.html"],
        "solve": solve, "solve as JSON": [*solve, "--json"], "solve apart": [*solve, "--solver", "pulp:cbc"],
        "solve and draw": [*solve, "--draw", f"{data}/graph.svg"],
        "plan": ["plan", f"{data}/plan.toml", "--frontier", "usd,value", "--page", f"{data}/page.html"],
        "plan a graph": ["plan", graph, "--budget", "usd=$0.008,steps=6"],
        "models": ["models"], "solvers": ["solvers"], "prices of one": ["prices", "gpt-4o"],
        "": [], "version": ["--version"], "help": ["--help"],
    }  # fmt: skip
    for name in _DO:
        account = (
            [] if name in ("init", "notes", "pauses", "check", "export") else ["none" if name == "settle" else "org"]
        )
        texts[f"ledger {name}"] = [*ledger, name, *account, *org.get(name, [])]
    return texts


def helps() -> dict[str, list[str]]:
    """The help of every command."""
    return {f"{name} help": [name, "--help"] for name in COMMANDS} | {
        f"ledger {name} help": ["ledger", name, "--help"] for name in _DO
    }


@dataclass(frozen=True)
class Surroundings:
    """What is odd about how a command is started.

    Attributes:
        env: Variables; None for one that is not set.
        streams: Redirections of a shell.
        name: Of the folder that has the files.
        user: Whether it is a user without a name.
        relative: Whether files are named from the folder above.
        may: Exit statuses beside the usual one.
    """

    env: Mapping[str, str | None] = field(default_factory=dict)
    streams: str = ""
    name: bytes = b"data"
    user: bool = False
    relative: bool = False
    may: tuple[int, ...] = ()


def surroundings(folder: Path) -> dict[str, Surroundings]:
    """All of them; places for homes and temporary files are made in a folder."""
    (folder / "a file").write_text("")
    odd = {"space": "a b", "percent": "100%s %d", "newline": "a\nb", "quotes": "a'\"b", "bytes": os.fsdecode(b"a\xffb")}
    for name in odd.values():
        (folder / name).mkdir()
    gone, file = str(folder / "gone" / "away"), str(folder / "a file")
    mapping = {
        "usual": Surroundings(),
        **{f"HOME {what}": Surroundings({"HOME": value, "XDG_CACHE_HOME": None}, may=(2,)) for what, value in {
            "unset": None, "empty": "", "missing": gone, "a file": file, "relative": "x", "closed": "/proc"}.items()},
        **{f"TMPDIR {what}": Surroundings({"TMPDIR": str(folder / name)}) for what, name in odd.items()},
        **{f"TMPDIR {what}": Surroundings({"TMPDIR": value, "TMP": value}) for what, value in {
            "missing": gone, "a file": file, "closed": "/proc", "empty": ""}.items()},
        **{f"locale {what}": Surroundings({"LC_ALL": what}) for what in ("C", "POSIX", "tr_TR.UTF-8", "none_SUCH")},
        "locale C for good": Surroundings({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        **{f"encoding {what}": Surroundings({"PYTHONIOENCODING": what}) for what in (
            "ascii", "ascii:strict", "cp1252", "latin-1", "utf-8", "utf-16", "cp437:strict")},
        "user without a name": Surroundings(dict.fromkeys(NAMES), user=True, may=(2,)),
        "name of bytes": Surroundings({"LOGNAME": os.fsdecode(b"\xff")}, may=(2,)),
        "stdout closed": Surroundings(streams=">&-"), "stdout full": Surroundings(streams=">/dev/full", may=(2,)),
        "stdout for reading": Surroundings(streams="1</dev/null", may=(2,)),
        "nobody reads": Surroundings(streams="| exec sleep 0", may=(141,)),
        "stderr closed": Surroundings(streams="2>&-"), "stderr full": Surroundings(streams="2>/dev/full"),
        "stdin closed": Surroundings(streams="<&-"),
        "all closed": Surroundings(streams="<&- >&- 2>&-"),
        "no terminal": Surroundings({"TERM": None}), "one column": Surroundings({"COLUMNS": "1", "LINES": "1"}),
        "no columns": Surroundings({"COLUMNS": "x", "LINES": "-1"}), "colours": Surroundings({"FORCE_COLOR": "1"}),
        "unbuffered": Surroundings({"PYTHONUNBUFFERED": "1"}, streams=">/dev/full", may=(2,)),
        "odd zone": Surroundings({"TZ": "Nowhere/None"}), "no PATH": Surroundings({"PATH": None}),
    }  # fmt: skip
    names = [
        b"a b",
        b"a\nb",
        b"a\xffb",
        "größer →".encode(),
        b"100%s",
        b"a#b?c",
        b"[red]x",
        b"'q\"",
        b"a:b;c",
        b"x" * 250,
    ]
    mapping |= {
        f"file names {name[:20]!r}": Surroundings(name=name, may=(2,) if b"\xff" in name else ()) for name in names
    }
    return mapping | {
        "file names with a dash": Surroundings(name=b"-x", relative=True, may=(2,)),
        "file names with a dash, marked": Surroundings(name=b"./-x", relative=True),
    }


@dataclass(frozen=True)
class Came:
    """What a command line has come to."""

    status: int
    out: bytes
    err: bytes

    def wrong(self) -> str:
        """What no command may say."""
        said = self.out + self.err
        return next((mark for mark in MARKS if mark.encode() in said), "")


MARKS = ("Traceback", "Exception ignored", "Fatal Python", "lost sys.std", "excepthook", "object at 0x")
"""What the interpreter writes of errors that nobody took."""


class Places:
    """Starts commands, each on a copy of its own of the files."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._own, self._data = folder, folder / "own", folder / "data"
        self._data.mkdir()
        make_data(self._data)
        self.surroundings = surroundings(folder)
        self._usual: dict[str, int] = {}

    def faults(self, name: str, asked: Sequence[str]) -> list[str]:
        """What is wrong with what commands come to in surroundings of a name, beside the usual ones."""
        around, texts = self.surroundings[name], []
        unknown = [item for item in asked if item not in self._usual]
        self._usual |= {item: came.status for item, came in self.come(Surroundings(), unknown)}
        for text, came in self.come(around, asked):
            if (mark := came.wrong()) or came.status not in (self._usual[text], *around.may):
                why = f"{came.status} instead of {self._usual[text]} {mark}"
                texts.append(f"{name}: tape {text}: {why}: {came.err[-600:].decode(errors='backslashreplace')}")
        return texts

    def come(self, around: Surroundings, asked: Sequence[str]) -> Iterator[tuple[str, Came]]:
        """What the commands of some names come to, each in a process that has begun in these surroundings."""
        for name in asked:
            self._own.mkdir()
            try:
                shutil.copytree(self._data, copy := self._own / os.fsdecode(around.name))
                words = {**commands(os.fsdecode(around.name) if around.relative else str(copy)), **helps()}[name]
                yield name, self._started(words, around)
            finally:
                shutil.rmtree(self._own)

    def _started(self, words: Sequence[str], around: Surroundings) -> Came:
        shell = ["/bin/bash", "-c", f'set -o pipefail; "$0" "$@" {around.streams}', sys.executable, "-m", "tape"]
        command = [*(AS_NOBODY if around.user else ()), *shell, *words]
        done = subprocess.run(
            command, env=self._env(around), cwd=self._own, timeout=100, capture_output=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Came(done.returncode, done.stdout, done.stderr)

    def _env(self, around: Surroundings) -> dict[str, str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(self._folder / "cache")}
        env |= {"PYTHONUNBUFFERED": "", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
        return {name: value for name, value in {**env, **around.env}.items() if value is not None}


@contextmanager
def opened() -> Iterator[Places]:
    """Places in a folder of their own."""
    folder = Path(tempfile.mkdtemp(prefix="tape-around-"))
    try:
        yield Places(folder)
    finally:
        shutil.rmtree(folder)
