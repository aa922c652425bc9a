"""Held-out accuracy of every role of the bundled search model: ``experiments.training.ship`` asks for it.

Worlds, conversations and packages are none that were trained on, and part of the wordings is held out; none of the sets
that agents are compared on is used. Everything is asked through the same prompts, constraints and decoding loop as in a
run, greedily, in states of searches that the expert of :mod:`experiments.training.search.states` has played.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

from envs.search.metrics import exact_match
from experiments.training.search.data import CONDITIONS, DOMAINS, draw_case
from experiments.training.search.labels import Label, states
from experiments.training.search.task import Task
from experiments.training.sokoban.evaluate import Tally
from tape.cgdp.prompts.compact import MOVES, CompactSearchFormat, Tagged
from tape.cgdp.prompts.lexicon import Lexicon
from tape.errors import InvalidOutputError
from tape.lm.base import LanguageModel, Request
from tape.lm.bundled import load_folder
from tape.protocols.search import UNANSWERABLE

PER_ROLE = 60
"""Asked of each role in each memory condition and domain; where something is there to be found, and where not."""
DEPTH = 5
"""A query is right where so many passages hold what it was to find."""
WINDOWS = (192, 256, 384, 512)
ON_ROUNDS = ("query", "think", "answer there", "answer not there")
ON_BELIEFS = (*ON_ROUNDS, "seek", "curate", "extract there", "extract not there")
BATCH = 32


def report(folder: Path, count: int = PER_ROLE) -> dict[str, object]:
    """Evaluate one checkpoint.

    Args:
        folder: The checkpoint.
        count: How often each role is asked in each memory condition and domain.
    """
    lm = load_folder(folder, f"hf:{folder.name}", prompt_format="search")
    found: dict[str, object] = {}
    for domain in DOMAINS:
        for condition, _ in CONDITIONS:
            asked = draw(domain, condition, count)
            found[f"{domain}, {condition}"] = asyncio.run(_ask(lm, asked)).report()
    return found


def draw(domain: str, condition: str, count: int) -> list[tuple[Task, Label]]:
    """So many cases of each role; the same arguments give the same ones."""
    rng = random.Random(f"eval-search-lm:{domain}:{condition}")
    wanted = Counter(dict.fromkeys(ON_BELIEFS if condition in ("structured", "freeform") else ON_ROUNDS, count))
    found: list[tuple[Task, Label]] = []
    while wanted:
        for task in DOMAINS[domain](rng, True):
            for label in _labels(rng, task, condition):
                if wanted[_kind(label)] > 0:
                    found.append((task, label))
                    wanted[_kind(label)] -= 1
            wanted = +wanted
    return found


def role_of(label: Label) -> str:
    """Which role it is: ``query``, ``seek`` (a query for a given open question), ``think`` and so on."""
    return "seek" if label.view.target else label.role.partition(":")[0]


def _kind(label: Label) -> str:
    role = role_of(label)
    if role not in ("answer", "extract"):
        return role
    return f"{role} not there" if label.reply[0] in ("none", "unanswerable") else f"{role} there"


def _labels(rng: random.Random, task: Task, condition: str) -> list[Label]:
    case = draw_case(rng, task, rng.choice(WINDOWS), condition, Lexicon())
    return rng.sample(case.labels, len(case.labels)) if case else []


def request_of(label: Label) -> Request:
    """How a label is asked in a run."""
    form, view = CompactSearchFormat(), label.view
    match role_of(label):
        case "query" | "seek":
            return form.query_request(view, [move for move in MOVES if move in label.prompt[-4:]])
        case "think":
            return form.think_request(view)
        case "extract":
            return form.extract_request(view, label.passages)
        case "curate":
            return form.curate_request(view)
        case _:
            return form.answer_request(view)


async def _ask(lm: LanguageModel, asked: list[tuple[Task, Label]]) -> Tally:
    tally = Tally()
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        for (task, label), done in zip(batch, await lm.generate([request_of(one) for _, one in batch]), strict=True):
            try:
                _judge(tally, task, label, done.texts[0])
                tally.add("readable", True)
            except InvalidOutputError:
                tally.add("readable", False)
    return tally


def _judge(tally: Tally, task: Task, label: Label, text: str) -> None:
    form, view = CompactSearchFormat(), label.view
    match role_of(label):
        case "query" | "seek" as role:
            move = form.read_query(view, text)
            tally.add(f"{role}: the right kind of move", move.kind == label.reply[0])
            hop = task.next_hop(label.knows.seen)
            if (
                move.kind == label.reply[0] == "search"
                and role == "query"
                and hop is not None
                and task.hops[hop].evidence
            ):
                ids = {source for source, _ in task.hops[hop].evidence}
                hit = bool(ids & {passage.id for passage in task.index.search(move.text, DEPTH)})
                tally.add(f"query: brings what is missing among {DEPTH}", hit)
            elif move.kind == label.reply[0] == "search" and role == "seek":
                wanted = form.read_query(view, " ".join(label.reply)).text
                best = {passage.id for passage in task.index.search(wanted, DEPTH)}
                mine = {passage.id for passage in task.index.search(move.text, DEPTH)}
                tally.add("seek: the expert's first passages, at least half", len(best & mine) * 2 >= len(best))
        case "think":
            sentence, found = form.read_think(view, text)
            tally.add("think: found or not", found == ("found" in label.reply))
            wanted, _ = form.read_think(view, " ".join(label.reply))
            tally.add("think: the sentence", sentence.partition("Next:")[0] == wanted.partition("Next:")[0])
        case "extract":
            got = {(one.source, one.quote) for one in form.read_extract(view, label.passages, text).findings}
            gold = form.read_extract(view, label.passages, " ".join(label.reply))
            want = {(one.source, one.quote) for one in gold.findings}
            kind = "extract, facts there" if want else "extract, none there"
            tally.add(f"{kind}: exactly", got == want)
            if want:
                tally.add("extract: share of facts found", want <= got)
            if view.belief is not None and view.belief.form == "structured":
                read = form.read_extract(view, label.passages, text)
                tally.add("extract: what is resolved", set(read.resolved) == set(gold.resolved))
        case "curate":
            order = form.read_curate(view, text)
            assert view.belief is not None
            needed = {i for i, fact in enumerate(view.belief.facts) if _needed(task, fact.source, fact.quote)}
            tally.add("curate: needed facts first", needed <= set(order[: max(len(needed), 1) + 1]))
        case _:
            answer = form.read_answer(view, text)
            gold_text = form.read_answer(view, " ".join(label.reply))
            if gold_text == UNANSWERABLE:
                tally.add("answer, not there: unanswerable", answer == UNANSWERABLE)
            else:
                tally.add("answer, there: right", exact_match(answer, [gold_text]))


def _needed(task: Task, source: str, quote: str) -> bool:
    return any(states(hop, Tagged("fact", quote, source)) for hop in task.hops)
