"""A noun of money, of guards and of servers names one class."""

from __future__ import annotations

import ast
from collections import Counter

from tests.places import ROOT

NOUNS = (
    "Budget", "Cap", "Charge", "Conversation", "Cost", "Guard", "Hold", "Journal", "Ledger", "Part", "Payer", "Price",
    "Refused", "Reservation", "Resources", "Rule", "Search", "Session", "TokenPrice",
)  # fmt: skip


def test_each_names_one_class_at_most() -> None:
    files = [file for top in ("tape", "solvers") for file in (ROOT / top).rglob("*.py")]
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    named = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef) and node.name in NOUNS)
    assert len(named) >= 10, "they are there"
    assert {name: count for name, count in named.items() if count > 1} == {}
