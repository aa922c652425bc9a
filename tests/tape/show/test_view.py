"""The page's data: how an episode is shown, and that it is complete, whatever the trace is."""

import base64
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.analysis.why import about, rounds
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.show.view.episode import episode_record
from tape.show.view.graphs import MOST_KEPT, MOST_SHOWN, changes, graph_record, path_changes
from tape.show.view.page import in_script, packed
from tape.show.view.results import differences, run_rows
from tape.show.view.sources import open_sources, read_events
from tape.show.view.spending import spending
from tape.statistics import paired
from tape.trace import Event, FinishedEvent, LedgerEvent
from tests.profiles import examples
from tests.tape.show.view_runs import episode, graph, write_run, write_trace


def why(events: Sequence[Event]) -> tuple[list[dict[str, Any]], list[str]]:
    return [round_.to_dict() for round_ in rounds(events)], about(events)


# ---- an episode -------------------------------------------------------------------------------------------------


def test_an_episode_is_shown_in_order() -> None:
    record = episode_record(episode(), why)
    assert [moment["title"] for moment in record["moments"]] == [
        "Start", "Plan", "Malformed answer, survived", "search cheap", "Plan", "Approval: allowed", "ask a person",
        "End",
    ]  # fmt: skip
    assert record["task"] == "Find out who rules Olemund."
    assert (record["answer"], record["end_state"], record["success"]) == ("Kaloris", "success", True)
    step = record["moments"][3]
    assert (step["mismatch"]["predicted"], step["picture"]) == ("rumour", "at hint")
    assert step["cost"] == [["steps", "1 step"], ["usd", "$0.001"]]
    assert step["left"] == [["steps", "5 steps"], ["usd", "$0.007"]]
    assert ["usd", "$0.005"] in record["facts"]


def test_a_round_shows_its_path_and_what_is_left_along_it() -> None:
    record = episode_record(episode(), why)
    first, second = record["rounds"]
    drawn = record["graphs"][first["graph"]]
    taken = [drawn["edges"][place] for place in first["path"]["edges"]]
    assert [edge["action"] for edge in taken] == ["search cheap", "ask a person"]
    assert [drawn["nodes"][edge["to"]]["key"] for edge in taken] == ["rumour", "answer"]
    assert [dict(left)["usd"] for left in first["left"]] == ["$0.008", "$0.007", "$0.003"]
    [dear] = first["misfits"]
    assert (dear["actions"], dear["over_text"]) == (["search dear", "write it up"], {"usd": "$0.002"})
    assert [drawn["edges"][place]["action"] for place in dear["edges"]] == dear["actions"]
    usd = next(budget for budget in first["budgets"] if budget["kind"] == "usd")
    assert (usd["decided"], usd["more"]["by"]) == (True, "$0.002")
    assert second["reason"] == "what was observed is not what was predicted"
    assert second["path_changes"] == [["kept", "ask a person"]]
    assert second["changes"]["nodes"]["new"]["first"] == ["hint"]
    assert second["changes"]["edges"]["contradicted"] == {"count": 1, "first": ["search cheap"]}
    edges = record["graphs"][second["graph"]]["edges"]
    marks = {(edge["action"], edge.get("certified"), edge.get("contradicted")) for edge in edges}
    assert {("search cheap", True, None), ("search cheap", None, True)} <= marks


def test_requests_stand_where_they_were_made_and_texts_once() -> None:
    record = episode_record(episode(), why)
    roles = [[record["calls"][number]["role"] for number in moment.get("calls", ())] for moment in record["moments"]]
    assert roles[1] == ["plan"]  # the first plan's, though it was asked before anything was folded
    assert roles[3:5] == [["act"], ["plan"]]
    assert record["said"].count("You plan.") == 1
    first = record["calls"][0]
    assert [[role, record["said"][text]] for role, text in first["prompt"]] == [
        ["system", "You plan."],
        ["user", "Plan from the start."],
    ]
    assert first["texts"] == ["search cheap, ask a person", "search dear"]


def test_any_beginning_of_a_trace_can_be_shown() -> None:
    events = episode()
    for length in range(len(events) + 1):
        record = json.loads(json.dumps(episode_record(events[:length], why)))
        assert ("end_state" in record) == (length == len(events))
        steps = sum(event.type == "acted" for event in events[:length])
        assert sum(moment["sort"] == "step" for moment in record["moments"]) == steps


