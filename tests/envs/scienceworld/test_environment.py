"""Tasks of ScienceWorld, and their episodes by recorded games."""

from dataclasses import replace

import pytest

from envs.scienceworld.environment import ScienceWorldEnvironment, after
from envs.scienceworld.errors import ScienceWorldError
from envs.scienceworld.plugin import LIMIT, PLUGIN
from envs.scienceworld.state import MOST_HISTORY
from envs.scienceworld.tasks import MEDIUM, SHORT, SPLITS, all_tasks, chosen, named
from tests.envs.scienceworld.recorded import recorded, states, views

pytestmark = pytest.mark.usefixtures("no_java")
FLARB = "flarb the unicorn"


@pytest.mark.parametrize("task", sorted(recorded()))
def test_a_gold_path_solves_its_task(task):
    env = ScienceWorldEnvironment(task, recorded()[task]["variation"])
    rooms = env.reset(0).data.rooms
    assert {"kitchen", "workshop", "outside"} <= set(rooms)  # from what the simulator accepts
    assert len(rooms) == 10
    scores = [env.measures()["score"]]
    for action, _ in views(task)[1:]:
        assert not env.success()
        assert not env.ended()
        env.step(action)
        scores.append(env.measures()["score"])
    assert env.success()
    assert env.ended()
    assert env.measures() == {"score": 1.0, "completed": 1.0}
    assert all(0 <= score <= 1 for score in scores)


def test_a_refused_text_is_not_typed_again_in_the_same_state():
    env = ScienceWorldEnvironment("boil", 0)
    env.reset(0)
    asked = env.game.asked
    for _ in range(3):
        observation, cost = env.step(FLARB)
        assert observation.text.startswith("No known action")
        assert cost["steps"] == 1
    assert asked == [FLARB]
    assert env.state.rejected == env.state.refused == (FLARB,)
    assert env.state.history == ()
    env.step("go to kitchen")
    assert env.state.rejected == ()
    assert env.state.refused == (FLARB,)
    env.step(FLARB)
    assert asked.count(FLARB) == 2


def test_the_key_has_no_history_score_or_steps():
    here = states("boil")[5]
    other = replace(here, history=("a", "b"), path=("a",), score=50, visited=("x",), observation="?", rooms=("y",))
    assert here.place == other.place
    for changes in ({"inventory": ()}, {"reading": "the thermometer measures 3"}, {"focused": ("water",)}):
        assert here.place != replace(here, **changes).place


def test_the_key_merges_what_looks_alike():
    kitchen = [state for state in states("boil") if state.room.name == "kitchen"]
    # Looking around, opening what is open and examining lead nowhere else.
    assert len({state.place for state in kitchen}) < len(kitchen)
    science_state = replace(kitchen[0], inventory=("an orange", "a cup"))
    other = replace(kitchen[0], inventory=("a cup", "an orange"))
    assert science_state.place == other.place


def test_the_history_rolls():
    state, view = states("boil")[0], views("boil")[0][1]
    for number in range(MOST_HISTORY + 7):
        state = after(state, f"wait {number}", view)
    assert len(state.history) == MOST_HISTORY
    assert state.dropped == 7
    assert len(state.path) == MOST_HISTORY + 7


def test_a_score_below_zero_ends_the_task_as_a_failure():
    state, view = states("boil")[3], views("boil")[3][1]
    failed = after(state, "focus on stove", view._replace(score=-100, done=True))
    assert failed.done
    assert not failed.complete
    env = ScienceWorldEnvironment("boil", 0)
    env.reset(0)
    env._state = failed
    assert env.measures() == {"score": 0.0, "completed": 0.0}
    assert env.ended()
    assert not env.success()


def test_before_reset_and_after_close_the_error_names_the_remedy():
    env = ScienceWorldEnvironment("boil", 0)
    with pytest.raises(ScienceWorldError, match="call reset"):
        env.step("look around")
    env.close()
    with pytest.raises(ScienceWorldError, match="closed"):
        _ = env.game


def test_there_are_thirty_tasks_and_their_splits_cover_all_variations():
    tasks = all_tasks()
    assert len(tasks) == 30
    for task in tasks.values():
        covered = [variation for split in SPLITS for variation in task.split(split)]
        assert sorted(covered) == list(range(task.variations))
    assert tasks["boil"].variations == 30
    assert tasks["inclined-plane-friction-named-surfaces"].variations == 1386


def test_every_measured_gold_path_solves_its_task():
    scores = [score for task in all_tasks().values() for _, score in task.gold.values()]
    assert len(scores) >= 90
    assert set(scores) == {100}


def test_groups_are_by_measured_length():
    assert {task.group for task in all_tasks().values()} == {"short", "medium", "long"}
    for task in named("short"):
        assert task.mean_length <= SHORT
    for task in named("long"):
        assert task.mean_length > MEDIUM
    assert len(named("short,medium,long")) == len(named("all")) == 30
    assert [task.name for task in named("boil,boil")] == ["boil"]


@pytest.mark.parametrize("what", ["boils", "", "easy"])
def test_an_unknown_task_is_refused_with_what_there_is(what):
    with pytest.raises(ScienceWorldError, match=r"no task or group .* groups: all, short.* tasks: boil"):
        named(what)


def test_variations():
    boil = all_tasks()["boil"]
    assert chosen(boil, "dev", "2") == [14, 15]
    assert chosen(boil, "test", "1") == [21]
    assert chosen(boil, "dev", "3,7-9") == [3, 7, 8, 9]
    assert chosen(boil, "dev", "100") == list(range(14, 21))


@pytest.mark.parametrize(
    "which", ["0", "30-31", "x", "9-7", "-", "5-999999999999", "999999999998-999999999999", "9" * 6000]
)
def test_unknown_variations_are_refused(which):
    with pytest.raises(ScienceWorldError, match="variations"):
        chosen(all_tasks()["boil"], "dev", which)


def test_the_plugin_lists_tasks_without_the_simulator():
    tasks = PLUGIN.tasks({})
    assert len(tasks) == 30
    assert len({task.id for task in tasks}) == len({task.digest for task in tasks}) == 30
    assert all(task.budget["steps"] == LIMIT for task in tasks)
    [item] = PLUGIN.tasks({"task": "boil", "variations": "29-29", "limit_steps": 7, "simplification": "none"})
    assert item.level_set == "scienceworld-test, no simplifications"
    assert item.budget["steps"] == 7
    with pytest.raises(ScienceWorldError, match="at least 1"):
        PLUGIN.tasks({"limit_steps": 0})


def test_variations_of_several_splits_and_behind_those_that_are_skipped():
    first = PLUGIN.tasks({"task": "melt", "split": "dev,test"})
    then = PLUGIN.tasks({"task": "melt", "split": "dev,test", "skip": 1, "variations": "2"})
    assert [task.id for task in first] == ["melt 14", "melt 21"]
    assert [task.id for task in then] == ["melt 15", "melt 16", "melt 22", "melt 23"]
