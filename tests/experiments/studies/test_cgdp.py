"""The studies of search agents: what they play, tiny runs with a scripted policy, and their reports."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from envs.search import SearchEnvironment, bm25
from experiments.harness.cli import play
from experiments.harness.experiment import Experiment
from experiments.harness.matrix import Identified, Options, split, spread
from experiments.harness.measured import Measured
from experiments.harness.published import check, publish
from experiments.harness.standard import sections_of
from experiments.studies.cgdp import (
    budget,
    budget_report,
    gaps,
    gate,
    interventions,
    lm_gates,
    memory,
    public,
    repository,
)
from experiments.studies.cgdp.methods import DOMAINS, HARNESSES, memories_of
from experiments.studies.cgdp.reader import GoldQuestion, GoldReader, GoldReaderLM, keyword_reader
from experiments.training.search.code import TRAINED
from tape.cgdp.agents.cgdp import CgdpAgent
from tape.cgdp.gates import fixed_rounds
from tape.cgdp.prompts.chat import ChatSearchFormat
from tape.cgdp.settings import CgdpSettings
from tape.cgdp.view import Belief, View
from tape.lm.base import LanguageModel
from tape.lm.scripted import ScriptedLM
from tape.protocols.search import Passage
from tape.runner.workers import InProcess
from tape.show.document import Table
from tape.statistics import holm
from tests.tape.cgdp.policy import scripted_policy

pytest.importorskip("bm25s")
POLICY = "scripted policy"


def options(limit: int = 1, models: tuple[str, ...] = (POLICY,)) -> Options:
    return Options(seeds=1, models=models, limit=limit, identify=lambda _: Identified("scripted policy 0", "chat"))


def played(
    experiment: Experiment, out: Path, limit: int = 1, model: Callable[[], LanguageModel] | None = None
) -> Measured:
    opener = model or (lambda: scripted_policy(0))
    with InProcess(lambda _: opener()) as pool:
        return play(experiment, options(limit), out / "run", pool, quiet=True, listed=out / "list.json")


def tables(measured: Measured, experiment: Experiment, folder: Path) -> dict[str, Table]:
    """The tables of a study; what is published of it follows from its episodes alone."""
    pytest.importorskip("pyarrow")
    publish(experiment, measured, folder / "results")
    assert check(folder / "results") == []
    found = sections_of(experiment, measured)
    return {section.title: block for section in found for block in section.blocks if isinstance(block, Table)}


def small(experiment: Experiment, what: memory.Chosen) -> Experiment:
    made = gate.configurations if experiment.name == gate.EXPERIMENT.name else memory.configurations
    return replace(experiment, configurations=partial(made, what))


def test_every_condition_of_every_harness_is_played_in_every_window() -> None:
    what = memory.Chosen(domains=("locomo",), part="dev")
    found = memory.configurations(what, options())
    names = {split(one.name)[2] for one in found}
    assert names == {f"{HARNESSES[a]}, {m}" for a in HARNESSES for m in memories_of(a)} | {
        "IRCoT, structured, K = 12",
        "ReAct, structured, K = 12",
    }
    assert len(names) == 4 * 3 + 3 + 2 + 2
    assert {CgdpSettings.of(one.spec.config).context_tokens for one in found} == {256, 384, None}
    assert all("own corpus" in one.name for one in found)


@pytest.mark.slow
def test_memory_compares_conditions_and_is_published(tmp_path: Path, undrawn: None) -> None:
    experiment = small(memory.EXPERIMENT, memory.Chosen(("locomo",), ("ircot",), (340, None), "dev"))
    measured = played(experiment, tmp_path, 2)
    found = tables(measured, experiment, tmp_path)
    for title in ("Differences between conditions (tables 8 and 10)", "All domains together"):
        assert len(found[title].rows) == 2 * 6  # windows, pairs of conditions
        assert {row[4] for row in found[title].rows} == {"2"}
    assert {row[0] for row in found["All domains together"].rows} == {"window 340", "no window"}
    assert len(found["Room for more items (table 21)"].rows) == 1
    longest = {row[0]: float(row[10]) for row in found["Conditions (tables 3, 10, 14)"].rows if "baseline" in row[2]}
    assert longest["LoCoMo, own corpus, window 340"] <= 340 < longest["LoCoMo, own corpus, no window"]


@pytest.mark.slow
def test_gaps_are_counted_from_traces(tmp_path: Path, undrawn: None) -> None:
    what = memory.Chosen(("locomo",), ("react_search",), (None,), "dev", quick=True)
    experiment = small(gaps.EXPERIMENT, what)
    measured = played(experiment, tmp_path, 200)
    [*rows] = tables(measured, experiment, tmp_path)["Gaps (table 7)"].rows
    assert {row[3] for row in rows} == {"8"}
    without = sum(not task.facts["question"].answerable for task in spread(DOMAINS["locomo"].tasks("dev"), 8))
    assert without
    assert all(f" of {without} " in row[-1] for row in rows)
    assert any(not column.startswith("0 of") for row in rows for column in row[4:])


@pytest.mark.slow
def test_gates_are_played_and_matched_by_tokens(tmp_path: Path, undrawn: None) -> None:
    experiment = small(gate.EXPERIMENT, memory.Chosen(("locomo",), ("iter_retgen",), (None,), "dev"))
    measured = played(experiment, tmp_path, 2)
    found = {(one.where[2], one.gate): one for one in gate.played(measured)}
    assert {name for _, name in found} == {gate.BEST, "voi"}
    for one in found.values():
        assert one.rounds in gate.FIXED["iter_retgen"]
        assert len(one.records) == len(one.none) == len(one.fixed) == 2
    for row in tables(measured, experiment, tmp_path)[
        "Gates beside a fixed number of rounds at equal mean tokens"
    ].rows:
        assert row[4].startswith("fixed:")
    for records in measured.records.values():
        for record in records:
            rounds = fixed_rounds(split(record["cell"])[2].rsplit(", ", 1)[1])
            if rounds:
                assert gate.fired(measured, record) == rounds == record["result"]["measures"]["rounds"]


@pytest.mark.slow
def test_interventions_are_compared_with_none(tmp_path: Path, undrawn: None) -> None:
    made = partial(interventions.configurations, memory.Chosen(("locomo",), ("react_search",), (None,), "dev"))
    experiment = replace(interventions.EXPERIMENT, configurations=made)
    measured = played(experiment, tmp_path, 2)
    rows = tables(measured, experiment, tmp_path)["On less off"].rows
    assert [row[2] for row in rows[::2]] == list(interventions.SETS[1:])
    assert {(row[0], row[4]) for row in rows} == {("LoCoMo", "2"), ("all", "2")}
    assert [row[3] for row in rows if row[2] == "parallel"] == ["2 of 2"] * 2


@pytest.mark.slow
def test_verdicts_are_counted_and_answers_measured_from_traces(
    tmp_path: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "similarity", lambda *_: 0.25)
    asked = memory.Chosen(("locomo",), windows=(None,), part="dev", quick=True)
    made = partial(lm_gates.configurations, asked=asked)
    experiment = replace(lm_gates.EXPERIMENT, configurations=made)
    measured = played(experiment, tmp_path, 2)
    found = repository.answers_table(measured)
    mean = {row[2]: row[-2:] for row in found.rows}
    for _, _, method, name in measured.played():
        own = [record["result"]["measures"]["meteor_exact_stem"] for record in measured.records[name]]
        assert mean[method] == (f"{sum(own) / len(own):.2f}", "0.25")
    rows = tables(measured, experiment, tmp_path)["Verdicts"].rows
    verdicts = sum(len(lm_gates.verdicts_of(measured, one)) for some in measured.records.values() for one in some)
    assert sum(int(cell) for row in rows for cell in row[4:]) > 0
    assert {row[2].rsplit(", ", 1)[1] for row in rows} == {*gate.ASKED}
    assert verdicts >= sum(int(cell) for row in rows for cell in row[4:])


def test_agents_are_played_on_packages_that_the_model_was_not_trained_on() -> None:
    assert {*repository.PACKAGES}.isdisjoint(TRAINED)


@pytest.mark.slow
def test_the_budget_study_plays_the_scripted_reader_within_its_budgets(tmp_path: Path, undrawn: None) -> None:
    what = budget.Asked({"locomo": DOMAINS["locomo"]}, ("gold",), "dev")
    experiment = replace(budget.EXPERIMENT, configurations=partial(budget.configurations, what), models=())
    reader = GoldReaderLM(budget.gold_questions(what))
    measured = played(experiment, tmp_path, 3, lambda: reader)
    assert all(group["budget_violations"] == 0 for group in measured.groups.values())
    found = budget_report.played(measured)
    assert [one.place for one in found] == [1, 2, 3, 4, 5, 6, 7]
    loosest = [one for one in found if one.place == 7]
    assert all(budget_report.share_right(one.solver) == 1 for one in loosest)
    kept = tables(measured, experiment, tmp_path)["Exact matches by budget"]
    assert {row[0] for row in kept.rows} == {"gold sub-questions, scripted reader"}


TOWN = Passage("p1", "Ada", "Ada was born in Tarn.")
MAYOR = Passage("p2", "Tarn", "The mayor of Tarn is Otto Lind.")
OTHER = Passage("p2", "Tarn", "Tarn lies by a lake.")
BORN, HEAD = "Where was Ada born?", "Who is the mayor of Tarn?"
ASKED = GoldQuestion("Who heads Ada's town?", ((BORN, "p1", TOWN.text), (HEAD, "p2", MAYOR.text)), "Otto Lind")
CHAT = ChatSearchFormat()


def test_the_reader_reads_gold_evidence_and_nothing_else() -> None:
    reader = GoldReader([ASKED])
    view = View(ASKED.text, belief=Belief("structured", (), (BORN, HEAD)))

    def read(*passages: Passage) -> tuple[list[str], tuple[int, ...]]:
        request = CHAT.extract_request(view, passages)
        found = CHAT.read_extract(view, passages, reader(request, 0))
        return [one.source for one in found.findings], found.resolved

    assert read(TOWN) == (["p1"], (0,))
    assert read(TOWN, MAYOR) == (["p1", "p2"], (0, 1))
    assert read(OTHER) == ([], ())


@pytest.mark.parametrize(
    ("ps", "corrected"), [((), ()), ((0.5, 0.6), (1.0, 1.0)), ((0.04, 0.001, 0.02, 0.03), (0.06, 0.004, 0.06, 0.06))]
)
def test_holm_by_hand(ps: tuple[float, ...], corrected: tuple[float, ...]) -> None:
    assert holm(ps) == pytest.approx(corrected)


def test_the_keyword_reader_takes_any_quote_and_persisting_asks_no_query_twice() -> None:
    passages = [Passage(f"p{i}", "Ada", f"Ada paints lake number {i}. It rains.") for i in range(30)]
    question, asked = "Which lake did Ada paint at Tarn first?", dict[bool, list[str]]()
    for persist in (False, True):
        env = SearchEnvironment(question, bm25(passages), answers=["x"], depths=(5, 10))
        found = CgdpAgent(ScriptedLM(keyword_reader), persist=persist).run(env, seed=0)
        asked[persist] = [action for action in found.actions if action.startswith("search")]
    assert asked[False] == ["search bm25-5: lake ada paint tarn"]
    assert asked[True][0] == f"search bm25-5: {question}"
    assert len(set(asked[True])) == len(asked[True])


@pytest.mark.slow
def test_public_dialogues_are_split_and_compared_with_bm25(tmp_path: Path, undrawn: None) -> None:
    file = Path(os.environ.get("TAPE_TEST_DATA", "")) / "locomo" / "locomo-dev.json"
    if not file.is_file():
        pytest.skip("TAPE_TEST_DATA has no locomo/locomo-dev.json")
    with pytest.warns(UserWarning, match="left out"):
        parts = {part: public.tasks(str(file), part) for part in public.PARTS}
    talks = {part: {task.facts["dialogue"].name for task in tasks} for part, tasks in parts.items()}
    assert {part: (len(tasks), len(talks[part])) for part, tasks in parts.items()} == {
        "dev": (114, 2),
        "held-out": (225, 3),
    }
    assert not talks["dev"] & talks["held-out"]
    experiment = replace(public.EXPERIMENT, configurations=partial(public.configurations, str(file), "dev"))
    measured = played(experiment, tmp_path, 3, lambda: ScriptedLM(keyword_reader, identity=POLICY))
    rows = tables(measured, experiment, tmp_path)["Evidence recall and repeated queries"].rows
    assert [row[2] for row in rows] == ["all", "single"] * 2
    assert all(float(row[4]) >= float(row[5]) for row in rows if "persist" in row[1])