def test_an_infeasible_episode_says_what_would_do() -> None:
    def option(resource: str, ledger: str, cap: float) -> dict[str, Any]:
        caps = [{"resource": resource, "ledger": ledger, "cap": cap}]
        return {"caps": caps, "horizon": None, "plan": ["search dear"], "proven": True}

    options = [option("usd", "episode", 0.01), option("gold of a plugin", "", 3)]
    failed = episode(success=False)[-1].model_dump()["result"]
    result = {**failed, "end_state": "infeasible", "explanation": {"options": options}}
    record = episode_record([*episode()[:2], FinishedEvent(result=result)], why)
    assert [option["caps"] for option in record["explanation"]] == [["$0.01 for the episode"], ["3 gold of a plugin"]]


# ---- budgets ----------------------------------------------------------------------------------------------------


def test_bars_add_up_to_what_was_left() -> None:
    mapping = spending(episode())
    assert {bar["kind"]: bar["cap_text"] for bar in mapping["bars"]} == {"steps": "6 steps", "usd": "$0.008"}
    for bar in mapping["bars"]:
        before = bar["cap"]
        for step in bar["steps"]:
            before -= sum(count for _, count, _ in step["used"])
            assert before == step["left"]
    assert mapping["table"]["kinds"] == ["steps", "tokens", "usd"]
    assert mapping["table"]["rows"] == [["plan", "", "17 tokens", ""], ["action", "2 steps", "", "$0.005"]]


def test_what_is_spent_after_the_last_observation_has_a_bar_too() -> None:
    late = LedgerEvent(what="settle", purpose="lm:plan", amounts={"usd": 500, "steps": 0})
    unknown = LedgerEvent(what="settle", purpose="lm:act", amounts={"usd": None})
    usd = spending([*episode()[:2], late, unknown])["bars"][1]["steps"]
    assert [(step["left"], step["used"]) for step in usd] == [
        (8_000, []),
        (7_500, [["act", None, "unknown"], ["plan", 500, "$0.0005"]]),
    ]


# ---- graphs -----------------------------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> tuple[PlanGraph, list[int]]:
    """A plan graph, often larger than what is drawn, and a path on it from its start."""
    size = draw(st.integers(2, 180))
    made = PlanGraph()
    made.add_state("n0")
    seed = draw(st.randoms(use_true_random=False))
    for number in range(1, size):
        source = f"n{seed.randrange(number)}"
        if seed.random() < 0.3:
            made.fold([source, f"n{number}"], [f"a{number}"])
        else:
            made.add_variant(source, f"a{number}", f"n{number}")
    for _ in range(size // 4):
        made.add_variant(f"n{seed.randrange(size)}", "back", f"n{seed.randrange(size)}")
    for edge in made.edges():
        made.set_cost(edge.id, Resources({"usd": seed.randrange(5)}))
    path, at = [], "n0"
    while leaving := [e for e in made.edges() if e.source == at and e.action != "back"]:
        path.append(seed.choice(leaving).id)
        at = made.edge(path[-1]).target
    return made, path


@given(graphs())
@examples(30)
def test_a_graph_is_cut_to_what_can_be_drawn_and_keeps_its_path(made: tuple[PlanGraph, list[int]]) -> None:
    whole, path = made
    record, places = graph_record(whole, "n0", [path], kinds=["usd"])
    assert record["whole"] == [len(whole.nodes), sum(1 for _ in whole.edges())]
    assert len(record["nodes"]) == min(len(whole.nodes), MOST_KEPT) or len(path) >= MOST_KEPT
    assert record["nodes"][record["start"]]["key"] == "n0"
    for number in path:
        edge, drawn = whole.edge(number), record["edges"][places[number]]
        assert (drawn["action"], record["nodes"][drawn["to"]]["key"]) == (edge.action, edge.target)
    first, last = record["views"][0], record["views"][-1]
    assert len(first["nodes"]) <= max(MOST_SHOWN, len(path) + 1)
    assert set(last["nodes"]) == set(range(len(record["nodes"])))
    for number in path:
        assert places[number] in first["edges"]
    heights = {first["nodes"][record["edges"][places[number]]["to"]][1] for number in path}
    assert len(heights) <= 1  # the path is a straight line
    for item in (first, last):
        for place in item["edges"]:
            assert record["edges"][place]["from"] in item["nodes"]
        for x, y in item["nodes"].values():
            assert 0 <= x <= item["size"][0]
            assert 0 <= y <= item["size"][1]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_changes_of_a_path_lead_from_one_to_the_other(before: list[str], after: list[str]) -> None:
    all_texts = path_changes(before, after)
    assert [action for what, action in all_texts if what != "added"] == before
    assert [action for what, action in all_texts if what != "dropped"] == after


def test_changes_of_a_graph_are_found_by_states_not_by_numbers() -> None:
    assert changes(graph(), graph())["edges"]["new"]["count"] == 0
    mapping = changes(graph(), graph(without=["guess"]))
    assert mapping["nodes"]["gone"] == {"count": 1, "first": ["poor answer"]}
    assert mapping["edges"]["gone"] == {"count": 1, "first": ["guess"]}
    assert mapping["nodes"]["new"]["count"] == mapping["edges"]["new"]["count"] == 0


# ---- data in a page ---------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters() | st.sampled_from("<>/&\u2028\u2029\ud800\udfff\x00"), max_size=30) | st.sampled_from(
    ["</script>", "<!--", "]]>", "<script>alert(1)</script>"]
)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda strategy: st.lists(strategy) | st.dictionaries(TEXTS, strategy),
    max_leaves=8,
)


