"""A hostile run directory: nothing in it leads out of it, breaks a command or steers a terminal."""

import csv
import io
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.cli.main import main
from tape.engine.settings import TapeConfig
from tape.errors import RunDirectoryError
from tape.runner.configurations import checked
from tape.runner.derived import csv_text, write_derived
from tape.runner.directory import RunDirectory
from tape.runner.summary import escaped, harmless
from tape.runner.workers import InProcess
from tests.profiles import examples
from tests.tape.runner.records import record
from tests.tape.runner.test_workers import configuration, play, scripted

COMMANDS = (["show", "{}", "1", "--no-pictures"], ["show", "{}", "--list"], ["why", "{}", "1"],
            ["view", "{}", "-o", "{}.html"])  # fmt: skip
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r"
CONTROL = {c for c in ESCAPES if not c.isprintable()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    play([configuration(folder, "fine", repeats=1)], folder / "run", InProcess(scripted))
    return folder / "run"


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A run of two episodes, of which the trace of the first also lies outside of it."""
    copy = tmp_path / "outer" / "run"
    for file in made.rglob("*.json*"):
        (copy / file.relative_to(made)).parent.mkdir(parents=True, exist_ok=True)
        (copy / file.relative_to(made)).write_bytes(file.read_bytes())
    first = RunDirectory(made).episodes()[0]["key"]
    trace = (made / "traces" / f"{first}.jsonl").read_bytes()
    for place in (copy.parent / "outside.jsonl", copy / "outside.jsonl"):
        place.write_bytes(trace)
    return copy


def change(run: Path, **changes: Any) -> None:
    """Change the first record."""
    file = run / "episodes.jsonl"
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text(json.dumps(json.loads(first) | changes) + "\n" + "".join(rest))


def refused(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one-line error of commands that all refuse a run."""
    capsys.readouterr()
    for command in COMMANDS:
        assert main([part.format(run) for part in command]) == 2, command
        out, err = capsys.readouterr()
        assert (err.count("\n"), len(err) < 1000, "PLAN" in out) == (1, True, False), err
    assert not Path(f"{run}.html").exists()
    return err


@pytest.mark.parametrize(
    "key",
    ["../outside", "../../outside", "{}/outside", "..", ".", "", "a\0b", "k" * 10_000, "CON.", "A", "a/b", "a\\b", "é",
     "a\n", ESCAPES, 7, None, ["a"], {"a": 1}, "\ud800"],
    ids=repr,
)  # fmt: skip
def test_a_key_that_is_none_leads_nowhere(run: Path, key: Any, capsys: pytest.CaptureFixture[str]) -> None:
    change(run, key=key.replace("{}", str(run.parent)) if isinstance(key, str) else key)
    assert "episodes.jsonl:1: field key: " in refused(run, capsys)


@pytest.mark.parametrize("key", ["../outside", "a" * 65, "", "A", "a\n", "nul\0", "a.b"])
def test_no_trace_is_named_by_what_is_no_key(tmp_path: Path, key: str) -> None:
    directory = RunDirectory(tmp_path)
    with pytest.raises(RunDirectoryError, match="is no key of an episode"):
        directory.trace_file(key)
    with pytest.raises(RunDirectoryError, match="field key"):
        directory.append([record(key)], {key: "trace"})
    with pytest.raises(RunDirectoryError, match="is no key of an episode"):
        directory.append([record("a")], {key: "trace"})
    assert not directory.episodes()


@pytest.mark.parametrize("name", ["trace", "traces", "records", "configuration"])
def test_links_are_not_followed(run: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    key = RunDirectory(run).episodes()[0]["key"]
    place = {
        "trace": run / "traces" / f"{key}.jsonl", "traces": run / "traces",
        "records": run / "episodes.jsonl", "configuration": run / "config.json",
    }[name]  # fmt: skip
    place.rename(run.parent / "moved")
    place.symlink_to(run.parent / "moved")
    for command in (["show", str(run), "1", "--no-pictures"], ["why", str(run), "1"]):
        assert main(command) == 2
        assert "is a symbolic link" in capsys.readouterr().err


def test_a_page_holds_traces_of_its_run_alone(run: Path) -> None:
    traces, page = run / "traces", Path(f"{run}.html")
    (traces / "cut0.jsonl").write_bytes((run / "outside.jsonl").read_bytes())
    (traces / "link.jsonl").symlink_to(run / "outside.jsonl")
    (traces / f"{ESCAPES.replace('/', '')}.jsonl").write_bytes((run / "outside.jsonl").read_bytes())
    os.mkfifo(traces / "pipe.jsonl")
    assert main(["view", str(run), "-o", str(page)]) == 0
    text = page.read_text()
    assert '"key":"cut0"' in text
    assert "3 files in traces/ are left out" in text
    assert '"key":"link"' not in text


def test_pictures_are_not_written_through_a_link(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    (run.parent / "elsewhere").mkdir()
    (run / "plots").symlink_to(run.parent / "elsewhere")
    assert main(["show", str(run), "1"]) == 2
    assert "plots is a symbolic link" in capsys.readouterr().err
    assert not list((run.parent / "elsewhere").iterdir())


@pytest.mark.parametrize("field", ["task", "level_set", "agent", "model", "digest"])
def test_no_command_passes_control_characters_on(run: Path, field: str, capsys: pytest.CaptureFixture[str]) -> None:
    change(run, **{field: f"{ESCAPES} <script>alert(1)</script> [x](javascript:alert(1))"})
    for command in COMMANDS:
        main([part.format(run) for part in command])
        printed = "".join(capsys.readouterr())
        assert not [c for c in printed if c in CONTROL], (command, printed)
    write_derived(RunDirectory(run))
    for name in ("summary.md", "results.csv"):
        assert not [c for c in (run / name).read_bytes().decode() if c in CONTROL]
    page = Path(f"{run}.html").read_text()
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    "changes",
    [
        {"result": []}, {"result": {}}, {"result": {"method": [1]}}, {"result": None}, {"cell": 3}, {"cell": "other"},
        {"repeat": -1}, {"repeat": 10**300}, {"repeat": "0"}, {"task": None}, {"digest": 5},
    ],
    ids=repr,
)  # fmt: skip
def test_a_record_of_another_shape_is_refused_with_its_field(
    run: Path, changes: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    change(run, **changes)
    for command in COMMANDS:
        status = main([part.format(run) for part in command])
        assert status == 2 or changes == {"cell": "other"}, command
        assert "Traceback" not in "".join(capsys.readouterr())
    with pytest.raises(RunDirectoryError):
        write_derived(RunDirectory(run))


# --- what is committed can be read and summarised ---------------------------------------------------------------

numbers = st.integers(-(10**400), 10**400) | st.sampled_from([2**63, 2**64, 10**400, -(2**63) - 1])
floats = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, 1e308, 5e-324])
texts = st.text(st.characters(), max_size=8) | st.sampled_from(
    ["=1+1", "\ud800", "9" * 6000, "| a", "\x1b[2J", "\u2028"]
)
names = st.text(st.characters(), max_size=4)
nested = st.recursive(
    st.none() | st.booleans() | numbers | floats | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
counts = st.dictionaries(names, numbers, max_size=2)
seconds = st.floats(allow_nan=False, allow_infinity=False)
results = st.fixed_dictionaries(
    {
        "steps": numbers, "replans": numbers, "mismatches": numbers, "malformed": numbers, "lm_calls": counts,
        "prompt_tokens": counts, "completion_tokens": counts, "budget": counts, "broken_declarations": counts,
        "used": st.dictionaries(names, numbers | st.none(), max_size=2), "detail": texts, "answer": nested,
        "measures": st.dictionaries(names, floats | st.none(), max_size=2), "actions": st.lists(texts, max_size=2),
        "solver_seconds": seconds, "wall_seconds": seconds, "success": st.booleans(), "end_state": texts,
        "method": st.dictionaries(st.sampled_from(["queries", "certified"]), numbers, max_size=2),
        "paid": st.dictionaries(names, numbers | st.none(), max_size=2), "wall_overrun_seconds": seconds,
        "unproven": counts,
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def extreme(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    folder = tmp_path_factory.mktemp("extreme")
    directory = RunDirectory(folder / "run")
    directory.open(checked([configuration(folder, "tape", config=TapeConfig())]), title="\x1b[2J | <b>")
    return directory


@given(result=results, task=texts, level_set=texts, repeat=st.integers(0, 2**63 - 1))
@examples(80)
def test_whatever_is_committed_can_be_summarised(
    extreme: RunDirectory, result: dict[str, Any], task: str, level_set: str, repeat: int
) -> None:
    extreme.episodes_file.unlink(missing_ok=True)
    other = record("a", result={"steps": 3})
    extreme.append([record("k", result, task=task, level_set=level_set, repeat=repeat), other], {})
    assert len(extreme.episodes()) == 2
    groups = write_derived(extreme)
    assert sum(group["episodes"] for group in groups) == 2
    with (extreme.path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    assert not any(value in ("inf", "nan") for row in rows for name, value in row.items() if name.startswith("used_"))
    assert (extreme.path / "summary.md").read_bytes().decode("utf-8")
    written = json.loads((extreme.path / "summary.json").read_text(), parse_constant=pytest.fail)
    assert written["groups"] == groups == write_derived(extreme)


def test_numbers_beyond_what_a_float_holds_are_kept_left_out_or_refused(extreme: RunDirectory) -> None:
    extreme.episodes_file.unlink(missing_ok=True)
    values: list[dict[str, Any]] = [{"tokens": None}, {"tokens": 2**64}, {}, {"tokens": 3}]
    result = {"solver_seconds": 1e308, "measures": {"f1": 1e308}}
    extreme.append([record(f"k{i}", {"used": mapping} | result) for i, mapping in enumerate(values)], {})
    [group] = write_derived(extreme)
    assert (group["solver_seconds"], group["measures"]) == (None, {"f1": pytest.approx(1e308)})
    assert "| - | 0 |" in (extreme.path / "summary.md").read_text()
    with pytest.raises(RunDirectoryError, match=r"field result\.solver_seconds: input should be a valid number"):
        extreme.append([record("k5", {"solver_seconds": math.inf})], {})
    parquet = pytest.importorskip("pyarrow.parquet")
    column = parquet.read_table(extreme.path / "results.parquet")["used_tokens"].to_pylist()
    assert column == [None, float(2**64), None, 3.0]


# --- spreadsheets and Markdown ------------------------------------------------------------------------------------


def test_no_field_is_a_formula() -> None:
    plain = {"-5": "-5", "+1.5e-3": "+1.5e-3", "push-left": "push-left", "": "", -5: "-5", -0.5: "-0.5", True: "true"}
    formulas = ("=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1")
    for value, written in {**plain, None: "", **{text: f"'{text}" for text in formulas}}.items():
        text = csv_text([{"a": value, "b": "x"}])
        assert list(csv.reader(io.StringIO(text, newline=""))) == [["a", "b"], [written, "x"]]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=20))
def test_a_field_stays_one_field_and_begins_no_formula(text: str) -> None:
    [_, row] = list(csv.reader(io.StringIO(csv_text([{"a": text, "b": 1}]), newline="")))
    assert row[1] == "1"
    assert row[0].removeprefix("'") == text.removeprefix("'")
    assert row[0][:1] not in ("=", "@", "\t")


def test_markdown_of_others_has_neither_html_nor_links() -> None:
    assert escaped("a | b\n<script>") == r"a \| b &lt;script>"
    assert harmless("<img src=x onerror=y> p < 0.05") == "&lt;img src=x onerror=y> p < 0.05"
    for address in ("javascript:alert(1)", " JavaScript:z", "data:text/html,y", "java&#115;cript:y", "j\\:"):
        assert harmless(f"- [x]({address}) [y]: {address}") == rf"- [x\]({address}) [y\]: {address}"
    assert harmless("[z](<vbscript:y>)") == r"[z\](&lt;vbscript:y>)"
    assert (
        harmless("[a](b.md) ![c](plots/c.png) [d](https://e.org)") == "[a](b.md) ![c](plots/c.png) [d](https://e.org)"
    )
