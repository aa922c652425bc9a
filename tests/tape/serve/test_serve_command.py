"""``tape serve`` as a process: its first lines, OpenAI's client, SIGTERM, and what it is given that is wrong."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from tape.errors import ConfigError
from tape.serve.keys import made_keys, read_keys
from tape.serve.setup import agents_of
from tests.places import ROOT

AGENT, DEPS = "tests.tape.serve.shop:agent", "tests.tape.serve.shop:deps"
SHOP = (f"shop={AGENT}", "--deps", DEPS)


@contextmanager
def serving(
    folder: Path,
    *options: str,
    agents: Sequence[str] = (f"shop={AGENT}", "--deps", DEPS),
    folder_of_modules: Path = ROOT,
) -> Iterator[tuple[Any, str]]:
    """The command, and its address."""
    command = [sys.executable, "-m", "tape", "serve", *agents, "--port", "0", "--runs", str(folder / "runs"), *options]
    process = subprocess.Popen(
        command, cwd=folder_of_modules, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        address = re.search(r"http://\S+", first)
        assert address is not None, first + process.stderr.read()
        yield process, address[0]
    finally:
        process.kill()
        process.wait()


def test_openais_client_talks_to_it_and_sigterm_parks_what_waits(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    with serving(tmp_path, "--grace", "0.1") as (process, url):
        token = (tmp_path / "runs" / "serve.token").read_text().strip()
        client = openai.OpenAI(base_url=url, api_key=token, max_retries=0)
        messages = [{"role": "user", "content": "What does a lamp cost?"}]
        answer = client.chat.completions.create(model="shop", messages=messages)
        assert answer.choices[0].message.content == "30"
        stream = client.chat.completions.create(model="shop", messages=messages, stream=True)
        assert "".join(piece.choices[0].delta.content or "" for piece in stream) == "30"
        with pytest.raises(openai.ConflictError, match="waits for a person"):
            client.chat.completions.create(model="shop", messages=[{"role": "user", "content": "Order a lamp."}])
        with pytest.raises(openai.AuthenticationError):
            openai.OpenAI(base_url=url, api_key="wrong", max_retries=0).models.list()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert "1 runs are parked" in process.stderr.read()
    with serving(tmp_path) as (process, _):
        assert "1 runs go on" in process.stderr.readline()
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            process.stderr.readline()
        assert process.wait(timeout=60) == 130


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["tests.tape.serve.shop"], "names nothing in a module"),
        (["tests.tape.serve.shop:nothing"], "cannot be imported"),
        (["tests.tape.serve.shop:deps"], "which is no agent"),
        ([AGENT, AGENT], "there are two agents named agent"),
    ],
)
def test_what_is_no_agent_is_refused(given: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        agents_of(given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "keys: Field required"),
        ("[keys]", "there are no keys"),
        ("[keys.ann]", r"keys\.ann: give token_env or token_file"),
        ('[keys.ann]\ntoken_env = "UNSET_TOKEN"', "UNSET_TOKEN is not set"),
        ('[keys.ann]\ntoken_env = "WEAK_TOKEN"', "at least 16 ASCII characters"),
        ('[keys."a b"]\ntoken_env = "GOOD_TOKEN"', "names have letters"),
        ('[keys.ann]\ntoken_env = "GOOD_TOKEN"\nbudget = {usd = "much"}', r"keys\.ann: usd: 'much' is not"),
        ('[keys.ann]\ntoken_env = "GOOD_TOKEN"\nbadget = 3', "badget: Extra inputs"),
        (
            '[keys.ann]\ntoken_env = "GOOD_TOKEN"\n[keys.bob]\ntoken_env = "GOOD_TOKEN"',
            r"bob has the token of keys\.ann",
        ),
    ],
)
def test_wrong_keys_are_refused(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEAK_TOKEN", "short")
    monkeypatch.setenv("GOOD_TOKEN", "0123456789abcdef")
    file = tmp_path / "keys.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_keys(file)


def test_keys_come_from_files_that_others_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "ann").write_text("0123456789abcdef\n")
    (tmp_path / "ann").chmod(0o600)
    file = tmp_path / "keys.toml"
    file.write_text('[keys.ann]\ntoken_file = "ann"\nbudget = {usd = "$5"}\nrun = {usd = "$0.10"}\napproves = true\n')
    key = read_keys(file).of("Bearer 0123456789abcdef")
    assert key is not None
    assert (key.name, key.budget["usd"], key.run["usd"], key.approves, key.watches) == (
        "ann",
        5_000_000,
        100_000,
        True,
        False,
    )
    (tmp_path / "ann").chmod(0o644)
    with pytest.raises(ConfigError, match="others can read the token"):
        read_keys(file)
    made, files = made_keys(tmp_path)
    assert {name: path.stat().st_mode & 0o077 for name, path in files.items()} == {"local": 0, "people": 0}
    assert made_keys(tmp_path)[0].all == made.all, "they are made once"
