"""Our own questions with known answers for every role, of agents that act freely and of SDP's operators."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from envs.hotpotqa.actions import Find, Finish, HotpotAnswer, Parsed, read_or_none
from envs.hotpotqa.minds import chat_prompts
from envs.hotpotqa.minds.base import NOT_FOUND, HopTask
from envs.hotpotqa.prompts import prompt_format
from envs.hotpotqa.prompts.chat import ChatQaFormat
from envs.hotpotqa.prompts.chat_schema import as_step
from envs.hotpotqa.setting import Setting
from envs.hotpotqa.state import Certified, QaState
from envs.musique.made_questions import MadeQuestion, made_question, mentions, question_of
from envs.search.metrics import exact_match
from tape.protocols import Plan
from tape.protocols.role_cases import (
    RoleCase,
    chat_only,
    choice_case,
    judged_act,
    judged_by,
    judged_plan,
)
from tape.protocols.search import Passage
from tape.reading import parsed
from tape.seeds import derive

_GIVEN = 4
"""Paragraphs of a question."""

_READ = 3
"""Paragraphs of a sub-question."""

_NOWHERE = 0.2
"""Of sub-questions that no paragraph answers."""


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """See :meth:`tape.protocols.EnvironmentPlugin.role_cases`."""
    chat_only(prompts)
    make: Callable[[MadeQuestion, random.Random, str], RoleCase] = {
        "plan": _plan, "act": _act, "score": _score, "answer": _answer, "propose": _propose,
        "query": _query, "realize": _realize, "validate": _validate,
    }[role]  # fmt: skip
    cases = []
    for number in range(count):
        rng = random.Random(derive(seed, "role_cases", "hotpotqa", role, number))
        cases.append(make(made_question(seed, number), rng, f"{seed}-{number}"))
    return cases


def _form(made: MadeQuestion) -> ChatQaFormat:
    return prompt_format(Setting(made.text, "hotpotqa", len(made.gold), searches=False), "chat")


def _start(made: MadeQuestion, rng: random.Random) -> QaState:
    return QaState(made.text, made.passages(_GIVEN, rng))


def _finds(made: MadeQuestion) -> list[Find]:
    return [
        Find(hop, answer, subject, answer, question_of(relation, subject))
        for hop, (relation, subject, answer) in enumerate(made.chain, 1)
    ]


def _quote(made: MadeQuestion, find: Find) -> str:
    """The sentence of a paragraph that states what was found."""
    text = made.gold[find.hop - 1].text
    return next((f"{part}." for part in text.rstrip(".").split(". ") if find.finding in part), text)


def _step(made: MadeQuestion, action: Parsed) -> dict[str, str]:
    return as_step(action, _quote(made, action) if isinstance(action, Find) else "")


def _found(made: MadeQuestion, state: QaState, hops: int) -> QaState:
    for find in _finds(made)[:hops]:
        state = state.with_claim(find.hop, find.finding, find.title, find.bridge, find.sub)
    return state


def _written(**fields: object) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _final(made: MadeQuestion, plan: Plan) -> bool:
    """Whether the last answer of a plan is right."""
    answers = [action.text for action in map(read_or_none, plan.actions) if isinstance(action, HotpotAnswer)]
    return bool(answers) and exact_match(answers[-1], [made.answer])


def _plan(made: MadeQuestion, rng: random.Random, name: str) -> RoleCase:
    state, form = _start(made, rng), _form(made)
    actions: list[Parsed] = [*_finds(made), HotpotAnswer(made.answer), Finish()]
    steps = [_step(made, action) for action in actions]
    ideal = _written(thought="Each look-up needs the answer of the one before.", steps=steps)
    judge = judged_plan(form, state, lambda plan: _final(made, plan))
    return RoleCase("plan", name, form.plan_request(state, {"steps": 9}), judge, ideal)


def _act(made: MadeQuestion, rng: random.Random, name: str) -> RoleCase:
    done = rng.randrange(len(made.gold))
    state, form = _found(made, _start(made, rng), done), _form(made)

    def right(action: str) -> bool:
        taken = read_or_none(action)
        if isinstance(taken, HotpotAnswer):
            return exact_match(taken.text, [made.answer])
        answers = [answer for _, _, answer in made.chain[done:]]
        return isinstance(taken, Find) and exact_match(taken.finding, answers)

    ideal = _written(thought="A paragraph says it.", step=_step(made, _finds(made)[done]))
    request = form.act_request(state, {"steps": 9}, None, ())
    return RoleCase("act", name, request, judged_act(form, state, right), ideal)


def _wrong(made: MadeQuestion, rng: random.Random) -> str:
    """An answer that is wrong: that of an earlier hop, or another name."""
    return rng.choice([made.chain[0][2], rng.choice(made.others).title])


def _score(made: MadeQuestion, rng: random.Random, name: str) -> RoleCase:
    good = rng.random() < 0.5
    form, state = _form(made), _found(made, _start(made, rng), len(made.gold))
    end = QaState(state.question, state.given, claims=state.claims, answer=made.answer if good else _wrong(made, rng))
    return choice_case("score", name, form.score_request(end)[0], "good" if good else "poor")


def _answer(made: MadeQuestion, rng: random.Random, name: str) -> RoleCase:
    form, state = _form(made), _found(made, _start(made, rng), len(made.gold))
    judge = judged_by(form.read_answer, lambda given: exact_match(given, [made.answer]) or given)
    ideal = _written(reason="It is the last thing that was found.", answer=made.answer)
    return RoleCase("answer", name, form.answer_request(state), judge, ideal)


# --- SDP's operators ----------------------------------------------------------------------------


def _propose(made: MadeQuestion, rng: random.Random, name: str) -> RoleCase:
    del rng
    chain, count = made.chain, len(made.chain)

    def right(subs: tuple[str, ...]) -> bool | str:
        subjects = [subject if hop == 0 else f"#{hop}" for hop, (_, subject, _) in enumerate(chain)]
        asks = zip(subs, chain, subjects, strict=True)
        return all(mentions(sub, relation, subject) for sub, (relation, _, _), subject in asks) or "; ".join(subs)

    subs = [
        question_of(relation, subject if i == 1 else f"#{i - 1}") for i, (relation, subject, _) in enumerate(chain, 1)
    ]
    ideal = json.dumps({str(number): sub for number, sub in enumerate(subs, 1)})
    request = chat_prompts.decompose_request(made.text, (), count, ())
    return RoleCase("propose", name, request, judged_by(lambda text: chat_prompts.read_subs(text, count), right), ideal)


def _task(made: MadeQuestion, hop: int, passages: tuple[Passage, ...] = ()) -> HopTask:
    relation, subject, _ = made.chain[hop - 1]
    return HopTask(made.text, hop, question_of(relation, subject, hop), _certified(made, hop - 1), passages, (), ())


def _certified(made: MadeQuestion, hops: int) -> tuple[Certified, ...]:
    return tuple(Certified(find.sub, find.title, find.finding, find.bridge) for find in _finds(made)[:hops])


def _query(made: MadeQuestion, rng: random.Random, name: str) -> RoleCase:
    hop = rng.randint(1, len(made.gold))
    relation, subject, _ = made.chain[hop - 1]
    task = _task(made, hop)

    def right(query: str) -> bool | str:
        return mentions(query, relation, subject) or query

    ideal = _written(query=f"{subject} {relation}")
    judge = judged_by(lambda text: parsed(chat_prompts.HopQuery, text).query, right)
    return RoleCase("query", name, chat_prompts.query_request(task), judge, ideal)


def _realize(made: MadeQuestion, rng: random.Random, name: str) -> RoleCase:
    hop = rng.randint(1, len(made.gold))
    find = _finds(made)[hop - 1]
    nowhere = rng.random() < _NOWHERE
    passages = [*([] if nowhere else [made.gold[hop - 1]]), *rng.sample(made.others, _READ)][:_READ]
    task = _task(made, hop, tuple(rng.sample(passages, len(passages))))

    def right(match: Find) -> bool | str:
        wanted = (NOT_FOUND, "") if nowhere else (find.finding, find.title)
        same = exact_match(match.finding, [wanted[0]]) and (nowhere or match.title == wanted[1])
        return same or f"{match.finding} [{match.title}]"

    ideal = (
        _written(quote="", answer="", title="")
        if nowhere
        else _written(quote=_quote(made, find), answer=find.finding, title=find.title)
    )
    judge = judged_by(lambda text: chat_prompts.read_find(task, text), right)
    return RoleCase("realize", name, chat_prompts.find_request(task), judge, ideal)


def _validate(made: MadeQuestion, rng: random.Random, name: str) -> RoleCase:
    hop = rng.randint(1, len(made.gold))
    find = _finds(made)[hop - 1]
    truth = rng.choice((chat_prompts.YES, chat_prompts.NO))
    passage, claim = made.gold[hop - 1], find.finding
    if truth == chat_prompts.NO:
        other = rng.choice(made.others)
        passage, claim = rng.choice([(other, find.finding), (passage, other.title)])
    request = chat_prompts.supports_request(find.sub, claim, passage)
    return choice_case("validate", name, request, truth)
