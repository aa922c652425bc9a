import tempfile
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.agents.react import ReactAgent
from tape.budget import Budget, Ledger
from tape.errors import TraceError
from tape.testing.line import Line, LineModel
from tape.trace import (
    ActedEvent,
    Event,
    GeneratedEvent,
    MismatchEvent,
    PromptPart,
    TraceWriter,
    read_trace,
    register_event,
)
from tape.trace.file import LONG
from tests.full_disk import FullDisk


def test_events_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "trace.jsonl"
    text = "naïve ✓ \u2028 \u0085 \ud800 \x00"
    acted = ActedEvent(step=1, action="U", text=text, planned=None, cost={"steps": 1, "usd": None})
    events = [acted, MismatchEvent(step=1, predicted="a", observed="b")]
    heard = []
    writer = TraceWriter("key", path, lambda key, event: heard.append((key, event)))
    for event in events:
        writer.write(event)
    writer.close()
    assert list(read_trace(path)) == events == [event for _, event in heard]


def test_a_trace_is_read_by_the_name_that_it_was_written_to(tmp_path: Path) -> None:
    name = str(tmp_path / "trace.jsonl")
    writer = TraceWriter("key", name)
    writer.write(MismatchEvent(step=1, predicted="a", observed="b"))
    writer.close()
    assert list(read_trace(name)) == writer.events


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", "not a trace event"),
        ("[1]", "not a trace event"),
        ('{"schema": 2, "prev": "", "seq": 0, "episode": "x", "type": "nonsense"}', "unknown event type"),
        ('{"schema": 9, "seq": 0, "episode": "x", "type": "acted"}', "schema 9"),
        ('{"schema": 2, "prev": "", "seq": 0, "episode": "x", "type": "acted", "step": "no"}', "not a trace event"),
        ('{"schema": 2, "prev": "", "seq": 0, "episode": "x", "type": "finished", "result": {"method": []}}', "method"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(TraceError, match=message) as error:
        list(read_trace(path))
    assert f"{path}:1" in str(error.value)


def test_packages_add_their_own_events(tmp_path: Path) -> None:
    class CertifiedEvent(Event):
        type: ClassVar[str] = "test_certified"
        k: int

    register_event(CertifiedEvent)
    register_event(CertifiedEvent)
    writer = TraceWriter("key", tmp_path / "t.jsonl")
    writer.write(CertifiedEvent(k=2))
    writer.close()
    assert list(read_trace(tmp_path / "t.jsonl")) == [CertifiedEvent(k=2)]

    class Impostor(Event):
        type: ClassVar[str] = "acted"

    with pytest.raises(TraceError, match="already taken"):
        register_event(Impostor)


# --- what was asked and answered ------------------------------------------------------------


def generated(*prompt: tuple[str, str], role: str = "plan") -> GeneratedEvent:
    parts = tuple(PromptPart(role=role, content=content) for role, content in prompt)
    return GeneratedEvent(role=role, prompt=parts, texts=("yes", "no"), prompt_tokens=3, completion_tokens=2)


CONTENTS = st.text(max_size=3) | st.sampled_from(["r" * 500, "r" * 501, "s" * LONG, "s" * (LONG + 1), "\ud800" * 200])


@given(st.lists(st.lists(st.tuples(st.sampled_from(["", "system", "user"]), CONTENTS), max_size=4), max_size=6))
def test_prompts_are_the_same_again_from_a_file(prompts: list[list[tuple[str, str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        writer = TraceWriter("key", path)
        for prompt in prompts:
            writer.write(generated(*prompt))
            writer.write(MismatchEvent(step=1, predicted="a", observed="b"))
        writer.close()
        assert (list(read_trace(path)) if prompts else []) == writer.events


def test_a_long_part_of_a_prompt_is_written_once(tmp_path: Path) -> None:
    writer = TraceWriter("key", tmp_path / "t.jsonl")
    for number in range(50):
        writer.write(generated(("system", "rules " * 200), ("user", f"state {number}")))
    writer.close()
    text = (tmp_path / "t.jsonl").read_text()
    assert text.count("rules rules") == 100
    assert len(text) < 1200 + 50 * 340
    assert list(read_trace(tmp_path / "t.jsonl")) == writer.events


def test_a_prompt_that_refers_to_what_is_not_there_is_malformed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = TraceWriter("key", path)
    for _ in range(2):
        writer.write(generated(("system", "rules " * 200)))
    writer.close()
    path.write_text(path.read_text().splitlines()[1] + "\n")
    with pytest.raises(TraceError, match="not a trace event"):
        list(read_trace(path))


def test_a_prompt_reads_as_one_text() -> None:
    assert generated(("", "a board")).asked == "a board"
    assert generated(("system", "rules"), ("user", "a board")).asked == "system: rules\n\nuser: a board"


def test_a_full_disk_is_named_and_leaves_whole_lines(tmp_path: Path) -> None:
    """At every write of an episode: the error names the file, and nothing stays reserved."""
    paths = [tmp_path / str(number) for number in range(100)]
    with FullDisk(tmp_path).mounted() as disk:
        ReactAgent(LineModel()).run(Line(), trace=paths[0], parent=Ledger(Budget({"steps": 100})))
    whole = [event.type for event in read_trace(paths[0])]
    assert len(whole) == disk.writes > 5
    full = pytest.raises(TraceError, match=r"cannot be written \(No space left")
    for full_at in range(1, disk.writes + 1):
        ledger, path = Ledger(Budget({"steps": 100})), paths[full_at]
        with FullDisk(tmp_path, full_at).mounted(), full:
            ReactAgent(LineModel()).run(Line(), trace=path, parent=ledger)
        assert not any(ledger.reserved.values()), full_at
        content = path.read_bytes()
        assert content == b"" or content.endswith(b"\n")
        assert content.count(b"\n") == full_at - 1
        if content:
            assert [event.type for event in read_trace(path)] == whole[: full_at - 1]
    with pytest.raises(TraceError, match=r"is a directory|Is a directory"):
        TraceWriter("key", tmp_path)
