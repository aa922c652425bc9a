"""Pages about operation and files: what they name, and each number beside a name, is what the code has."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from experiments import settings_table
from tape.gateway.metrics import METRICS
from tests.places import ROOT

DOCS = ROOT / "docs"
CONSTANT = re.compile(r"`((?:tape|solvers)(?:\.\w+)+\.[A-Z_]+)`")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "days": 86_400}
LABELS = {"tool", "state", "error", "scope", "resource", "client", "le"}


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def value_of(name: str) -> Any:
    """The value of a constant; what needs a package that is not there is passed over."""
    module, _, constant = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), constant)
    except ImportError as error:
        pytest.skip(f"{name} cannot be read: {error}")


# --- settings -------------------------------------------------------------------------------------


def test_a_setting_without_a_description_is_an_error() -> None:
    @dataclass
    class Declared:
        """Something.

        Attributes:
            a: It has a description.
        """

        a: int = 1
        b: int = 2

    with pytest.raises(ValueError, match="b has no line under Attributes"):
        settings_table.table_of(Declared)


# --- limits ---------------------------------------------------------------------------------------


def limits() -> Iterator[tuple[str, str]]:
    """Each constant on the page of limits, with the words before it."""
    for bullet in re.findall(r"^- .*(?:\n  .*)*", text_of("operating/limits.md"), re.MULTILINE):
        words = " ".join(bullet.split())
        before = 0
        for match in CONSTANT.finditer(words):
            yield match[1], words[before : match.start()]
            before = match.end()


def spelt(value: float) -> set[str]:
    """How a number may stand on a page."""
    texts = {f"{value:,.0f}", *(f"{value / size:g} {unit}" for unit, size in UNITS.items())}
    if str(value).rstrip("0") == "1":
        texts.add(f"10^{len(str(value)) - 1}")
    return texts | ({"2^63 - 1"} if value == 2**63 - 1 else set())


@pytest.mark.parametrize(("name", "words"), [*limits()])
def test_a_limit_is_the_constant_that_is_named(name: str, words: str) -> None:
    texts = spelt(value_of(name))
    assert any(re.search(rf"(?<![\d,.]){re.escape(text)}(?![\d,])", words) for text in texts), f"none of {texts}"


def test_there_are_limits_and_each_bullet_names_one() -> None:
    _, *sections = text_of("operating/limits.md").split("\n## ")
    assert len(list(limits())) > 60
    for section in sections[1:]:
        for bullet in re.findall(r"^- .*(?:\n  .*)*", section, re.MULTILINE):
            assert CONSTANT.search(bullet) or "most_result_bytes" in bullet, bullet


# --- alerts ---------------------------------------------------------------------------------------


def test_every_metric_and_label_of_an_alert_exists() -> None:
    text = text_of("operating/alerts.md")
    named = {re.sub(r"_(bucket|sum|count)$", "", item) for item in re.findall(r"tape_gateway_(\w+)", text)}
    assert {"refusals_total", "oldest_hold_seconds", "journal_readable"} <= named <= set(METRICS)
    assert set(re.findall(r"(?:\{|, )(\w+)=~?\"", text)) - {"job"} <= LABELS


def test_every_alert_says_what_to_do() -> None:
    text = text_of("operating/alerts.md")
    alerts = re.findall(r"- alert: (\w+)", text)
    assert len(alerts) > 10
    assert re.findall(r"^### (Tape\w+)$", text, re.MULTILINE) == alerts


# --- versions -------------------------------------------------------------------------------------


def declared() -> set[str]:
    """The constants of the product that are versions of files."""
    group = set()
    for folder in ("tape", "solvers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                    name = ast.unparse(node.targets[0])
                    if name in ("SCHEMA", "VERSION") and "prompts" not in path.as_posix():
                        group.add(".".join([*path.relative_to(ROOT).with_suffix("").parts, name]))
    return group


def test_the_versions_on_the_page_of_files_are_those_in_the_code() -> None:
    rows = re.findall(r"^\|.*\| \"?([\w./]+)\"? \| `([\w.]+)` \|", text_of("reference/file-formats.md"), re.MULTILINE)
    assert {name for _, name in rows} == declared()
    for version, name in rows:
        assert version == str(value_of(name)), name


@pytest.mark.parametrize("page", ["operating/upgrades.md", "reference/file-formats.md"])
def test_the_versions_in_sentences_are_those_in_the_code(page: str) -> None:
    matches = re.findall(r"(?:schema|version) (\d+)\s+\(`([\w.]+)`\)", text_of(page))
    assert all(int(version) == value_of(name) for version, name in matches), matches
    assert matches or page != "operating/upgrades.md"
