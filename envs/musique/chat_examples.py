"""Worked examples of questions of several hops for general models: about things that no corpus has."""

from __future__ import annotations

from collections.abc import Sequence

from tape.tools.domain import ToolDomain
from tape.tools.prompts.common import read_example
from tape.tools.prompts.programs import ProgramFormat

KIND = "search"

EXAMPLES = (
    (
        "Tools: search(query)\n"
        "Task: In which country was the designer of the Osprey Bridge born?\nEnd with answer(value: Any)",
        "# First the designer, then the country where that person was born.\n"
        'who = search(query="designer of Osprey Bridge")\n'
        'country = search(query=f"country of birth of {who}")\n'
        "answer(country)",
    ),
    (
        "Tools: search(query)\n"
        "Task: Which river flows through the town where the author of The Salt Road went to school?\n"
        "End with answer(value: Any)",
        "# First the author, then the town of the school, then the river there.\n"
        'author = search(query="author of The Salt Road")\n'
        'town = search(query=f"town where {author} went to school")\n'
        'answer(search(query=f"river through {town}"))',
    ),
)
"""Questions and their programs."""

STUB = (
    'def search(query: str) -> str: "Search the corpus for passages about a short query, for instance \\"founder of '
    'Aldera\\"."'
)
ASKING = (
    (
        f"{STUB}\nTask: In which country was the designer of the Osprey Bridge born?\nEnd with answer(value: Any)",
        "# First the designer, then the country where that person was born.\n"
        'bridge = search(query="designer of Osprey Bridge")\n'
        'who = ask("Who designed the Osprey Bridge?", bridge)\n'
        'life = search(query=f"country of birth of {who}")\n'
        'answer(ask(f"In which country was {who} born?", life))',
    ),
    (
        "Task: Which river flows through the town where the author of The Salt Road went to school?\n"
        "End with answer(value: Any)",
        "# First the author, then the town of the school, then the river there.\n"
        'book = search(query="author of The Salt Road")\n'
        'author = ask("Who wrote The Salt Road?", book)\n'
        'school = search(query=f"town where {author} went to school")\n'
        'town = ask(f"In which town did {author} go to school?", school)\n'
        'answer(ask(f"Which river flows through {town}?", search(query=f"river through {town}")))',
    ),
)
"""The same where a program says what is read from a result."""

READ: Sequence[tuple[str, str]] = (
    read_example(
        "designer of Osprey Bridge",
        "Osprey Bridge crosses the Minch in two spans. Ingrid Lund drew its plans in 1931. Heron Bridge: It is a "
        "railway bridge. It was designed by Paul Sauer.",
        "Ingrid Lund drew its plans in 1931.",
        "Ingrid Lund",
    ),
    read_example(
        "country of birth of Ingrid Lund",
        "Heron Bridge is a railway bridge. Paul Sauer was born in Austria.",
        "",
        "",
    ),
)


def chat_format(domain: ToolDomain) -> ProgramFormat:
    """The ``chat`` prompt format, with examples of look-ups where there are some."""
    if KIND not in domain.toolbox.kinds:
        return ProgramFormat(domain, read=READ)
    reads = domain.toolbox.of_kind(KIND)[0].reads
    return ProgramFormat(domain, EXAMPLES if reads else ASKING, READ)
