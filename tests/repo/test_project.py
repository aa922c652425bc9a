"""What pyproject.toml declares."""

import re
import tomllib
from importlib.metadata import EntryPoint
from typing import Any

import pytest
import yaml

from tests.places import ROOT

GROUPS = {
    "tape.solvers": "solvers", "tape.agents": "tape", "tape.environments": "envs", "tape.methods": "tape",
    "tape.proposers": "tape", "tape.models": "tape", "tape.views": "tape",
}  # fmt: skip
STAND_INS = {"planner": "envs", "simulated": "envs", "declared": "envs"}
"""Models that play one environment only, and come with it."""
APART = ("smollm2", "litellm")
"""Extras that ``all`` leaves out: one builds llama.cpp, for many minutes; LiteLLM's proxy needs its own environment."""
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("group", sorted(PROJECT["entry-points"]))
def test_entry_points_parse(group: str) -> None:
    for name, value in PROJECT["entry-points"][group].items():
        point = EntryPoint(name, value, group)
        assert re.fullmatch(r"[a-z0-9_:-]+", name)
        assert point.module.partition(".")[0] == STAND_INS.get(name, GROUPS[group])
        named = point.attr is None if group == "tape.views" else point.attr.isidentifier()  # views are modules
        assert (named, point.extras) == (True, [])


def test_all_takes_every_extra_of_the_project() -> None:
    extras = PROJECT["optional-dependencies"]
    names = ",".join(name for name in extras if name not in ("all", "dev", "docs", *APART))
    assert extras["all"] == [f"{PROJECT['name']}[{names}]"]


def test_make_installs_every_extra() -> None:
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    lists = [re.search(rf"^{name} = (.*)$", makefile, re.MULTILINE) for name in ("BASE", "EXTRAS")]
    named = {extra for group in lists if group for extra in re.split(r"[,\s]+", group[1].strip())}
    assert named == {*PROJECT["optional-dependencies"]} - {"all", "dev", *APART}


def test_the_citation_names_the_software_and_the_paper() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert cited["authors"] == [{"name": "The TAPE authors"}]
    assert (cited["version"], cited["license"]) == (PROJECT["version"], PROJECT["license"])
    assert [reference["url"] for reference in cited["references"]] == ["https://arxiv.org/abs/2602.19633"]
