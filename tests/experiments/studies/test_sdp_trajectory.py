"""Trajectories from traces, their files, and checking them again."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.studies.sdp.reader import NotSdpError
from experiments.studies.sdp.revalidation import checked, revalidate
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.errors import TraceError
from tape.trace import FinishedEvent, StartedEvent
from tests.experiments.studies.sdp_synthetic import Synthetic, trajectories, trajectory
from tests.experiments.studies.sdp_worked import WORKED
from tests.profiles import examples
from tests.tape.show.view_runs import write_trace


@given(made=trajectories())
@examples(150)
def test_valid_trajectories_have_no_findings(made: CertifiedTrajectory) -> None:
    assert revalidate(made) == []
    count = checked(made)
    assert count.recomputed + count.unrecorded + sum(count.flagged.values()) == len(made.certified)
    assert "deterministic" not in count.flagged


@given(made=trajectories(), data=st.data())
@examples(40)
def test_a_file_gives_the_same_trajectory(made: CertifiedTrajectory, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sub" / "t.json"
        made.save(file)
        assert CertifiedTrajectory.load(file) == made
        text = file.read_text()
        file.write_text(text[: data.draw(st.integers(0, len(text) - 3))])
        with pytest.raises(TraceError, match=r"t\.json"):
            CertifiedTrajectory.load(file)


Record = dict[str, Any]


def rules(record: Record) -> set[str]:
    """The rules that a record with a new seal breaks."""
    return {finding.rule for finding in revalidate(CertifiedTrajectory.model_validate(record).sealed())}


Draw = Callable[[Any], Any]
Tamper = tuple[Callable[[Record], list[Any]], Callable[[Any, Draw], object]]
"""The places in a record that can be tampered with, and what is done to the one that is drawn."""


def _moves(wanted: Callable[[Record], Any] = lambda move: True) -> Callable[[Record], list[Any]]:
    return lambda record: [move for move in record["moves"] if wanted(move)]


def _checks(record: Record) -> list[Any]:
    return [judged["check"] for move in record["moves"] for judged in move["judged"]]


def _facts(record: Record) -> list[Any]:
    return [check["facts"][0] for check in _checks(record) if check["facts"]]


def _places(listed: str, wanted: Callable[[Record, int], Any]) -> Callable[[Record], list[Any]]:
    """A list and a place in it."""
    return lambda record: [(record[listed], at) for at in range(len(record[listed])) if wanted(record, at)]


def _acted(record: Record, at: int) -> bool:
    return all(move["action"] is not None for move in record["moves"][at : at + 2]) and at + 1 < len(record["moves"])


def _drop(place: tuple[list[Any], int], _: Draw) -> None:
    place[0].pop(place[1])


def _swap(place: tuple[list[Any], int], _: Draw) -> None:
    moves, at = place
    moves[at : at + 2] = moves[at + 1], moves[at]


def _other_how(check: Record, draw: Draw) -> None:
    others = ("deterministic", "lm", "always") if check["how"] == "completion" else ("completion", "always")
    check["how"] = draw(st.sampled_from(others))


def _count(name: str, *more: int) -> Callable[[Record, Draw], object]:
    return lambda held, draw: held.update({name: held[name] + draw(st.sampled_from(more))})


TAMPER: dict[str, Tamper] = {
    "more_k": (_moves(), _count("k", -1, 1)),
    "flip_fact": (_facts, lambda fact, _: fact.append(not fact.pop())),
    "flip_verdict": (_checks, lambda check, _: check.update(holds=not check["holds"])),
    "swap_certified": (
        lambda r: [m["before"]["certified"] for m in r["moves"] if len(m["before"]["certified"]) > 1],
        lambda item, _: item.reverse(),
    ),
    "lose_certified": (_moves(lambda m: m["after"]["certified"]), lambda m, _: m["after"]["certified"].pop(0)),
    # One that changed nothing but the step and prepared nothing else cannot be missed, so only others are dropped.
    "drop_move": (_places("moves", lambda r, i: r["moves"][i]["k"] or r["moves"][i]["counts"]), _drop),
    "swap_moves": (_places("moves", _acted), _swap),
    "change_action": (_moves(lambda m: m["action"] is not None), lambda m, _: m.update(action=m["action"] + "!")),
    "reorder_chain": (
        lambda r: [plan["targets"] for plan in r["plans"] if len(plan["targets"]) > 1],
        lambda item, _: item.reverse(),
    ),
    # One that a limit cut short before any attempt may be missing.
    "lose_chain": (_places("plans", lambda r, i: r["plans"][i]["after"] < len(r["moves"])), _drop),
    "more_certified_chain": (lambda record: record["plans"], _count("certified", 1)),
    "failed": (_moves(), _count("failed", 1)),
    "ending": (
        lambda record: [record["ending"]],
        lambda end, draw: _count(draw(st.sampled_from(("certified", "planned", "rejected"))), 1)(end, draw),
    ),
    "end_state": (
        lambda record: [record["ending"]],
        lambda end, draw: end.update(end_state=draw(st.sampled_from(("budget", "won", "success:steps", "")))),
    ),
    "change_how": (_checks, _other_how),
}  # fmt: skip


@pytest.mark.parametrize("tamper", TAMPER)
@given(made=trajectories(), data=st.data())
@examples(40)
def test_tampering_is_found_even_with_a_new_seal(tamper: str, made: CertifiedTrajectory, data: st.DataObject) -> None:
    record = made.model_dump(mode="json")
    places, change = TAMPER[tamper]
    if not (result := places(record)):
        return
    change(result[data.draw(st.integers(0, len(result) - 1))], data.draw)
    assert "seal" in {finding.rule for finding in revalidate(CertifiedTrajectory.model_validate(record))}
    assert rules(record)


@pytest.mark.parametrize("name", ["agent", "model", "episode", "task"])
def test_any_other_change_breaks_the_seal(name: str) -> None:
    changed = WORKED.model_copy(update={"origin": WORKED.origin.model_copy(update={name: "x"})})
    assert [finding.rule for finding in revalidate(changed)] == ["seal"]


def test_caps_that_were_not_kept_are_found() -> None:
    tried = 0
    for seed in range(40):
        made = trajectory(seed, skill=0.1, attempts=2, replans=2, length=3, steps=12)
        cases = [("steps", len(made.moves) - 1, {"caps"})]
        if any(plan.reason == "2 failed attempts" for plan in made.plans):
            cases.append(("attempts", 1, {"caps", "history"}))
        for name, cap, rules in cases:
            ending = made.ending.model_copy(update={"caps": made.ending.caps.model_copy(update={name: cap})})
            all_rules = {f.rule for f in revalidate(made.model_copy(update={"ending": ending}).sealed())}
            assert all_rules & rules
            tried += 1
    assert tried > 50


def test_strict_replans_one_attempt_later() -> None:
    usual = [trajectory(seed, skill=0.1, attempts=2) for seed in range(30)]
    strict = [trajectory(seed, skill=0.1, attempts=2, strict=True) for seed in range(30)]
    assert {p.reason for m in usual for p in m.plans if "failed" in p.reason} == {"2 failed attempts"}
    assert {p.reason for m in strict for p in m.plans if "failed" in p.reason} == {"3 failed attempts"}
    assert not [f for m in usual + strict for f in revalidate(m)]


def test_traces_without_a_chain_and_torn_ones_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "e.jsonl"
    write_trace(file, [StartedEvent(config={"agent": "react"}, budget={}, seed=0), FinishedEvent(result={})])
    with pytest.raises(NotSdpError, match=r"e\.jsonl: no SDP episode \(agent 'react'\)"):
        CertifiedTrajectory.from_trace(file)
    file.unlink()
    whole = Synthetic(Random("torn")).write(file).read_text()
    lines = whole.splitlines(keepends=True)
    texts = {"".join(lines[:count]): r"e\.jsonl" for count in range(len(lines))}
    for text, message in (texts | {whole[:-20]: rf"e\.jsonl:{len(lines)}"}).items():
        file.write_text(text)
        with pytest.raises(TraceError, match=message):
            CertifiedTrajectory.from_trace(file)


def test_a_missing_verdict_is_seen_where_the_trace_is_read(tmp_path: Path) -> None:
    file = Synthetic(Random("gap 2"), skill=0.9, length=6, cascade=False).write(tmp_path / "e.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    records = [json.loads(line) for line in lines]
    del lines[next(i for i, r in enumerate(records) if r["type"] == "sdp_validated" and r["k"])]
    file.write_text("".join(lines))
    with pytest.raises(TraceError, match="certified predicates"):
        CertifiedTrajectory.from_trace(file)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    trajectory(1).save(file)
    record = json.loads(file.read_text())
    for changed, said in (
        ({**record, "schema": 99}, "schema 99 is not 1"),
        ({**record, "moves": 3}, "moves"),
        ([], "not a certified trajectory"),
        ({name: value for name, value in record.items() if name != "schema"}, "schema None is not 1"),
    ):
        file.write_text(json.dumps(changed))
        with pytest.raises(TraceError, match=said):
            CertifiedTrajectory.load(file)
    with pytest.raises(TraceError, match=r"missing\.json"):
        CertifiedTrajectory.load(tmp_path / "missing.json")


def test_the_worked_example_is_valid_and_its_model_verdict_is_counted_apart() -> None:
    assert revalidate(WORKED) == []
    count = checked(WORKED)
    assert (count.recomputed, count.unrecorded, count.flagged) == (3, 0, {"lm": 1})
    assert [move.action for move in WORKED.history] == ["a1", "d1", "d2", "g1"]


def test_facts_that_are_not_asked_for_or_contradict_another_are_found() -> None:
    for facts, texts in (
        ([["a", True], ["a", True]], set()),
        ([["a", True], ["a", False]], {"fact"}),
        ([["a", True], ["z", True]], {"fact"}),
    ):
        record = WORKED.model_dump(mode="json")
        record["moves"][1]["judged"][0]["check"]["facts"] = facts
        assert rules(record) == texts
