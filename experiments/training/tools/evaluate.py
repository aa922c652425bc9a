"""Held-out accuracy of every role of the bundled tool LM: ``experiments.training.ship`` asks for it.

Problems and questions are none that were trained on. Everything is asked through the same prompts, constraints and
decoding loop as in a run, greedily; a plan is right if it leads to the right answer with exact tools.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from envs.gsm_hard.arithmetic import is_right, results
from envs.gsm_hard.environment import GsmHardEnvironment
from envs.gsm_hard.errors import ArithmeticToolError
from envs.gsm_hard.generator import generate
from envs.gsm_hard.problem import Problem, Step
from envs.gsm_hard.profiles import DEFAULT, PROFILES, budget
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.environment import MusiqueEnvironment
from envs.musique.make_corpus import SEED, SIZES
from envs.musique.question import Question
from envs.musique.retrieval import Corpus
from envs.musique.retrieval import budget as hop_budget
from envs.musique.words import query_text
from envs.musique.world import World, make_world
from experiments.training.sokoban.evaluate import Tally
from tape.errors import InvalidOutputError
from tape.lm.base import LanguageModel
from tape.lm.bundled import load_folder
from tape.protocols.search import Passage
from tape.tools.calls import ANSWER, Call, call, parse
from tape.tools.plans import in_order
from tape.tools.prompts.compact import CompactToolFormat
from tape.tools.state import ToolState
from tape.tools.variants import best_assignment

PARTS = ("fresh", "wordings", "templates", "questions")
"""Arithmetic: new texts of trained wordings, held-out wordings, held-out templates; and multi-hop questions."""

EVALUATION_SEED = 909
"""Of the generated problems; the sets that agents are compared on have other seeds."""


def report(folder: Path, count: int) -> dict[str, object]:
    """Evaluate one checkpoint.

    Args:
        folder: The checkpoint.
        count: Problems of each arithmetic part.
    """
    lm = load_folder(folder, f"hf:{folder.name}", prompt_format="tools")
    found: dict[str, object] = {}
    for part in PARTS:
        asked = questions(lm) if part == "questions" else arithmetic(lm, part, count)
        found[part] = asyncio.run(asked).report()
    return found


def value_of(actions: Sequence[str]) -> float | None:
    """What a plan of arithmetic calls answers with exact tools; None if it answers nothing."""
    calls = [parse(action) for action in actions]
    if not calls or calls[-1].kind != ANSWER:
        return None
    try:
        found = results([Step(c.kind, tuple(_argument(value) for _, value in c.args)) for c in calls[:-1]])
        return found[calls[-1].references[0] - 1]
    except (ArithmeticToolError, IndexError):
        return None


def _argument(written: str) -> float | str:
    return written if written.startswith("#") else float(written)


def calls_of(problem: Problem) -> list[Call]:
    """The calls of a problem's own program, without variants."""
    assert problem.program is not None
    return [call(step.kind, **dict(zip(("a", "b"), step.args, strict=False))) for step in problem.program]


async def arithmetic(lm: LanguageModel, split: str, count: int) -> Tally:
    """Plans, next calls, variants and scores on word problems."""
    tally, profile = Tally(), PROFILES[DEFAULT]
    problems = generate(split, count, EVALUATION_SEED)
    prompt_formats = [_format(GsmHardEnvironment(problem)) for problem in problems]
    caps = [budget(profile, p.operations, "tight" if i % 2 else "loose") for i, p in enumerate(problems)]
    asked = [d.plan_request(ToolState(), cap) for d, cap in zip(prompt_formats, caps, strict=True)]
    for p, d, cap, done in zip(problems, prompt_formats, caps, await lm.generate(asked), strict=True):
        plan = d.read_plan(ToolState(), done.texts[0])
        value = value_of(plan.actions)
        right = value is not None and is_right(value, p.target)
        tally.add("plan: right", right)
        tally.add(f"plan, {p.operations} operations", right)
        chosen = [profile.variants[_rank(profile.name, action)] for action in plan.actions[:-1]]
        if right:
            fits = all(sum(v.worst[k] or 0 for v in chosen) <= left for k, left in cap.items() if k != "steps")
            tally.add("plan: its variants fit the budget", fits)
            best = best_assignment(profile.variants, {k: c for k, c in cap.items() if k != "steps"}, len(chosen)) or []
            ranks = sorted((profile.variants.index(v) for v in chosen), reverse=True)
            tally.add("plan: its variants are the best for the budget", ranks == best)
    rng = random.Random(f"eval-tool-lm:{split}")
    points = [
        (d, p, rng.randrange(p.operations + 1), cap) for d, p, cap in zip(prompt_formats, problems, caps, strict=True)
    ]
    states = [_after(calls_of(p)[:k]) for _, p, k, _ in points]
    requests = [d.act_request(s, cap, None, ()) for (d, _, _, cap), s in zip(points, states, strict=True)]
    for (d, p, k, _), state, done in zip(points, states, await lm.generate(requests), strict=True):
        rest = calls_of(p)[k:]
        ready = [c.symbol for c in rest if all(ref <= k for ref in c.references)]
        try:
            made = parse(d.read_act(state, done.texts[0])[1])
        except InvalidOutputError:
            made = call("unreadable")
        right = made.symbol in ready if rest else made.kind == ANSWER and made.references == (k,)
        tally.add("act: a right next call", right)
    # What is scored in a run is what the model itself has planned, right or wrong.
    warm = [replace(request, n=4, temperature=0.7, seed=i) for i, request in enumerate(asked)]
    for p, d, done in zip(problems, prompt_formats, await lm.generate(warm), strict=True):
        plans = {d.read_plan(ToolState(), text).actions for text in done.texts}
        ends = [(actions, end) for actions in sorted(plans) if (end := _ended(actions)) is not None]
        scored = await lm.score_options([d.score_request(end)[0] for _, end in ends])
        for (actions, _), (weights, _) in zip(ends, scored, strict=True):
            value = value_of(actions)
            truly = value is not None and is_right(value, p.target)
            tally.add(f"score: of {'right' if truly else 'wrong'} plans", (weights[0] > 0.5) == truly)
    return tally


