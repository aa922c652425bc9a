from pathlib import Path
from typing import ClassVar

import pytest

from tape.errors import TraceError
from tape.trace import ActedEvent, Event, MismatchEvent, TraceWriter, read_trace, register_event


def test_events_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "trace.jsonl"
    events = [
        ActedEvent(
            step=1, action="U", text="naïve ✓ \u2028 \u0085 \ud800 \x00", planned=None, cost={"steps": 1, "usd": None}
        ),
        MismatchEvent(step=1, predicted="a", observed="b"),
    ]
    heard = []
    writer = TraceWriter("key", path, lambda key, event: heard.append((key, event)))
    for event in events:
        writer.write(event)
    writer.close()
    assert list(read_trace(path)) == events == [event for _, event in heard]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("not json", "not a trace event"),
        ("[1]", "not a trace event"),
        ('{"schema": 1, "seq": 0, "episode": "x", "type": "nonsense"}', "unknown event type"),
        ('{"schema": 9, "seq": 0, "episode": "x", "type": "acted"}', "schema 9"),
        ('{"schema": 1, "seq": 0, "episode": "x", "type": "acted", "step": "no"}', "not a trace event"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(TraceError, match=says) as error:
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
