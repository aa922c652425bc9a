"""What is kept of a run: a record beside its trace, in a folder."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

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


class RunFolder:
    """The records and traces in a folder.

    Args:
        folder: Made where it is missing.

    Raises:
        ConfigError: It cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ConfigError(
                f"{folder}: runs cannot be kept there: {error.strerror}; name another by --runs"
            ) from None
        self._folder = folder

    def trace(self, id: str) -> Path:
        """The trace of a run."""
        return self._folder / f"{id}.jsonl"

    def _record(self, id: str) -> Path:
        return self._folder / f"{id}.json"

    def write(self, record: RunRecord) -> None:
        """Keep a record; what is there of it before is replaced whole."""
        whole = partial_file(path := self._record(record.id))
        whole.write_text(record.model_dump_json(), encoding="utf-8")
        whole.replace(path)

    def all(self) -> Iterator[RunRecord]:
        """The records.

        Raises:
            ConfigError: A file is none.
        """
        for path in sorted(self._folder.glob("run_*.json")):
            try:
                yield RunRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
            except (ValidationError, ValueError) as error:
                raise ConfigError(f"{path} is no record of a run: {str(error).splitlines()[0]}; move it away") from None

    def remove(self, id: str) -> None:
        """Delete all that is kept of a run."""
        assert _ID.fullmatch(id), id
        self._record(id).unlink(missing_ok=True)
        self.trace(id).unlink(missing_ok=True)
