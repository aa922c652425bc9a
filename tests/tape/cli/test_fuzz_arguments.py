"""Command lines at random: an exit code, one line of error, no traceback, nothing left behind, at once."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.tape.cli.commands import places
from tests.tape.commandline import Tape
from tests.tape.conftest import Keep
from tests.tape.fuzz import ends_within

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
    "nonsense", "../../x", "/dev/null", "/dev/zero", "~", "--", "-", "-h", "--version", "a" * 3000, "[red]x",
)  # fmt: skip
SWITCHES = {
    "run": "--budget --run-budget --repeats --limit --seed --batch --workers --num-plans --temperature --horizon "
    "--max-replans --ablation --planning-reserve --slack --agent --model "
    "--solver --prices --verify --hypotheses --margin --uncertainty --query-budget --ensemble --calibration "
    "--attempts --step-cap --levels --nothing",
    "solve": "--budget --start --goal --objective --horizon --discount --solver --time-limit --risk --json "
    "--no-explain --risk-assumption --format --weights --nothing",
    "plan": "--budget --frontier --epsilon --page --start --goal --horizon --nothing",
    "show": "--list --delay --no-pictures --nothing",
    "why": "--list --round --json --nothing",
    "view": "-o --explain --nothing",
    "models": "--ask --nothing",
    "prices": "--find --prompt --completion --prices --nothing",
    "solvers": "--nothing",
    "nonsense": "--x",
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
    elif command == "plan":
        words += [there["graph"], "--budget", "usd=$0.008,steps=6", "--frontier", "usd,value"]
    elif command in ("show", "why", "view"):
        words.append(there["run"])
    for _ in range(rng.randint(0, 3)):
        switch = rng.choice(SWITCHES[command].split())
        value = rng.choice((*NUMBERS, *WORDS, *(there[name] for name in there)))
        if "budget" in switch or "reserve" in switch:
            value = rng.choice(BUDGETS)
        if switch in ("-o", "--out", "--draw", "--page"):
            value = str(out / "new" / "x.html")
        words += rng.choice(([switch, value], [f"{switch}={value}"], [switch], [value]))
    return [word for word in words if command != "show" or word != "3600"]


def check(argv: list[str], tape: Tape) -> int:
    """Run a command line; its exit code. What it says of an error is one line, below the usage if there is that."""
    code, _, error = tape(*argv)
    assert "Traceback" not in error, argv
    assert "\x1b" not in error, argv
    assert code in (0, 1, 2, 3), argv
    last = error.rstrip("\n").splitlines()[-1] if code == 2 and error.strip() else ""
    assert not last or last.startswith(("tape", "usage:", "  ")) or "error: " in last, (argv, error)
    return code


def tried(count: int, folder: Path, rng: random.Random, tape: Tape) -> Counter[int]:
    """So many command lines; how often each exit code came."""
    there, codes = places(folder), Counter[int]()
    for number in range(count):
        argv = vector(rng, there, folder / f"out{number}")
        with ends_within(20):
            codes[check(argv, tape)] += 1
    return codes


@pytest.mark.parametrize(("count", "seed"), [(40, SEED), pytest.param(ALL, SEED + 1, marks=pytest.mark.soak)])
def test_odd_command_lines_end_in_a_line(count: int, seed: int, tmp_path: Path, tape: Tape, keep_figures: Keep) -> None:
    codes = tried(count, tmp_path, random.Random(seed), tape)
    assert codes[2] > 0
    ends = {str(code): number for code, number in sorted(codes.items())}
    keep_figures("fuzz-arguments", {"command_lines": count, "exit_codes": ends})
