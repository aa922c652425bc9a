"""Makes the recorded web and its tasks: ``python -m tests.envs.web_qa.make_web``; one seed, the same files."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from envs.web_qa.made import FACTS, PRICES, PlaceQuestion
from envs.web_qa.web import DATA

SEED = "web_qa 1"
TOWNS = ("Tarnbridge", "Oskhaven")
_QUARTERS = ("harbour", "mill", "castle")
_FIRST = ("Iron", "Blue", "Old", "Copper", "Amber", "Silver", "Green", "Quiet", "Tall", "Winter")
_SECOND = ("Anchor", "Lantern", "Heron", "Gate", "Orchard", "Kettle", "Bridge", "Maple", "Tower", "Falcon")
_PLACES = 5
_KINDS = {"gyms": "Gym", "museums": "Museum", "pottery courses": "Pottery Course", "bakeries": "Bakery"}
_PEOPLE = ("Ilsa Brandt", "Tomas Reyl", "Nadia Okoro", "Piet Larsen", "Mira Solen", "Hugo Vance", "Ada Quill")
VALUES = {
    "opens": range(5, 10), "sauna": range(70, 95, 5), "founded": range(1911, 2011, 3), "month": range(20, 60),
    "day": range(5, 18), "closed": ("Monday", "Tuesday", "Wednesday"), "rooms": range(4, 30), "adult": range(6, 24),
    "child": range(2, 6), "teacher": _PEOPLE, "weeks": (4, 6, 8, 10), "fee": range(90, 240), "clay": range(8, 20),
    "baker": _PEOPLE, "rye": range(3, 12), "tart": range(9, 30),
}  # fmt: skip
_ASIDES = ("Children are welcome.", "The tram stops in front of it.", "Dogs wait outside.", "Bring good shoes.")


@dataclass
class Place:
    """An invented place."""

    kind: str
    town: str
    name: str
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where its page is."""
        return f"https://{self.name.lower().replace(' ', '-')}-{self.town.lower()}.example/"


def make_places(rng: random.Random) -> list[Place]:
    """All places; in both towns there is one of each kind with the same name."""
    names = [f"{first} {second}" for first in _FIRST for second in _SECOND]
    rng.shuffle(names)
    places = []
    for kind, noun in _KINDS.items():
        shared = names.pop()
        for town in TOWNS:
            for name in [shared, *(names.pop() for _ in range(_PLACES - 1))]:
                facts = {key: rng.choice(VALUES[key]) for key in FACTS[kind]}
                places.append(Place(kind, town, f"{name} {noun}", facts))
    return places


def make_pages(rng: random.Random, places: Iterable[Place]) -> list[dict[str, Any]]:
    """The pages: towns, directories, places, prices, old prices, and sites that cannot be read."""
    pages = []
    places = list(places)
    for town in TOWNS:
        listed = [f"- [{kind.capitalize()}]({directory(kind, town)})" for kind in _KINDS]
        pages.append(_page(f"https://{town.lower()}.example/", f"{town} city guide", "What there is:", *listed))
        for kind in _KINDS:
            mine = [place for place in places if (place.kind, place.town) == (kind, town)]
            links = [f"- [{place.name}]({place.address})" for place in mine]
            head = f"The city guide lists {len(mine)} {kind} in {town}."
            pages.append(_page(directory(kind, town), f"{kind.capitalize()} in {town}", head, *links))
    for place in places:
        where = f"{place.name} lies in the {rng.choice(_QUARTERS)} quarter of {place.town}."
        more = (
            f"[Prices]({place.address}{PRICES}) [All {place.kind} in {place.town}]({directory(place.kind, place.town)})"
        )
        stated = _stated(rng, place, priced=False, facts=place.facts)
        pages.append(_page(place.address, f"{place.name}, {place.town}", where, stated, rng.choice(_ASIDES), more))
        head = f"Prices of {place.name} in {place.town}, this year."
        prices = _stated(rng, place, priced=True, facts=place.facts)
        home = f"[{place.name}]({place.address})"
        pages.append(_page(f"{place.address}{PRICES}", f"{place.name}: prices", head, prices, home))
    for place in rng.sample(places, 12):
        once = {key: rng.choice(VALUES[key]) for key in FACTS[place.kind]}
        slug, head = (
            place.name.lower().replace(" ", "-"),
            f"Prices of {place.name} in {place.town}, as they were in 2019.",
        )
        old = _stated(rng, place, priced=True, facts=once)
        pages.append(
            _page(
                f"https://old-prices.example/{slug}-{place.town.lower()}", f"{place.name}: prices (archive)", head, old
            )
        )
    for place in rng.sample(places, 8):
        slug = place.name.lower().replace(" ", "-")
        page = _page(
            f"https://star-ratings.example/{slug}",
            f"{place.name}: reviews, prices and opening hours",
            "Log in to read on.",
        )
        pages.append(page | {"blocked": True})
    return pages


def directory(kind: str, town: str) -> str:
    """Where all places of a kind in a town are listed."""
    return f"https://{town.lower()}.example/{kind.replace(' ', '-')}"


def _page(address: str, title: str, *lines: str) -> dict[str, Any]:
    return {"address": address, "title": title, "text": "\n".join(lines)}


