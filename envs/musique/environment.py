"""MuSiQue as an environment: questions of several hops over a local corpus, by retrievers of five prices."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from envs.musique.errors import MusiqueError
from envs.musique.question import MusiqueQuestion
from envs.musique.retrieval import RETRIEVERS, Searchable
from envs.musique.scripted_reader import read
from envs.search.metrics import exact_match, f1
from tape.budget import Resources
from tape.budget.prices import Fixed
from tape.tools.environment import ToolEnvironment
from tape.tools.errors import ToolFailedError
from tape.tools.making import make_tool
from tape.tools.tool import Tool, ToolVariant
from tape.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from tape.methods.sdp.tool_adapter import ToolAdapter
from collections.abc import Sequence

from tape.tools.domain import ToolDomain
from tape.tools.prompts.common import read_example
from tape.tools.prompts.programs import ProgramFormat

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


KIND = "search"

READERS = ("lm", "ask", "scripted")
"""Who reads what was retrieved: the model, each result by its query; the model where a program has ``ask``; the script
of :mod:`envs.musique.scripted_reader`."""


def tools(corpus: Searchable, reader: str = "lm") -> Toolbox:
    """The five retrievers over a corpus.

    Raises:
        MusiqueError: There is no such reader.
    """
    if reader not in READERS:
        raise MusiqueError(f"there is no reader {reader!r}; there is: {', '.join(READERS)}")
    return Toolbox([_tool(corpus, variant, reader) for variant in RETRIEVERS])


def _tool(corpus: Searchable, variant: ToolVariant, reader: str) -> Tool:
    def search(query: str, rng: random.Random) -> str:
        """Search the corpus for passages about a short query, for instance "founder of Aldera"."""
        passages = corpus.retrieve(query, variant.name, rng.getrandbits(32))
        if not passages:
            raise ToolFailedError("no passage was found")
        if reader == "scripted":
            answer = read(query, passages)
            if answer is None:
                raise ToolFailedError("the passages do not say")
            return answer
        return " ".join(p.text if p.title in p.text else f"{p.title}: {p.text}" for p in passages)

    cost = Fixed(Resources({name: count for name, count in variant.worst.items() if name != "steps"}))
    return make_tool(
        search,
        kind=KIND,
        variant=variant.name,
        cost=cost,
        quality=variant.quality,
        reads=reader == "lm",
        pure=True,
    )


class MusiqueEnvironment(ToolEnvironment):
    """One question."""

    def __init__(self, question: MusiqueQuestion, corpus: Searchable, *, reader: str = "lm") -> None:
        super().__init__(
            question.text,
            tools(corpus, reader),
            judge=lambda answer: bool(exact_match(_text(answer), question.answers)),
            prompt_formats={"chat": chat_format},
        )
        self.question = question

    def sdp(self) -> ToolAdapter:
        """Predicate chains for :mod:`tape.methods.sdp`, which is loaded only where it is asked for."""
        from tape.methods.sdp.adapter import Caps
        from tape.methods.sdp.tool_adapter import ToolAdapter

        return ToolAdapter(self.domain, Caps(attempts=3, replans=2, steps=25))  # the paper's caps (SDP table 11)

    def measures(self) -> Mapping[str, float]:
        """Exact match and F1 of the answer; 0 where none was given."""
        given, answers = _text(self.answered) if self.ended() else "", self.question.answers
        return {"exact_match": float(self.ended() and exact_match(given, answers)), "f1": f1(given, answers)}


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else str(answer)
