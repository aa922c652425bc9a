"""``tape view``: the page as a file, its errors on wrong input, and pages of runs of every sort of agent."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from tape.show.view.page import SCRIPTS
from tape.show.view.shell import TEMPLATES
from tests.tape.commandline import Tape
from tests.tape.show.view_runs import blocks_of, episode, index_of, write_run, write_trace


def viewed(tape: Tape, *paths: Path) -> str:
    """The page that is written beside the first of some runs."""
    assert tape("view", *paths).code == 0
    return (paths[0] / "view.html").read_text()


def test_a_page_is_written_where_it_is_wanted(tmp_path: Path, tape: Tape) -> None:
    run, out = write_run(tmp_path / "run", [episode(), episode(success=False)]), tmp_path / "a page.html"
    assert tape("view", run).out.startswith(f"written: {run / 'view.html'} (2 episodes, 0.")
    assert tape("view", run, "-o", out).code == 0
    page = out.read_text()
    assert page == (run / "view.html").read_text()
    assert [row["end"] for row in index_of(page)["episodes"]] == ["success", "failure"]
    assert [len(block["moments"]) for block in blocks_of(page)] == [8, 8]


def test_the_page_loads_nothing_and_runs_only_its_own_script(tmp_path: Path, tape: Tape) -> None:
    page = viewed(tape, write_run(tmp_path / "run", [episode()]))
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for rule, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    addresses = {a for a in re.findall(r"https?://[^\s\"'<>)]+", page) if a != "http://www.w3.org/2000/svg"}
    assert not addresses
    for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert name not in script


def test_the_scripts_share_one_scope_without_clashes() -> None:
    names = re.findall(
        r"^(?:async )?(?:function|const|let|class) (\w+)",
        "\n".join((TEMPLATES / "js" / f"{name}.js").read_text() for name in SCRIPTS),
        re.MULTILINE,
    )
    assert len(names) == len(set(names))
    assert {path.stem for path in (TEMPLATES / "js").iterdir()} == set(SCRIPTS)


def test_configurations_that_share_an_episode_share_its_block(tmp_path: Path, tape: Tape) -> None:
    run = write_run(tmp_path / "run", [episode()])
    config = json.loads((run / "config.json").read_text())
    config["cells"]["again"] = config["cells"]["tape"]
    (run / "config.json").write_text(json.dumps(config))
    [line] = (run / "episodes.jsonl").read_text().splitlines()
    with (run / "episodes.jsonl").open("a") as file:
        file.write(json.dumps({**json.loads(line), "cell": "again"}) + "\n")
    page = viewed(tape, run)
    assert [row["block"] for row in index_of(page)["episodes"]] == [0, 0]
    assert len(blocks_of(page)) == 1


def test_single_traces_make_a_page_too(tmp_path: Path, tape: Tape) -> None:
    traces = [write_trace(tmp_path / f"budget {n}.jsonl", episode(success=n > 1)) for n in (1, 2, 3)]
    half = write_trace(tmp_path / "half.jsonl", episode()[:13])
    out = tmp_path / "budget 1.html"
    assert str(out) in tape("view", *traces, half).out
    index = index_of(out.read_text())
    assert [(row["task"], row["end"]) for row in index["episodes"]] == [
        ("budget 1", "failure"), ("budget 2", "success"), ("budget 3", "success"), ("half", "unfinished")
    ]  # fmt: skip
    assert index["episodes"][3]["used"] == [["usd", "$0.001"]]
    [row] = index["sources"][0]["rows"]
    assert (row["n"], row["successes"]) == (3, 2)  # what has not ended has not failed


def test_a_run_without_traces_says_so(tmp_path: Path, tape: Tape) -> None:
    run = write_run(tmp_path / "run", [episode()])
    (run / "traces" / "tape0000.jsonl").unlink()
    page = viewed(tape, run)
    assert index_of(page)["sources"][0]["notes"][0].startswith("This run directory holds no traces")
    assert not blocks_of(page)


def test_wrong_input_is_named_and_nothing_is_written(tmp_path: Path, tape: Tape) -> None:
    run, other, third = (write_run(tmp_path / name, [episode()], agent=name) for name in ("tape", "react", "sdp"))
    old = write_run(tmp_path / "old", [episode()], agent="open_loop")
    config = json.loads((old / "config.json").read_text())
    (old / "config.json").write_text(json.dumps({**config, "schema": 1}))
    (tmp_path / "empty").mkdir()
    trace = next((run / "traces").iterdir())
    before = sorted(tmp_path.rglob("*"))
    for arguments, said in (
        ([tmp_path / "empty"], "holds no readable run"),
        ([old], "has schema 1, not 2; use the version that made it"),
        ([run, run], "the same path is named twice"),
        ([run, trace], "not both"),
        ([run, other, third], "3 runs are too many"),
        ([run, "-o", tmp_path / "page.txt"], "a page ends in .html"),
        ([run, "-o", trace], "a page ends in .html"),
        ([run, "-o", tmp_path / "nowhere" / "page.html"], "does not exist; make it first"),
    ):
        code, _, error = tape("view", *arguments)
        assert (code, said in error, error.count("\n")) == (2, True, 1), (arguments, error)
    assert sorted(tmp_path.rglob("*")) == before


def test_long_pages_ask_less_unless_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tape: Tape) -> None:
    monkeypatch.setattr("tape.cli.view.EXPLAINED", 1)
    run = write_run(tmp_path / "run", [episode(), episode()])
    for options, relaxed in (([], False), (["--explain"], True)):
        assert tape("view", run, *options).code == 0
        for block in blocks_of((run / "view.html").read_text()):
            first = block["rounds"][0]
            assert first["relaxed"] is relaxed
            assert any("more" in budget for budget in first["budgets"]) is relaxed


RUNS = (
    "sokoban --model bundled:nano --levels hard --temperature 1 --agent tape",
    "sokoban --model bundled:nano --agent react", "sokoban --model bundled:nano --agent sdp",
    "sokoban --model bundled:nano --agent open_loop", "alfworld --verify aec", "travelplanner --tightness tight",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("command", RUNS)
def test_every_step_of_every_episode_is_there(command: str, tmp_path: Path, tape: Tape) -> None:
    run = tmp_path / "run"
    assert tape("run", *command.split(), "--limit", "2", "--quiet", "--out", run).code == 0
    page = viewed(tape, run)
    rows, blocks = index_of(page)["episodes"], blocks_of(page)
    assert len(rows) == len(blocks) == 2
    for row, block in zip(rows, blocks, strict=True):
        moments = block["moments"]
        assert row["end"] == block["end_state"]
        assert [moment["step"] for moment in moments if moment["sort"] == "step"] == list(range(1, row["steps"] + 1))
        assert all("key" in moment for moment in moments if moment["sort"] in ("start", "step"))
        assert block["task"]
        asked = sorted(number for moment in moments for number in moment.get("calls", ()))
        assert asked == list(range(len(block["calls"])))
        for item in block["rounds"]:
            if item["kind"] == "plan" and item.get("path"):
                graph = block["graphs"][item["graph"]]
                assert [graph["edges"][edge]["action"] for edge in item["path"]["edges"]] == item["path"]["actions"]
                assert len(item["left"]) == len(item["path"]["actions"]) + 1
    planned = [entry for block in blocks for entry in block["rounds"]]
    assert bool(planned) == ("--agent react" not in command)
