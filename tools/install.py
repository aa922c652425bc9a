"""Creates .venv and installs the project into it.

``python -m tools.install`` installs the project, ``--dev`` the test tools too, ``--extras`` (in an installed .venv)
the extras that this machine can run. Nothing is downloaded to be installed before a dry run of pip has shown what
would come. Whatever stops it, the next call goes on from there.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.cuda import advice, collected_cuda, cuda_packages, has_nvidia_gpu, normalized
from tools.extras import BASE, survey

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOG = VENV / "pip.log"
EXTRAS_RECORD = VENV / ".extras"

NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|Failed to establish a new connection|Temporary failure in name resolution"
    r"|Name or service not known|ConnectTimeoutError|ReadTimeoutError|ProxyError|Network is unreachable"
    r"|No route to host|Connection refused|Max retries exceeded"
)


class InstallError(Exception):
    """The installation cannot go on; the message gives the reason and the remedy."""


class CudaError(InstallError):
    """CUDA packages would be installed on a machine without a GPU."""


@dataclass(frozen=True)
class Settings:
    """What the user may set through make's variables.

    Attributes:
        torch_index: One more index for pip to look at, with CPU builds of torch.
        torch_wheel: A torch wheel to install; the pin of torch does not hold then.
        allow_cuda: Whether CUDA packages are welcome on this machine.
    """

    torch_index: str | None = None
    torch_wheel: Path | None = None
    allow_cuda: bool = False

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Settings":
        """Reads TORCH_INDEX_URL, TORCH_WHEEL and ALLOW_CUDA.

        Raises:
            InstallError: If TORCH_WHEEL names no torch wheel that exists.
        """
        wheel = Path(os.path.expanduser(env["TORCH_WHEEL"])).absolute() if env.get("TORCH_WHEEL") else None
        if wheel is not None and not (wheel.is_file() and wheel.name.startswith("torch-") and wheel.suffix == ".whl"):
            raise InstallError(f"TORCH_WHEEL must name a file torch-....whl that exists, not {wheel}")
        allow = env.get("ALLOW_CUDA", "").lower() not in {"", "0", "no", "false"}
        return cls(env.get("TORCH_INDEX_URL") or None, wheel, allow)


def progress(text: str) -> None:
    """Prints one line of progress at once."""
    print(f"[install] {text}", flush=True)


def base_requirements(pyproject: Mapping[str, Any], *, dev: bool) -> list[str]:
    """What is installed before the project: what it is built with, its dependencies and those of the extras in `BASE`.

    Args:
        pyproject: The whole of pyproject.toml.
        dev: Whether the test tools come too.

    Returns:
        Requirements, torch first so that a CUDA build shows early.
    """
    project = pyproject["project"]
    found = [*pyproject["build-system"]["requires"], *project["dependencies"]]
    for name in [*BASE, "dev"] if dev else BASE:
        found += project["optional-dependencies"][name]
    return sorted(found, key=lambda text: requirement_name(text) != "torch")


def requirement_name(text: str) -> str:
    """The normalized distribution name that a requirement begins with; empty where there is none."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", text)
    return normalized(match[1]) if match else ""


def without_torch(constraints: str) -> str:
    """The constraints without the pin of torch, for a wheel that the user chose."""
    return "".join(line for line in constraints.splitlines(True) if requirement_name(line) != "torch")


def torch_pin(constraints: str) -> str:
    """The requirement on torch in the constraints, or just its name."""
    return next((line.strip() for line in constraints.splitlines() if requirement_name(line) == "torch"), "torch")


def drop_half_installed(site_packages: Path) -> list[str]:
    """Removes the metadata of packages whose installation was cut off, so that pip installs them again.

    pip writes RECORD last; a package without it is not whole.
    """
    broken = [path for path in site_packages.glob("*.dist-info") if not (path / "RECORD").exists()]
    for path in broken:
        shutil.rmtree(path)
    return sorted(path.name.removesuffix(".dist-info") for path in broken)


