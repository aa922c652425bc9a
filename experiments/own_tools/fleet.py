"""A fleet of vans: trips, repairs and drivers behind functions, and messages to drivers.

It was written before any agent had played it. Traces of that play led to keys of ``min``, ``max`` and ``sorted`` in the
language of plans, so it is a set for development since.
"""

from __future__ import annotations

from typing import Any

from experiments.own_tools.sets import Message, Question, QuestionSet, World, entry
from tape.tools import tool

VANS = {
    "V1": {"driver": "Amara", "make": "Rova", "year": 2017, "litres_per_100_km": 9.0},
    "V2": {"driver": "Bruno", "make": "Rova", "year": 2021, "litres_per_100_km": 7.5},
    "V3": {"driver": "Chidi", "make": "Tessin", "year": 2019, "litres_per_100_km": 8.0},
    "V4": {"driver": "Dorte", "make": "Tessin", "year": 2023, "litres_per_100_km": 6.5},
}
TRIPS = (
    {"van": "V1", "day": "2026-09-01", "from": "Arlen", "to": "Bexley", "km": 120, "parcels": 34},
    {"van": "V2", "day": "2026-09-01", "from": "Arlen", "to": "Corby", "km": 80, "parcels": 51},
    {"van": "V3", "day": "2026-09-01", "from": "Bexley", "to": "Corby", "km": 60, "parcels": 12},
    {"van": "V1", "day": "2026-09-02", "from": "Bexley", "to": "Dunmore", "km": 210, "parcels": 20},
    {"van": "V4", "day": "2026-09-02", "from": "Corby", "to": "Arlen", "km": 80, "parcels": 45},
    {"van": "V2", "day": "2026-09-03", "from": "Corby", "to": "Bexley", "km": 60, "parcels": 28},
    {"van": "V4", "day": "2026-09-03", "from": "Arlen", "to": "Dunmore", "km": 300, "parcels": 17},
    {"van": "V3", "day": "2026-09-03", "from": "Corby", "to": "Arlen", "km": 80, "parcels": 39},
)
REPAIRS = {
    "V1": [
        {"day": "2026-03-11", "part": "brakes", "euros": 420.0},
        {"day": "2026-06-20", "part": "clutch", "euros": 890.0},
    ],
    "V2": [{"day": "2026-05-02", "part": "tyres", "euros": 360.0}],
    "V3": [
        {"day": "2026-01-15", "part": "brakes", "euros": 380.0},
        {"day": "2026-04-09", "part": "lamp", "euros": 45.5},
    ],
    "V4": [],
}  # fmt: skip
DRIVERS = {
    "Amara": {"phone": "555-0311", "email": "amara@vans.example", "licence": "C1"},
    "Bruno": {"phone": "555-0326", "email": "bruno@vans.example", "licence": "B"},
    "Chidi": {"phone": "555-0338", "email": "chidi@vans.example", "licence": "C1"},
    "Dorte": {"phone": "555-0354", "email": "dorte@vans.example", "licence": "C"},
}


def world() -> World:
    """The fleet as it is before a question."""
    made = World([])

    @tool(pure=True, usd="0.001")
    def vans() -> list[dict[str, Any]]:
        """List the vans, each with van, driver, make, year and litres_per_100_km."""
        return [{"van": name, **van} for name, van in VANS.items()]

    @tool(pure=True, usd="0.001")
    def trips(day: str) -> list[dict[str, Any]]:
        """List the trips of a day such as 2026-09-01, each with van, day, from, to, km and parcels."""
        return [trip for trip in TRIPS if trip["day"] == day]

    @tool(pure=True, usd="0.001")
    def trips_of(van: str) -> list[dict[str, Any]]:
        """List all trips of a van such as V1, as trips does."""
        entry(VANS, van)
        return [trip for trip in TRIPS if trip["van"] == van]

    @tool(pure=True, usd="0.002")
    def repairs(van: str) -> list[dict[str, Any]]:
        """List the repairs of a van, each with day, part and euros."""
        return list(entry(REPAIRS, van))

    @tool(pure=True, usd="0.001")
    def driver(name: str) -> dict[str, str]:
        """Get phone, email and licence of a driver."""
        return dict(entry(DRIVERS, name))

    @tool(usd="0.01")
    def send(email: str, text: str) -> str:
        """Send a message to the email address of a driver."""
        made.sent.append(Message(email, text))
        return "sent"

    made.tools = [vans, trips, trips_of, repairs, driver, send]
    return made


