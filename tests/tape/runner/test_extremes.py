"""Whatever can be committed can be summarised: `write_derived` on extreme values, and again when the run goes on."""

import csv
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.engine.result import EpisodeResult
from tape.errors import RunDirectoryError
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory
from tape.trace import FinishedEvent
from tests.profiles import examples
from tests.tape.show.view_runs import write_run

WHOLE = st.sampled_from([0, 1, -0, 2**53 + 1, 2**63, 2**64, 10**18, 10**300, 10**400]) | st.integers(0, 10**9)
REAL = st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1e308, 1.7976931348623157e308]) | st.floats(0, 1e9)
MEASURE = REAL | st.sampled_from([math.inf, -math.inf, math.nan, -1e308])
TEXT = st.text(max_size=8) | st.sampled_from(
    ["", "=1+1", "@x", "\x1b[31m", "\ud800", "\u202e", "a\r\nb", "\x00", "é|<b>", "9" * 6000, "0" * 5000 + "1"]
)
COUNTS = st.dictionaries(st.sampled_from(["tokens", "usd", "gold", "a b", "é"]), WHOLE, max_size=3)
SPENT = st.dictionaries(st.sampled_from(["tokens", "usd", "gold", "a b", "é"]), WHOLE | st.none(), max_size=3)
RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "success": st.booleans(),
        "steps": WHOLE,
        "replans": WHOLE,
        "method": st.dictionaries(st.sampled_from(["queries", "certified"]), WHOLE, max_size=2),
        "malformed": WHOLE,
        "lm_calls": COUNTS,
        "prompt_tokens": COUNTS,
        "completion_tokens": COUNTS,
        "used": SPENT,
        "paid": SPENT,
        "budget": COUNTS,
        "broken_declarations": COUNTS,
        "actions": st.lists(TEXT, max_size=3),
        "detail": TEXT,
        "measures": st.dictionaries(st.sampled_from(["f1", "score"]), MEASURE, max_size=2),
        "solver_seconds": REAL,
        "wall_seconds": REAL,
        "wall_overrun_seconds": REAL,
    },
)


def summarised(folder: Path, found: list[dict[str, Any]], tasks: list[str]) -> list[dict[str, Any]]:
    """Commit these results and derive everything, twice; returns the summary's groups."""
    whole = EpisodeResult(end_state="success", success=True).model_dump()
    run = write_run(folder / "run", [[FinishedEvent(result=whole | one)] for one in found], tasks=tasks)
    groups = write_derived(RunDirectory(run))
    assert write_derived(RunDirectory(run)) == groups
    record = json.loads((run / "summary.json").read_text(), parse_constant=_refused)
    assert record["groups"] == groups
    rows = list(csv.DictReader((run / "results.csv").read_text(encoding="utf-8").splitlines(keepends=True)))
    assert len(rows) == len(found)
    assert not any(row["used_tokens"] in ("inf", "nan") for row in rows if "used_tokens" in row)
    assert (run / "summary.md").read_bytes().decode("utf-8")
    return groups


def _refused(name: str) -> float:
    raise AssertionError(f"{name} in summary.json")


@examples(80)
@given(st.lists(st.tuples(RESULTS, TEXT), max_size=4))
def test_everything_that_is_committed_is_summarised(found: list[tuple[dict[str, Any], str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tasks = [f"{number} {title}" for number, (_, title) in enumerate(found)]
        summarised(Path(folder), [result for result, _ in found], tasks)


def test_the_results_are_a_table_whatever_the_counts(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    used: list[dict[str, Any]] = [{"tokens": None}, {"tokens": 2**64}, {}, {"tokens": 3}]
    summarised(tmp_path, [{"used": one} for one in used], ["a", "b", "c", "d"])
    column = parquet.read_table(tmp_path / "run" / "results.parquet")["used_tokens"].to_pylist()
    assert column == [None, float(2**64), None, 3.0]


def test_sums_beyond_what_a_float_holds_are_left_out(tmp_path: Path) -> None:
    [group] = summarised(tmp_path, [{"solver_seconds": 1e308, "measures": {"f1": 1e308}}] * 3, ["a", "b", "c"])
    assert group["solver_seconds"] is None
    assert group["measures"] == {"f1": pytest.approx(1e308)}
    assert "| - | 0 |" in (tmp_path / "run" / "summary.md").read_text()


def test_what_cannot_be_summarised_is_not_committed(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"field result\.solver_seconds: input should be a valid number"):
        summarised(tmp_path, [{"solver_seconds": math.inf}], ["a"])
