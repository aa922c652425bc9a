"""How relations of firms, ships and books are said."""

from __future__ import annotations

from envs.musique.wordings_relation import Relation

THINGS = (
    Relation(
        "headquarters",
        ("firm",),
        "town",
        sentences=(
            "{s} has its headquarters in {o}.",
            "{s} is based in {o}.",
            "the main office of {s} is in {o}.",
            "the headquarters of {s} are in {o}.",
            "{s} is led from an office in {o}.",
            "{s} has its main office in {o}.",
        ),
        phrases=(
            "the town with the headquarters of {x}",
            "the town with the main office of {x}",
            "the home town of {x}",
            "the town where {x} is based",
            "the town where {x} has its headquarters",
        ),
        questions=(
            "where is {x} based?",
            "in which town are the headquarters of {x}?",
            "where are the headquarters of {x}?",
        ),
    ),
    Relation(
        "rival",
        ("firm",),
        "firm",
        sentences=(
            "{s} competes with {o}.",
            "the old rival of {s} is {o}.",
            "{s} and {o} are rivals.",
            "{o} is the rival that {s} fears.",
            "{s} fights with {o} for the same buyers.",
            "{s} has a rival in {o}.",
        ),
        phrases=(
            "the rival of {x}",
            "the firm that competes with {x}",
            "the old rival of {x}",
            "the firm that fights with {x} for buyers",
            "the firm that is the rival of {x}",
        ),
        questions=(
            "which firm competes with {x}?",
            "with which firm does {x} compete?",
            "which firm is it that {x} competes with?",
        ),
    ),
    Relation(
        "builder",
        ("ship",),
        "firm",
        sentences=(
            "{s} was built by {o}.",
            "{o} built {s}.",
            "the builder of {s} is {o}.",
            "{s} left the yard of {o} in the spring.",
            "the hull of {s} was laid down by {o}.",
            "it was {o} that built {s}.",
        ),
        phrases=(
            "the builder of {x}",
            "the firm that built {x}",
            "the firm that laid down {x}",
            "the firm by which {x} was built",
            "the firm that was the builder of {x}",
        ),
        questions=(
            "which firm built {x}?",
            "by which firm was {x} built?",
            "which firm laid down {x}?",
        ),
    ),
    Relation(
        "captain",
        ("ship",),
        "person",
        sentences=(
            "the captain of {s} is {o}.",
            "{o} commands {s}.",
            "{s} sails under captain {o}.",
            "{s} is commanded by {o}.",
            "on the bridge of {s} stands {o}, its captain.",
            "{o} stands on the bridge of {s} as its captain.",
        ),
        phrases=(
            "the captain of {x}",
            "the person who commands {x}",
            "the one in command of {x}",
            "the person under whom {x} sails",
            "the person in command of {x}",
        ),
        questions=(
            "who commands {x}?",
            "under whom does {x} sail?",
            "by whom is {x} commanded?",
        ),
    ),
    Relation(
        "owner",
        ("ship",),
        "person",
        sentences=(
            "{s} is owned by {o}.",
            "{o} owns {s}.",
            "the owner of {s} is {o}.",
            "{o} bought {s} and owns it still.",
            "{s} is the property of {o}.",
            "{s} was bought by its owner, {o}.",
        ),
        phrases=(
            "the owner of {x}",
            "the person who owns {x}",
            "the one who owns {x}",
            "the person who bought {x}",
            "the person who is the owner of {x}",
        ),
        questions=(
            "who owns {x}?",
            "whose property is {x}?",
            "by whom is {x} owned?",
        ),
    ),
    Relation(
        "publisher",
        ("book",),
        "firm",
        sentences=(
            "{s} was published by {o}.",
            "{o} published {s}.",
            "the publisher of {s} is {o}.",
            "{s} was printed and sold by {o}.",
            "{o} brought {s} to the shops.",
            "it was {o} that published {s}.",
        ),
        phrases=(
            "the publisher of {x}",
            "the firm that published {x}",
            "the firm that printed {x}",
            "the firm by which {x} was published",
            "the firm that was the publisher of {x}",
        ),
        questions=(
            "which firm published {x}?",
            "by which firm was {x} published?",
            "by which firm was {x} printed?",
        ),
    ),
)
