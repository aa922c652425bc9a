"""Cache files from anywhere, and a full disk."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tape.errors import ModelError
from tape.lm.base import Request
from tape.lm.cache import CachedLM
from tape.lm.scripted import ScriptedLM

REQUEST = Request("b", 5, n=2)


def cached(path: Path, change: Any) -> None:
    """Write an entry, change its row, and read it again."""
    for number in range(2):
        model = CachedLM(ScriptedLM(["text"]), path)
        try:
            asyncio.run(model.generate([REQUEST]))
        finally:
            model.close()
        if number == 0:
            with sqlite3.connect(path) as db:
                [(row,)] = db.execute("SELECT value FROM completions")
                record = change(json.loads(row))
                value = record if isinstance(record, bytes) else json.dumps(record)
                db.execute("UPDATE completions SET value = ?", (value,))


def put(name: str, value: Any) -> Any:
    def change(record: dict[str, Any]) -> dict[str, Any]:
        held = record
        *path, last = name.split(".")
        for part in path:
            held = held[part]
        held[last] = value
        return record

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("usage.prompt_tokens", 10**200), "field usage"), (put("usage.completion_tokens", -1), "field usage"),
        (put("usage.calls", True), "field usage.calls"), (put("usage.source", "guessed"), "field usage.source"),
        (put("texts", ["one"]), "1 of 2 samples"), (put("texts", "text"), "field texts"),
        (put("logprobs", [None, None]), "field logprobs"), (lambda record: b"\xff\xfe", "no UTF-8"),
        (lambda record: b"[" * 10_000, "nested deeper"), (lambda record: b'{"usage": ' + b"9" * 5000 + b"}", "digits"),
        (lambda record: b"", "no JSON"), (lambda record: [], "object"),
    ],
    ids=range(12),
)  # fmt: skip
def test_an_entry_of_a_cache_from_elsewhere_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"cache: entry [0-9a-f]+: .*{message}.*delete the file"):
        cached(tmp_path / "cache", change)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE other (x); CREATE VIEW completions AS WITH RECURSIVE n(key, value) AS "
        "(SELECT 1, 1 UNION ALL SELECT key + 1, 1 FROM n) SELECT key, value FROM n",
        "CREATE TABLE completions (key TEXT PRIMARY KEY, value BLOB); "
        "CREATE TRIGGER t AFTER INSERT ON completions BEGIN DELETE FROM completions; END",
    ],
)
def test_a_cache_that_computes_is_none(sql: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "cache") as db:
        db.executescript(sql)
    with pytest.raises(ModelError, match="name another file"):
        CachedLM(ScriptedLM([""]), tmp_path / "cache")


def test_a_full_disk_costs_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What was asked before is still answered from the file; what is asked now is answered and not kept."""
    asked: list[str] = []
    long = "x" * 20_000
    model = CachedLM(ScriptedLM(lambda request, _: asked.append(str(request.prompt)) or long), tmp_path / "cache")
    asyncio.run(model.generate([REQUEST]))
    [(pages,)] = model._db.execute("PRAGMA page_count")
    model._db.execute(f"PRAGMA max_page_count = {pages}")  # "database or disk is full"
    new = [Request(f"new {number}", 5) for number in range(3)]
    completions = [asyncio.run(model.generate([request]))[0] for request in (*new, REQUEST)]
    model.close()
    assert [answer.texts[0] for answer in completions] == [long] * 4
    assert [answer.usage.cached for answer in completions] == [False] * 3 + [True]
    assert len(asked) == 2 + 3
    [warning] = caplog.messages
    assert "full" in warning
    assert "not kept from here on" in warning
