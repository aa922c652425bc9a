"""`select` and `path_problem` against brute force that knows nothing of how they work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tape.choice.agreement import sweep

FORMS = {f"graph{kind}" for kind in ("", ": goes round", ": nothing fits", ": endless", ": no end")}
FORMS |= {"lists", "lists: nothing fits"}
"""Every kind of instance that a sweep has to meet."""


@pytest.mark.parametrize("magnitudes", [False, True], ids=["plain", "magnitudes apart"])
@pytest.mark.parametrize(
    ("seeds", "least"),
    [(range(160), 0), pytest.param(range(100_000, 110_500), 10_000, marks=pytest.mark.soak)],
    ids=["160", "10,000"],
)
def test_select_is_brute_force(
    seeds: range, least: int, magnitudes: bool, record_property: Callable[[str, object], None]
) -> None:
    found = sweep(seeds, magnitudes=magnitudes)
    for name, count in sorted(found.items()):
        record_property(name, count)
    unknown = found["graph: too many paths to try"]
    graphs = sum(count for name, count in found.items() if name.startswith("graph")) - unknown
    assert set(found) >= FORMS
    assert graphs >= least, f"{unknown} were too large for brute force"
