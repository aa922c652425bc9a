"""Texts for general models about a multi-hop question: rules, a state in words, and worked examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from envs.hotpotqa.actions import Find, Finish, HotpotAnswer, ParagraphSearch
from envs.hotpotqa.prompts.chat_schema import as_step
from envs.hotpotqa.state import QaState, Searched
from tape.budget import in_units
from tape.protocols.search import Passage
from tape.tools.results import cut

_RULES = """You answer a question that takes several look-ups, one after the other. Use only what the paragraphs state.
The steps there are:
{search}- find: note what a paragraph states. First the small question that it answers, then the quote, which is the
sentence copied from the paragraph, then the answer in words of the quote, as short as it can be, then the title.
- answer: let a short answer stand, in place of an earlier one.
- finish: end with the answer that stands."""

_SEARCH = "- search: look for paragraphs with a short query.\n"
_NOTHING = "The paragraphs are given; there is nothing to search."

ASK_PLAN = "Plan the steps that are left, up to finish. First say in a sentence what has to be found."
ASK_ACT = "Think in one sentence, then choose the next step."
ASK_ANSWER = (
    "No more steps can be taken. Say in a few words what is known, then give the answer, as short as it can be."
)
ASK_SCORE = (
    "Is this a good end of the attempt: do the paragraphs state what was found, and does the answer that stands follow "
    "from it and answer the question? Answer good or poor."
)

LONGEST_PARAGRAPHS, LONGEST_LIST, LONGEST_LINE = 6000, 1200, 400
"""Bytes that are shown of the paragraphs, of the queries or findings, and of an answer or a refusal."""


@cache
def rules(searches: bool) -> str:
    """The rules, with a search where there is something to search."""
    return _RULES.format(search=_SEARCH) if searches else f"{_RULES.format(search='')}\n{_NOTHING}"


def described(
    state: QaState, passages: Sequence[Passage], remaining: Mapping[str, int] | None = None, searches: bool = False
) -> str:
    """A state in words; the paragraphs come first, as they change least."""
    text = cut("\n".join(f"[{p.title}] {p.text}" for p in passages), LONGEST_PARAGRAPHS)
    name = "\n".join(f"#{c.hop} {c.sub} {c.finding} [{c.title}]" for c in state.claims)
    left = ", ".join(in_units(kind, count) for kind, count in (remaining or {}).items())
    parts = [
        f"Paragraphs:\n{text}" if text else "Paragraphs: none yet" if searches else "",
        f"Question: {state.question}",
        f"Searched so far: {cut('; '.join(state.queries), LONGEST_LIST)}" if state.queries else "",
        f"Found so far:\n{cut(name, LONGEST_LIST)}" if name else "",
        f"The answer that stands: {cut(state.answer, LONGEST_LINE)}" if state.answer else "",
        f"Refused: {cut(state.note, LONGEST_LINE)}" if state.note else "",
        f"Left of the budget: {left}" if left else "",
    ]
    return "\n\n".join(part for part in parts if part)


_QUESTION = "In which country was the designer of the Osprey Bridge born?"
_BRIDGE = Passage(
    "1", "Osprey Bridge", "Osprey Bridge crosses the Minch in two spans. Ingrid Lund drew its plans in 1931."
)
_PERSON = Passage("2", "Ingrid Lund", "Ingrid Lund came to the world in Bergen in Norway. She played the flute.")
_FIRST = Find(1, "Ingrid Lund", "Osprey Bridge", "Ingrid Lund", "Who designed the Osprey Bridge?")
_SECOND = Find(2, "Norway", "Ingrid Lund", "Norway", "In which country was Ingrid Lund born?")
_QUOTES = {
    _FIRST: "Ingrid Lund drew its plans in 1931.",
    _SECOND: "Ingrid Lund came to the world in Bergen in Norway.",
}
_THOUGHT = "First who designed the Osprey Bridge has to be found, then where that person was born."


def _state(searches: bool) -> tuple[QaState, tuple[Passage, ...]]:
    given = (_BRIDGE, _PERSON)
    if not searches:
        return QaState(_QUESTION, given), given
    return QaState(_QUESTION, (), (Searched("Osprey Bridge designer", (_BRIDGE,)),)), (_BRIDGE,)


def _written(thought: str, **more: object) -> str:
    return json.dumps({"thought": thought, **more}, ensure_ascii=False)


@cache
def examples(role: str, searches: bool) -> tuple[tuple[str, str], ...]:
    """Worked examples of a role: questions and their answers."""
    state, passages = _state(searches)
    first, second = (as_step(match, _QUOTES[match]) for match in (_FIRST, _SECOND))
    text = described(state, passages, {"steps": 9}, searches)
    if role == "plan":
        steps = [first, as_step(ParagraphSearch("Ingrid Lund born"))] if searches else [first, second]
        ends = [] if searches else [as_step(HotpotAnswer("Norway")), as_step(Finish())]
        return ((f"{text}\n\n{ASK_PLAN}", _written(_THOUGHT, steps=[*steps, *ends])),)
    if role == "act":
        thought = "The first paragraph says who drew the plans of the bridge."
        return ((f"{text}\n\n{ASK_ACT}", _written(thought, step=first)),)
    claimed = state.with_claim(1, _FIRST.finding, _FIRST.title, _FIRST.bridge, _FIRST.sub)
    known = replace(
        claimed.with_claim(2, _SECOND.finding, _SECOND.title, _SECOND.bridge, _SECOND.sub), given=(_BRIDGE, _PERSON)
    )
    if role == "answer":
        reason = {"reason": "Ingrid Lund designed the bridge, and she was born in Norway.", "answer": "Norway"}
        return ((f"{described(known, (_BRIDGE, _PERSON))}\n\n{ASK_ANSWER}", json.dumps(reason)),)
    if role == "score":
        judged = ((replace(known, answer="Norway"), "good"), (replace(claimed, answer="Ingrid Lund"), "poor"))
        return tuple((f"{described(end, (_BRIDGE, _PERSON))}\n\n{ASK_SCORE}", word) for end, word in judged)
    return ()