def _format(env: GsmHardEnvironment | MusiqueEnvironment) -> CompactToolFormat:
    found = env.prompt_format("tools")
    assert isinstance(found, CompactToolFormat)
    return found


def _rank(profile: str, action: str) -> int:
    return [variant.name for variant in PROFILES[profile].variants].index(parse(action).variant)


def _after(calls: Sequence[Call]) -> ToolState:
    state = ToolState()
    for made in calls:
        state = state.with_call(Call(made.kind, PROFILES[DEFAULT].variants[0].name, made.args), "1.0")
    return state


def _ended(actions: Sequence[str]) -> ToolState | None:
    calls = [parse(action) for action in actions]
    if not calls or calls[-1].kind != ANSWER:
        return None
    state = ToolState()
    for made in calls[:-1]:
        state = state.with_call(made)
    return replace(state, answer=calls[-1].args[0][1])


async def questions(lm: LanguageModel) -> Tally:
    """Plans of hops, and reading, on the shipped development and test questions (none of them was trained on)."""
    tally, corpus = Tally(), Corpus(load_corpus())
    for split in ("trained", "heldout"):
        for question in load_questions(split=split):
            d = _format(MusiqueEnvironment(question, corpus))
            [done] = await lm.generate([d.plan_request(ToolState(), hop_budget(question.operations, "tight"))])
            plan = [parse(action) for action in d.read_plan(ToolState(), done.texts[0]).actions]
            wanted = [c.symbol for c in in_order(_hops(question), pure=lambda _: True)]
            right = [c.symbol for c in plan[:-1]] == wanted and plan[-1].references == (len(wanted),) if plan else False
            tally.add(f"plan, {split} wordings", right)
            tally.add(f"plan, {question.operations} hops", right)
            await _read_hops(lm, tally, question, corpus, split)
    return tally


def _hops(question: Question) -> list[Call]:
    assert question.hops is not None
    return [call("search", query=query_text(relation, subject)) for relation, subject in question.hops]


async def _read_hops(lm: LanguageModel, tally: Tally, question: Question, corpus: Corpus, split: str) -> None:
    """Read the answer of every hop from its passage and two others, and say none where it is not there."""
    subject = question.hops[0][1] if question.hops else ""
    d = _format(MusiqueEnvironment(question, corpus))
    for relation, _ in question.hops or ():
        truth = _world().truth[relation, subject]
        for there in (True, False):
            text = " ".join(p.text for p in _shown(corpus, relation, subject, there=there))
            state = ToolState().with_call(call("search", "v5", query=query_text(relation, subject)), '""', text)
            request = d.project_request(state)
            assert request is not None
            [done] = await lm.generate([request])
            read = d.read_project(state, done.texts[0]).values()
            right = read == [truth] if there else not read
            tally.add(f"read: {'answer is there' if there else 'answer is not there'}, {split} wordings", right)
        subject = truth


@cache
def _world() -> World:
    return make_world(SEED, SIZES)


def _shown(corpus: Corpus, relation: str, subject: str, *, there: bool) -> list[Passage]:
    own = [p for p in corpus.passages if p.title == subject]
    ranked = sorted(
        zip(corpus.scores(query_text(relation, subject)), corpus.passages, strict=True), key=lambda x: -x[0]
    )
    others = [p for _, p in ranked if p.title != subject and subject not in p.text]
    return [*own[: int(there)], *others[: 3 - int(there)]]
