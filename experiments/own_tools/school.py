"""A school: pupils, courses and marks in SQLite, and messages. A tool of its own names the columns."""

from __future__ import annotations

from typing import Any

from experiments.own_tools.sets import Message, Question, QuestionSet, World, database, selected
from tape.tools import tool

SCRIPT = """
CREATE TABLE teachers (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
CREATE TABLE courses (id INTEGER PRIMARY KEY, title TEXT, teacher_id INTEGER, room TEXT, hours INTEGER);
CREATE TABLE pupils (id INTEGER PRIMARY KEY, name TEXT, year INTEGER);
CREATE TABLE marks (pupil_id INTEGER, course_id INTEGER, mark INTEGER, missed INTEGER);
INSERT INTO teachers VALUES
 (1, 'Ms Larsen', 'larsen@school.example'), (2, 'Mr Duarte', 'duarte@school.example'),
 (3, 'Ms Ionescu', 'ionescu@school.example');
INSERT INTO courses VALUES
 (1, 'algebra', 1, 'B12', 4), (2, 'history', 2, 'A03', 2), (3, 'biology', 3, 'C21', 3), (4, 'geometry', 1, 'B14', 2),
 (5, 'music', 2, 'A09', 1), (6, 'statistics', 1, 'B12', 1);
INSERT INTO pupils VALUES
 (1, 'Hana', 7), (2, 'Ivo', 7), (3, 'Jara', 8), (4, 'Kim', 8), (5, 'Lena', 9), (6, 'Milo', 9), (7, 'Nour', 7),
 (8, 'Otto', 8);
INSERT INTO marks VALUES
 (1, 1, 14, 0), (1, 2, 11, 1), (2, 1, 9, 3), (2, 3, 12, 0), (3, 1, 17, 0), (3, 4, 16, 0), (4, 2, 8, 5), (4, 3, 10, 2),
 (5, 4, 19, 0), (5, 5, 15, 1), (6, 2, 13, 0), (6, 5, 18, 0), (7, 3, 15, 0), (7, 1, 12, 2), (8, 4, 7, 6), (8, 2, 9, 4);
"""

TABLES = (
    "teachers(id, name, email), courses(id, title, teacher_id, room, hours), pupils(id, name, year), "
    "marks(pupil_id, course_id, mark, missed); a mark is between 0 and 20, missed counts lessons"
)


def world() -> World:
    """The school as it is before a question."""
    data = database(SCRIPT)
    made = World([])

    @tool(pure=True, usd="0.002", thread="caller")
    def select(sql: str) -> list[dict[str, Any]]:
        """Get the rows of a SELECT over teachers, courses, pupils and marks."""
        return selected(data, sql)

    @tool(pure=True, usd="0.001")
    def schema() -> str:
        """List the tables with their columns."""
        return TABLES

    @tool(usd="0.01")
    def send_message(to: str, subject: str, text: str) -> str:
        """Send a message to the address of a teacher."""
        made.sent.append(Message(to, f"{subject}\n{text}"))
        return "sent"

    made.tools = [select, schema, send_message]
    return made


QUESTIONS = (
    Question("room", "In which room is biology taught?", {"room": str}, {"room": "C21"}),
    Question("pupils", "How many pupils are in year 8?", {"n": int}, {"n": 3}),
    Question("hours", "How many hours does Ms Larsen teach in all?", {"hours": int}, {"hours": 7}),
    Question("best", "Who has the best mark in geometry, and which mark is it?", {"name": str, "mark": int},
             {"name": "Lena", "mark": 19}),
    Question("mean", "What is the mean mark in algebra?", {"mean": float}, {"mean": 13.0}),
    Question("absent", "Which pupil has missed the most lessons over all courses, and how many?",
             {"name": str, "missed": int}, {"name": "Otto", "missed": 10}),
    Question("nobody", "How many pupils of year 7 take history?", {"n": int}, {"n": 1}),
    Question("tell", "Send the teacher of music a message with the subject 'Concert' that says 'The hall is booked.' "
             "Answer with the address that it went to.", {"address": str}, {"address": "duarte@school.example"},
             Message("duarte@school.example", "The hall is booked.")),
    Question("below", "List the names of the pupils who have a mark below 10 in any course.", {"names": list[str]},
             {"names": ["Ivo", "Kim", "Otto"]}),
    Question("spread", "By how much is the best mark in history above the worst one there?", {"difference": int},
             {"difference": 5}),
    Question("busiest", "Which teacher has the most courses?", {"name": str, "courses": int},
             {"name": "Ms Larsen", "courses": 3}),
    Question("year", "Which year has the highest mean of all its marks?", {"year": int}, {"year": 9}),
)  # fmt: skip

SCHOOL = QuestionSet("school", QUESTIONS, world)
