"""The suites of AgentDojo, from an unpacked wheel of ``agentdojo``.

Nothing of the package is installed or imported here: its imports pull the clients of several providers. What its
suites import besides is the extra ``agentdojo``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from envs.apart.pinned import PinnedWheel
from tape.errors import MissingExtraError

PACKAGE, VERSION = "agentdojo", "0.1.35"
SUITES = ("banking", "slack", "travel", "workspace")
BENCHMARK = "v1.2.2"
"""The version of the tasks."""

_DATA = "data/suites/"
_HASHES: Mapping[str, str] = json.loads(resources.files(__package__).joinpath("pinned.json").read_text("utf-8"))
"""SHA-256 of each file that is read."""

_NEEDED = ("deepdiff", "docstring_parser", "email_validator", "yaml")


def require_extra() -> None:
    """Refuse to begin without what the suites import.

    Raises:
        MissingExtraError: It is not installed.
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise MissingExtraError(f"AgentDojo's suites need {', '.join(missing)}: pip install 'tape-planner[agentdojo]'")


class DojoSource(PinnedWheel):
    """An unpacked wheel.

    Args:
        folder: The folder that has the package's folder ``agentdojo``, or that folder itself.

    Raises:
        DataError: It is not there.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, PACKAGE, f"agentdojo=={VERSION}", _HASHES)

    def modules(self) -> dict[str, str]:
        """The Python of the suites by the paths of its files."""
        return {name: self.text(name) for name in _HASHES if name.endswith(".py")}

    def data(self) -> dict[str, str]:
        """What the suites begin with, by the paths of its files."""
        return {name.removeprefix(_DATA): self.text(name) for name in _HASHES if name.startswith(_DATA)}


@lru_cache(maxsize=4)
def source(folder: Path) -> DojoSource:
    """The wheel in a folder, checked once."""
    return DojoSource(folder)
