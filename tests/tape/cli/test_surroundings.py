"""Commands in odd places, under odd users, with odd streams: a status, and no traceback."""

import io
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tape.budget import open_store
from tape.cli.main import main
from tape.cli.resume import _asked
from tape.errors import ConfigError, UnfinishedCallError
from tape.files import cache_folder
from tests.places import ROOT
from tests.tape.cli.commands import places
from tests.tape.cli.surroundings import AS_NOBODY, PLAN, Places, commands, helps, opened
from tests.tape.commandline import Tape

SEED = 52
SOME = 5


@pytest.fixture(scope="module")
def around() -> Iterator[Places]:
    with opened() as result:
        yield result


def can_be_nobody() -> bool:
    try:
        return subprocess.run([*AS_NOBODY, sys.executable, "-c", ""], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def possible(around: Places) -> list[str]:
    """The names of the surroundings that there can be on this machine."""
    nobody = can_be_nobody()
    return [name for name, surroundings in around.surroundings.items() if nobody or not surroundings.user]


@pytest.mark.slow
@pytest.mark.parametrize("everywhere", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_some_commands_in_odd_surroundings(around: Places, everywhere: bool) -> None:
    quick = [name for name in commands("") if name.startswith(("ledger", "solve", "plan", "s"))]
    rng, names, faults = random.Random(SEED), possible(around), list[str]()
    for name in names if everywhere else rng.sample(names, SOME):
        asked = rng.sample([*commands("")], 5) if everywhere else [rng.choice([*quick, *helps()])]
        faults += around.faults(name, asked)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", ["stdout full", "nobody reads"])
def test_output_that_cannot_be_written_is_reported_once(around: Places, name: str) -> None:
    faults = [
        fault for text in ("version", "help", "solvers", "prices of one") for fault in around.faults(name, [text])
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_what_an_encoding_cannot_write_is_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    file, page = tmp_path / "plan.toml", tmp_path / "page.html"
    file.write_text(PLAN, encoding="utf-8")
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["plan", str(file), "--frontier", "usd,value", "--page", str(page)]) == 0
    assert stream.errors == "strict", "the stream is as it was"
    stream.flush()
    assert "größer\n\\u2192 weiter\n" in written.getvalue().decode(encoding).replace("\\xf6", "ö").replace("\\xdf", "ß")
    assert "→ weiter" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_experiment_ends_as_commands_do(around: Places) -> None:
    study = [sys.executable, "-m", "experiments.studies.tape.sokoban", "--dry-run"]
    for streams, status in ((">/dev/full", 2), ("| exec sleep 0", 141)):
        command = ["/bin/bash", "-c", f'set -o pipefail; "$0" "$@" {streams}', *study]
        done = subprocess.run(
            command, env=os.environ | {"PYTHONUNBUFFERED": ""}, cwd=ROOT, capture_output=True, check=False
        )
        assert done.returncode in (status, 0 if "sleep" in streams else status)
        assert done.stderr.count(b"\n") == (status == 2)


@pytest.mark.parametrize("error", [KeyError("uid not found"), OSError("no name")])
def test_who_has_no_name_is_noted_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tape: Tape, error: Exception
) -> None:
    def nameless() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", nameless)
    ledger = ["ledger", "--url", f"file://{tmp_path / 'org.ledger'}"]
    for words in (["cap", "org", "$10"], ["rule", "org", "--warn", "50, 80"], ["stop", "org"], ["resume", "org"]):
        assert tape(*ledger, *words).code == 0
    assert tape(*ledger, "reset", "org", "usd", "--who", "anna").code == 0
    notes = tape(*ledger, "notes").out.splitlines()
    assert [line.split(" ", 2)[2].partition(":")[0] for line in notes] == ["anna", *[str(os.getuid())] * 4]


def test_levels_of_warning_are_bounded_where_they_are_read(tmp_path: Path, tape: Tape) -> None:
    ledger = ["ledger", "--url", f"file://{tmp_path / 'org.ledger'}", "rule", "org"]
    for words in (["--warn", "9" * 5000], ["--warn", "101"], ["--seconds", "9" * 4000], ["--same", "9" * 5000]):
        code, _, said = tape(*ledger, *words)
        assert code == 2
        assert f"argument {words[0]}: " in said
        assert "is not a whole number from" in said


def test_a_cache_needs_a_home_or_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless(_: int) -> None:
        raise KeyError("uid not found")

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nameless)
    with pytest.raises(ConfigError, match="no home folder to keep a cache in; let XDG_CACHE_HOME name a folder"):
        cache_folder("probe")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("probe") == tmp_path / "tape-planner" / "probe"


def test_ctrl_d_leaves_a_call_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    with pytest.raises(UnfinishedCallError, match="may be done"):
        _asked(UnfinishedCallError("it may be done", "send"))


@pytest.mark.parametrize("name", ["a#b", "a?b", "a\nb", "a%20b", "größer", "a\udcffb"])
def test_an_address_leads_to_the_file_that_it_names(tmp_path: Path, name: str) -> None:
    open_store(f"file://{tmp_path}/{name}").close()
    assert os.listdir(tmp_path) == [name.replace("%20", " ")]


def test_a_run_that_cannot_be_recorded_leaves_nothing_behind(tmp_path: Path, tape: Tape) -> None:
    there, odd = places(tmp_path), tmp_path / "a\udcffb.xsb"
    Path(there["levels"]).rename(odd)
    play = ["run", "sokoban", "--levels", odd, "--agent", "open_loop", "--model", there["script"]]
    code, _, said = tape(*play, "--out", tmp_path / "out")
    assert code == 2
    assert "is no UTF-8 text; rename it" in said
    assert not (tmp_path / "out" / "config.json").exists()
