"""Our own questions with known answers for every role: look-ups, readings, answers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from envs.musique.environment import KIND, chat_format, tools
from envs.musique.made_questions import MadeQuestion, made_question, mentions
from envs.musique.retrieval import RETRIEVERS, Searchable
from envs.musique.wordings import RELATIONS, query_text
from envs.search.metrics import exact_match
from tape.protocols import Plan
from tape.protocols.role_cases import (
    RoleCase,
    chat_only,
    judged_act,
    judged_by,
    judged_plan,
)
from tape.protocols.search import Passage
from tape.seeds import derive
from tape.tools.calls import Call, answer, call, parse
from tape.tools.domain import ToolDomain
from tape.tools.errors import InvalidCallError
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.role_cases import program_text, score_case, state_after
from tape.tools.state import ToolState

_VARIANT = RETRIEVERS[-1].name
_READ = 3
"""Paragraphs that are read at once, as many as a search brings."""

_NOWHERE = 0.2
"""Share of look-ups whose paragraphs do not state the answer."""

_LEFT = {"steps": 9}


class _Unsearched(Searchable):
    """Never searched: cases make no calls."""

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        del query
        return np.zeros(len(self.passages))


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """See :meth:`tape.protocols.EnvironmentPlugin.role_cases`."""
    chat_only(prompts)
    make: Callable[[MadeQuestion, ProgramFormat, random.Random, str], RoleCase] = {
        "plan": _plan, "act": _act, "project": _project, "score": _score, "answer": _answer,
    }[role]  # fmt: skip
    cases, toolbox = [], tools(_Unsearched([Passage("1", "Nothing", "Nothing.")]))
    for number in range(count):
        rng = random.Random(derive(seed, "role_cases", "musique", role, number))
        made = made_question(seed, number)
        cases.append(make(made, chat_format(ToolDomain(made.text, toolbox)), rng, f"{seed}-{number}"))
    return cases


def _queries(made: MadeQuestion) -> list[str]:
    """The look-ups, later ones of earlier answers."""
    return [
        query_text(relation, subject if hop == 0 else f"#{hop}")
        for hop, (relation, subject, _) in enumerate(made.chain)
    ]


def _calls(queries: Sequence[str]) -> list[Call]:
    return [call(KIND, _VARIANT, query=query) for query in queries]


def _after(made: MadeQuestion, hops: int) -> ToolState:
    named = [query_text(relation, subject) for relation, subject, _ in made.chain[:hops]]
    return state_after(_calls(named), [answer for _, _, answer in made.chain])


def _asks(action: str, made: MadeQuestion, hop: int) -> bool:
    """Whether a call looks up a hop, by reference or by name."""
    relation, subject, _ = made.chain[hop]
    try:
        result = parse(action)
    except InvalidCallError:
        return False
    if result.kind != KIND:
        return False
    query = str(result.values([f"#{number}" for number in range(1, hop + 1)]).get("query", ""))
    return any(mentions(query, relation, name) for name in (subject, *([f"#{hop}"] if hop else [])))


def _plan(made: MadeQuestion, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    del rng
    start, hops = ToolState(), len(made.chain)
    final = answer(f"#{hops}").text

    def right(plan: Plan) -> bool:
        asks = len(plan.actions) == hops + 1 and all(_asks(plan.actions[hop], made, hop) for hop in range(hops))
        return asks and plan.actions[-1] == final

    ideal = program_text(_calls(_queries(made)), f"#{hops}")
    return RoleCase("plan", name, form.plan_request(start, _LEFT), judged_plan(form, start, right), ideal)


def _act(made: MadeQuestion, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    queries = _queries(made)
    done = rng.randrange(len(queries))
    state = _after(made, done)
    ideal = program_text(_calls(queries)[done : done + 1], first=done + 1)
    judge = judged_act(form, state, lambda action: _asks(action, made, done))
    return RoleCase("act", name, form.act_request(state, _LEFT, None, ()), judge, ideal)


def _project(made: MadeQuestion, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    hop = rng.randrange(len(made.chain))
    relation, subject, answer = made.chain[hop]
    nowhere = rng.random() < _NOWHERE
    passages = [*([] if nowhere else [made.gold[hop]]), *rng.sample(made.others, _READ)][:_READ]
    text = " ".join(passage.text for passage in rng.sample(passages, len(passages)))
    [search] = _calls([query_text(relation, subject)])
    state = ToolState().with_call(search, json.dumps(text), text)
    request = form.project_request(state)
    assert request is not None, "there is a text to read"

    def right(read: ToolState) -> bool | str:
        values = read.values()
        if not values:
            return nowhere or "nothing found"
        return (not nowhere and exact_match(str(values[0]), [answer])) or str(values[0])

    quote = next((f"{part}." for part in made.gold[hop].text.rstrip(".").split(". ") if answer in part), "")
    reading = {"quote": "", "answer": ""} if nowhere else {"quote": quote, "answer": answer}
    judge = judged_by(lambda text: form.read_project(state, text), right)
    return RoleCase("project", name, request, judge, json.dumps(reading))


def _erring(made: MadeQuestion, rng: random.Random) -> list[str]:
    """Look-ups of which one asks for another relation, or the order of two is lost."""
    queries = _queries(made)
    relations = [relation for relation, _, _ in made.chain]
    others = [relation for relation in RELATIONS if relation not in relations]
    at = rng.randrange(len(queries))
    wrong = query_text(rng.choice(others), made.chain[0][1] if at == 0 else f"#{at}")
    return [*queries[:at], wrong, *queries[at + 1 :]]


def _score(made: MadeQuestion, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    good = rng.random() < 0.5
    queries = _queries(made) if good else _erring(made, rng)
    return score_case(name, form, _calls(queries), good=good)


def _answer(made: MadeQuestion, form: ProgramFormat, rng: random.Random, name: str) -> RoleCase:
    del rng
    hops = len(made.chain)
    state = _after(made, hops)

    def right(given: Call) -> bool | str:
        try:
            value = str(given.values(state.values())["value"])
        except InvalidCallError as error:
            return str(error)
        return exact_match(value, [made.answer]) or value

    judge = judged_by(lambda text: form.read_answer(state, text), right)
    return RoleCase("answer", name, form.answer_request(state), judge, f"answer(r{hops})")
