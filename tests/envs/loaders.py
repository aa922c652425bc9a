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
from envs.alfworld.game.house_json import dump_house, parse_house
from envs.gsm_hard import plugin as gsm_hard
from envs.gsm_hard.templates import FILES as TEMPLATES
from envs.gsm_hard.templates import WORDS_FILE, read_templates, read_words
from envs.hotpotqa import plugin as hotpotqa
from envs.locomo import plugin as locomo
from envs.musique import plugin as musique
from envs.musique import search_plugin as musique_search
from envs.repo_qa import index as repo_index
from envs.repo_qa import loader as repo_questions
from envs.repo_qa import plugin as repo_qa
from envs.sokoban import xsb
from envs.travelplanner.database import FILES as TABLES
from envs.travelplanner.database import STATES, load_world
from envs.travelplanner.plugin import PLUGIN as travelplanner
from envs.web_qa import plugin as web_qa
from tape.protocols import Task
from tape.reading import read_text
from tests.envs.locomo.helpers import conversation
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
_QUESTION = {
    "question": "Who founded the town of Aldera?",
    "answer": "Borin",
    "answer_aliases": ["B."],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Aldera", "paragraph_text": "Aldera was founded by Borin.", "is_supporting": True},
        {"idx": 1, "title": "Cento", "paragraph_text": "Cento is a river.", "is_supporting": False},
    ],
    "question_decomposition": [{"id": 1}, {"id": 2}],
}
_QUESTIONS = _lines(*({"id": f"2hop__{n}", **_QUESTION} for n in range(2)))
_STEPS = [
    {"id": 1, "question": "Aldera >> kind", "answer": "town", "paragraph_support_idx": 0},
    {"id": 2, "question": "founder of the #1", "answer": "Borin", "paragraph_support_idx": 0},
]
_SEARCHED = _lines(*({"id": f"2hop__{n}", **_QUESTION, "question_decomposition": _STEPS} for n in range(2)))
_HOTPOT_QUESTION = {
    "question": "Who founded Aldera?", "answer": "Borin", "type": "bridge", "level": "hard",
    "supporting_facts": [["Aldera", 0]],
    "context": [["Aldera", ["Aldera was founded.", " By Borin."]], ["Cento", ["A river."]]],
}  # fmt: skip
_HOTPOT = json.dumps([{"_id": f"q{n}", **_HOTPOT_QUESTION} for n in range(2)])


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


_CODE_QUESTIONS = _lines(
    {
        "question": "What does loads raise?", "answer": ["JSONDecodeError", "an error"], "id": "q1",
        "repo": "python/json", "commit_id": "0a1b", "file": "json/decoder.py",
        "evidence": ["json/__init__.py:299", "json/decoder.py:20-30"],
    },
    {"question": "Is there a parser of YAML?", "answerable": False},
)  # fmt: skip
_CODE = """class E(Exception):
    pass


def f(a, b=1, *, c="x"):
    if a:
        raise E(b)
    return g(a, d=c)


def g(h, d=2) -> int:
    return h
"""


def _code_questions(folder: Path) -> None:
    assert repo_questions.load(folder / "c.jsonl", repo_index.read_package("json"))


def _code(folder: Path) -> None:
    repo_index._read.cache_clear()
    _listed(repo_qa.PLUGIN.tasks({"repo": str(folder), "part": "test"}))


# --- trips -------------------------------------------------------------------------------------

_TABLES = {
    "flights": "Flight Number,Price,DepTime,ArrTime,FlightDate,OriginCityName,DestCityName\n"
    "F1,100,05:38,07:46,2022-03-16,Home,Aton\nF2,120.5,15:38,17:46,2022-03-18,Aton,Home\n",
    "accommodations": "NAME,price,room type,house_rules,minimum nights,maximum occupancy,review rate number,city\n"
    '"Room, one",80.0,Private room,No pets & No smoking,1.0,2,4.0,Aton\n',
    "restaurants": 'Name,Average Cost,Cuisines,Aggregate Rating,City\nPlace,10,"Cafe, Indian",4.1,Aton\n',
    "attractions": "Name,City\nSight,Aton\n",
    "googleDistanceMatrix": "origin,destination,duration,distance\n"
    'Home,Aton,4 hours,"1,234 km"\nAton,Home,4 hours,99.9 km\n',
}
_CELLS = (
    *(b"1e999999", b"-1", b"nan", b"inf", b"1e99", b"9" * 5000, b"", b'"', b"\x00", b",", b"km", b"1 day", b"0.001"),
    *(b"2022-13-99", b"9999-12-31", b"\xff", b"x" * 200_000, b"\n", b"\r", b"[]", b"{}", b"['Chinese']", b"None"),
)


