"""The page "Deploy an agent": its program is served, and its commands give what is printed there."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")

from tests.places import ROOT  # noqa: E402
from tests.tape.serve.test_serve_command import serving  # noqa: E402

PAGE = (ROOT / "docs" / "start" / "deploy-an-agent.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def requests() -> list[tuple[str, dict[str, str], str | None]]:
    """The commands by curl: path, headers and body."""
    found = []
    for block in blocks("bash"):
        for command in re.split(r"^(?=curl)", block.replace("\\\n", " "), flags=re.MULTILINE):
            if command.startswith("curl"):
                words = shlex.split(command)
                headers = dict(words[n + 1].split(": ", 1) for n, word in enumerate(words) if word == "-H")
                body = words[words.index("-d") + 1] if "-d" in words else None
                found.append((next(w for w in words if w.startswith("http")), headers, body))
    return found


def has(shown: Any, given: Any) -> bool:
    """Whether all that is shown is there."""
    if isinstance(shown, dict):
        return all(name in given and has(value, given[name]) for name, value in shown.items())
    if isinstance(shown, list):
        return all(has(part, there) for part, there in zip(shown, given, strict=True))
    return bool(shown == given)


def test_the_page_gives_what_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop.py").write_text(blocks("python")[0])
    (tmp_path / "keys.toml").write_text(blocks("toml")[0])
    [exported] = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("export")]
    keys = dict(word.split("=", 1) for word in exported.split()[1:])
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    assert "tape serve shop:agent --deps shop:user --keys keys.toml" in PAGE
    chat, begun, ended = [json.loads(block) for block in blocks("json")]
    command = ("shop:agent", "--deps", "shop:user", "--keys", "keys.toml")
    with serving(tmp_path, agents=command, folder_of_modules=tmp_path) as (_, url):
        known = {"ID": "", "QUESTION": ""}

        def ask(number: int) -> Any:
            address, headers, body = requests()[number]
            for name, value in keys.items():
                headers = {head: text.replace(f"${name}", value) for head, text in headers.items()}
            address = address.replace("http://127.0.0.1:8080", url.removesuffix("/v1"))
            for name, value in known.items():
                address, body = address.replace(name, value), body and body.replace(name, value)
            method = "POST" if body else "GET"
            return httpx.request(method, address, headers=headers, content=body, timeout=100)

        assert has(chat, ask(0).json())
        run = ask(1).json()
        assert has(begun, run)
        known["ID"] = run["id"]
        while (run := ask(2).json())["state"] != "waiting":
            time.sleep(0.05)
        assert run["question"]["action"] == "refund(number=17)"
        known["QUESTION"] = run["question"]["id"]
        assert ask(3).status_code == 200
        last = ask(4).text.rstrip().rpartition("data: ")[2]
        assert has(ended, json.loads(last)["run"])
