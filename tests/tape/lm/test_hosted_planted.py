"""A key that an endpoint plants in every reply of a run, in every encoding: nothing of it reaches the disk."""

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tape.cli.main import main
from tape.redaction import hide
from tape.runner.derived import csv_text, rows
from tape.runner.directory import RunDirectory
from tests.tape.conftest import Keep
from tests.tape.lm.hostile import Hostile, Raw, http
from tests.tape.runner.records import record
from tests.tape.spellings import found_in, spellings

pytest.importorskip("openai")

KEY = "sk-Proj/9aZ3_kq7Wb0xT5+"
CONTROL = "control 4711"
"""Stands beside the key; it must be found, else nothing that was planted came as far as the disk."""
NAMES = list(spellings(KEY))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def planted(number: int, _: bytes) -> Raw:
    """Reply so many: spellings and places take turns."""
    spelt = spellings(KEY, number)[NAMES[number % len(NAMES)]]
    text = f"{CONTROL} {spelt} "
    answer = json.dumps({"thought": text, "action": "U", **({"actions": ["U"]} if number % 2 else {})})
    usage = {"prompt_tokens": 700, "completion_tokens": 30, spelt: spelt}
    done: dict[str, Any] = {"id": spelt, spelt: [spelt], "usage": usage, "system_fingerprint": {spelt: {"x": spelt}}}
    message: dict[str, Any] = {"role": spelt, "content": answer}
    choice = {"message": message, "finish_reason": "stop", "index": spelt}
    headers = {"X_Key": KEY, "X_Request_Id": KEY}
    place = number // len(NAMES) % 6
    if place == 1:
        message["content"] = text * 3
    elif place == 2:
        message.update(content=None, refusal=text)
    elif place == 3:
        return [http(json.dumps({"error": {"message": text, spelt: spelt}}).encode(), "500 " + KEY, **headers)]
    elif place == 4:
        # Escaped by the JSON itself, so that no byte of the body is the key's.
        escaped = "".join(f"\\u{ord(c):04x}" for c in KEY)
        body = json.dumps({**done, "choices": [choice]}).replace(json.dumps(spelt)[1:-1], escaped)
        return [http(body.encode(), **headers)]
    elif place == 5:
        choice["finish_reason"] = spelt
        message["content"] = "```json\n" + answer + "\n```"
    return [http(json.dumps({**done, "choices": [choice]}).encode(), **headers)]


def texts_on_disk(folder: Path) -> set[str]:
    """Whatever can be read there: names of files, and all texts, keys and lines in them."""
    texts: set[str] = set()

    def note(value: Any) -> Any:
        texts.update(map(str, value if isinstance(value, dict) else [value]))
        if isinstance(value, dict | list):
            [note(held) for held in (value.values() if isinstance(value, dict) else value)]

    for path in (path for path in folder.rglob("*") if path.is_file()):
        raw = path.read_bytes()
        texts.add(path.name)
        if raw.startswith(b"SQLite"):
            with sqlite3.connect(path) as db:
                lines = [bytes(row[0]).decode() for row in db.execute("SELECT value FROM completions")]
            assert lines
        elif path.suffix in (".json", ".jsonl"):
            lines = [raw.decode()] if path.suffix == ".json" else raw.decode().splitlines()
        else:
            texts.update(raw.decode("utf-8", "replace").splitlines())
            continue
        assert KEY.encode() not in raw, path
        for line in lines:
            note(json.loads(line))
    return texts


def play(folder: Path, agent: str, episodes: int, workers: int = 1) -> Counter[str]:
    """Play a run whose replies are all planted, and search what it left."""
    with Hostile(planted) as endpoint:
        model = f"openai:test@{endpoint.url}#backoff=0,retries=3,repairs=1,concurrency=4"
        command = ["run", "sokoban", "--levels", "easy", "--limit", str(episodes), "--agent", agent, "--model", model]
        command += ["--workers", str(workers), "--batch", "4", "--budget", "calls=60", "--quiet"]
        command += ["--out", str(folder / "run"), "--cache", str(folder / "cache.db")]
        assert main(command) in (0, 1)
        requests = endpoint.requests
    texts = texts_on_disk(folder)
    assert any(CONTROL in text for text in texts)
    left = {text[:300]: names for text in texts if (names := found_in(text, KEY))}
    assert not left, left
    return Counter({"replies": requests, "texts": len(texts), "with control": sum(CONTROL in text for text in texts)})


@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
def test_no_spelling_of_a_planted_key_reaches_the_disk(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, "react", 6)["replies"] > 40
    output = capfd.readouterr()
    assert not found_in(output.out + output.err, KEY)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::tape.errors.EndpointWarning")
def test_planted_key_sweep(tmp_path: Path, keep_figures: Keep) -> None:
    total: Counter[str] = Counter()
    for agent in ("react", "tape", "plan_and_act"):
        for workers in (1, 2):
            total += play(tmp_path / f"{agent}{workers}", agent, 24, workers)
    assert total["replies"] > 6 * len(NAMES), "every encoding in every place"
    keep_figures("planted_key", {**total, "spellings": len(NAMES), "places": 6, "bytes_of_the_key_on_disk": 0})


def test_a_run_directory_takes_no_key_from_whoever_writes_to_it(tmp_path: Path) -> None:
    hide(KEY)
    directory = RunDirectory(tmp_path)
    config = {"schema": 2, "title": "", "cells": {}, "commit": None, "versions": {}}
    directory.config_file.write_text(json.dumps(config))
    (tmp_path / "traces").mkdir()
    for number, (name, spelt) in enumerate(spellings(KEY).items()):
        text = f"{CONTROL} {number}: {spelt}"
        odd = {"detail": text, "actions": [text, "U"], "final_answer": spelt, "explanation": {spelt: [spelt]}}
        line = record(f"k{number}", odd, task=name)
        trace = json.dumps({"schema": 2, "prev": "", "seq": 0, "episode": "k", "type": "told", "text": text}) + "\n"
        directory.append([line], {f"k{number}": trace})
    (tmp_path / "results.csv").write_text(csv_text(rows(directory.episodes())))
    texts = texts_on_disk(tmp_path)
    assert sum(f"{CONTROL} " in text for text in texts) > len(NAMES)
    assert not [text for text in texts if found_in(text, KEY)]
