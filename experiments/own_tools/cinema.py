"""A cinema: films, showings, halls and members behind functions, and messages to members.

It was written before any agent had played it, after traces of an earlier set had led to changes.
"""

from __future__ import annotations

from typing import Any

from experiments.own_tools.sets import Message, Question, QuestionSet, World, entry
from tape.tools import tool

FILMS = {
    "Red Tide": {"year": 1994, "minutes": 128, "language": "English", "age": 16},
    "The Owl": {"year": 2008, "minutes": 95, "language": "Polish", "age": 6},
    "Snow Line": {"year": 2019, "minutes": 142, "language": "Norwegian", "age": 12},
    "Paper Boats": {"year": 2022, "minutes": 88, "language": "English", "age": 0},
    "Last Tram": {"year": 1987, "minutes": 104, "language": "Polish", "age": 12},
}
SHOWINGS = (
    {"id": 1, "day": "2026-10-12", "time": "18:00", "film": "The Owl", "hall": "Blue", "price": 9.0, "sold": 41},
    {"id": 2, "day": "2026-10-12", "time": "20:30", "film": "Red Tide", "hall": "Grand", "price": 12.5, "sold": 133},
    {"id": 3, "day": "2026-10-12", "time": "21:00", "film": "Last Tram", "hall": "Blue", "price": 8.0, "sold": 12},
    {"id": 4, "day": "2026-10-13", "time": "15:00", "film": "Paper Boats", "hall": "Blue", "price": 7.5, "sold": 60},
    {"id": 5, "day": "2026-10-13", "time": "19:00", "film": "Snow Line", "hall": "Grand", "price": 12.5, "sold": 98},
    {"id": 6, "day": "2026-10-14", "time": "17:30", "film": "The Owl", "hall": "Attic", "price": 6.0, "sold": 20},
    {"id": 7, "day": "2026-10-14", "time": "20:00", "film": "Red Tide", "hall": "Blue", "price": 11.0, "sold": 57},
)
HALLS = {"Grand": {"seats": 180, "floor": 0}, "Blue": {"seats": 60, "floor": 1}, "Attic": {"seats": 24, "floor": 2}}
MEMBERS = {
    "Ines": {"email": "ines@mail.example", "since": 2015, "points": 340},
    "Jonas": {"email": "jonas@mail.example", "since": 2021, "points": 90},
    "Kaveh": {"email": "kaveh@mail.example", "since": 2018, "points": 510},
    "Lotte": {"email": "lotte@mail.example", "since": 2023, "points": 45},
}


def world() -> World:
    """The cinema as it is before a question."""
    made = World([])

    @tool(pure=True, usd="0.001")
    def films() -> list[dict[str, Any]]:
        """List all films, each with title, year, minutes, language and age."""
        return [{"title": title, **film} for title, film in FILMS.items()]

    @tool(pure=True, usd="0.001")
    def showings(day: str) -> list[dict[str, Any]]:
        """List the showings of a day such as 2026-10-12, each with id, day, time, film, hall, price and sold."""
        return [showing for showing in SHOWINGS if showing["day"] == day]

    @tool(pure=True, usd="0.001")
    def showings_of(film: str) -> list[dict[str, Any]]:
        """List all showings of a film by its title, as showings does."""
        entry(FILMS, film)
        return [showing for showing in SHOWINGS if showing["film"] == film]

    @tool(pure=True, usd="0.001")
    def hall(name: str) -> dict[str, int]:
        """Get seats and floor of a hall."""
        return dict(entry(HALLS, name))

    @tool(pure=True, usd="0.002")
    def members() -> list[dict[str, Any]]:
        """List the members, each with name, email, since and points."""
        return [{"name": name, **member} for name, member in MEMBERS.items()]

    @tool(usd="0.01")
    def write(email: str, text: str) -> str:
        """Send a message to the email address of a member."""
        made.sent.append(Message(email, text))
        return "sent"

    made.tools = [films, showings, showings_of, hall, members, write]
    return made


QUESTIONS = (
    Question("minutes", "How many minutes does Snow Line take?", {"minutes": int}, {"minutes": 142}),
    Question("films", "How many films are there?", {"n": int}, {"n": 5}),
    Question("seats", "How many seats has the Blue hall?", {"seats": int}, {"seats": 60}),
    Question("oldest", "Which film is the oldest, and from which year is it?", {"title": str, "year": int},
             {"title": "Last Tram", "year": 1987}),
    Question("longest", "Which film is the longest?", {"title": str}, {"title": "Snow Line"}),
    Question("polish", "List the titles of the Polish films.", {"titles": list[str]},
             {"titles": ["The Owl", "Last Tram"]}),
    Question("children", "Which films may a child of six see?", {"titles": list[str]},
             {"titles": ["The Owl", "Paper Boats"]}),
    Question("sold", "How many tickets were sold for 2026-10-12?", {"n": int}, {"n": 186}),
    Question("showings", "How many showings of Red Tide are there?", {"n": int}, {"n": 2}),
    Question("dearest", "What does the dearest showing of 2026-10-12 cost?", {"price": float}, {"price": 12.5}),
    Question("first", "Which film is shown first on 2026-10-14, and in which hall?", {"film": str, "hall": str},
             {"film": "The Owl", "hall": "Attic"}),
    Question("money", "How much money did the showing of Paper Boats bring in?", {"money": float}, {"money": 450.0}),
    Question("left", "How many seats are left for Red Tide on 2026-10-14?", {"seats": int}, {"seats": 3}),
    Question("full", "Which film of 2026-10-13 is sold out?", {"film": str}, {"film": "Paper Boats"}),
    Question("mean", "What is the mean price of the showings of The Owl?", {"mean": float}, {"mean": 7.5}),
    Question("all_sold", "How many tickets were sold for Red Tide over all its showings?", {"n": int}, {"n": 190}),
    Question("best", "Which member has the most points, and how many?", {"name": str, "points": int},
             {"name": "Kaveh", "points": 510}),
    Question("since", "How many members joined before 2020?", {"n": int}, {"n": 2}),
    Question("empty", "Which showing of 2026-10-12 sold the fewest tickets? Answer with the film.", {"film": str},
             {"film": "Last Tram"}),
    Question("longer", "By how many minutes is Red Tide longer than The Owl?", {"minutes": int}, {"minutes": 33}),
    Question("write", "Write to Ines 'Your ticket is ready.' Answer with the address.", {"address": str},
             {"address": "ines@mail.example"}, Message("ines@mail.example", "Your ticket is ready.")),
    Question("thank", "Thank the member with the most points by the message 'Thank you for coming so often.' Answer "
             "with the name.", {"name": str}, {"name": "Kaveh"},
             Message("kaveh@mail.example", "Thank you for coming so often.")),
    Question("welcome", "Write 'Welcome to the cinema.' to the newest member. Answer with the name.", {"name": str},
             {"name": "Lotte"}, Message("lotte@mail.example", "Welcome to the cinema.")),
    Question("points", "Tell Jonas how many points he has: 'You have 90 points.' Answer with the points.",
             {"points": int}, {"points": 90}, Message("jonas@mail.example", "You have 90 points.")),
)  # fmt: skip

CINEMA = QuestionSet("cinema", QUESTIONS, world)
