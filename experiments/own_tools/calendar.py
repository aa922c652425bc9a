"""A calendar with contacts and invitations: the third set, which no prompt is tried on."""

from __future__ import annotations

from typing import Any

from experiments.own_tools.sets import Message, Question, QuestionSet, World
from tape.tools import ToolFailedError, tool

EVENTS = (
    {"day": "2026-05-04", "start": "09:00", "minutes": 30, "title": "stand-up", "place": "room 2", "with": ["Priya"]},
    {"day": "2026-05-04", "start": "13:30", "minutes": 60, "title": "budget review", "place": "room 5",
     "with": ["Tomas", "Yara"]},
    {"day": "2026-05-05", "start": "09:00", "minutes": 30, "title": "stand-up", "place": "room 2", "with": ["Priya"]},
    {"day": "2026-05-05", "start": "11:00", "minutes": 90, "title": "hiring interview", "place": "room 1",
     "with": ["Sven"]},
    {"day": "2026-05-06", "start": "09:00", "minutes": 30, "title": "stand-up", "place": "room 2", "with": ["Priya"]},
    {"day": "2026-05-06", "start": "15:00", "minutes": 45, "title": "dentist", "place": "Mill Street 8", "with": []},
    {"day": "2026-05-07", "start": "10:00", "minutes": 120, "title": "workshop", "place": "room 5",
     "with": ["Priya", "Sven", "Tomas"]},
    {"day": "2026-05-08", "start": "12:00", "minutes": 60, "title": "lunch", "place": "Harbour Cafe", "with": ["Yara"]},
)  # fmt: skip
CONTACTS = {
    "Priya": {"email": "priya@office.example", "phone": "555-0141", "team": "platform"},
    "Sven": {"email": "sven@office.example", "phone": "555-0175", "team": "people"},
    "Tomas": {"email": "tomas@office.example", "phone": "555-0112", "team": "finance"},
    "Yara": {"email": "yara@office.example", "phone": "555-0198", "team": "finance"},
}


def world() -> World:
    """The calendar as it is before a question."""
    made = World([])

    @tool(pure=True, usd="0.001")
    def events(day: str) -> list[dict[str, Any]]:
        """List the events of a day such as 2026-05-04, each with day, start, minutes, title, place and with."""
        return [event for event in EVENTS if event["day"] == day]

    @tool(pure=True, usd="0.001")
    def find_events(word: str) -> list[dict[str, Any]]:
        """List the events with a word in their titles, as events does."""
        return [event for event in EVENTS if word.lower() in str(event["title"])]

    @tool(pure=True, usd="0.001")
    def contact(name: str) -> dict[str, str]:
        """Get email, phone and team of a person by the first name."""
        if name not in CONTACTS:
            raise ToolFailedError(f"there is no {name}; there is: {', '.join(CONTACTS)}")
        return CONTACTS[name]

    @tool(pure=True, usd="0.001")
    def people(team: str) -> list[str]:
        """List the first names of the people of a team."""
        return [name for name, person in CONTACTS.items() if person["team"] == team]

    @tool(usd="0.01")
    def invite(to: str, text: str) -> str:
        """Send an invitation to an email address."""
        made.sent.append(Message(to, text))
        return "sent"

    made.tools = [events, find_events, contact, people, invite]
    return made


QUESTIONS = (
    Question("place", "Where does the budget review take place?", {"place": str}, {"place": "room 5"}),
    Question("number", "How many events are there on 2026-05-05?", {"n": int}, {"n": 2}),
    Question("phone", "What is Sven's phone number?", {"phone": str}, {"phone": "555-0175"}),
    Question("minutes", "How many minutes do the events of 2026-05-04 take in all?", {"minutes": int},
             {"minutes": 90}),
    Question("finance", "Who is in the finance team?", {"names": list[str]}, {"names": ["Tomas", "Yara"]}),
    Question("standups", "On how many days is there a stand-up?", {"n": int}, {"n": 3}),
    Question("when", "On which day is the dentist, and when does it start?", {"day": str, "start": str},
             {"day": "2026-05-06", "start": "15:00"}),
    Question("longest", "Which event of 2026-05-05 takes the longest?", {"title": str}, {"title": "hiring interview"}),
    Question("invite", "Invite Yara by mail with the text 'Lunch is at 12.' Answer with the address.",
             {"address": str}, {"address": "yara@office.example"},
             Message("yara@office.example", "Lunch is at 12.")),
    Question("workshop", "How many people take part in the workshop, and in which room is it?",
             {"n": int, "place": str}, {"n": 3, "place": "room 5"}),
    Question("team", "In which team is the person of the hiring interview?", {"team": str}, {"team": "people"}),
    Question("hours", "How many hours does the workshop take?", {"hours": float}, {"hours": 2.0}),
)  # fmt: skip

CALENDAR = QuestionSet("calendar", QUESTIONS, world)
