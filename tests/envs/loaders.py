"""Every loader of environments, each with small valid files and a way to spoil them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from envs.alfworld.errors import GameError
from envs.alfworld.game.game_data import read_game_data
from envs.alfworld.game.game_file import game_text, read_house
from envs.alfworld.game.games import load_games
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.house import dump_house, parse_house
from envs.gsm_hard import plugin as gsm_hard
from envs.gsm_hard.templates import FILES as TEMPLATES
from envs.gsm_hard.templates import WORDS_FILE, read_templates, read_words
from envs.hotpotqa import plugin as hotpotqa
from envs.locomo import plugin as locomo
from envs.musique import plugin as musique
from envs.musique import search_plugin as musique_search
from envs.repo_qa import index as repo_index
from envs.repo_qa import plugin as repo_qa
from envs.sokoban import xsb
from envs.travelplanner.database import load_world
from envs.travelplanner.plugin import PLUGIN as travelplanner
from envs.web_qa import plugin as web_qa
from tape.protocols import Task
from tape.reading import read_text
from tests.envs.hotpotqa.test_loader import record as hotpot_record
from tests.envs.locomo.helpers import conversation
from tests.envs.musique.test_loader import record as musique_record
from tests.envs.repo_qa.helpers import FILES
from tests.envs.test_data_files import GROWTH
from tests.envs.travelplanner.test_loader import PLANNED, WISHES, record, write_database
from tests.tape.loader_sweeps import Loader, Spoil
from tests.tape.mutations import mutated


def _lines(*records: object) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _write(name: str, text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    return make


def _listed(tasks: list[Task]) -> None:
    """What is written of tasks before they are played."""
    assert tasks
    for task in tasks:
        json.dumps([task.id, task.level_set, task.digest]).encode()
        task.id.encode()
    assert len({task.id for task in tasks}) == len(tasks)


# --- Sokoban -----------------------------------------------------------------------------------

_LEVELS = (
    "; first\n#####\n#@$.#\n#####\n\n"
    "; second T*=2\n  ######\n###  . #\n# @$ $.#\n###   ##\n  ####\n\n"
    "####\n#@*#\n####\n"
)
_SYMBOLS = (*(bytes([symbol]) for symbol in b"#@$.*+ -;\n\t\r"), b"; " + b"9" * 6000, b"# " * 20_000)


def _spoil_levels(rng: random.Random, content: bytes) -> bytes:
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(content))
        content = content[:at] + rng.choice(_SYMBOLS) + content[at + rng.randint(0, 1) :]
    return mutated(rng, content) if rng.random() < 0.3 else content


def _read_levels(folder: Path) -> None:
    levels = xsb.load(folder / "levels.xsb")
    for level in levels:
        assert level.board_hash
        assert len(level.title) <= xsb.MOST_TITLE
        assert level.title.isprintable()
    assert [level.title for level in xsb.parse(xsb.dumps(levels))] == [level.title for level in levels]


# --- ALFWorld ----------------------------------------------------------------------------------

_HOUSE = draw_house(random.Random("fuzz"), "pick_heat_then_place_in_recep", 0.1)
_GAME = game_text(_HOUSE)
_PIECES = (*'{}[]#|"();-', "?a", "{o.name}", "{__import__('os')}", "(:goal", "#task#")
"""What parts of a game are made of."""


def _spoil_game(rng: random.Random, content: bytes) -> bytes:
    """Change a part of a game rather than the JSON around it."""
    if rng.random() < 0.3:
        return mutated(rng, content)
    game: dict[str, Any] = json.loads(_GAME)
    part = rng.choice(("pddl_domain", "grammar", "pddl_problem"))
    text: str = game[part]
    if rng.random() < 0.3:
        text = mutated(rng, text.encode()).decode("utf-8", "replace")
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(_PIECES) * rng.choice((1, 1, 2, 500)) + text[at + rng.choice((0, 1, 40)) :]
    return json.dumps({**game, part: text}).encode()


def _read_game(folder: Path) -> None:
    data = read_game_data(folder / "game.tw-pddl")
    assert data.task
    assert read_house(data).digest()


def _read_split(folder: Path) -> None:
    assert load_games("train", folder)


def _read_house_line(folder: Path) -> None:
    name, house = parse_house(read_text(folder / "house.json", error=GameError), "house.json")
    assert parse_house(dump_house(name, house), "again") == (name, house)


# --- questions and problems --------------------------------------------------------------------

_PROBLEMS = _lines(
    {"input": "Ada has 3 hats and buys 4. How many?", "code": "def solution():\n    return 3 + 4", "target": 7.0},
    {"input": "Half of 10?", "code": "a = 10\nb = a / 2 * 3\n", "target": 15},
)
_QUESTIONS = _lines(*(musique_record(id=f"2hop__{n}") for n in range(2)))
_HOTPOT = json.dumps([hotpot_record(_id=f"q{n}") for n in range(2)])


def _problems(folder: Path) -> None:
    _listed(gsm_hard.PLUGIN.tasks({"data": str(folder / "p.jsonl"), "profile": gsm_hard.DEFAULT, "tightness": "tight"}))


def _questions(folder: Path) -> None:
    _listed(musique.PLUGIN.tasks({"data": str(folder / "q.jsonl"), "tightness": "none"}))


def _searched(folder: Path) -> None:
    for pooled in (False, True):
        _listed(musique_search.PLUGIN.tasks({"data": str(folder / "q.jsonl"), "pooled": pooled}))


def _conversations(folder: Path) -> None:
    result = locomo.PLUGIN.tasks({"data": str(folder / "l.json"), "categories": "1,2,3,4,5"})
    _listed(result)
    for task in result:
        locomo.PLUGIN.make(task).reset(0)


def _hotpot(benchmark: str, name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        _listed(hotpotqa.PLUGIN.tasks({"benchmark": benchmark, "mode": "open", "data": str(folder / name)}))

    return read


_WEB_TASKS = _lines(
    {
        "id": "a1", "set": "dev", "task": "Which gyms are near the park?", "answer": "Iron Gym\nMill Gym",
        "gold_url": "https://a.example/", "explanation": "see the map", "metadata": None, "difficulty": "Hard",
    },
    {"id": "a2", "set": "test", "task": "What does it cost?", "answer": None, "difficulty": None},
)  # fmt: skip
_WEB_PAGES = _lines(
    {"address": "https://a.example/", "title": "Gyms", "text": "Iron Gym and Mill Gym."},
    {"address": "https://b.example/", "title": "Log in", "text": "Log in.", "blocked": True},
)


def _make_web(folder: Path) -> None:
    _write("tasks.jsonl", _WEB_TASKS)(folder)
    _write("web/pages.jsonl", _WEB_PAGES)(folder)


def _web(folder: Path) -> None:
    result = web_qa.PLUGIN.tasks({"data": str(folder / "tasks.jsonl"), "pages": str(folder / "web")})
    _listed(result)
    web_qa.PLUGIN.make(result[0]).reset(0)


def _code(folder: Path) -> None:
    repo_index._read.cache_clear()
    _listed(repo_qa.PLUGIN.tasks({"repo": str(folder), "part": "test"}))


# --- trips -------------------------------------------------------------------------------------

_CELLS = (
    *(b"1e999999", b"-1", b"nan", b"inf", b"1e99", b"9" * 5000, b"", b'"', b"\x00", b",", b"km", b"1 day", b"0.001"),
    *(b"2022-13-99", b"9999-12-31", b"\xff", b"x" * 200_000, b"\n", b"\r", b"[]", b"{}", b"['Chinese']", b"None"),
)


def _spoil_cells(rng: random.Random, content: bytes) -> bytes:
    if rng.random() < 0.3:
        return mutated(rng, content)
    lines = [line.split(b",") for line in content.split(b"\n")]
    for _ in range(rng.randint(1, 3)):
        row = rng.choice(lines)
        row[rng.randrange(len(row))] = rng.choice(_CELLS)
    return b"\n".join(b",".join(row) for row in lines)


_LONG = record(
    5, date=["2022-03-16"], local_constraint={**WISHES, "transportation": "no flight"}, annotated_plan=PLANNED
)
_COLUMNS = ("org", "dest", "days", "date", "people_number", "local_constraint", "budget", "level")
_CSV = ",".join(_COLUMNS) + "\n" + ",".join(f'"{record()[column]}"' for column in _COLUMNS) + "\n"


def _queries(name: str, text: str, spoil: Spoil = mutated) -> Loader:
    def make(folder: Path) -> None:
        _write(name, text)(folder)
        write_database(folder / "tables")

    def read(folder: Path) -> None:
        places = {"data": str(folder / name), "database": str(folder / "tables")}
        _listed(travelplanner.tasks({**places, "objective": "best", "tightness": "tight"}))

    return Loader(make, read, spoil, 0.7, pattern="*")


# --- word lists and templates ------------------------------------------------------------------

_WORDS = """asides = ["It was {z} degrees outside.", "A bus with the number {z} drove by."]
[names.women]
words = "Ada Bella"
he = "she"
his = "her"
him = "her"
[lists]
item = "hats coins"
"""


def _make_templates(folder: Path) -> None:
    _write(WORDS_FILE, _WORDS)(folder)
    for name in TEMPLATES:
        _write(name, GROWTH if name == TEMPLATES[0] else "")(folder)


def _read_templates(folder: Path) -> None:
    for template in read_templates(folder, read_words(folder)):
        assert all(template.parsed)


LOADERS = {
    name: replace(loader, longest=3000, names_file=False)
    for name, loader in {
        "sokoban levels": Loader(_write("levels.xsb", _LEVELS), _read_levels, _spoil_levels, 1.5),
        "alfworld game": Loader(_write("game.tw-pddl", _GAME), _read_game, _spoil_game, 0.5),
        "alfworld split": Loader(_write("train/pick-Mug/trial/game.tw-pddl", _GAME), _read_split, _spoil_game, 0.2),
        "alfworld house": Loader(_write("house.json", dump_house("fuzz", _HOUSE)), _read_house_line),
        "gsm_hard": Loader(_write("p.jsonl", _PROBLEMS), _problems, share=1.5),
        "musique": Loader(_write("q.jsonl", _QUESTIONS), _questions, share=1.5),
        "musique search": Loader(_write("q.jsonl", _QUESTIONS), _searched),
        "hotpotqa": Loader(_write("h.json", _HOTPOT), _hotpot("hotpotqa", "h.json"), share=1.5),
        "hotpotqa musique": Loader(_write("q.jsonl", _QUESTIONS), _hotpot("musique", "q.jsonl")),
        "repo_qa sources": Loader(_write("code.py", FILES["shop/prices.py"]), _code, share=0.5),
        "web_qa": Loader(_make_web, _web),
        "locomo": Loader(_write("l.json", json.dumps([conversation()])), _conversations),
        "travelplanner jsonl": _queries("t.jsonl", _lines(record(), _LONG)),
        "travelplanner csv": _queries("t.csv", _CSV, _spoil_cells),
        "travelplanner tables": Loader(write_database, lambda folder: load_world(folder).digest, _spoil_cells),
        "toml templates": Loader(_make_templates, _read_templates),
    }.items()
}
