"""The data and the Python APIs of BFCL's multi-turn tasks, from an unpacked wheel of ``bfcl-eval``.

Nothing of the package is installed or imported here. A file counts only with the hash of the pinned version: its Python
is run, and its tasks are compared with published figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from envs.apart.pinned import PinnedWheel

PACKAGE, VERSION = "bfcl_eval", "2026.3.23"
KINDS = ("base", "miss_func", "miss_param", "long_context")
"""Plain tasks; a function that comes only later; a parameter that the user names only later; very long results."""

MODULES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
"""The APIs by the names of their classes, and the files that they are in."""

LONG = "long_context"
_CODE, _DOCS = "eval_checker/multi_turn_eval/func_source_code", "data/multi_turn_func_doc"
_HASHES: Mapping[str, str] = json.loads(resources.files(__package__).joinpath("pinned.json").read_text("utf-8"))
"""SHA-256 of each file that is read."""


@dataclass(frozen=True)
class Conversation:
    """A task: requests of a user, one after another.

    Attributes:
        id: Its name, for instance ``multi_turn_base_0``.
        kind: One of :data:`KINDS`.
        requests: What the user says in each turn; empty in the turn in which held functions come.
        classes: The APIs.
        config: What each API begins with.
        held: Functions that are there only from a turn on, by that turn.
        excluded: Functions that are never there.
        gold: The calls that would do each turn, as Python writes them; none where nothing can be done yet.
    """

    id: str
    kind: str
    requests: tuple[str, ...]
    classes: tuple[str, ...]
    config: Mapping[str, Any]
    held: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()
    gold: tuple[tuple[str, ...], ...] = ()


class BfclSource(PinnedWheel):
    """An unpacked wheel.

    Args:
        folder: The folder that has the package's folder ``bfcl_eval``, or that folder itself.

    Raises:
        DataError: It is not there.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PACKAGE, f"bfcl-eval=={VERSION}", _HASHES)

    def modules(self) -> dict[str, str]:
        """The Python of the APIs by the names of their modules; what others import comes first."""
        return {name: self.text(f"{_CODE}/{name}.py") for name in (LONG, *MODULES.values())}

    def documents(self, api: str) -> list[Mapping[str, Any]]:
        """The functions of an API as models are told of them."""
        return _lines(self.text(f"{_DOCS}/{MODULES[api]}.json"))

    def conversations(self, kind: str) -> Sequence[Conversation]:
        """The tasks of a kind, in their order.

        Raises:
            DataError: As :meth:`text`.
        """
        asked = _lines(self.text(f"data/BFCL_v4_multi_turn_{kind}.json"))
        gold = {
            line["id"]: line["ground_truth"]
            for line in _lines(self.text(f"data/possible_answer/BFCL_v4_multi_turn_{kind}.json"))
        }
        return [_conversation(mapping, kind, gold[mapping["id"]]) for mapping in asked]


def _lines(text: str) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _conversation(values: Mapping[str, Any], kind: str, gold: Sequence[Sequence[str]]) -> Conversation:
    return Conversation(
        id=values["id"],
        kind=kind,
        requests=tuple("\n".join(said["content"] for said in turn) for turn in values["question"]),
        classes=tuple(values["involved_classes"]),
        config=values["initial_config"],
        held={int(turn): tuple(names) for turn, names in values.get("missed_function", {}).items()},
        excluded=tuple(values.get("excluded_function", ())),
        gold=tuple(map(tuple, gold)),
    )


@lru_cache(maxsize=4)
def source(folder: Path) -> BfclSource:
    """The wheel in a folder, checked once."""
    return BfclSource(folder)
