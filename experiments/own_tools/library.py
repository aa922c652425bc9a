"""A library: members, books and loans in SQLite, and notes to members. Prompts are developed on this set alone."""

from __future__ import annotations

from typing import Any

from experiments.own_tools.sets import Message, Question, QuestionSet, World, database, selected
from tape.tools import tool

SCRIPT = """
CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, email TEXT, since INTEGER);
CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, author TEXT, year INTEGER, pages INTEGER);
CREATE TABLE loans (id INTEGER PRIMARY KEY, member_id INTEGER, book_id INTEGER, day TEXT, returned INTEGER, fine REAL);
INSERT INTO members VALUES
 (1, 'Anouk Vidal', 'anouk@vidal.example', 2019), (2, 'Bela Horvat', 'bela@horvat.example', 2021),
 (3, 'Carla Munk', 'carla@munk.example', 2021), (4, 'Deniz Aksoy', 'deniz@aksoy.example', 2023),
 (5, 'Edda Lund', 'edda@lund.example', 2020);
INSERT INTO books VALUES
 (1, 'Salt Roads', 'Nora Quist', 1998, 312), (2, 'The Glass Orchard', 'Ivan Petrak', 2004, 198),
 (3, 'Winter Harbour', 'Nora Quist', 2011, 420), (4, 'A Map of Tides', 'Lea Brandao', 2016, 264),
 (5, 'Paper Lanterns', 'Ivan Petrak', 2019, 350), (6, 'The Long Ferry', 'Tom Ashdown', 1987, 505);
INSERT INTO loans VALUES
 (1, 1, 3, '2026-01-04', 1, 0), (2, 1, 6, '2026-01-20', 0, 1.5), (3, 2, 1, '2026-01-22', 1, 0),
 (4, 3, 5, '2026-02-02', 1, 2.0), (5, 3, 2, '2026-02-10', 1, 0), (6, 3, 4, '2026-02-18', 0, 0),
 (7, 4, 3, '2026-02-20', 0, 3.25), (8, 5, 1, '2026-03-01', 1, 0.5), (9, 1, 1, '2026-03-03', 1, 0),
 (10, 4, 5, '2026-03-09', 1, 0), (11, 1, 2, '2026-03-15', 1, 0.75);
"""


def world() -> World:
    """The library as it is before a question."""
    data = database(SCRIPT)
    made = World([])

    @tool(pure=True, usd="0.002", thread="caller")
    def first_row(sql: str) -> dict[str, Any] | None:
        """Get the first row of a SELECT over members(id, name, email, since), books(id, title, author, year, pages),
        loans(id, member_id, book_id, day, returned, fine); returned is 1 or 0, day is like 2026-01-04.
        """  # noqa: D205  (the model is to see all of it)
        return next(iter(selected(data, sql, 1)), None)

    @tool(pure=True, usd="0.002", thread="caller")
    def all_rows(sql: str) -> list[dict[str, Any]]:
        """Get all rows of a SELECT over the same tables."""
        return selected(data, sql)

    @tool(usd="0.01")
    def write_note(email: str, text: str) -> str:
        """Send a note to the email address of a member."""
        made.sent.append(Message(email, text))
        return "sent"

    made.tools = [first_row, all_rows, write_note]
    return made


QUESTIONS = (
    Question("pages", "How many pages does The Long Ferry have?", {"pages": int}, {"pages": 505}),
    Question("out", "How many loans are not returned?", {"n": int}, {"n": 3}),
    Question("oldest", "Which book is the oldest, and who wrote it?", {"title": str, "author": str},
             {"title": "The Long Ferry", "author": "Tom Ashdown"}),
    Question("fines", "How much do all fines add up to?", {"total": float}, {"total": 8.0}),
    Question("author", "List the titles of the books by Ivan Petrak.", {"titles": list[str]},
             {"titles": ["The Glass Orchard", "Paper Lanterns"]}),
    Question("reader", "Which member has borrowed the most books, and how many?", {"name": str, "n": int},
             {"name": "Anouk Vidal", "n": 4}),
    Question("remind", "Send Deniz Aksoy a note that says 'Please bring the book back.' Answer with the address.",
             {"email": str}, {"email": "deniz@aksoy.example"},
             Message("deniz@aksoy.example", "Please bring the book back.")),
    Question("longer", "How many pages more has Salt Roads than A Map of Tides?", {"pages": int}, {"pages": 48}),
    Question("february", "How many loans began in February 2026?", {"n": int}, {"n": 4}),
    Question("worst", "Who has to pay the highest single fine? Write to this member 'Your fine is due.' and answer "
             "with the name.", {"name": str}, {"name": "Deniz Aksoy"},
             Message("deniz@aksoy.example", "Your fine is due.")),
    Question("unread", "Which title has been borrowed most often?", {"title": str}, {"title": "Salt Roads"}),
    Question("debt", "How much has Anouk Vidal to pay in fines?", {"fine": float}, {"fine": 2.25}),
)  # fmt: skip

LIBRARY = QuestionSet("library", QUESTIONS, world)
