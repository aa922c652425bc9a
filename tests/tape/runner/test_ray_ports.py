"""Where a local Ray cluster can be reached from."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tape.runner.play import WorkerError

LOOPBACK = {"0100007F", "0" * 24 + "01000000", "0000000000000000FFFF00000100007F"}
"""127.0.0.1, ::1 and 127.0.0.1 as an IPv6 address, as the kernel writes them."""
LISTENS = "0A"


def listening() -> set[str]:
    """Where this process and all below it listen: addresses with their ports."""
    sockets = set()
    for number in family(os.getpid()):
        with suppress(OSError):  # it has ended
            sockets |= {name[8:-1] for name in map(target, Path(f"/proc/{number}/fd").iterdir())}
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[1] for row in rows if row[3] == LISTENS and row[9] in sockets}


def addresses(places: set[str]) -> set[str]:
    return {place.partition(":")[0] for place in places}


def target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:  # it is closed meanwhile, like that of the folder itself
        return ""


def family(root: int) -> list[int]:
    below: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(path.parent.name))
    numbers = [root]
    for number in numbers:
        numbers += below.get(number, [])
    return numbers


def test_a_cluster_that_is_late_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    from tape.runner.ray_pool import LATE, STARTS, RayPool

    starts: list[str] = []

    def late(address: str, **_: Any) -> None:
        starts.append(address)
        raise Exception(f"The current node {LATE}.")

    monkeypatch.setattr(ray, "init", late)
    monkeypatch.setattr(ray, "shutdown", lambda: starts.append("ended"))
    with pytest.raises(WorkerError, match="busy machine"):
        RayPool("ray:local")
    assert starts == ["local", "ended"] * STARTS


def test_listening_sees_every_address() -> None:
    with socket.create_server(("0.0.0.0", 0)):
        assert "00000000" in addresses(listening())


def test_a_cluster_that_others_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    from tape.runner.ray_pool import RayPool

    ended: list[bool] = []
    monkeypatch.setattr(ray, "init", lambda *_, **__: None)
    monkeypatch.setattr(ray, "nodes", lambda: [{"NodeManagerAddress": "192.0.2.2"}])
    monkeypatch.setattr(ray, "shutdown", lambda: ended.append(True))
    with pytest.raises(WorkerError, match=r"192\.0\.2\.2, where others reach it"):
        RayPool("ray:local")
    assert ended == [True]
