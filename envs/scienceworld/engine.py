"""The real simulator: one Java process per Python process, with any number of games in it.

This is the only module that imports ``scienceworld`` and ``py4j``. The Java process listens on a port of the loopback
interface, asks for a token, and ends when its standard input does: it cannot outlive this process, however that ends.
It has a process group of its own, so that Ctrl-C reaches this process alone and running episodes end in order.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from envs.scienceworld.errors import EngineError, NotPlayableError, ScienceWorldError
from tape.reading import read_json

SERIES = "1.2."
"""The versions of the package that this was written for."""

_SHUTDOWN_SECONDS = 5.0

_JAVA_OPTIONS = (
    # The simulator keeps objects in sets by identity, and their order decides what is listed and drawn first. With
    # equal identity hashes it is the order of insertion, so that equal commands have equal answers, in any process.
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:hashCode=2",
    # Objects are small and short-lived; the serial collector spares threads on small machines.
    "-XX:+UseSerialGC",
)


class SimulatorView(NamedTuple):
    """What the simulator shows after an action.

    Attributes:
        text: Its answer.
        look: The whole description of the room.
        inventory: What the agent carries, as text.
        score: Partial credit, from 0 to 100; -100 where the task was failed for good.
        done: Whether the task is over.
    """

    text: str
    look: str
    inventory: str
    score: int
    done: bool


class ScienceGame:
    """One game.

    Args:
        task: The task's name.
        variation: Which of its variations.
        simplification: Simplifications of the simulator, by commas; ``easy`` is all that do not take actions away.
        gold: Whether to have the simulator make a gold path too.

    Raises:
        EngineError: The simulator cannot be started.
        NotPlayableError: The package or a Java runtime is not there, or of another version.
        ScienceWorldError: There is no such task, variation or simplification.
    """

    def __init__(self, task: str, variation: int, simplification: str = "easy", *, gold: bool = False) -> None:
        self.task, self.variation, self.simplification = task, variation, simplification
        self._jvm = _running()
        with self._calls("loading"):
            self._server = self._jvm.interface()
            _check(self._server, task, variation, simplification)
            self._server.load(task, variation, simplification, gold)
            self._gold, self._fresh = tuple(map(str, self._server.getGoldActionSequence())) if gold else None, not gold
            self.description = str(self._server.getTaskDescription()).strip()

    @contextmanager
    def _calls(self, what: str) -> Iterator[None]:
        """Turn failures of the Java process into errors that name them."""
        try:
            yield
        except _java_errors() as error:
            raise self._jvm.failed(f"{what} {self.task}, variation {self.variation}", error) from error

    def reset(self) -> SimulatorView:
        """Start the game, or start it again.

        It is loaded anew, since the simulator's own reset draws the world once more from where its chance stands. So
        does making a gold path, which is therefore played in the world that it would have without one.
        """
        with self._calls("starting"):
            if not self._fresh:
                self._server.load(self.task, self.variation, self.simplification, False)
            self._fresh = False
            self._server.reset()
        return self.step("look around")

    def step(self, text: str) -> SimulatorView:
        """Type a command.

        Raises:
            EngineError: The Java process has ended.
        """
        with self._calls(f"{text!r} in"):
            answer = str(self._server.step(text))
            score = round(100 * float(self._server.getScore()))
            # As the package has it: below zero the task cannot be completed any more.
            done = bool(self._server.getCompleted()) or score < 0
            look, held = str(self._server.freeActionLook()), str(self._server.freeActionInventory())
        return SimulatorView(answer, look, held, score, done)

    def valid_actions(self) -> list[str]:
        """All commands that the simulator would accept now, up to thousands; it takes up to a third of a second."""
        with self._calls("listing actions of"):
            return [str(action) for action in self._server.getValidActionObjectCombinations()]

    def objects(self) -> Mapping[str, Any]:
        """Everything in the world, whether seen or not, for measurements: no agent may see it."""
        with tempfile.TemporaryDirectory() as folder, self._calls("reading the objects of"):
            problem = self._server.getObjectTree(folder)
            if problem:
                raise EngineError(f"{self.task}, variation {self.variation}: {problem}")
            tree: Mapping[str, Any] = read_json(Path(folder) / "objectTree.json", error=EngineError)
        return tree

    def gold(self) -> list[str]:
        """A path that solves the task, where one was asked for.

        Raises:
            ScienceWorldError: None was asked for.
        """
        if self._gold is None:
            raise ScienceWorldError(f"{self.task}, variation {self.variation}: ask for a gold path when loading it")
        return list(self._gold)

    def splits(self) -> dict[str, list[int]]:
        """The official variations for training, development and test."""
        with self._calls("reading the splits of"):
            server = self._server
            return {
                "train": sorted(map(int, server.getVariationsTrain())),
                "dev": sorted(map(int, server.getVariationsDev())),
                "test": sorted(map(int, server.getVariationsTest())),
            }

    def close(self) -> None:
        """Give the game back; another one may use its place."""
        self._jvm.give_back(self._server)


def _check(server: Any, task: str, variation: int, simplification: str) -> None:
    """Refuse what the simulator would take silently or fail at without a word."""
    tasks = [str(name) for name in server.getTaskNames()]
    if task not in tasks:
        raise ScienceWorldError(f"ScienceWorld has no task {task!r}; it has {', '.join(sorted(tasks))}")
    count = int(server.getTaskMaxVariations(task))
    if not 0 <= variation < count:
        raise ScienceWorldError(f"{task} has the variations 0 to {count - 1}, not {variation}")
    known = ["easy", *(name.strip() for name in str(server.getPossibleSimplifications()).split(","))]
    for name in filter(None, simplification.split(",")):
        if name not in known:
            raise ScienceWorldError(f"ScienceWorld has no simplification {name!r}; it has {', '.join(known)}")


class _Jvm:
    """The Java process."""

    def __init__(self) -> None:
        gateway, constants, java = _packages(), _constants(), _java()
        self.owner = os.getpid()
        # The simulator writes a table into its working directory.
        self._folder = tempfile.TemporaryDirectory(prefix="scienceworld-")
        try:
            port, token, self.process = gateway.launch_gateway(
                classpath=os.path.abspath(constants.JAR_PATH),
                javaopts=list(_JAVA_OPTIONS),
                die_on_exit=True,
                cwd=self._folder.name,
                java_path=os.path.abspath(java),  # it may be given relative to where we are
                create_new_process_group=True,
                enable_auth=True,
                return_proc=True,
            )
            parameters = gateway.GatewayParameters(auto_field=True, port=port, auth_token=token)
            self._gateway = gateway.JavaGateway(gateway_parameters=parameters, java_process=self.process)
        except (OSError, ValueError, gateway.Py4JError) as error:
            self._folder.cleanup()
            raise EngineError(
                f"ScienceWorld's simulator did not start with {java} ({_java_version(java)}): {error}. "
                "It needs a Java runtime of version 8 or newer"
            ) from error
        self._free: list[Any] = []

    def interface(self) -> Any:
        """A place for a game."""
        return self._free.pop() if self._free else self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()

    def give_back(self, interface: Any) -> None:
        self._free.append(interface)

    def alive(self) -> bool:
        """Whether it runs and belongs to this process, not to one that this was forked from."""
        return self.owner == os.getpid() and self.process.poll() is None

    def failed(self, what: str, error: BaseException) -> EngineError:
        """What to raise where a call failed."""
        if isinstance(error, _connection_errors()):
            # A process that is killed refuses connections a moment before it can be waited for.
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_SHUTDOWN_SECONDS)
        if self.process.poll() is None:
            first = str(error).strip().splitlines()[-1:] or [""]
            return EngineError(f"ScienceWorld's simulator failed at {what}: {type(error).__name__}: {first[0]}")
        self.close()
        return EngineError(
            f"the Java process of ScienceWorld's simulator ended (status {self.process.returncode}) at {what}. "
            "The episode is lost; the next one starts a new process. If it happens again, look for a lack of memory"
        )

    def close(self) -> None:
        """End the process."""
        if self.owner != os.getpid():
            return
        self.process.stdin.close()  # which is what it waits for
        try:
            self.process.wait(_SHUTDOWN_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._gateway.close(keep_callback_server=True)
        # Else each Java object that is collected from now on asks the ended process, amid whatever runs then.
        self._gateway._gateway_client.is_connected = False
        self._folder.cleanup()


_lock = threading.Lock()
_jvm: _Jvm | None = None


def _running() -> _Jvm:
    """The Java process of this process; starts it if there is none."""
    global _jvm  # noqa: PLW0603
    with _lock:
        if _jvm is None or not _jvm.alive():
            if _jvm is not None:
                _jvm.close()
            _jvm = _Jvm()
            atexit.register(_jvm.close)
        return _jvm


def process_id() -> int | None:
    """The Java process that runs now, for tests."""
    return _jvm.process.pid if _jvm is not None and _jvm.alive() else None


def task_table() -> list[tuple[str, str, str]]:
    """Name, topic and title of every task, as the package lists them."""
    _packages()
    return [(str(row["task_name"]), str(row["topic"]), str(row["task"])) for row in _constants().TASKS]


def require_playable() -> None:
    """Check that games can be played here; nothing is started.

    Raises:
        NotPlayableError: The package or a Java runtime is missing, or of another version.
    """
    _packages()
    _java()


def missing() -> str | None:
    """Why games cannot be played here, or None where they can: the reason for which tests are skipped."""
    try:
        require_playable()
    except NotPlayableError as error:
        return str(error)
    return None


def _packages() -> Any:
    """py4j's gateway, once the package of the right version is known to be there."""
    try:
        name = version("scienceworld")
        gateway = importlib.import_module("py4j.java_gateway")
        _constants()
    except (ImportError, PackageNotFoundError) as error:
        raise NotPlayableError(
            f"ScienceWorld needs the package 'scienceworld', which is not installed ({error}): "
            "pip install 'tape-planner[scienceworld]'. It also needs a Java runtime of version 8 or newer"
        ) from error
    if not name.startswith(SERIES):
        raise NotPlayableError(
            f"scienceworld {name} is installed, and its simulator is another one: "
            "pip install 'scienceworld>=1.2.3,<1.3'"
        )
    return gateway


def _constants() -> Any:
    return importlib.import_module("scienceworld.constants")


def _java_errors() -> tuple[type[BaseException], ...]:
    protocol = importlib.import_module("py4j.protocol")
    return protocol.Py4JError, ConnectionError


def _connection_errors() -> tuple[type[BaseException], ...]:
    protocol = importlib.import_module("py4j.protocol")
    return protocol.Py4JNetworkError, ConnectionError


def _java(find: Callable[[str], str | None] = shutil.which) -> str:
    """The Java runtime."""
    home = os.environ.get("JAVA_HOME")
    name = find(str(Path(home) / "bin" / "java")) if home else None
    name = name or find("java")
    if name is None:
        raise NotPlayableError(
            "ScienceWorld's simulator needs a Java runtime of version 8 or newer, and there is no java on PATH or in "
            "JAVA_HOME (on Debian and Ubuntu: apt install default-jre-headless)"
        )
    return name


def _java_version(java: str) -> str:
    """The version line of a Java runtime."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, timeout=60, check=False, text=True)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (answer.stderr or answer.stdout).strip().partition("\n")[0] or "of unknown version"
