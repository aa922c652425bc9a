"""Command lines that nobody meant: an exit code, one line of error, no traceback, nothing left behind, at once."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from envs.sokoban.xsb import write
from tape.cli import main
from tests.tape.fuzz import ends_within
from tests.tape.helpers import CORRIDOR
from tests.tape.show.view_runs import episode, graph, write_run

SEED = 23
ALL = 500

NUMBERS = (
    "0", "1", "-1", "-0", "1e3", "1e308", "1e999", "-1e999", "nan", "inf", "-inf", "1_000", "٣", "²", "0x10", "1.5",
    "9" * 25, "9" * 5000, "99999999999", "", " ", "1 2", "\x1b[31m", "\u202e", "None", "true", "1,000", "10k",
)  # fmt: skip
BUDGETS = (
    "tokens=1e999999", "tokens=1e99", "usd=9e30", "usd=$-1", "steps=1e-99", "tokens=" + "9" * 3000, "=", "a=1", ",,,",
    "tokens=3,tokens=4", "usd=5 cents", "wall_seconds=1e12", "usd=$0.001", "steps=6,usd=$0.008", "gold=3", "usd=nan",
)  # fmt: skip
WORDS = (
    "nonsense",
    "../../x",
    "/dev/null",
    "/dev/zero",
    "~",
    "--",
    "-",
    "-h",
    "--version",
    "a" * 3000,
    "[red]x",
)
SWITCHES = {
    "run": "--budget --run-budget --repeats --limit --seed --batch --workers --num-plans --temperature --horizon "
    "--discount --max-replans --resample --extend --requery-threshold --planning-reserve --slack --agent --model "
    "--solver --prices --verify --hypotheses --margin --uncertainty --query-budget --ensemble --calibration "
    "--score --selector --attempts --step-cap --levels --nothing",
    "solve": "--budget --start --goal --objective --horizon --discount --solver --time-limit --risk --json "
    "--no-explain --risk-assumption --format --weights --nothing",
    "show": "--list --delay --no-pictures --nothing",
    "why": "--list --round --json --nothing",
    "view": "-o --explain --nothing",
    "diagnose": "-o --only --nothing",
    "models": "--nothing",
    "solvers": "--nothing",
    "nonsense": "--x",
}


def places(folder: Path) -> dict[str, str]:
    """A run, a graph, levels and a script."""
    run = write_run(folder / "run", [episode(), episode(success=False)])
    graph().save(folder / "graph.json", start="start")
    write(folder / "levels.xsb", [CORRIDOR])
    (folder / "script.json").write_text(json.dumps(['{"thought": "right", "actions": ["right", "right"]}']))
    return {
        "run": str(run),
        "graph": str(folder / "graph.json"),
        "levels": str(folder / "levels.xsb"),
        "script": f"scripted:{folder / 'script.json'}",
    }


def vector(rng: random.Random, there: dict[str, str], out: Path) -> list[str]:
    """A command line: a plausible one with switches and values that mostly are not."""
    command = rng.choice([*SWITCHES, "run", "run", "solve", "solve"])
    words = [command]
    if command == "run":
        words += ["sokoban", "--levels", there["levels"], "--agent", "open_loop", "--model", there["script"], "--quiet"]
        words += ["--out", str(out)]
    elif command == "solve":
        words += [there["graph"], "--budget", "usd=$0.008,steps=6"]
    elif command in ("show", "why", "view", "diagnose"):
        words.append(there["run"])
    for _ in range(rng.randint(0, 3)):
        switch = rng.choice(SWITCHES[command].split())
        value = rng.choice((*NUMBERS, *WORDS, *(there[name] for name in there)))
        if "budget" in switch or "reserve" in switch:
            value = rng.choice(BUDGETS)
        if switch in ("-o", "--out", "--draw"):
            value = str(out / "new" / "x.html")
        words += rng.choice(([switch, value], [f"{switch}={value}"], [switch], [value]))
    return [word for word in words if command != "show" or word != "3600"]


def spoken(argv: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """Run a command line; its exit code. What it says of an error is one line, below the usage if there is that."""
    capsys.readouterr()
    try:
        code = main(argv)
    except SystemExit as ended:
        code = int(ended.code or 0)
    error = capsys.readouterr().err
    assert "Traceback" not in error, argv
    assert code in (0, 1, 2, 3), argv
    if code == 2:
        last = error.rstrip("\n").splitlines()[-1] if error.strip() else ""
        assert not error or last.startswith(("tape", "usage:")) or "error: " in last or last.startswith("  "), (
            argv,
            error,
        )
    assert "\x1b" not in error, argv
    return code


def tried(count: int, folder: Path, rng: random.Random, capsys: pytest.CaptureFixture[str]) -> Counter[int]:
    """So many command lines; how often each exit code came."""
    there, codes = places(folder), Counter[int]()
    for number in range(count):
        argv = vector(rng, there, folder / f"out{number}")
        with ends_within(20):
            codes[spoken(argv, capsys)] += 1
    return codes


def test_odd_command_lines_end_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tried(ALL // 10, tmp_path, random.Random(SEED), capsys)[2] > 0


@pytest.mark.soak
def test_500_odd_command_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    codes = tried(ALL, tmp_path, random.Random(SEED + 1), capsys)
    assert set(codes) <= {0, 1, 2, 3}
    record_property("command_lines", ALL)
    record_property("exit_codes", json.dumps({str(code): n for code, n in sorted(codes.items())}))
    if folder := os.environ.get("TAPE_SOAK_RESULTS"):
        record = {"command_lines": ALL, "exit_codes": {str(code): n for code, n in sorted(codes.items())}}
        (Path(folder) / "fuzz-arguments.json").write_text(json.dumps(record, indent=1) + "\n")


RUN = ["run", "sokoban", "--levels", "LEVELS", "--agent", "open_loop", "--model", "SCRIPT", "--quiet", "--out", "OUT"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--budget", "tokens=1e999999"], "tokens: '1e999999' is in 'e999999', not in tokens"),
        (["--budget", "tokens=1e99"], "'1e99' is too much"),
        (["--budget", "tokens=99999999999999999999999"], "the most is 9,223,372,036,854,775,807 tokens"),
        (["--budget", "usd=9e30"], "the most is $9,223,372,036,854.775807"),
        (["--run-budget", "tokens=1e29"], "the most is 9,223,372,036,854,775,807 tokens"),
        (["--repeats", "99999999999"], "'99999999999' is not a whole number from 1 to 100000"),
        (["--limit", "²"], "'²' is not a whole number from 1 to 1000000000"),
        (["--seed", "9" * 5000], "is not a whole number from -9223372036854775807 to 9223372036854775807"),
        (["--batch", "0"], "'0' is not a whole number from 1 to 100000"),
        (["--workers", "1000000000"], "--workers must be a whole number from 1 to 1024"),
        (
            ["--horizon", "99999999999"],
            "setting horizon = 99999999999: Input should be less than or equal to 1000000000",
        ),
        (["--max-replans", "9" * 30], "is not a whole number from"),
        (["--temperature", "1e308"], "setting temperature = 1e+308: Input should be less than or equal to 1000"),
        (["--temperature", "nan"], "setting temperature = nan"),
        (["--planning-reserve", "tokens=1e25"], "the most is 9,223,372,036,854,775,807 tokens"),
    ],
)
def test_numbers_are_bounded_where_they_enter(
    tmp_path: Path, more: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    there = places(tmp_path) | {"out": str(tmp_path / "out")}
    argv = [there.get(word.lower(), word) if word.isupper() else word for word in RUN]
    try:
        code = main([*argv, *more])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()[-1]) < 400
    assert not (tmp_path / "out").exists(), "nothing was begun"
    assert main(argv) == 0, "the command without it goes on"


@pytest.mark.parametrize(
    ("switch", "value", "says"),
    [
        ("--horizon", "0", "'0' is not a whole number from 1 to 1000000000"),
        ("--horizon", "9" * 25, "is not a whole number from 1 to 1000000000"),
        ("--time-limit", "1e308", "'1e308' is not a number above 0 and at most 1e+09"),
        ("--time-limit", "nan", "'nan' is not a number above 0"),
        ("--discount", "nan", "'nan' is not a number above 0 and at most 1"),
        ("--risk", "nan", "'nan' is not a number above 0 and at most 1"),
    ],
)
def test_numbers_of_solve_are_bounded(
    tmp_path: Path, switch: str, value: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    there = places(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["solve", there["graph"], switch, value])
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
