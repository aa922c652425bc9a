"""How relations of people are said."""

from __future__ import annotations

from envs.musique.wordings_relation import Relation

PEOPLE = (
    Relation(
        "birthplace",
        ("person",),
        "town",
        sentences=(
            "{s} was born in {o}.",
            "{s} came into the world in {o}.",
            "{o} is where {s} was born.",
            "the birthplace of {s} is {o}.",
            "{s}, born in {o}, left home early.",
            "it was in {o} that {s} was born.",
        ),
        phrases=(
            "the birthplace of {x}",
            "the town of birth of {x}",
            "the native town of {x}",
            "the town where {x} was born",
            "the place of birth of {x}",
        ),
        questions=(
            "where was {x} born?",
            "where did {x} come into the world?",
            "in which town was {x} born?",
        ),
    ),
    Relation(
        "spouse",
        ("person",),
        "person",
        sentences=(
            "{s} is married to {o}.",
            "{s} married {o} in the spring.",
            "{o} is the spouse of {s}.",
            "{s} and {o} are husband and wife.",
            "{s} shares a home with {o}, to whom {s} is married.",
            "the one who married {s} is {o}.",
        ),
        phrases=(
            "the spouse of {x}",
            "the person married to {x}",
            "the one who married {x}",
            "the husband or wife of {x}",
            "the person who is the spouse of {x}",
        ),
        questions=(
            "who married {x}?",
            "to whom is {x} married?",
            "who is it that {x} married?",
        ),
    ),
    Relation(
        "teacher",
        ("person",),
        "person",
        sentences=(
            "{s} was taught by {o}.",
            "{s} learned the craft from {o}.",
            "the teacher of {s} was {o}.",
            "{o} taught {s} for many years.",
            "{s} was a pupil of {o}.",
            "as a pupil, {s} learned from {o}.",
        ),
        phrases=(
            "the teacher of {x}",
            "the person who taught {x}",
            "the one who taught {x}",
            "the person from whom {x} learned the craft",
            "the one who was the teacher of {x}",
        ),
        questions=(
            "who taught {x}?",
            "from whom did {x} learn the craft?",
            "by whom was {x} taught?",
        ),
    ),
    Relation(
        "employer",
        ("person",),
        "firm",
        sentences=(
            "{s} works for {o}.",
            "{s} has a job at {o}.",
            "{o} employs {s}.",
            "{s} is employed by {o}.",
            "{s} earns a living at {o}.",
            "the employer of {s} is {o}.",
        ),
        phrases=(
            "the employer of {x}",
            "the firm that employs {x}",
            "the firm that pays {x}",
            "the firm where {x} works",
            "the firm that is the employer of {x}",
        ),
        questions=(
            "which firm employs {x}?",
            "for which firm does {x} work?",
            "by which firm is {x} employed?",
        ),
    ),
    Relation(
        "school",
        ("person",),
        "school",
        sentences=(
            "{s} went to school at {o}.",
            "{s} was a student of {o}.",
            "{s} was educated at {o}.",
            "{o} is the school where {s} was a student.",
            "{s} spent the school years at {o}.",
            "{o} is where {s} was educated.",
        ),
        phrases=(
            "the school of {x}",
            "the school that educated {x}",
            "the school attended by {x}",
            "the school where {x} was a student",
            "the school that was attended by {x}",
        ),
        questions=(
            "which school did {x} attend?",
            "where was {x} educated?",
            "at which school was {x} a student?",
        ),
    ),
    Relation(
        "author",
        ("book",),
        "person",
        sentences=(
            "{s} was written by {o}.",
            "{o} wrote {s}.",
            "the author of {s} is {o}.",
            "{o} is known as the writer of {s}.",
            "{s} came from the pen of {o}.",
            "{o} is the author who wrote {s}.",
        ),
        phrases=(
            "the author of {x}",
            "the person who wrote {x}",
            "the writer of {x}",
            "the one who wrote {x}",
            "the person known as the author of {x}",
        ),
        questions=(
            "who wrote {x}?",
            "from whose pen came {x}?",
            "by whom was {x} written?",
        ),
    ),
    Relation(
        "founder",
        ("firm", "school", "festival"),
        "person",
        sentences=(
            "{s} was founded by {o}.",
            "{o} founded {s}.",
            "the founder of {s} was {o}.",
            "{s} was set up by {o}.",
            "{s} was started by {o} long ago.",
            "it was {o} who set up {s}.",
        ),
        phrases=(
            "the founder of {x}",
            "the person who founded {x}",
            "the one who set up {x}",
            "the person who started {x}",
            "the one who was the founder of {x}",
        ),
        questions=(
            "who founded {x}?",
            "who set up {x}?",
            "by whom was {x} founded?",
        ),
    ),
)
