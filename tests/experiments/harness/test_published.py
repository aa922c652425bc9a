"""Published results follow from published episodes, and what does not is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from experiments import report
from experiments.harness import anchors, earlier, episodes, published, register
from experiments.harness.differences import Difference, differences
from experiments.harness.measured import Measured
from experiments.harness.places import RESULTS
from experiments.studies.tape.catalogue import find
from tape.errors import RunDirectoryError
from tests.experiments.synthetic import measured

pytest.importorskip("pyarrow")


def played(name: str, path: Path) -> Measured:
    return measured(name, path, lambda method, level, repeat: method.startswith("TAPE") or (level + repeat) == 0)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, undrawn: None) -> dict[Path, bytes]:
    """A folder of results with two studies, as bytes by file name."""
    folder = tmp_path_factory.mktemp("published")
    for name in ("headline", "sokoban"):
        run = played(name, folder / "runs" / name)
        register.note(run, folder / "results" / register.COPY)
        published.publish(find(name), run, folder / "results")
    files = (path for path in (folder / "results").rglob("*") if path.is_file())
    return {path.relative_to(folder / "results"): path.read_bytes() for path in files}


@pytest.fixture
def results(kept: dict[Path, bytes], tmp_path: Path) -> Path:
    for path, content in kept.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


def edit(file: Path, change: Callable[[str], str]) -> None:
    before = file.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    file.write_text(after, encoding="utf-8")


def change_a_row(results: Path) -> None:
    """Let an episode of ReAct succeed that has not, and write the rows in another order."""
    file = results / "sokoban" / episodes.FILE
    rows, meta = episodes.read_rows(file)
    row = next(row for row in rows if row["method"] == "ReAct" and not row["success"])
    row["success"] = True
    episodes.write_rows(file, rows[::-1], meta)


def test_what_is_published_can_be_recomputed(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(["--check", "--results", str(results)]) == 0
    assert "follows from" in capsys.readouterr().out


def test_a_changed_number_in_a_report_is_named(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = "| easy-fresh | `nano-750` | ReAct | 6 (3) | 0.17 ("
    edit(results / "sokoban" / "report.md", lambda text: text.replace(row, row.replace("0.17", "0.71"), 1))
    [difference] = published.check(results)
    assert (difference.file, difference.recomputed[:6]) == ("sokoban/report.md", "0.17 (")
    assert report.main(["--check", "--results", str(results)]) == 1
    assert "All configurations, easy-fresh / `nano-750` / ReAct, success: published '0.71 (" in capsys.readouterr().err


def test_a_changed_row_of_the_episodes_is_found(results: Path) -> None:
    change_a_row(results)
    result = published.check(results)
    assert {difference.file for difference in result} == {"sokoban/report.md"}
    assert any(difference.column == "success" and "ReAct" in difference.row for difference in result)


@pytest.mark.usefixtures("undrawn")
def test_a_changed_episode_is_found_where_all_reports_fit_it(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change_a_row(results)
    assert report.main(["--rewrite", "--results", str(results)]) == 0
    assert published.check(results) == []
    counted, row, listed = anchors.check(results)
    assert (counted.file, counted.table) == ("sokoban/episodes.parquet", "easy-fresh / nano-750 / ReAct")
    assert (counted.published, counted.recomputed) == ("2 of 6", "1 of 6 when it was anchored")
    assert row.row.startswith("task easy-fresh")
    assert (listed.file, listed.published, listed.recomputed) == (register.COPY, "1 of 6", "2 of 6")
    assert report.main(["--check", "--results", str(results)]) == 1
    assert "nano-750 / ReAct, solved: published '2 of 6'" in capsys.readouterr().err


def test_the_order_of_rows_and_the_encoding_are_nothing(results: Path) -> None:
    file = results / "sokoban" / episodes.FILE
    rows, meta = episodes.read_rows(file)
    episodes.write_rows(file, [dict(reversed(row.items())) for row in reversed(rows)], meta)
    assert anchors.check(results) == []


def test_a_changed_setting_is_found(results: Path) -> None:
    file = results / "sokoban" / episodes.FILE
    rows, meta = episodes.read_rows(file)
    meta["specs"] = {name: spec | {"seed": 7} for name, spec in meta["specs"].items()}
    episodes.write_rows(file, rows, meta)
    assert [difference.table for difference in anchors.check(results)] == ["settings"]


@pytest.mark.parametrize(
    ("before", "after", "table", "column"),
    [
        ("| ReAct | 6 (3) | 0.17 (", "| ReAct | 6 (3) | 0.71 (", "All configurations", "success"),
        (
            "| TAPE+ | ReAct | 6 (3) | +0.83",
            "| TAPE+ | ReAct | 6 (3) | +0.38",
            "Paired differences",
            "difference in success",
        ),
        ("All agents with one model", "Some agents", "", ""),
    ],
)
def test_without_a_programme_common_tables_are_recomputed_and_all_else_is_held_by_the_anchor(
    results: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, table: str, column: str
) -> None:
    monkeypatch.setattr(earlier, "STUDIES", {"sokoban": "experiments.studies.tape.sokoban"})
    assert [item.file for item in anchors.check(results)] == ["sokoban/report.md"], "not anchored yet"
    anchors.add(results, ["sokoban"], "kept")
    assert [*published.check(results), *anchors.check(results)] == []
    edit(results / "sokoban" / "report.md", lambda text: text.replace(before, after, 1))
    assert [(item.table, item.column) for item in published.check(results)] == ([(table, column)] if table else [])
    [difference] = anchors.check(results)
    assert (difference.file, difference.column) == ("sokoban/report.md", "content")


@pytest.mark.usefixtures("undrawn")
def test_a_report_without_a_programme_is_not_written_again(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier, "STUDIES", {"sokoban": "experiments.studies.tape.sokoban"})
    assert all("sokoban" not in path.parts for path in published.write_again(results))


def test_a_changed_count_in_the_register_is_found(results: Path) -> None:
    edit(results / register.COPY, lambda text: text.replace('ReAct": [1, 6]', 'ReAct": [2, 6]', 1))
    result = anchors.check(results)
    assert {difference.file for difference in result} == {register.COPY}
    assert ("1 of 6", "2 of 6") in {(difference.recomputed, difference.published) for difference in result}
    anchors.add(results, [], "somebody says so")
    assert anchors.check(results), "the entry that was anchored is not there"


@pytest.mark.parametrize("name", [register.COPY, anchors.FILE])
def test_an_entry_that_is_removed_is_found(results: Path, name: str) -> None:
    edit(results / name, lambda text: "\n".join(text.splitlines()[:1] + text.splitlines()[2:]))
    texts = [str(difference) for difference in anchors.check(results)]
    assert any("previous" in item or "published 'not there', recomputed 'anchored'" in item for item in texts)


@pytest.mark.usefixtures("undrawn")
def test_what_is_published_again_passes_and_is_listed(results: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = anchors.read(results)
    assert anchors.add(results, ["sokoban", "headline"], "nothing new") == []
    run = measured("sokoban", tmp_path_factory.mktemp("again"), lambda *_: True)
    register.note(run, results / register.COPY)
    published.publish(find("sokoban"), run, results)
    after = anchors.read(results)
    assert after[: len(before)] == before
    assert [mapping["what"] for mapping in after[len(before) :]] == [register.COPY, "sokoban"]
    assert anchors.check(results) == []
    assert len(register.read(results / register.COPY)) == 3, "the first run stays"


def test_entries_that_a_merge_brings_are_anchored_by_one_command(results: Path) -> None:
    file = results / register.COPY
    new = json.dumps(register.read(file)[0] | {"study": "elsewhere"})
    edit(file, lambda text: text.replace("[\n", f"[\n {new}\n", 1))
    assert [difference.recomputed[:12] for difference in anchors.check(results)] == ["not anchored"]
    assert report.main(["--anchor", "headlines", "--results", str(results)]) == 2
    assert report.main(["--anchor", "headline", "--results", str(results)]) == 0
    assert anchors.check(results) == []


def test_an_anchored_run_is_never_written_over(results: Path) -> None:
    file = results / register.COPY
    held = register.read(file)
    assert register.add(file, held[0] | {"commit": "another"}) == held, "the same again is not listed twice"
    part = {**held[0], "study": "part", "complete": False}
    register.add(file, part)
    anchors.add(results, [], "while it was played")
    assert register.add(file, part | {"complete": True})[-2:] == [part, part | {"complete": True}]


def test_missing_unknown_and_damaged_files_are_named(results: Path) -> None:
    (results / "sokoban" / episodes.FILE).unlink()
    (results / "headline" / "report.md").unlink()
    (results / "better.json").write_text("{}")
    mapping = {difference.file: difference for difference in published.check(results)}
    assert set(mapping) == {"sokoban/report.md", "headline/report.md", "better.json"}
    assert "play the study" in mapping["sokoban/report.md"].recomputed
    assert mapping["headline/report.md"].published == "no such file"
    file = results / "headline" / episodes.FILE
    file.write_bytes(file.read_bytes()[:-20])
    assert any("no file that --publish wrote" in difference.recomputed for difference in published.check(results))


@pytest.mark.usefixtures("undrawn")
def test_reports_are_written_again_without_playing(results: Path, kept: dict[Path, bytes]) -> None:
    edit(results / "sokoban" / "report.md", lambda text: text[: len(text) // 2])
    (results / "headline" / "report.md").unlink()
    assert report.main(["--rewrite", "--results", str(results)]) == 0
    for path, content in kept.items():
        assert (results / path).read_bytes() == content, path


def test_an_episode_reads_as_it_was_written(tmp_path: Path) -> None:
    result = played("sokoban", tmp_path / "run")
    [first, *_] = next(iter(result.records.values()))
    first["result"]["measures"]["f1"] = 0.25  # type: ignore[index]
    result.note(first, "moves", lambda: [["push", 3, None]])
    drawn = [{"rate": 0.5, "won": True, "path": ["a", "b"]}, {"rate": 1.0, "won": False, "path": []}]
    result.rows("few", lambda: drawn)
    result.rows("many", lambda: drawn * episodes.FEW)
    episodes.write(tmp_path / "out" / episodes.FILE, result, {"word": "said"})
    again, about = episodes.read(tmp_path / "out" / episodes.FILE)
    assert about == {"word": "said"}
    assert [*again.specs] == [*result.specs]
    [mine, *_] = next(iter(again.records.values()))
    assert {name: mine[name] for name in ("cell", "digest", "repeat", "agent", "model")}.items() <= first.items()
    for name in ("success", "end_state", "steps", "measures", "budget", "replans"):
        assert mine["result"][name] == first["result"][name]
    assert again.note(mine, "moves", lambda: pytest.fail("it is there")) == [["push", 3, None]]
    assert again.rows("few", lambda: pytest.fail("they are there")) == drawn
    assert again.rows("many", lambda: pytest.fail("they are there")) == drawn * episodes.FEW
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [episodes.FILE, "many.parquet"]
    with pytest.raises(RunDirectoryError, match="lacks the note 'other'"):
        again.note(mine, "other", lambda: 1)
    with pytest.raises(RunDirectoryError, match="lacks the rows 'more'"):
        again.rows("more", list)


def test_differences_are_named_by_place() -> None:
    a = "# T\n\n## One\n\n| method | n |\n|---|---|\n| x | 1 |\n| y | 2 |\n\nAll 3 won.\n"
    b = a.replace("| y | 2 |", "| y | 3 |").replace("All 3", "All 4")
    assert differences("r.md", a, b) == [
        Difference("r.md", "One", "y", "n", "2", "3"),
        Difference("r.md", "One", "", "", "All 3 won.", "All 4 won."),
    ]


LATER = ("reproduce", "cgdp_*", "sdp-*", "aec[-_]*", "general_lm_*", "travelplanner*")
"""Studies that are like others."""


@pytest.mark.slow
@pytest.mark.parametrize("later", [LATER, pytest.param((), marks=pytest.mark.soak)])
def test_the_committed_results_follow_from_the_committed_episodes(later: tuple[str, ...], tmp_path: Path) -> None:
    copytree(RESULTS, tmp_path, ignore=ignore_patterns(*later), dirs_exist_ok=True)
    assert [str(difference) for difference in published.check(tmp_path)] == []


@pytest.mark.slow
def test_the_committed_results_are_as_they_were_anchored() -> None:
    assert [str(difference) for difference in anchors.check(RESULTS)] == []
    assert all(entry["how"] and entry["commit"] for entry in anchors.read(RESULTS))
