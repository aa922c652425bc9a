"""Questions over kept pages, and what is measured of answers."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from envs.data_files import DataFileError
from envs.web_qa.environment import WebEnvironment
from envs.web_qa.made import FACTS, PRICES, PlaceQuestion, read
from envs.web_qa.measure import score
from envs.web_qa.plugin import PLUGIN
from envs.web_qa.web import DATA, LONGEST_PAGE, RESULTS, Web, WebPage, WebTask, load_pages, load_tasks
from tape.protocols.types import Task
from tape.reading import read_json
from tape.tools.calls import answer, call
from tape.tools.domain import as_state
from tests.places import ROOT

TASKS = load_tasks(DATA / "tasks.jsonl")
PAGES = load_pages()
LINK = re.compile(r"\[([^\]]+)\]\((\S+?)\)")


class Oracle:
    """Solves a task by searches and scrapes alone; it knows the program and the wordings."""

    def __init__(self, task: WebTask, web: Web) -> None:
        self.env, self.program = WebEnvironment(task, web), PlaceQuestion.read(task.metadata)

    def get(self, kind: str, **values: Any) -> Any:
        observation, _ = self.env.step(call(kind, **values).text)
        return as_state(observation.data).values()[-1]

    def solve(self) -> WebEnvironment:
        program, towns = self.program, f"{self.program.kind.capitalize()} in {self.program.town}"
        wanted = [fact for fact, *_ in program.where] + list(program.ask)
        if program.name:
            value = self.get("search", query=f"{program.name} {program.town}")
            [home] = [item["address"] for item in value if item["title"] == f"{program.name}, {program.town}"]
            places = {program.name: home}
        else:
            value = self.get("search", query=towns)
            [listed] = [item["address"] for item in value if item["title"] == towns]
            places = dict(LINK.findall(self.get("scrape", address=listed)))
        rows = []
        for name, home in places.items():
            texts = [self.get("scrape", address=home)]
            if any(FACTS[program.kind][fact].priced for fact in wanted):
                texts.append(self.get("scrape", address=f"{home}{PRICES}"))
            told = {fact: (read(program.kind, fact, "\n".join(texts)) or ("?",))[0] for fact in wanted}
            if all(program.holds(number, told[fact]) for number, (fact, *_) in enumerate(program.where)):
                rows.append({"name": name, **told})
        self.env.step(answer(program.answer(rows)).text)
        return self.env


def test_every_task_is_solved_through_the_tools_alone_within_the_budget() -> None:
    web = Web(PAGES)
    for task in TASKS:
        env = Oracle(task, web).solve()
        assert (env.success(), dict(env.measures())) == (
            True, {"accuracy": 1.0, "exact_match": 1.0, "answered": 1.0},
        ), task.text  # fmt: skip
        made = Counter(obtained.call.kind for obtained in as_state(env.reset(0).data).got)
        assert not made, "a reset forgets"


def test_tools_bring_ranked_results_and_bounded_pages_and_say_why_they_fail() -> None:
    web = Web([*PAGES, WebPage("https://long.example/", "A long page", "word " * 1000)])
    assert len(web.search("gyms")) == RESULTS
    assert len(web.scrape("https://long.example/#part")) == LONGEST_PAGE
    blocked = next(page.address for page in PAGES if page.blocked)
    env = WebEnvironment(TASKS[0], web)
    for made, why in (
        (call("scrape", address=blocked), "denies access"),
        (call("scrape", address="https://nowhere.example/"), "no such page"),
        (call("search", query="xyzzy"), "nothing was found"),
        (call("search", query="xyzzy"), "has failed already"),
    ):
        observation, used = env.step(made.text)
        assert why in observation.text
        assert used["steps"] == 1


OFFICIAL = {
    "set": "dev", "task": "Which gyms are near the park?", "answer": "Iron Gym\nMill Gym", "gold_url": "https://a.example/",
    "explanation": "on the map", "metadata": None, "difficulty": "Hard",
}  # fmt: skip


def _folder(tmp_path: Path, *records: dict[str, Any]) -> tuple[Path, Path]:
    tasks, pages = tmp_path / "dev.jsonl", tmp_path / "web"
    tasks.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    pages.mkdir(exist_ok=True)
    (pages / "pages.jsonl").write_text('{"address": "https://a.example/", "title": "Gyms", "text": "Iron Gym."}\n')
    return tasks, pages


def test_a_file_of_the_official_format_is_played_over_given_pages(tmp_path: Path) -> None:
    data, pages = _folder(
        tmp_path, {"id": "1", **OFFICIAL}, {"id": "2", **OFFICIAL, "answer": None, "difficulty": None}
    )
    result: list[Task] = PLUGIN.tasks({"data": str(data), "pages": str(pages)})
    env = PLUGIN.make(result[0])
    env.step(answer(["Mill Gym", "Iron Gym"]).text)
    assert env.success()
    secret = PLUGIN.make(result[1])
    secret.step(answer("Mill Gym").text)
    assert dict(secret.measures()) == {"answered": 1.0}
    with pytest.raises(DataFileError, match="of which no record is shipped; give --pages DIR"):
        PLUGIN.tasks({"data": str(data), "pages": None})


@pytest.mark.parametrize(
    ("record", "says"),
    [({"id": "1"}, "task"), ({"id": 7, **OFFICIAL}, "id"), ({"id": "1", **OFFICIAL, "answer": [1]}, "answer")],
)
def test_a_malformed_line_is_named(record: dict[str, Any], says: str, tmp_path: Path) -> None:
    data, _ = _folder(tmp_path, {"id": "0", **OFFICIAL}, record)
    with pytest.raises(DataFileError, match=rf"dev.jsonl.*2.*{says}"):
        load_tasks(data)


def test_ids_and_addresses_are_unique_and_something_has_to_be_there(tmp_path: Path) -> None:
    data, pages = _folder(tmp_path, {"id": "0", **OFFICIAL}, {"id": "0", **OFFICIAL})
    with pytest.raises(DataFileError, match="earlier task"):
        load_tasks(data)
    (pages / "pages2.jsonl").write_text((pages / "pages.jsonl").read_text())
    with pytest.raises(DataFileError, match="earlier page"):
        load_pages(pages)
    with pytest.raises(DataFileError, match="holds no pages"):
        load_pages(tmp_path)


RESULT = ROOT / "experiments" / "results" / "web_qa_measure.json"
ROW = '{"name": "Iron Gym", "price": 40}'


@pytest.mark.parametrize(
    ("given", "gold", "accuracy"),
    [
        ("The Iron-Gym!", "iron gym", 1.0),
        ("Iron Gym Oskhaven", "Iron Gym", 0.8),
        ("Gym 5", "Gym 7", 0.0),  # another number
        ("$1,5", "1.5", 1.0),
        (1100, "1000", 1 - math.log(1.1)),
        (5000, "1000", 0.0),
        (-20, "20", 0.0),
        ([5, 6], "5", 0.0),
        (["B", "A C"], "A C\nB", 1.0),
        ('["B"]', "A C\nB", 0.5),
        ({"price": "$40", "name": "iron gym"}, ROW, 1.0),
        ({"name": "Iron Gym"}, ROW, 2 / 3),
        ({"name": "Iron Gym", "price": "forty"}, ROW, 0.5),
        ([{"name": "Iron Gym", "price": 40}, {"name": "Mill Gym"}], ROW, 0.5),
        (f"{ROW}\n{ROW}", f"{ROW}\n{ROW}", 1.0),
        ("{'name': 'Iron Gym', 'price': 40}", ROW, 1.0),
        ("no object", ROW, 0.0),
        ([[1], None], ROW, 0.0),
    ],
)
def test_answers_are_compared_in_the_way_of_their_kind(given: Any, gold: str, accuracy: float) -> None:
    answer_score = score(given, gold)
    assert (answer_score.accuracy, answer_score.answered) == (pytest.approx(accuracy), True)
    assert answer_score.exact is (accuracy == 1.0)


@pytest.mark.parametrize("given", [None, "", [], {}, [""], [None], "null", "[]", float("nan")])
def test_no_answer_is_not_a_wrong_one(given: Any) -> None:
    for gold in ("5", "Iron Gym", "A\nB", ROW):
        assert score(given, gold) == (0.0, False)


def test_what_is_published_of_the_comparison_adds_up() -> None:
    kept = read_json(RESULT)
    counts = list(kept["counts"].values())
    assert sum(sum(kind.values()) for kind in counts) == kept["pairs"] == 1000
    assert sum(kind["same"] for kind in counts) == 1000 - len(kept["not the same"])
    for row in kept["not the same"]:  # what is ours can be scored again without the package
        answer_score = score(row["given"], row["gold"])
        assert [round(answer_score.accuracy, 4), answer_score.answered] == row["ours"]
