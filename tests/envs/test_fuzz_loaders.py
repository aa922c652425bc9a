"""Whatever a data file holds, a loader reads it or names the problem."""

from pathlib import Path

import pytest

from tape.errors import TapeError
from tests.envs.loaders import LOADERS
from tests.tape.conftest import Keep
from tests.tape.loader_sweeps import ALL, NO_FILES, SEED, sweep, tried, tries

pytestmark = pytest.mark.filterwarnings("ignore")  # about what was passed over


@pytest.mark.parametrize("name", LOADERS)
def test_a_spoiled_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    count = tries(LOADERS, name, ALL // 100)
    ends, _ = tried(LOADERS[name], tmp_path, count, f"{SEED} {name}")
    assert count == ends.total() > ends["read"] > 0 or name == "alfworld split", ends


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("what", NO_FILES)
def test_what_is_no_file_is_refused(name: str, what: str, tmp_path: Path) -> None:
    place, files = LOADERS[name].made(tmp_path)
    files[-1].unlink()
    NO_FILES[what](files[-1])
    if what == "empty" and name in ("travelplanner tables", "toml templates"):
        return  # a table of states or templates may be empty
    with pytest.raises(TapeError):
        LOADERS[name].read(place)


@pytest.mark.soak
def test_20_000_spoiled_files(tmp_path: Path, keep_figures: Keep) -> None:
    keep_figures("env_loaders", sweep(LOADERS, tmp_path))
