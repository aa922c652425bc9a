"""The audit log: one line a call, chained, and what ``tape audit --check`` finds of a log that was changed."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from hypothesis import given
from hypothesis import strategies as st

from tape.budget import LedgerError, Resources
from tape.cli import main
from tape.gateway.audit import Audit, read_audit
from tape.gateway.gateway import Caller, Gateway
from tape.gateway.watching import WatchedCall, digest_of
from tests.tape.gateway.helpers import ask, call, functions, gateway_on, reading, write_config
from tests.tape.gateway.over_http import serving_here
from tests.tape.gateway.test_calls import CONFIG
from tests.tape.gateway.test_processes import called

AUDITED = CONFIG + '[gateway]\naudit = "calls.audit.jsonl"\n'
WORST, SPENT = Resources({"usd": 40_000, "steps": 1}), Resources({"usd": 10_000, "steps": 1})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def checked(capsys: pytest.CaptureFixture[str], path: Path, *more: str) -> tuple[int, str, str]:
    """Exit code and what is printed."""
    code = main(["audit", str(path), "--check", *more])
    capture_result = capsys.readouterr()
    return code, capture_result.out, capture_result.err.replace(f"{path}:", "")


def faulty(path: Path) -> list[int]:
    """The lines that are named."""
    return [number for number, line in enumerate(read_audit(path), 1) if line.wrong]


def written(path: Path, count: int = 4) -> list[bytes]:
    """A log of so many calls."""
    with closing(Audit(path)) as audit:
        for number in range(count):
            audit.ended(
                WatchedCall("local", "gateway/local/1", "dear", "d", id=f"{number}").held(f"{number}", WORST),
                "settled",
                SPENT,
            )
    data = path.read_bytes().splitlines(keepends=True)
    assert len(data) == count
    return data


def watched(gateway: Gateway, audit: Audit) -> None:
    gateway.watchers.append(audit)
    gateway.gates.append(audit.gate)


def test_a_client_calls_and_each_call_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, path = write_config(tmp_path, AUDITED), tmp_path / "calls.audit.jsonl"
    with serving_here(file) as address:
        calls = ("dear", {"text": "a secret"}), ("free", {"text": "x"}), ("budget", {})
        assert called(file, address, *calls) == [False, True, False]
    settled, refused = lines(path)
    hold = settled.pop("hold")
    assert hold in file.with_suffix(".journal.jsonl").read_text()
    assert settled.pop("at") <= refused.pop("at")
    assert settled.pop("seconds") >= 0
    assert settled == {
        "line": 1, "before": "", "client": "local", "session": "gateway/local/1", "tool": "dear",
        "arguments": digest_of({"text": "a secret"}), "worst": {"steps": 1, "usd": 0.04},
        "spent": {"steps": 1, "usd": 0.04}, "state": "settled",
    }  # fmt: skip
    assert (refused["tool"], refused["error"], refused.get("hold")) == ("free", "unknown_price", None)
    assert "a secret" not in path.read_text()
    code, out, err = checked(capsys, path)
    assert (code, err) == (0, "")
    assert "2 lines, 0 faults" in out
    assert main(["audit", str(path)]) == 0
    assert "local dear settled {'steps': 1, 'usd': 0.04}" in capsys.readouterr().out
    with serving_here(file):  # it goes on after a restart
        pass
    written_after(path)
    assert checked(capsys, path)[0] == 0


def written_after(path: Path) -> None:
    """One more line, by another gateway."""
    with closing(Audit(path)) as audit:
        audit.refused(WatchedCall("local", "s", "dear", "d"), {"error": "budget_exceeded", "scope": "run"})


async def test_a_call_is_one_line_whatever_becomes_of_it(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    with closing(Audit(path)) as audit:
        async with gateway_on(tmp_path, f"[gateway]\nmost_result_bytes = 1000\n{CONFIG}") as gateway:
            watched(gateway, audit)
            await call(gateway, "fail", text="x")
            await ask(gateway, "nothing")
            waiting = asyncio.create_task(call(gateway, "wait"))
            await functions(gateway.config).begun.wait()
            waiting.cancel()
            await asyncio.wait([waiting])
            assert (await ask(gateway, "dear", Caller("local", "b"), text="x" * 1000))["error"] == "result_too_large"
    assert [line.get("state") or line["error"] for line in lines(path)] == [
        "settled",
        "unknown_tool",
        "booked",
        "settled",
    ]
    assert not faulty(path)


def test_gateways_may_share_a_log(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    with closing(Audit(path)) as audit, closing(Audit(path)) as two:
        for number in range(40):
            (audit, two)[number % 2].refused(WatchedCall("local", "s", f"tool{number}", "d"), {"error": "busy"})
    assert {line["tool"] for line in lines(path)} == {f"tool{number}" for number in range(40)}
    assert not faulty(path)


def test_every_change_of_a_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    whole = b"".join(written(path, 3))
    last = [line.hash for line in read_audit(path)][-1]
    ends = [place for place, byte in enumerate(whole) if byte == 10]
    for place in range(len(whole)):
        byte = (10, 13, whole[place] ^ 1)[place % 3] if whole[place] != 10 else 13
        path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        audit_lines = list(read_audit(path))
        assert any(line.wrong for line in audit_lines) or audit_lines[-1].hash != last, (place, byte)
        if place <= ends[1]:  # of the last line alone only --last knows
            line = 1 + sum(end < place for end in ends)
            assert line in faulty(path) or line + 1 in faulty(path), (place, byte)


@pytest.fixture(scope="module")
def a_log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    path = tmp_path_factory.mktemp("log") / "audit"
    return path, b"".join(written(path, 3))


@given(st.data())
def test_every_byte_that_is_lost_or_added_is_found(a_log: tuple[Path, bytes], data: st.DataObject) -> None:
    path, whole = a_log
    path.write_bytes(whole)
    hashes = [line.hash for line in read_audit(path)]
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, min(len(whole), begin + 50)))
    changed = whole[:begin] + data.draw(st.binary(max_size=5)) + whole[end:]
    path.write_bytes(changed)
    audit_lines = list(read_audit(path))
    untouched = not any(line.wrong for line in audit_lines) and [line.hash for line in audit_lines] == hashes
    assert untouched == (changed == whole)


def test_what_is_wrong_is_named_by_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit"
    data, two, three, four = written(path)
    last = [line.hash for line in read_audit(path)][-1]
    cases = [
        ([data, two[:-40] + b"\n", three, four], "2: is no whole record: it was cut or changed"),
        ([data, two.replace(b"0.01", b"0.02"), three, four], "3: names another hash: the line before it was changed"),
        ([data, four], "2: has the number 4 in the place of 2: lines were taken out or moved"),
        ([two, three, four], "1: has the number 2 in the place of 1"),
        ([data, three, two, four], "2: has the number 3 in the place of 2"),
        ([data, two, two, three, four], "3: has the number 2 in the place of 3"),
        ([data, two, three, four[:-1]], "4: is no whole record"),
        ([data, b'{"line": 2}\n', three, four], "2: is no whole record"),
        ([data, b"[" * 100_000 + b"\n", three, four], "2: is no whole record"),
    ]
    for changed, says in cases:
        path.write_bytes(b"".join(changed))
        code, out, err = checked(capsys, path)
        assert (code, err.startswith(says)) == (1, True), err
        assert " 0 faults" not in out
    path.write_bytes(b"".join([data, two]))  # a tail that was cut off shows only where the hash is known
    code, out, _ = checked(capsys, path)
    assert code == 0
    assert "do not show in this" in out
    code, _, err = checked(capsys, path, "--last", last)
    assert code == 1
    assert f"no line has the hash {last}: lines were cut off" in err
    path.write_bytes(b"".join([data, two, three, four]))
    written_after(path)
    code, out, _ = checked(capsys, path, "--last", last)
    assert (code, "the hash that was given is that of line 4" in out) == (0, True)


@pytest.mark.parametrize("path", ["nothing", "folder"])
def test_a_log_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    (tmp_path / "folder").mkdir()
    assert main(["audit", str(tmp_path / path), "--check"]) == 2
    assert "the audit log cannot be read" in capsys.readouterr().err


@contextmanager
def full(path: Path) -> Iterator[None]:
    """A disk that takes nothing more into a file."""
    write = os.write

    def refusing(descriptor: int, data: bytes) -> int:
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", refusing)
        yield


async def test_a_full_disk_loses_no_answer_and_lets_no_call_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "audit"
    with closing(Audit(path)) as audit:
        async with gateway_on(tmp_path, CONFIG) as gateway:
            watched(gateway, audit)
            with full(path):
                assert (await ask(gateway, "dear", text="first")) == {"result": "first"}
                while not audit._failed:
                    await asyncio.sleep(0.01)
                for _ in range(3):
                    refused = await ask(gateway, "dear", text="x")
                    assert refused["error"] == "ledger"
                    assert "No space left on device" in refused["message"]
                    assert "nothing was spent" in refused["message"]
            assert (await ask(gateway, "dear", text="x")) == {"result": "x"}
            assert reading(gateway).spent["steps"] == 2
    first, second = lines(path)
    assert (first["state"], second["state"], second["missed"]) == ("settled", "settled", 3)
    assert not faulty(path)
    assert capsys.readouterr().err.count("calls are refused until it can be written") == 1


def test_lines_that_are_lost_are_counted_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit"
    written(path, 1)
    audit = Audit(path)
    with full(path):
        audit.ended(WatchedCall("local", "s", "dear", "d").held("1", WORST), "settled", SPENT)
        with pytest.raises(LedgerError, match="lost are 1 lines of calls, and 0 refusals"):
            audit.close()
    assert len(lines(path)) == 1
    assert "cannot be used (No space left on device)" in capsys.readouterr().err


def test_half_a_line_of_a_gateway_that_died_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    data, two = written(path, 2)
    path.write_bytes(data + two[:50])
    written_after(path)
    assert [line.get("state") or line["error"] for line in lines(path)] == ["settled", "budget_exceeded"]
    assert not faulty(path)


@pytest.mark.parametrize(
    ("audit", "says"),
    [
        ('"."', "it is a folder"),
        ('"no/where"', "No such file"),
        ('"gateway.toml"', "gateway.toml:1: this is no line of an audit log; name another file"),
        ('"carriage"', "carriage:1: this is no line"),
        ('""', "at least 1"),
        ("3", "string"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], audit: str, says: str) -> None:
    file = write_config(tmp_path, f"[gateway]\naudit = {audit}\n{CONFIG}")
    text = file.read_text()
    (tmp_path / "carriage").write_bytes(b"{}\r{}\n")
    assert main(["gateway", str(file), "--http", "0"]) == 2
    err = capsys.readouterr().err
    assert f"{file}:2: field gateway.audit: " in err
    assert says in err
    assert file.read_text() == text