class Pip:
    """pip of one environment, whose log is watched while it runs."""

    def __init__(self, python: Path, log: Path) -> None:
        self._python = python
        self._log = log

    def run(self, command: str, *args: str, watch: Callable[[Iterable[str]], None] | None = None) -> None:
        """Runs a pip command with its output on ours.

        Args:
            command: The command, such as ``install``.
            args: Its arguments.
            watch: Gets the new lines of pip's log as they come; what it raises stops pip.

        Raises:
            InstallError: If pip fails.
        """
        self._log.unlink(missing_ok=True)
        options = ["--disable-pip-version-check", "--no-input", "--log", str(self._log)]
        argv = [str(self._python), "-m", "pip", command, *options, *args]
        process = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.DEVNULL)  # noqa: S603
        seen = 0
        try:
            while True:
                ended = process.poll() is not None
                seen = self._show(seen, watch)
                if ended:
                    break
                time.sleep(0.1)
        except BaseException as error:
            self._stop(process, patience=10 if isinstance(error, KeyboardInterrupt) else 0)
            raise
        if process.returncode:
            raise InstallError(failure(self._log.read_text(errors="replace") if self._log.exists() else ""))

    def _show(self, start: int, watch: Callable[[Iterable[str]], None] | None) -> int:
        """Passes the whole lines after byte `start` of the log on and returns where the next ones begin."""
        if watch is None or not self._log.exists():
            return start
        with self._log.open("rb") as stream:
            stream.seek(start)
            whole, newline, _ = stream.read().rpartition(b"\n")
        if newline:
            watch(whole.decode(errors="replace").splitlines())
        return start + len(whole) + len(newline)

    @staticmethod
    def _stop(process: "subprocess.Popen[bytes]", patience: float) -> None:
        """Waits `patience` seconds for pip (Ctrl-C reaches it too), interrupts it, and kills it as a last resort.

        An interrupted pip removes its temporary files.
        """
        steps: tuple[Callable[[], None], ...] = (lambda: process.send_signal(signal.SIGINT), process.kill)
        for step in steps:
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                step()
            patience = 20
        process.wait()


def failure(log: str) -> str:
    """The message about a pip that failed with this log."""
    if NO_NETWORK.search(log):
        return (
            "the package index could not be reached: is there a network, and is a proxy needed? "
            "Without one, point pip to local packages (pip's find-links or index-url). Then run make again: it goes on."
        )
    if "No space left on device" in log:
        return "the disk is full (.venv takes about 2 GB). Free some space and run make again: it goes on."
    return f"pip failed; its last words are above, its full log is in {LOG}. Run make again once that is mended."


