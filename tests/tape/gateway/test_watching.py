"""Watchers are told of every call: when it begins, how it ends, or why it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tape.budget import Resources
from tape.budget.contract import State
from tape.gateway.watching import Call, digest_of
from tests.tape.gateway.helpers import ask, call, gateway_on
from tests.tape.gateway.test_calls import CONFIG


class Told:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []

    def begun(self, call: Call) -> None:
        self.lines.append(("begun", call.id, call.tool, call.worst["usd"]))

    def ended(self, call: Call, state: State, spent: Resources) -> None:
        self.lines.append(("ended", call.id, state, spent["usd"]))

    def refused(self, call: Call, fields: Mapping[str, Any]) -> None:
        self.lines.append(("refused", call.id, call.tool, fields["error"]))


async def test_each_call_is_told_once(tmp_path: Path) -> None:
    told = Told()
    async with gateway_on(tmp_path, CONFIG) as gateway:
        gateway.watchers.append(told)
        await call(gateway, "dear", text="x")
        await call(gateway, "fail", text="x")
        await call(gateway, "usage", usd=0.01)
        assert (await ask(gateway, "dear", text="x"))["error"] == "budget_exceeded"
        await ask(gateway, "nothing of the kind")
        await ask(gateway, "budget")
    ids = [line[1] for line in told.lines if line[0] == "begun"]
    assert len({*ids}) == 3
    assert told.lines == [
        ("begun", ids[0], "dear", 40_000), ("ended", ids[0], "settled", 40_000),
        ("begun", ids[1], "fail", 20_000), ("ended", ids[1], "settled", 20_000),
        ("begun", ids[2], "usage", 30_000), ("ended", ids[2], "settled", 10_000),
        ("refused", "", "dear", "budget_exceeded"), ("refused", "", "'nothing of the kind'", "unknown_tool"),
    ]  # fmt: skip


def test_a_digest_does_not_depend_on_the_order_of_arguments() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1}) != digest_of({"a": 1, "b": [3]})
