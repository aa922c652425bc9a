import pytest

from envs.scienceworld.errors import ScienceWorldError
from envs.scienceworld.plugin import LIMIT, PLUGIN
from envs.scienceworld.tasks import MEDIUM, SHORT, SPLITS, all_tasks, chosen, named


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
    [one] = PLUGIN.tasks({"task": "boil", "variations": "29-29", "limit_steps": 7, "simplification": "none"})
    assert one.level_set == "scienceworld-test, no simplifications"
    assert one.budget["steps"] == 7
    with pytest.raises(ScienceWorldError, match="at least 1"):
        PLUGIN.tasks({"limit_steps": 0})
