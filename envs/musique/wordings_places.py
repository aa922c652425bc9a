"""How relations of places are said."""

from __future__ import annotations

from envs.musique.wordings_relation import Relation

PLACES = (
    Relation(
        "mayor",
        ("town",),
        "person",
        sentences=(
            "the mayor of {s} is {o}.",
            "{o} was elected mayor of {s}.",
            "{s} is run by its mayor, {o}.",
            "{o} leads the council of {s} as its mayor.",
            "{o} serves as mayor of {s}.",
            "{s} elected {o} as its mayor.",
        ),
        phrases=(
            "the mayor of {x}",
            "the elected head of {x}",
            "the person who serves as mayor of {x}",
            "the one who leads the council of {x}",
            "the person elected mayor of {x}",
        ),
        questions=(
            "who serves as mayor of {x}?",
            "who was elected mayor of {x}?",
            "who leads the council of {x} as its mayor?",
        ),
    ),
    Relation(
        "river",
        ("town",),
        "river",
        sentences=(
            "{s} lies on the banks of {o}.",
            "{o} flows through {s}.",
            "the river of {s} is called {o}.",
            "{s} stands on the river {o}.",
            "the water of {o} runs past the walls of {s}.",
            "the river that flows through {s} is {o}.",
        ),
        phrases=(
            "the river of {x}",
            "the river that flows through {x}",
            "the river that runs past {x}",
            "the river on which {x} stands",
            "the river that runs through {x}",
        ),
        questions=(
            "which river flows through {x}?",
            "on which river does {x} stand?",
            "on the banks of which river does {x} stand?",
        ),
    ),
    Relation(
        "country",
        ("town",),
        "country",
        sentences=(
            "{s} is a town in {o}.",
            "{s} belongs to {o}.",
            "{s} lies in the country of {o}.",
            "{s} is one of the towns of {o}.",
            "{s} pays its taxes to {o}.",
            "the country that {s} belongs to is {o}.",
        ),
        phrases=(
            "the country of {x}",
            "the country that includes {x}",
            "the country around {x}",
            "the country where {x} lies",
            "the country that {x} belongs to",
        ),
        questions=(
            "in which country is {x}?",
            "which country includes {x}?",
            "in which country lies {x}?",
        ),
    ),
    Relation(
        "capital",
        ("country",),
        "town",
        sentences=(
            "the capital of {s} is {o}.",
            "{s} is governed from {o}.",
            "{o} is the capital of {s}.",
            "the parliament of {s} meets in {o}.",
            "{s} made {o} its capital.",
            "{s} has its capital in {o}.",
        ),
        phrases=(
            "the capital of {x}",
            "the capital town of {x}",
            "the seat of the parliament of {x}",
            "the town from which {x} is governed",
            "the town that is the capital of {x}",
        ),
        questions=(
            "which town is the capital of {x}?",
            "from which town is {x} governed?",
            "where does the parliament of {x} meet?",
        ),
    ),
    Relation(
        "ruler",
        ("country",),
        "person",
        sentences=(
            "{s} is ruled by {o}.",
            "{o} rules {s}.",
            "the ruler of {s} is {o}.",
            "{o} sits on the throne of {s}.",
            "the crown of {s} is worn by {o}.",
            "{o} is the ruler who wears the crown of {s}.",
        ),
        phrases=(
            "the ruler of {x}",
            "the person who rules {x}",
            "the one who rules {x}",
            "the one who wears the crown of {x}",
            "the person on the throne of {x}",
        ),
        questions=(
            "who rules {x}?",
            "by whom is {x} ruled?",
            "who sits on the throne of {x}?",
        ),
    ),
    Relation(
        "mouth",
        ("river",),
        "town",
        sentences=(
            "{s} reaches the sea at {o}.",
            "{s} flows into the sea at {o}.",
            "the mouth of {s} is at {o}.",
            "at {o}, {s} meets the sea.",
            "{o} lies at the mouth of {s}.",
            "it is at {o} that {s} reaches the sea.",
        ),
        phrases=(
            "the town at the mouth of {x}",
            "the town by the mouth of {x}",
            "the port at the mouth of {x}",
            "the town where {x} reaches the sea",
            "the town that lies at the mouth of {x}",
        ),
        questions=(
            "where does {x} reach the sea?",
            "at which town does {x} meet the sea?",
            "which town lies at the mouth of {x}?",
        ),
    ),
    Relation(
        "host",
        ("festival",),
        "town",
        sentences=(
            "{s} is held in {o}.",
            "{o} hosts {s} each summer.",
            "{s} takes place in {o}.",
            "the host of {s} is {o}.",
            "guests of {s} meet in {o}.",
            "{o} is the town that hosts {s}.",
        ),
        phrases=(
            "the host of {x}",
            "the town that hosts {x}",
            "the host town of {x}",
            "the town where {x} is held",
            "the town that is the host of {x}",
        ),
        questions=(
            "where is {x} held?",
            "where does {x} take place?",
            "which town hosts {x}?",
        ),
    ),
)