def _stated(rng: random.Random, place: Place, *, priced: bool, facts: Mapping[str, Any]) -> str:
    stated = [
        rng.choice(fact.wordings).format(v=facts[key])
        for key, fact in FACTS[place.kind].items()
        if fact.priced is priced
    ]
    rng.shuffle(stated)
    return " ".join(stated)


# Level, form, conditions on a place's page and on its prices, facts asked for on either.
_FORMS = (
    *[("Easy", "number", 0, 0, 0, 1)] * 3,
    *[("Easy", "text", 0, 0, 1, 0)] * 3,
    *[("Easy", "object", 0, 0, 1, 1)] * 2,
    *[("Medium", "names", 1, 0, 0, 0)] * 3,
    *[("Medium", "names", 2, 0, 0, 0)] * 1,
    *[("Medium", "count", 1, 0, 0, 0)] * 2,
    *[("Medium", "text", 2, 0, 0, 0)] * 1,
    *[("Medium", "objects", 1, 0, 1, 0)] * 2,
    *[("Hard", "names", 1, 1, 0, 0)] * 2,
    *[("Hard", "objects", 1, 0, 0, 1)] * 2,
    *[("Hard", "object", 1, 1, 0, 1)] * 1,
    *[("Hard", "least", 1, 0, 0, 1)] * 1,
    *[("Hard", "sum", 1, 0, 0, 1)] * 1,
    *[("Hard", "text", 1, 1, 1, 0)] * 1,
)


def make_task(rng: random.Random, places: list[Place], number: int) -> dict[str, Any]:
    """A task whose answer follows from the pages, with places beside it that do not fit."""
    level, form, own, priced, own_asked, priced_asked = _FORMS[number]
    while True:
        place = rng.choice(places)
        facts = FACTS[place.kind]
        sides = {side: [key for key, fact in facts.items() if fact.priced is side] for side in (False, True)}
        keys = [
            rng.sample(sides[side], k)
            for side, k in zip((False, True), (own + own_asked, priced + priced_asked), strict=True)
        ]
        where = tuple(_condition(rng, place, key) for key in (*keys[0][:own], *keys[1][:priced]))
        ask = (*keys[0][own:], *keys[1][priced:])
        name = place.name if level == "Easy" else ""
        program = PlaceQuestion(place.kind, place.town, name, where, ask, form)
        mine = [
            item for item in places if (item.kind, item.town) == (place.kind, place.town) and name in ("", item.name)
        ]
        meets = [[program.holds(i, item.facts[key]) for i, (key, *_) in enumerate(where)] for item in mine]
        fit = [item for item, met in zip(mine, meets, strict=True) if all(met)]
        if any(all(met[i] for met in meets) for i in range(len(where))):
            continue  # a condition that excludes nobody
        if name or len(fit) == 1 if form in ("object", "text", "number") else 1 < len(fit) < _PLACES:
            break
    rows = [{"name": item.name, **item.facts} for item in fit]
    used = [directory(place.kind, place.town)] * (level != "Easy") + [
        address
        for item in (fit if name else mine)
        for side, address in ((False, item.address), (True, item.address + PRICES))
        if any(facts[key].priced is side for key in (*ask, *(c[0] for c in where)))
    ]
    return {
        "id": f"made-{number + 1:02d}", "set": "made", "task": worded(program), "answer": gold(program.answer(rows)),
        "gold_url": "\n".join(used), "explanation": f"{len(used)} pages", "metadata": json.dumps(asdict(program)),
        "difficulty": level,
    }  # fmt: skip


def gold(answer: Any) -> str:
    """An answer as AssistantBench's files have it: a line an item, objects as JSON."""
    items = answer if isinstance(answer, list) else [answer]
    return "\n".join(json.dumps(item) if isinstance(item, dict) else str(item) for item in items)


def worded(program: PlaceQuestion) -> str:
    """The question of a program."""
    facts = FACTS[program.kind]
    asked, keys = " and ".join(facts[fact].label for fact in program.ask), ", ".join(program.ask)
    if program.name:
        tail = f" Answer with an object with the keys {keys}." if program.form == "object" else ""
        return f"At the {program.name} in {program.town}, what is {asked}?{tail}"
    where = " and ".join(program.condition(number) for number in range(len(program.where)))
    those = "which are those" if program.form == "objects" else "which is the one"
    asks = {
        "names": f"which are those where {where}? Answer with a list of names.",
        "count": f"how many are there where {where}? Answer with a number.",
        "text": f"what is {asked or 'the name'} of the one where {where}?",
    }
    for form in ("object", "objects"):
        asks[form] = f"{those} where {where}, and what is {asked}? Answer with objects with the keys name, {keys}."
    fold = f"what is the {program.form} of {asked} among those where {where}? Answer with a number."
    return f"Of the {program.kind} in {program.town}, {asks.get(program.form, fold)}"


def _condition(rng: random.Random, place: Place, key: str) -> tuple[str, str, Any]:
    value = place.facts[key]
    return key, "=" if isinstance(value, str) else rng.choice(("<=", ">=")), value


def main(folder: Path = DATA) -> int:
    """Write pages and tasks."""
    rng = random.Random(SEED)
    places = make_places(rng)
    made = {"pages.jsonl": make_pages(rng, places)}
    made["tasks.jsonl"] = [make_task(rng, places, number) for number in range(len(_FORMS))]
    folder.mkdir(exist_ok=True)
    for name, records in made.items():
        text = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
