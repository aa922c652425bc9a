"""What our own pages state of invented places, and what our own tasks ask of them; read by the simulated model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

PRICES = "prices"
"""The sub-page on which prices stand."""

FOLDS: Mapping[str, Callable[[Sequence[Any]], Any]] = {"least": min, "sum": sum}


class MadeFact(NamedTuple):
    """A fact stated of every place of a kind: its name in questions, its wordings, and whether it is a price."""

    label: str
    wordings: tuple[str, ...]
    priced: bool = False


_FILE = Path(__file__).parent / "data" / "facts.json"
FACTS: Mapping[str, Mapping[str, MadeFact]] = {
    kind: {name: MadeFact(label, tuple(wordings), priced) for name, (label, wordings, priced) in facts.items()}
    for kind, facts in json.loads(_FILE.read_text(encoding="utf-8")).items()
}
"""By kind of place, its facts."""


def read(kind: str, fact: str, text: str) -> tuple[str | int, str] | None:
    """What a made page states of a fact, and the sentence; None where it does not."""
    for wording in FACTS[kind][fact].wordings:
        pattern = re.escape(wording).replace(r"\{v\}", r"([\w ]+?)")
        if match := re.search(rf"(?<![\w$]){pattern}", text):
            return int(match[1]) if match[1].isdecimal() else match[1], match[0]
    return None


@dataclass(frozen=True)
class PlaceQuestion:
    """A question about one place, or about all of a kind in a town.

    Attributes:
        kind: The kind of place.
        town: The town.
        name: The place, where the question is about one.
        where: Conditions that places have to meet: fact, ``<=``, ``>=`` or ``=``, value.
        ask: The facts that are asked for.
        form: ``text``, ``number``, ``names``, ``object``, ``objects``, ``count``, or a key of :data:`FOLDS`.
    """

    kind: str
    town: str
    name: str = ""
    where: tuple[tuple[str, str, Any], ...] = ()
    ask: tuple[str, ...] = ()
    form: str = "names"

    @classmethod
    def read(cls, written: str) -> PlaceQuestion:
        """From the JSON that a task's metadata have."""
        fields = json.loads(written)
        return cls(**{**fields, "where": tuple(map(tuple, fields["where"])), "ask": tuple(fields["ask"])})

    def condition(self, number: int) -> str:
        """A condition in words."""
        fact, how, value = self.where[number]
        more = {"<=": " or less", ">=": " or more", "=": ""}[how]
        return f"{FACTS[self.kind][fact].label} is {value}{more}"

    def holds(self, number: int, value: Any) -> bool:
        """Whether a value meets a condition."""
        _, how, bound = self.where[number]
        return bool(value == bound if how == "=" else value <= bound if how == "<=" else value >= bound)

    def answer(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        """The answer for the places that are left, each with its name and the facts that are known of it."""
        values = [row[fact] for row in rows for fact in self.ask if fact in row]
        if self.form == "count":
            return len(rows)
        if self.form in FOLDS:
            return FOLDS[self.form](values) if values else ""
        if self.form in ("object", "objects"):
            keys = self.ask if self.name else ("name", *self.ask)
            return [{key: row[key] for key in keys if key in row} for row in rows]
        result = values if self.ask else [row["name"] for row in rows]
        return result if self.form == "names" else next(iter(result), "")
