"""The hashes that chain the lines of a trace."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.redaction import hide
from tape.runner.directory import RunDirectory
from tape.trace import ActedEvent, MismatchEvent, TraceWriter, chained_anew, links_of
from tape.trace.links import hash_of
from tests.profiles import examples
from tests.tape.runner.records import record

KEY = "sk-abcDEF0123456789xyzQRS"


def traced(path: Path, *texts: str) -> TraceWriter:
    """A trace of some actions."""
    writer = TraceWriter("k", path)
    for number, text in enumerate(texts):
        writer.write(ActedEvent(step=number, action="U", text=text, planned=None, cost={"steps": 1}))
        writer.write(MismatchEvent(step=number, predicted="a", observed="b"))
    writer.close()
    return writer


def test_what_was_written_is_whole_and_ends_in_the_hash_that_the_writer_knows(tmp_path: Path) -> None:
    writer = traced(tmp_path / "t.jsonl", "one", "two \u2028 \ud800 \U0001f600")
    links = links_of(tmp_path / "t.jsonl")
    assert (links.state, links.last, links.episode, links.what) == ("whole", writer.last_hash, "k", "")
    assert links.last == hash_of((tmp_path / "t.jsonl").read_text().splitlines()[-1])
    assert TraceWriter("k").last_hash == ""
    changed = (tmp_path / "t.jsonl").read_text().replace("one", "other").splitlines()
    (tmp_path / "t.jsonl").write_text("\n".join(chained_anew(changed)) + "\n")
    assert links_of(tmp_path / "t.jsonl").state == "whole"


@given(st.data())
@examples(120)
def test_any_change_shows(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        last = traced(path, "one", "two", "three").last_hash
        lines = path.read_text().splitlines()
        at = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.sampled_from(["change", "drop", "twice", "cut", "swap"])):
            case "change":
                record = json.loads(lines[at])
                name = data.draw(st.sampled_from(sorted(record)))
                record[name] = data.draw(st.sampled_from([v for v in ("forged", 7, None) if v != record[name]]))
                lines[at] = json.dumps(record)
            case "drop":
                del lines[at]
            case "twice":
                lines.insert(at, lines[at])
            case "cut":
                del lines[max(1, at) :]
            case _:
                to = (at + 1) % len(lines)
                lines[at], lines[to] = lines[to], lines[at]
        path.write_text("\n".join(lines) + "\n")
        links = links_of(path)
        assert links.state == "broken" or links.last != last


@pytest.mark.usefixtures("nothing_hidden")
def test_a_secret_that_is_taken_out_when_it_is_committed_breaks_no_chain(tmp_path: Path) -> None:
    """On another machine a worker may not have known it."""
    writer = traced(tmp_path / "t.jsonl", "plain", f"the key is {KEY}", "plain again")
    directory = RunDirectory(tmp_path / "run")
    directory.path.mkdir()
    (directory.path / "traces").mkdir()
    assert hide(KEY)
    directory.append([record("k", trace_hash=writer.last_hash)], {"k": tmp_path / "t.jsonl"})
    [line] = directory.episodes()
    text = directory.trace_file("k").read_text()
    links = links_of(directory.trace_file("k"))
    assert KEY not in text
    assert "plain again" in text
    assert (links.state, links.last) == ("whole", line["trace_hash"])
    assert line["trace_hash"] != writer.last_hash
