"""What general models are asked when a question is answered hop by hop, and how their answers are read.

Paragraphs come before the question, so that what several requests share is read once; the sentence that says something
comes before what it says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from envs.hotpotqa.actions import Find
from envs.hotpotqa.minds.base import NOT_FOUND, HopTask
from envs.hotpotqa.state import Certified
from tape.errors import InvalidOutputError
from tape.lm.base import Constraint, JsonSchema, OneOf, Request
from tape.protocols.prompt_format import turns
from tape.protocols.search import Passage
from tape.reading import parsed
from tape.tools.results import cut

RULES = """You answer a question that takes several look-ups, one after the other. Use only what the paragraphs state.
Keep every answer as short as it can be: a name, a date, a number, yes or no. Answer in the form that is asked for."""

LONGEST_PARAGRAPH = 1000
LONGEST_PARAGRAPHS = 6000
"""Bytes that are shown of one paragraph, and of all."""

LONGEST_QUOTE, LONGEST_ANSWER, LONGEST_QUERY, LONGEST_QUESTION = 300, 120, 120, 200
"""Characters that a model may write."""

YES, NO = "yes", "no"

_STRICT = ConfigDict(extra="forbid")
_ANSWER: Any = (str, Field(max_length=LONGEST_ANSWER))
_QUOTE: Any = (str, Field(max_length=LONGEST_QUOTE))


class HopQuery(BaseModel):
    """A query, or a guess."""

    model_config = _STRICT
    query: str = Field(max_length=LONGEST_QUERY)


class AnsweredHop(BaseModel):
    """Why, and the answer."""

    model_config = _STRICT
    reason: str = Field(max_length=LONGEST_QUESTION)
    answer: str = Field(max_length=LONGEST_ANSWER)


@lru_cache(maxsize=8)
def _sub_questions(count: int) -> type[BaseModel]:
    """So many sub-questions, by number."""
    value: Any = (str, Field(min_length=1, max_length=LONGEST_QUESTION))
    return create_model("SubQuestions", __config__=_STRICT, **{str(number): value for number in range(1, count + 1)})


@lru_cache(maxsize=64)
def finding_model(titles: tuple[str, ...]) -> type[BaseModel]:
    """The sentence that says it, what it says, and the title of its paragraph; all empty where none says it."""
    title: Any = (Literal[(*dict.fromkeys(titles), "")], ...)
    return create_model("Finding", __config__=_STRICT, quote=_QUOTE, answer=_ANSWER, title=title)


def _request(
    role: str, examples: Sequence[tuple[str, str]], parts: Sequence[str], constraint: Constraint, tokens: int
) -> Request:
    return Request(turns(RULES, examples, _joined(parts)), tokens, constraint=constraint, role=role)


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)


# --- what is shown ------------------------------------------------------------------------------


def _known(findings: Sequence[Certified]) -> str:
    lines = [f"#{n} {hop.sub_question} {hop.finding}" for n, hop in enumerate(findings, 1)]
    return "Found so far:\n" + "\n".join(lines) if lines else ""


def paragraphs(passages: Sequence[Passage]) -> str:
    """Titles and texts, one a line."""
    text = "\n".join(f"[{passage.title}] {cut(passage.text, LONGEST_PARAGRAPH)}" for passage in passages)
    return f"Paragraphs:\n{cut(text, LONGEST_PARAGRAPHS)}" if text else "Paragraphs: none"


def shown(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """The paragraphs of which at least the beginning fits."""
    fitting, used = [], 0
    for passage in passages:
        if used >= LONGEST_PARAGRAPHS:
            break
        fitting.append(passage)
        used += len(f"[{passage.title}] {cut(passage.text, LONGEST_PARAGRAPH)}\n".encode())
    return tuple(fitting)


def _listed(intro: str, lines: Sequence[str]) -> str:
    return f"{intro}\n" + "\n".join(f"- {line}" for line in dict.fromkeys(lines)) if lines else ""


# --- decomposing --------------------------------------------------------------------------------


def _decompose(question: str, certified: Sequence[Certified], count: int, failures: Sequence[str]) -> list[str]:
    first = len(certified) + 1
    more = "" if first == 1 else f" of what is left of it; they are numbered from {first}"
    ask = (
        f"Split the question into {'one sub-question' if count == 1 else f'{count} sub-questions'}{more}. Each is "
        "answered by one paragraph, and asks for one thing about one name. Where the name is the answer of an earlier "
        "sub-question, write # and its number instead. The answer of the last one is the answer to the question."
    )
    return [
        f"Question: {question}",
        _known(certified),
        _listed("These sub-questions did not work out, so ask differently:", failures),
        ask,
    ]


_EXAMPLE_QUESTION = "In which country was the designer of the Osprey Bridge born?"
_EXAMPLE_SUBS = ("Who designed the Osprey Bridge?", "In which country was #1 born?")
_LONGER_QUESTION = "Which river flows through the town where the author of The Salt Road went to school?"
_LONGER_SUBS = ("Who wrote The Salt Road?", "In which town did #1 go to school?", "Which river flows through #2?")
_EXAMPLE_FOUND = Certified(_EXAMPLE_SUBS[0], "Osprey Bridge", "Ingrid Lund", "Ingrid Lund")


def _split(question: str, certified: Sequence[Certified], subs: Sequence[str]) -> tuple[str, str]:
    asked = _decompose(question, certified, len(subs), ())
    return _joined(asked), json.dumps({str(number): sub for number, sub in enumerate(subs, 1)})


def _splits(count: int) -> list[tuple[str, str]]:
    """Examples of three and of two sub-questions; of one where one is left."""
    if count == 1:
        return [_split(_EXAMPLE_QUESTION, [_EXAMPLE_FOUND], _EXAMPLE_SUBS[1:])]
    return [_split(_LONGER_QUESTION, (), _LONGER_SUBS), _split(_EXAMPLE_QUESTION, (), _EXAMPLE_SUBS)]


def decompose_request(
    question: str, certified: Sequence[Certified], count: int, failures: Sequence[tuple[str, str]]
) -> Request:
    """Ask for so many sub-questions of what is left of a question."""
    parts = _decompose(question, certified, count, [f"{sub}: {reason}" for sub, reason in failures])
    schema = JsonSchema(_sub_questions(count))
    return _request("propose", _splits(count), parts, schema, 20 + 70 * count)


def read_subs(text: str, count: int) -> tuple[str, ...]:
    """The sub-questions.

    Raises:
        InvalidOutputError: They are not as many, or one is empty.
    """
    subs = tuple(sub.strip() for sub in parsed(_sub_questions(count), text).model_dump().values())
    if not all(subs):
        raise InvalidOutputError(f"asked for {count} sub-questions, got {list(subs)}")
    return subs


# --- reading ------------------------------------------------------------------------------------

_EXAMPLE_PASSAGES = (
    Passage("1", "Osprey Bridge", "Osprey Bridge crosses the Minch in two spans. Ingrid Lund drew its plans in 1931."),
    Passage("2", "Heron Bridge", "Heron Bridge is a railway bridge. It was designed by Paul Sauer."),
)
_EXAMPLE_FIND = {"quote": "Ingrid Lund drew its plans in 1931.", "answer": "Ingrid Lund", "title": "Osprey Bridge"}
_EXAMPLE_NONE = {"quote": "", "answer": "", "title": ""}


def _find(passages: Sequence[Passage], question: str, rejected: Sequence[str]) -> list[str]:
    return [
        paragraphs(passages),
        f"Question: {question}",
        _listed("Rejected so far:", rejected),
        "Which sentence answers the question? Copy it as the quote, then give the shortest answer, in words of the "
        "quote, and the title of its paragraph. If no paragraph states the answer, leave all three empty.",
    ]


def find_request(task: HopTask) -> Request:
    """Ask what the paragraphs state about a sub-question."""
    shot = _joined(_find(_EXAMPLE_PASSAGES, _EXAMPLE_SUBS[0], ()))
    none = _joined(_find(_EXAMPLE_PASSAGES[1:], _EXAMPLE_SUBS[0], ()))
    examples = [(none, json.dumps(_EXAMPLE_NONE)), (shot, json.dumps(_EXAMPLE_FIND))]
    passages = shown(task.paragraphs)
    schema = JsonSchema(finding_model(tuple(passage.title for passage in passages)))
    return _request("realize", examples, _find(passages, task.sub_question, task.failures), schema, 200)


def read_find(task: HopTask, text: str) -> Find:
    """What was found; the entity that a next hop asks about is the answer.

    Raises:
        InvalidOutputError: It cannot be read.
    """
    value: Any = parsed(finding_model(tuple(passage.title for passage in shown(task.paragraphs))), text)
    answer = value.answer.strip()
    return Find(task.hop, answer or NOT_FOUND, value.title.strip(), answer)


def query_request(task: HopTask, guess: bool = False) -> Request:
    """Ask for a query; with ``guess`` for a guess at the answer, to be searched for."""
    ask = (
        "Searching has failed. Guess the answer to the question; it is searched."
        if guess
        else "Write a short search query that finds the paragraph with the answer: the name that the question is "
        "about, and what is asked of it."
    )
    parts = [f"Question: {task.sub_question}", _listed("Queries tried without success:", task.queries), ask]
    shots = [(f"Question: {_EXAMPLE_SUBS[0]}\n\n{ask}", json.dumps({"query": "Osprey Bridge designer"}))]
    return _request("query", [] if guess else shots, parts, JsonSchema(HopQuery), 60)


def _ask_answer(question: str, findings: Sequence[Certified], rejected: Sequence[str]) -> list[str]:
    return [
        _known(findings),
        f"Question: {question}",
        _listed("These answers were rejected:", rejected),
        "What is the answer to the question? Say in a few words why, then give the answer alone.",
    ]


_EXAMPLE_FINDINGS = (_EXAMPLE_FOUND, Certified("In which country was Ingrid Lund born?", "Ingrid Lund", "Norway", ""))


def answer_request(question: str, findings: Sequence[Certified], rejected: Sequence[str]) -> Request:
    """Ask for the answer that follows from the findings."""
    shot = _joined(_ask_answer(_EXAMPLE_QUESTION, _EXAMPLE_FINDINGS, ()))
    answer = {"reason": "The designer of the Osprey Bridge is Ingrid Lund, who was born in Norway.", "answer": "Norway"}
    parts = _ask_answer(question, findings, rejected)
    return _request("answer", [(shot, json.dumps(answer))], parts, JsonSchema(AnsweredHop), 140)


def read_answer(text: str) -> str:
    """The answer, in one line.

    Raises:
        InvalidOutputError: It cannot be read.
    """
    return " ".join(parsed(AnsweredHop, text).answer.split())


# --- verifying ----------------------------------------------------------------------------------


def _supports(passage: Passage, question: str, answer: str) -> list[str]:
    return [
        paragraphs([passage]),
        f"Question: {question}\nProposed answer: {answer}",
        "Does the paragraph state this answer, of the very thing that the question asks about? Answer yes or no.",
    ]


def supports_request(sub_question: str, finding: str, passage: Passage) -> Request:
    """Ask whether a paragraph states a finding."""
    right, other = _EXAMPLE_PASSAGES
    cases = ((right, "Ingrid Lund", YES), (other, "Paul Sauer", NO))
    shots = [(_joined(_supports(where, _EXAMPLE_SUBS[0], said)), verdict) for where, said, verdict in cases]
    return _request("validate", shots, _supports(passage, sub_question, finding), OneOf((YES, NO)), 3)


def _consistent(question: str, findings: Sequence[Certified], answer: str) -> list[str]:
    return [
        _known(findings),
        f"Question: {question}\nProposed answer: {answer}",
        "Does the proposed answer follow from these findings, and answer the question itself rather than a step on the "
        "way? Answer yes or no.",
    ]


def consistent_request(question: str, findings: Sequence[Certified], answer: str) -> Request:
    """Ask whether an answer follows from the chain."""
    cases = (("Norway", YES), ("Ingrid Lund", NO))
    shots = [(_joined(_consistent(_EXAMPLE_QUESTION, _EXAMPLE_FINDINGS, said)), verdict) for said, verdict in cases]
    return _request("validate", shots, _consistent(question, findings, answer), OneOf((YES, NO)), 3)
