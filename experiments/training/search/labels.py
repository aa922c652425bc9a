"""What an agent should say in a state of a search: the policy that ``bundled:search`` imitates.

The label is what is right for someone who sees no more than what is shown: the first fact that is missing is asked for
next, in another wording after each failure.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from experiments.training.search.playing import TRIES, Played
from experiments.training.search.task import Hop, Task
from tape.cgdp.prompts.compact import MOST_FINDINGS, SearchPage, Tagged
from tape.cgdp.view import View
from tape.protocols.search import UNANSWERABLE, Passage


@dataclass(frozen=True)
class Knowledge:
    """What a page shows of a task.

    Attributes:
        seen: Hops of which evidence is shown, with the tag of the last place.
        tried: For each hop the queries that are shown and were to find it.
    """

    seen: dict[int, str]
    tried: dict[int, tuple[str, ...]]


@dataclass(frozen=True)
class Label:
    """One role asked of a state, and what it should say.

    Attributes:
        upto: How many tokens of the state it is shown.
        prompt: The role's own tokens; the last is the arrow.
        reply: What the model should say.
        role: Its name, for counts.
        view: What an agent would show.
        passages: What is to be read, besides.
    """

    upto: int
    prompt: tuple[str, ...]
    reply: tuple[str, ...]
    role: str
    view: View = field(default_factory=lambda: View(""))
    passages: tuple[Passage, ...] = ()


@dataclass
class Case:
    """A state in words, what is asked of it, and which of its sentences matter.

    Attributes:
        words: The state.
        labels: What is asked.
        marks: Positions of the tags of sentences, and whether the sentence matters.
    """

    words: list[str]
    labels: list[Label] = field(default_factory=list)
    marks: dict[int, bool] = field(default_factory=dict)


def known(task: Task, page: SearchPage, rounds: Sequence[Played] = ()) -> Knowledge:
    """What a page shows, apart from sentences that are still to be read."""
    seen = {}
    for number, hop in enumerate(task.hops):
        for position, item in enumerate(page.tagged, 1):
            if not item.new and states(hop, item):
                seen[number] = f"s{position}"
    tried = {i: tuple(one.wording for one in rounds if one.hop == i and one.wording) for i in range(len(task.hops))}
    return Knowledge(seen, tried)


def states(hop: Hop, item: Tagged) -> bool:
    """Whether what is tagged is evidence of a hop: a sentence, or a fact or note that states it."""
    if item.kind == "open":
        return False
    if item.kind == "note":
        return any(item.text.endswith(sentence) for _, sentence in hop.evidence)
    return (item.source, item.text) in hop.evidence


def wanted_query(rng: random.Random, task: Task, page: SearchPage, knows: Knowledge, spread: bool) -> list[str] | None:
    """What to search for now, in the page's words; None: nothing is left to search for.

    Args:
        rng: Source of randomness.
        task: The task.
        page: What is shown.
        knows: The facts in it.
        spread: Whether earlier queries are not shown, so that another wording is tried now and then.
    """
    number = task.next_hop(knows.seen)
    while number is not None:
        hop = task.hops[number]
        tried = knows.tried.get(number, ())
        left = [query for query in hop.queries if query not in tried]
        if len(tried) >= TRIES or not left:
            return None
        if spread:
            left = _spread(rng, left)
        for query in left:
            words = page.tokens(query)
            if words:
                return words
        # It names what is no longer shown: that has to be found again.
        number = hop.needs[-1] if hop.needs else None
    return None


def query_label(
    rng: random.Random, task: Task, page: SearchPage, knows: Knowledge, moves: Sequence[str], spread: bool, noting: bool
) -> Label | None:
    """The next move; a note only where it is shown ever after."""
    words = wanted_query(rng, task, page, knows, spread)
    if noting:
        noted = {
            i for i, hop in enumerate(task.hops) for item in page.tagged if item.kind == "note" and states(hop, item)
        }
        fresh = [tag for i, tag in knows.seen.items() if i not in noted]
        if fresh:
            return Label(len(page.words), ("<query>", *moves, "->"), ("note", fresh[0], ";"), "query: note")
    if words is None and "answer" not in moves:
        last = task.hops[-1].queries
        words = page.tokens(last[0])
        if words is None:
            return None
    if words is None:
        return Label(len(page.words), ("<query>", *moves, "->"), ("answer", ";"), "query: answer")
    if "search" not in moves:
        return Label(len(page.words), ("<query>", *moves, "->"), ("answer", ";"), "query: answer")
    return Label(len(page.words), ("<query>", *moves, "->"), ("search", *words, ";"), "query: search")


def think_label(rng: random.Random, task: Task, page: SearchPage, knows: Knowledge, spread: bool) -> Label:
    """The sentence that leads furthest, and what comes next."""
    pointed = knows.seen[max(knows.seen)] if knows.seen else "none"
    words = wanted_query(rng, task, page, knows, spread)
    reply = (pointed, "found", ";") if words is None else (pointed, "next", *words, ";")
    return Label(len(page.words), ("<think>", "->"), reply, "think")


def answer_label(task: Task, page: SearchPage, knows: Knowledge) -> Label | None:
    """The answer where the last fact is shown."""
    words: list[str] | None = ["unanswerable"]
    if task.answer != UNANSWERABLE and len(task.hops) - 1 in knows.seen:
        words = page.tokens(task.answer)
    if words is None:
        return None
    return Label(len(page.words), ("<answer>", "->"), (*words, ";"), "answer")


def curate_label(page: SearchPage, knows: Knowledge, questions: Sequence[str]) -> Label:
    """Facts that the question needs, then what is open and not resolved, the latest first."""
    facts = [tag for _, tag in sorted(knows.seen.items(), reverse=True)]
    opened = [f"s{i}" for i, item in enumerate(page.tagged, 1) if item.kind == "open" and item.text in questions]
    chosen = list(dict.fromkeys([*facts, *reversed(opened)])) or ["s1"]
    return Label(len(page.words), ("<curate>", "->"), (*chosen, ";"), "curate")


def extract_label(task: Task, view: View, page: SearchPage, targets: dict[str, int]) -> tuple[Label, set[int]]:
    """What is new and matters in passages.

    Args:
        task: The task.
        view: What is known before.
        page: That and what is to be read, in words.
        targets: The hop of each open question.

    Returns:
        The label, and the hops that are found.
    """
    before = known(task, page)
    resolved = set(before.seen)
    texts = [
        view.question,
        *(view.belief.questions if view.belief else ()),
        *(item.text for item in page.tagged if not item.new),
    ]
    tags: dict[int, str] = {}
    for number, hop in enumerate(task.hops):
        if number in before.seen:
            continue
        named = all(need in tags or any(task.hops[need].answer in text for text in texts) for need in hop.needs)
        here = [f"s{i}" for i, item in enumerate(page.tagged, 1) if item.new and states(hop, item)]
        if named and here:
            tags[number] = here[0]
    resolved |= set(tags)
    chosen = list(dict.fromkeys(tags[number] for number in sorted(tags)))[:MOST_FINDINGS]
    reply = [*(sorted(chosen, key=lambda tag: int(tag[1:])) or ["none"]), ";"]
    role = "<pick>"
    if view.belief is not None and view.belief.form == "structured":
        role = "<extract>"
        opened = {item.text: f"s{i}" for i, item in enumerate(page.tagged, 1) if item.kind == "open"}
        done = [tag for text, tag in opened.items() if targets.get(text) in tags]
        reply += [*done, ";"]
        following = task.next_hop(resolved) if tags else None
        if following is not None:
            asked = page.tokens(task.hops[following].queries[0])
            if asked and all(text == task.question or targets.get(text) != following for text in opened):
                reply += ["ask", *asked, ";"]
    return Label(len(page.words), (role, "->"), tuple(reply), "extract"), set(tags)


def sought_labels(
    rng: random.Random, task: Task, page: SearchPage, knows: Knowledge, text: str, hop: int
) -> list[Label]:
    """The query for one open question."""
    target = page.tokens(text)
    if target is None:
        return []
    # The whole question, or one whose answer is known already, stands for what is missing first.
    wanted = task.next_hop(knows.seen) if text == task.question or hop in knows.seen else hop
    moves = ("search", "answer") if rng.random() < 0.85 else ("search",)
    prompt = ("<query>", "seek:", *target, *moves, "->")
    if wanted is None and "answer" in moves:
        return [Label(len(page.words), prompt, ("answer", ";"), "query: seek")]
    for query in _spread(rng, task.hops[hop if wanted is None else wanted].queries):
        words = page.tokens(query)
        if words:
            return [Label(len(page.words), prompt, ("search", *words, ";"), "query: seek")]
    return []


def _spread(rng: random.Random, queries: Sequence[str]) -> list[str]:
    """One of some wordings, mostly the first, and then all of them."""
    return [*rng.choices(queries, [6 / 4**i for i in range(len(queries))]), *queries]
