from __future__ import annotations

from typing import Any

import pytest

from envs.travelplanner.cheapest import cheapest
from envs.travelplanner.errors import TravelError
from envs.travelplanner.generator import LEVELS, RATIOS, generate, problem_set
from envs.travelplanner.plugin import PLUGIN
from envs.travelplanner.query import Constraints, TripQuery
from envs.travelplanner.trip import Trip
from tape.errors import ConfigError


@pytest.mark.parametrize("tightness", RATIOS)
def test_budgets_are_multiples_of_the_cheapest_itinerary(tightness: str) -> None:
    low, high = RATIOS[tightness]
    for query, world in problem_set("ratios", 9, tightness):
        least = cheapest(Trip(query, world))
        assert least is not None
        assert query.ratio == query.budget / least
        assert query.feasible is (query.budget >= least) is (tightness != "infeasible")
        assert low - 0.03 <= query.ratio <= high + 0.01
        assert query.budget % 100 == 0


def test_a_set_has_all_lengths_and_levels_and_no_trip_twice() -> None:
    made = problem_set("all", 18, "medium")
    assert {(query.days, query.level) for query, _ in made} == {(d, level) for d in (3, 5, 7) for level in LEVELS}
    assert len({query.id for query, _ in made}) == 18
    wishes = {"easy": 0, "medium": 1, "hard": 3}
    for query, world in made:
        own = query.constraints
        asked = [own.transportation, own.room_type, own.house_rule, own.cuisines]
        assert sum(map(bool, asked)) == wishes[query.level]
        assert (query.people == 1) is (query.level == "easy")
        assert all(world.states[city] == query.destination for city in query.cities) or query.days == 3


def test_the_same_trip_under_another_budget() -> None:
    tight, loose = (generate("twin", 5, "hard", tightness) for tightness in ("tight", "loose"))
    assert tight[1].stays == loose[1].stays
    assert tight[0].cities == loose[0].cities
    assert tight[0].budget < loose[0].budget


def test_the_plugin_labels_its_sets_and_checks_its_options() -> None:
    options = {"problems": "dev", "count": 2, "tightness": "loose", "objective": "cheapest"}
    assert [task.level_set for task in PLUGIN.tasks(options)] == ["trips-dev-loose"] * 2
    with pytest.raises(ConfigError, match="count"):
        PLUGIN.tasks({**options, "count": 0})


def test_queries_that_do_not_fit_together_are_refused() -> None:
    given = {"id": "q", "origin": "Home", "destination": "A", "cities": ("A",), "start": "2031-05-04", "days": 3}
    wrong: list[tuple[dict[str, Any], str]] = [({"days": 5}, "5 days and 1 cities"), ({"cities": ("Home",)}, "repeat")]
    for changes, message in [*wrong, ({"people": 0}, "0 people"), ({"start": "May"}, "no date")]:
        with pytest.raises(TravelError, match=message):
            TripQuery(**{**given, "people": 1, "budget": 1, **changes})
    for own in ({"transportation": "no train"}, {"room_type": "castle"}, {"house_rule": "dragons"}):
        with pytest.raises(TravelError, match="none of"):
            Constraints(**own)
    with pytest.raises(TravelError, match="repeated"):
        Constraints(cuisines=("Thai", "Thai"))
