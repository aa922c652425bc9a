"""What is kept of a run: a record beside its trace, in a folder, or in a database (``tables.py``)."""

from __future__ import annotations

import json
import re
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tape.errors import ConfigError
from tape.files import partial_file

RunState = Literal["queued", "running", "waiting", "parked", "unknown", "ended", "cancelled"]
"""``waiting``: for a person. ``parked``: the server stopped meanwhile; it goes on with the next one. ``unknown``: a
call was under way then that may have changed something, so a person has to look. The last two states are final."""
FINAL: tuple[RunState, ...] = ("ended", "cancelled")
_ID = re.compile("run_[0-9a-f]{32}")


class RunQuestion(BaseModel):
    """What a run asks a person.

    Attributes:
        id: Of the question; an answer names it, so that it is not taken for another one's.
        action: What is to be done.
        shown: The question as it is shown.
    """

    model_config = ConfigDict(extra="forbid")
    id: str
    action: str
    shown: str


class RunRecord(BaseModel):
    """A run.

    Attributes:
        id: Cannot be guessed.
        key: The name of the key that has begun it.
        agent: The name of the agent.
        task: In words.
        metadata: What the client gave beside it, for ``deps``.
        state: How far it is.
        created: Seconds since 1970.
        ended: The same; 0 before its end.
        question: What it asks a person now.
        answer: In JSON.
        end_state: How it ended (docs/reference/agents.md).
        detail: The same in a sentence.
        spent: What it used, in units.
        prompt_tokens: Of all its requests to models.
        completion_tokens: The same.
        idempotency_key: As the client gave it; a second request with it gets this run.
        request: A digest of what was asked with it.
        history: The conversation with this run, which another one goes on with.
        continues: The run that it goes on with.
        traceparent: As it came with the request.
    """

    model_config = ConfigDict(extra="forbid")
    id: str
    key: str
    agent: str
    task: str
    metadata: dict[str, Any] = Field(default_factory=dict)
    state: RunState = "queued"
    created: float = Field(default_factory=time.time)
    ended: float = 0.0
    question: RunQuestion | None = None
    answer: Any = None
    end_state: str = ""
    detail: str = ""
    spent: dict[str, float | None] = Field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    idempotency_key: str = ""
    request: str = ""
    history: dict[str, Any] | None = None
    continues: str = ""
    traceparent: str = ""

    def told(self) -> dict[str, Any]:
        """What its client sees."""
        shown = self.model_dump(mode="json", exclude={"key", "request", "history", "metadata", "idempotency_key"})
        return {name: value for name, value in shown.items() if value not in ("", None, {})} | {"object": "run"}


def new_id() -> str:
    """An id that cannot be guessed."""
    return f"run_{secrets.token_hex(16)}"


class Beat(NamedTuple):
    """What has become of the runs that a server plays.

    Attributes:
        lost: Those that another server plays by now.
        asked: What another server was asked of a run: ``{"cancel": True}``, or a question's id and ``allow``.
    """

    lost: Collection[str] = ()
    asked: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


class RunStore(ABC):
    """Where runs are kept: their records, and their traces in files of a folder.

    Attributes:
        shared: Other servers play runs of it too, each for a lease.
    """

    shared: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ConfigError(
                f"{folder}: runs cannot be kept there: {error.strerror}; name another by --runs"
            ) from None
        self._folder = folder

    def trace(self, id: str) -> Path:
        """The trace of a run that this server plays."""
        assert _ID.fullmatch(id), id
        return self._folder / f"{id}.jsonl"

    @abstractmethod
    def read(self, id: str) -> RunRecord | None:
        """A record; None where there is none."""

    @abstractmethod
    def add(self, record: RunRecord) -> RunRecord:
        """Keep a new run of this server; or find the one with its idempotency key."""

    @abstractmethod
    def find(self, record: RunRecord) -> RunRecord | None:
        """The run with the idempotency key of another; None where there is none, or no key."""

    @abstractmethod
    def write(self, record: RunRecord) -> None:
        """Keep a record; where another server plays the run, that one knows better."""

    @abstractmethod
    def remove(self, id: str) -> None:
        """Delete all that is kept of a run."""

    @abstractmethod
    def listed(self, key: str | None = None, most: int | None = None) -> list[RunRecord]:
        """The runs of a key, or all, the newest first."""

    @abstractmethod
    def free(self) -> list[RunRecord]:
        """The runs that have not ended, and that no server plays."""

    def take(self, id: str) -> bool:
        """Play a run from now on, with its trace; False where another server does."""
        del id
        return True

    def beat(self, ids: Collection[str]) -> Beat:
        """Keep on playing these runs."""
        del ids
        return Beat()

    def ask(self, id: str, what: Mapping[str, Any]) -> None:
        """Ask something of the server that plays a run."""
        del id, what

    def lines(self, id: str, after: int = 0) -> list[str]:
        """The lines of a trace, after so many."""
        path = self.trace(id)
        return path.read_text(encoding="utf-8").splitlines()[after:] if path.exists() else []

    def close(self) -> None:  # noqa: B027 - a folder has nothing open
        """Give up what is open."""


class RunFolder(RunStore):
    """Runs in a folder, for one server.

    Args:
        folder: Made where it is missing.

    Raises:
        ConfigError: It cannot be made, or a file is no record.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._records: dict[str, RunRecord] = {}
        for path in sorted(folder.glob("run_*.json")):
            try:
                record = RunRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
            except (ValidationError, ValueError) as error:
                raise ConfigError(f"{path} is no record of a run: {str(error).splitlines()[0]}; move it away") from None
            self._records[record.id] = record

    def read(self, id: str) -> RunRecord | None:
        """See :class:`RunStore`."""
        return self._records.get(id)

    def add(self, record: RunRecord) -> RunRecord:
        """See :class:`RunStore`."""
        if (known := self.find(record)) is not None:
            return known
        self.write(record)
        return record

    def find(self, record: RunRecord) -> RunRecord | None:
        """See :class:`RunStore`."""
        same = (known for known in self._records.values() if known.idempotency_key == record.idempotency_key)
        return next((known for known in same if known.key == record.key), None) if record.idempotency_key else None

    def write(self, record: RunRecord) -> None:
        """See :class:`RunStore`; what is there of it before is replaced whole."""
        whole = partial_file(path := self._folder / f"{record.id}.json")
        whole.write_text(record.model_dump_json(), encoding="utf-8")
        whole.replace(path)
        self._records[record.id] = record

    def remove(self, id: str) -> None:
        """See :class:`RunStore`."""
        self._records.pop(id, None)
        for path in (self.trace(id), self._folder / f"{id}.json"):
            path.unlink(missing_ok=True)

    def listed(self, key: str | None = None, most: int | None = None) -> list[RunRecord]:
        """See :class:`RunStore`."""
        chosen = [record for record in self._records.values() if key in (None, record.key)]
        return sorted(chosen, key=lambda record: -record.created)[:most]

    def free(self) -> list[RunRecord]:
        """See :class:`RunStore`."""
        return [record for record in self._records.values() if record.state not in (*FINAL, "unknown")]