def _make_tables(folder: Path) -> None:
    for name in TABLES:
        _write(name, _TABLES[name.partition("/")[0]])(folder)
    _write(STATES, "Home\tHomeland\nAton\tStateland\n")(folder)


def _spoil_cells(rng: random.Random, content: bytes) -> bytes:
    if rng.random() < 0.3:
        return mutated(rng, content)
    lines = [line.split(b",") for line in content.split(b"\n")]
    for _ in range(rng.randint(1, 3)):
        row = rng.choice(lines)
        row[rng.randrange(len(row))] = rng.choice(_CELLS)
    return b"\n".join(b",".join(row) for row in lines)


_QUERY = {
    "org": "Home", "dest": "Aton", "days": 3, "visiting_city_number": 1,
    "date": "['2022-03-16', '2022-03-17', '2022-03-18']", "people_number": 1,
    "local_constraint": "{'house rule': None, 'cuisine': None, 'room type': 'private room', 'transportation': None}",
    "budget": 1700, "level": "easy", "query": "A trip.", "annotated_plan": [{"current_city": "from Home to Aton"}],
}  # fmt: skip
_LONG = {
    **_QUERY, "dest": "Stateland", "days": 5, "visiting_city_number": 2, "date": ["2022-03-16"],
    "local_constraint": {"house rule": "pets", "cuisine": ["Indian"], "room type": None, "transportation": "no flight"},
    "annotated_plan": [{"current_city": city} for city in ("from Home to Aton", "from Aton(S) to Bton", "Bton")],
}  # fmt: skip
_COLUMNS = ("org", "dest", "days", "date", "people_number", "local_constraint", "budget", "level")
_CSV = ",".join(_COLUMNS) + "\n" + ",".join(f'"{_QUERY[column]}"' for column in _COLUMNS) + "\n"


def _queries(name: str, text: str, spoil: Spoil = mutated) -> Loader:
    def make(folder: Path) -> None:
        _write(name, text)(folder)
        _make_tables(folder / "tables")

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
_TEMPLATE = """[doubling]
numbers = { a = "mid", b = "deck" }
program = ["power(2, b)", "multiply(a, #1)"]
wordings = ["There are {a} [cells|items], doubled [every|each] hour for {b} hours.", "{name} has ${a} and {b}."]
"""


def _make_templates(folder: Path) -> None:
    _write(WORDS_FILE, _WORDS)(folder)
    for name in TEMPLATES:
        _write(name, _TEMPLATE if name == TEMPLATES[0] else "")(folder)


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
        "musique search": Loader(_write("q.jsonl", _SEARCHED), _searched),
        "hotpotqa": Loader(_write("h.json", _HOTPOT), _hotpot("hotpotqa", "h.json"), share=1.5),
        "hotpotqa musique": Loader(_write("q.jsonl", _QUESTIONS), _hotpot("musique", "q.jsonl")),
        "repo_qa questions": Loader(_write("c.jsonl", _CODE_QUESTIONS), _code_questions),
        "repo_qa sources": Loader(_write("code.py", _CODE), _code, share=0.5),
        "web_qa": Loader(_make_web, _web),
        "locomo": Loader(_write("l.json", json.dumps([conversation()])), _conversations),
        "travelplanner jsonl": _queries("t.jsonl", _lines(_QUERY, _LONG)),
        "travelplanner csv": _queries("t.csv", _CSV, _spoil_cells),
        "travelplanner tables": Loader(_make_tables, lambda folder: load_world(folder).digest, _spoil_cells),
        "toml templates": Loader(_make_templates, _read_templates),
    }.items()
}
