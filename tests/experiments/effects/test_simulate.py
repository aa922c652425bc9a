"""An effect is made once, whatever befalls the workers and their lines to the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from experiments.effects.schedule import Schedule
from experiments.effects.simulate import played
from experiments.effects.whole import WholeSchedule

LONG = [range(first, first + 5000) for first in range(1000, 101_000, 5000)]


@pytest.mark.parametrize("seeds", [range(250), *(pytest.param(seeds, marks=pytest.mark.soak) for seeds in LONG)])
def test_no_schedule_breaks_a_promise(seeds: range, record_property: Callable[[str, object], None]) -> None:
    total = played(seeds)
    for name, count in total.items():
        record_property(name, count)
    assert total["schedules"] == len(seeds)
    assert total["booked"] - total["spent"] <= total["booked"] / 50, "98 % of what is booked was spent"


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(1000, 2000), marks=pytest.mark.soak)])
def test_no_schedule_of_whole_agents_does(seeds: range) -> None:
    assert played(seeds, WholeSchedule)["schedules"] == len(seeds)


def test_a_failing_schedule_names_the_command_that_plays_it_again() -> None:
    def broken(seed: int) -> Schedule:
        raise AssertionError(seed)

    with pytest.raises(AssertionError) as raised:
        played([7], broken)
    assert raised.value.__notes__ == [
        "play it again: python -m experiments.effects simulate --schedules 1 --seed 7 --agents"
    ]