@given(VALUES)
def test_data_cannot_end_the_element_that_it_stands_in(value: Any) -> None:
    text = in_script(value)
    assert text.isascii()
    assert not set(text) & set("<>")
    assert json.loads(text) == value
    block = packed({"value": value})
    assert json.loads(zlib.decompress(base64.b64decode(block))) == {"value": value}


# ---- sources and results ----------------------------------------------------------------------------------------


def test_a_run_has_the_rows_of_its_summary(tmp_path: Path) -> None:
    [source] = open_sources([write_run(tmp_path / "run", [episode(), episode(success=False), episode()])])
    [row] = run_rows(source)
    assert (row["n"], row["successes"], row["rate"]) == (3, 2, pytest.approx(2 / 3))
    assert row["interval"] == pytest.approx([0.2077, 0.9385], abs=1e-3)
    assert dict(row["means"])["usd"] == "$0.005"
    assert [entry.line["task"] for entry in source.entries if entry.line] == ["task 0", "task 1", "task 2"]


def test_two_runs_are_compared_on_what_both_have(tmp_path: Path) -> None:
    wins = [episode(), episode(), episode(success=False)]
    mixed = [episode(), episode(success=False), episode(success=False), episode()]
    paths = [write_run(tmp_path / "a", wins), write_run(tmp_path / "b", mixed, agent="react")]
    [mapping] = differences(*open_sources(paths))
    assert (mapping["first"], mapping["second"]) == ("tape", "react")
    success = mapping["measures"][0]
    names = [(f"digest of task {number}", 0) for number in range(4)]
    expected = paired(dict(zip(names, [1, 1, 0], strict=False)), dict(zip(names, [1, 0, 0, 1], strict=True)))
    assert success["range"] == [expected.difference, expected.low, expected.high]
    assert (success["n"], success["wins"], success["losses"]) == (3, 1, 0)
    assert (success["difference"], success["verdict"]) == ("+0.33", "no significant difference")
    other = write_run(tmp_path / "c", [episode()], tasks=["elsewhere"])
    [mapping] = differences(*open_sources([paths[0], other]))
    assert mapping["measures"][0]["n"] == 0, "they have nothing in common"


def test_what_is_missing_or_cut_off_is_noted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [episode(), episode(), episode()])
    files = sorted((run / "traces").iterdir())
    lines = files[0].read_text().splitlines(keepends=True)
    files[0].write_text("".join(lines[:9]) + lines[9][:40])
    files[1].unlink()
    write_trace(run / "traces" / "stray.jsonl", episode()[:12])
    [source] = open_sources([run])
    assert source.notes == (
        "1 of 4 episodes have no trace.",
        "1 traces belong to no finished episode; they stand at the end of the list.",
    )
    counts, notes = zip(*((len(events), note) for events, note in map(read_events, source.entries)), strict=True)
    assert counts == (9, 0, len(lines), 12)
    assert notes[0].startswith("The trace can be read up to event 9: line 10: ")
    assert notes[1:3] == ("This episode has no trace.", "")
    assert notes[3].startswith("The trace ends before the episode does")
