"""A command in a process group of its own, a signal at a chosen moment, and what is left of it afterwards."""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.places import ROOT

HANG_GUARD = 60.0
"""Seconds after the signal within which the command has to end; it means "for ever"."""
GONE_SECONDS = 20.0
"""What was a child may take so long to vanish once its parent has."""

_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Ended:
    """What became of a command.

    Attributes:
        status: Its exit status, negative for a signal.
        said: What it wrote to stderr after the signal.
        cpu: Processor seconds of the command and all that it had started, from the signal on.
        seconds: From the signal to its end.
        left: Command lines of processes that it left behind.
        files: What lies in its temporary folder.
    """

    status: int
    said: str
    cpu: float
    seconds: float
    left: list[str]
    files: list[str]


class Running:
    """A command that runs, seen from outside.

    Args:
        command: The command line.
        folder: Takes what it writes, and its temporary folder.
        env: More environment variables.
    """

    def __init__(self, command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._others = frozenset(_children(os.getpid()))  # such as the tracker of multiprocessing
        self._out, self._err, self.temporary = folder / "stdout", folder / "stderr", folder / "tmp"
        self.temporary.mkdir()
        places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.temporary))
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=ROOT,
                env={**os.environ, "PYTHONPATH": "", **places, **(env or {})}, start_new_session=True,
            )  # fmt: skip
        self.pid = self.process.pid

    @property
    def out(self) -> str:
        """What it has written to stdout."""
        return self._out.read_text(errors="replace")

    @property
    def err(self) -> str:
        """What it has written to stderr."""
        return self._err.read_text(errors="replace")

    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def guards(self) -> bool:
        """Whether it has taken signals over: Python alone leaves SIGTERM as it is."""
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        except OSError:
            return False
        caught = next((line.split()[1] for line in lines if line.startswith("SigCgt")), "0")
        return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for something to hold, or the command to end; the test's own time limit ends a wait in vain."""
        while self.runs() and not holds():
            time.sleep(0.01)

    def interrupt(self, *signals: signal.Signals, group: bool = True, apart: float = 0.0) -> Ended:
        """Send signals, wait for the end, and look at what is left.

        Args:
            signals: One after the other; SIGINT by default.
            group: Send them to its process group, as a terminal does; else to the process alone.
            apart: Seconds between them.
        """
        running, before, already = self.runs(), self.err, _cpu(self.pid)
        began = time.monotonic()
        for number, item in enumerate(signals or (signal.SIGINT,)):
            if number:
                time.sleep(apart)
            try:
                (os.killpg if group else os.kill)(self.pid, item)
            except ProcessLookupError:
                break
        if running:
            deadline = began + HANG_GUARD
            while True:
                pid, status, used = os.wait4(self.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > deadline:
                    os.killpg(self.pid, signal.SIGKILL)
                time.sleep(0.005)
            self.process.returncode = os.waitstatus_to_exitcode(status)
            cpu = used.ru_utime + used.ru_stime
        else:
            cpu = already
        seconds = time.monotonic() - began
        orphans_cpu, left = _orphans(self._others)
        code = self.process.returncode
        files = [str(path.relative_to(self.temporary)) for path in sorted(self.temporary.rglob("*"))]
        said = self.err.removeprefix(before)
        return Ended(code, said, cpu + orphans_cpu - already, seconds, left, files)


@contextmanager
def adopting() -> Iterator[None]:
    """Children that the commands leave behind become this process's own, so that none is missed and all are counted."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        libc.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _orphans(others: frozenset[int]) -> tuple[float, list[str]]:
    """Processor seconds of what was left behind, and what of it does not end by itself; that is killed.

    Args:
        others: Children that this process had before.
    """
    cpu, deadline = 0.0, time.monotonic() + GONE_SECONDS
    while children := [pid for pid in _children(os.getpid()) if pid not in others]:
        waited = False
        for pid in children:
            ended, _, used = os.wait4(pid, os.WNOHANG)
            if ended:
                cpu, waited = cpu + used.ru_utime + used.ru_stime, True
        if not waited:
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
    left = []
    for pid in children:
        left.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        os.kill(pid, signal.SIGKILL)
        os.wait4(pid, 0)
    return cpu, left


def _children(pid: int) -> list[int]:
    numbers = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            numbers.append(int(path.parent.name))
    return numbers


def _cpu(pid: int) -> float:
    """Processor seconds of a process and all below it, waited for or not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    own = sum(map(int, fields[11:15])) / _TICKS
    return own + sum(map(_cpu, _children(pid)))
