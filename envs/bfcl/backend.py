"""BFCL's APIs, run in a child process, and their worlds as states that plans are tried on copies of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from envs.apart.host import Process, RemoteWorld
from envs.bfcl.source import MODULES, BfclSource


class Backend(Process):
    """The process of the APIs.

    Raises:
        DataError: A file is missing, or another one than the pinned.
    """

    def __init__(self, source: BfclSource) -> None:
        modules = source.modules()
        super().__init__("envs.bfcl.child", "BFCL's APIs")
        self.ask(do="load", modules=modules, classes=dict(MODULES))


@cache
def backend(source: BfclSource) -> Backend:
    """The process of a wheel's APIs; one for all tasks."""
    return Backend(source)


class ApiWorld(RemoteWorld):
    """The API objects of one task; their times of day do not count."""

    def __init__(self, process: Process, number: int) -> None:
        super().__init__(process, number)
        self.results: list[str] = []
        """What its calls have returned since :meth:`take_results`."""

    @classmethod
    def of(cls, apis: Backend, classes: Sequence[str], config: Mapping[str, Any], *, long: bool) -> ApiWorld:
        """A world as a task begins with it."""
        return cls(apis, apis.ask(do="world", classes=list(classes), config=dict(config), long=long))

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a function; its result as the official checker writes it."""
        self.results.append(str(self.process.ask(do="call", world=self.number, name=name, arguments=dict(arguments))))
        return self.results[-1]

    def take_results(self) -> list[str]:
        """The results so far, which are forgotten here."""
        taken, self.results = self.results, []
        return taken

    def differs(self, gold: ApiWorld) -> Sequence[str]:
        """The public attributes in which it is not as another world, by the official comparison."""
        return list(map(str, self.process.ask(do="same", world=self.number, other=gold.number)))