QUESTIONS = (
    Question("make", "Which make is van V3?", {"make": str}, {"make": "Tessin"}),
    Question("count", "How many vans are there?", {"n": int}, {"n": 4}),
    Question("phone", "What is the phone number of Dorte?", {"phone": str}, {"phone": "555-0354"}),
    Question("driver", "Who drives V2, and with which licence?", {"name": str, "licence": str},
             {"name": "Bruno", "licence": "B"}),
    Question("oldest", "Which van is the oldest?", {"van": str}, {"van": "V1"}),
    Question("thrifty", "Which van takes the fewest litres per 100 km, and who drives it?", {"van": str, "driver": str},
             {"van": "V4", "driver": "Dorte"}),
    Question("parcels", "How many parcels were carried on 2026-09-01?", {"parcels": int}, {"parcels": 97}),
    Question("km", "How many kilometres has V1 gone on all its trips?", {"km": int}, {"km": 330}),
    Question("longest", "Which trip of 2026-09-03 is the longest: from where to where does it go?",
             {"start": str, "end": str}, {"start": "Arlen", "end": "Dunmore"}),
    Question("repairs", "How much was paid for repairs of V3 in all?", {"euros": float}, {"euros": 425.5}),
    Question("dear", "Which part was repaired at V1 for the most euros?", {"part": str}, {"part": "clutch"}),
    Question("unrepaired", "Which van was never repaired?", {"van": str}, {"van": "V4"}),
    Question("tessin", "Who drives the vans made by Tessin?", {"names": list[str]}, {"names": ["Chidi", "Dorte"]}),
    Question("mean", "What is the mean number of parcels on the trips of V2?", {"mean": float}, {"mean": 39.5}),
    Question("fuel", "How many litres did V1 take on its trip of 2026-09-01?", {"litres": float}, {"litres": 10.8}),
    Question("busiest", "Which van carried the most parcels on 2026-09-03?", {"van": str}, {"van": "V3"}),
    Question("brakes", "On which day were the brakes of V1 repaired?", {"day": str}, {"day": "2026-03-11"}),
    Question("far", "On which days did V4 go more than 200 km?", {"days": list[str]}, {"days": ["2026-09-03"]}),
    Question("to_arlen", "How many trips of 2026-09-02 and 2026-09-03 went to Arlen?", {"n": int}, {"n": 2}),
    Question("difference", "By how many euros are the repairs of V1 dearer than those of V2?", {"euros": float},
             {"euros": 950.0}),
    Question("write", "Write to Chidi 'The yard is closed on Monday.' Answer with the address.", {"address": str},
             {"address": "chidi@vans.example"}, Message("chidi@vans.example", "The yard is closed on Monday.")),
    Question("tell", "Tell the driver of V4 by a message 'Your van is due for a check.' Answer with the driver's name.",
             {"name": str}, {"name": "Dorte"}, Message("dorte@vans.example", "Your van is due for a check.")),
    Question("praise", "Write 'Well done.' to the driver of the van with the most parcels on 2026-09-01. Answer with "
             "the driver's name.", {"name": str}, {"name": "Bruno"}, Message("bruno@vans.example", "Well done.")),
    Question("invoice", "Write to the driver of the van with the dearest single repair of V1 and V2 how much it was: "
             "'The repair was 890 euros.' Answer with the address.", {"address": str},
             {"address": "amara@vans.example"}, Message("amara@vans.example", "The repair was 890 euros.")),
)  # fmt: skip

FLEET = QuestionSet("fleet", QUESTIONS, world)
