"""`select` and `path_problem` against brute force that knows nothing of how they work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tape.choice.agreement import sweep

FORMS = {
    "graph",
    "graph: goes round",
    "graph: nothing fits",
    "graph: endless",
    "graph: no end",
    "lists",
    "lists: nothing fits",
}
"""Every kind of instance that a sweep has to meet."""


def test_select_is_brute_force() -> None:
    assert set(sweep(range(400))) >= FORMS


@pytest.mark.soak
def test_select_is_brute_force_on_ten_thousand_graphs(record_property: Callable[[str, object], None]) -> None:
    found = sweep(range(100_000, 110_500))
    for name, count in sorted(found.items()):
        record_property(name, count)
    unknown = found["graph: too many paths to try"]
    graphs = sum(count for name, count in found.items() if name.startswith("graph")) - unknown
    assert set(found) >= FORMS
    assert graphs >= 10_000, f"{unknown} were too large for brute force"