class Installer:
    """Brings .venv in line with pyproject.toml and constraints.txt."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        with (ROOT / "pyproject.toml").open("rb") as stream:
            self._pyproject: dict[str, Any] = tomllib.load(stream)
        self._constraints = (ROOT / "constraints.txt").read_text()
        self._python = VENV / "bin" / "python"
        self._pip = Pip(self._python, LOG)

    def base(self, *, dev: bool) -> None:
        """Installs the project and, with `dev`, the test tools, then writes the stamps."""
        started = time.monotonic()
        self._environment()
        wheel = [str(self._settings.torch_wheel)] if self._settings.torch_wheel else []
        self._add([*wheel, *base_requirements(self._pyproject, dev=dev)], "the project's requirements")
        progress("the project itself (editable)")
        self._pip.run("install", "--quiet", "--no-deps", "--no-build-isolation", "-e", str(ROOT))
        for name in [".installed", ".installed-dev"] if dev else [".installed"]:
            (VENV / name).write_text(f"{ROOT}\n")
        progress(f"done in {time.monotonic() - started:.0f} s")

    def extras(self) -> None:
        """Installs the extras whose needs are met and prints a line for each.

        An extra that cannot be installed is skipped, never an error: the rest of the project works without it.
        """
        done = json.loads(EXTRAS_RECORD.read_text()) if EXTRAS_RECORD.exists() else {}
        for extra in survey(self._pyproject["project"].get("optional-dependencies", {})):
            if extra.missing:
                progress(f"extra {extra.name}: skipped: {extra.missing}")
                continue
            state = hashlib.sha256(repr((extra.requirements, self._constraints)).encode()).hexdigest()
            if done.get(extra.name) != state:
                try:
                    self._add(extra.requirements, f"extra {extra.name}")
                except CudaError as error:
                    progress(f"extra {extra.name}: skipped: {str(error).splitlines()[0]}")
                    continue
                except InstallError as error:
                    progress(f"extra {extra.name}: skipped: {error}")
                    continue
                done[extra.name] = state
                EXTRAS_RECORD.write_text(json.dumps(done))
            progress(f"extra {extra.name}: installed")

    def _environment(self) -> None:
        """Makes .venv if it is missing or of no use."""
        if self._usable():
            for name in [name for path in VENV.glob("lib/*/site-packages") for name in drop_half_installed(path)]:
                progress(f"{name} was only half installed: it will be installed again")
            return
        if VENV.exists() and any(VENV.iterdir()) and not (VENV / "pyvenv.cfg").exists():
            raise InstallError(f"{VENV} exists but is no virtual environment: move it away and run make again")
        version = ".".join(map(str, sys.version_info[:3]))
        progress(f"creating {VENV.name} with Python {version}")
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=False)  # noqa: S603
        if made.returncode:
            raise InstallError(
                f"{sys.executable} could not create {VENV}; the reason is above. "
                "Point to another Python with make PYTHON=..."
            )

    def _usable(self) -> bool:
        """Whether .venv holds a Python that is new enough and a whole pip."""
        if not any(VENV.glob("lib/*/site-packages/pip-*.dist-info/RECORD")):
            return False
        check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
        try:
            answer = subprocess.run([str(self._python), "-c", check], capture_output=True, check=False)  # noqa: S603
        except OSError:
            return False
        return answer.returncode == 0

    def _add(self, requirements: Sequence[str], what: str) -> None:
        """Resolves the requirements, looks for CUDA packages, then installs what is missing."""
        progress(f"resolving {what} (pip's dry run)")
        report_path = VENV / "pip-report.json"
        report_path.unlink(missing_ok=True)
        args = self._common_args()
        guarded = not (self._settings.allow_cuda or has_nvidia_gpu())
        dry = ["--dry-run", "--report", str(report_path), *args, *requirements]
        self._pip.run("install", *dry, watch=self._stop_at_cuda if guarded else None)
        report = json.loads(report_path.read_text())
        if guarded and (found := cuda_packages(report)):
            raise CudaError(advice(found, torch_pin(self._constraints)))
        count = len(report["install"])
        if count == 0:
            progress(f"{what}: nothing to install")
            return
        progress(f"installing {what}: {count} packages")
        self._pip.run("install", *args, *requirements)

    def _common_args(self) -> list[str]:
        constraints = ROOT / "constraints.txt"
        if self._settings.torch_wheel:
            constraints = VENV / "constraints.txt"
            constraints.write_text(without_torch(self._constraints))
        index = ["--extra-index-url", self._settings.torch_index] if self._settings.torch_index else []
        return ["-c", str(constraints), *index]

    def _stop_at_cuda(self, lines: Iterable[str]) -> None:
        if found := collected_cuda(lines):
            raise CudaError(advice(found, torch_pin(self._constraints)))


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.install", description=__doc__)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--dev", action="store_true", help="install the test tools too")
    group.add_argument("--extras", action="store_true", help="install the extras that this machine can run")
    options = parser.parse_args(argv)
    try:
        installer = Installer(Settings.from_env(os.environ))
        if options.extras:
            installer.extras()
        else:
            installer.base(dev=options.dev)
    except InstallError as error:
        print(f"[install] error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("[install] interrupted: the next make goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
