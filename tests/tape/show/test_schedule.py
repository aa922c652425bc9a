"""Pictures of schedules, and what `tape why`, `tape show` and the page make of a run with calls at once."""

from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tape import schedule, select
from tape.analysis.why import about, rounds
from tape.errors import GraphError
from tape.show.replay import describe, pictures
from tape.show.schedule import draw_schedule, schedule_record
from tape.show.view.episode import episode_record, result_of
from tape.trace import Event, FinishedEvent, ScheduledCall, ScheduledEvent, StartedEvent

SVG = "{http://www.w3.org/2000/svg}"
CALLS = [
    ScheduledCall(name="clean", start=0, end=5000, critical=True),
    ScheduledCall(name="<b>locate</b>", start=0, end=4000),
    ScheduledCall(name="merge", start=5000, end=6000, critical=True),
]
EVENTS: list[Event] = [
    StartedEvent(config={"agent": "tape", "model": "no model"}, budget={"usd": 100_000}, task="Make: table", seed=0),
    ScheduledEvent(done=False, calls=CALLS),
    ScheduledEvent(done=False, calls=CALLS[2:]),
    ScheduledEvent(done=True, calls=CALLS),
    FinishedEvent(result={"end_state": "success", "success": True, "steps": 3, "replans": 1, "used": {"usd": 60_000}}),
]


def test_bars_stand_where_their_calls_are_in_time() -> None:
    record = schedule_record(CALLS)
    clean, locate, merge = record["bars"]
    assert clean["x"] == locate["x"] == record["left"]
    assert merge["x"] == pytest.approx(clean["x"] + clean["width"], abs=0.11)
    assert clean["width"] == pytest.approx(5 * merge["width"], abs=0.5)
    assert [bar["critical"] for bar in record["bars"]] == [True, False, True]
    assert [bar["when"] for bar in record["bars"]] == ["0 to 5 s", "0 to 4 s", "5 to 6 s"]
    assert [text for _, text in record["lines"]] == ["0 s", "1 s", "2 s", "3 s", "4 s", "5 s", "6 s"]
    assert len({bar["y"] for bar in record["bars"]}) == 3
    for ends in ([], [0], [1], [7], [10**15]):  # nothing, and from a millisecond to thirty thousand years
        lines = schedule_record([ScheduledCall(name="a", start=0, end=end) for end in ends])["lines"]
        assert len(lines) <= 9


def test_the_picture_reads_without_colour_and_holds_no_markup(tmp_path: Path) -> None:
    file = tmp_path / "schedule.svg"
    draw_schedule(CALLS, file, title="a & b")
    root = ElementTree.parse(file).getroot()
    bars = [group for group in root.iter(f"{SVG}g") if group.get("class", "").startswith("bar")]
    assert [group.get("class") for group in bars] == ["bar critical", "bar", "bar critical"]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "<b>locate</b>" in texts
    assert "filled: critical path, which decides when the last one ends" in texts
    with pytest.raises(GraphError, match=r"schedule.png: pictures of schedules are SVG; name it schedule.svg"):
        draw_schedule(CALLS, tmp_path / "schedule.png")


def test_a_choice_is_drawn() -> None:
    steps = {"load": {"name": "quick", "seconds": Decimal("1.5")}, "join": {"name": "hash", "seconds": 2}}
    assert "load: quick" in draw_schedule(schedule(steps, after={"join": ["load"]}))
    with pytest.raises(GraphError, match="the choice has no schedule"):
        draw_schedule(select([["a"]]))


def test_why_names_the_critical_path() -> None:
    told = about(EVENTS)
    assert told[3:] == [
        "Planned were 6 s instead of 10 s one after the other; the critical path is clean -> merge.",
        "Planned were 1 s instead of 1 s one after the other; the critical path is merge.",
        "The calls that ran took 6 s instead of 10 s one after the other; the critical path is clean -> merge.",
    ]
    assert rounds(EVENTS) == []


def test_show_lists_and_draws_the_schedules(tmp_path: Path) -> None:
    text = "\n".join(describe(EVENTS))
    assert "calls made at once: 6 s, critical path clean -> merge\n  0 to 5 s  clean  critical" in text
    assert [file.name for file in pictures(EVENTS, tmp_path, "run")] == [f"run-schedule-{n}.svg" for n in (1, 2, 3)]


def test_the_page_has_the_schedules() -> None:
    record = episode_record(EVENTS, lambda events: ([], about(events)))
    drawn = [moment for moment in record["moments"] if "schedule" in moment]
    assert [moment["title"] for moment in drawn] == ["Calls planned", "Calls planned", "Calls made"]
    assert drawn[0]["schedule"] == schedule_record(CALLS)
    assert result_of(EVENTS, None)["lm_calls"] == {}
