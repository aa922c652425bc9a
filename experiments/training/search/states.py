"""States of a search as the memory conditions show them, and every role asked of them.

What is shown of a search (:mod:`experiments.training.search.playing`) is a growing transcript, the newest round alone,
or a belief in one of its forms; some are imperfect, as an agent's are.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from experiments.training.search.labels import (
    Case,
    Knowledge,
    Label,
    answer_label,
    curate_label,
    extract_label,
    known,
    query_label,
    sought_labels,
    states,
    think_label,
)
from experiments.training.search.playing import Played, Style, play, stated_alone
from experiments.training.search.task import Hop, Task
from tape.cgdp.prompts.compact import SearchPage, page_of
from tape.cgdp.prompts.lexicon import Lexicon, sentences
from tape.cgdp.view import Belief, Fact, Form, Round, View
from tape.protocols.search import UNANSWERABLE, Passage


def transcript_case(
    rng: random.Random, task: Task, window: int, depth: int, lexicon: Lexicon, *, long: bool = False
) -> Case | None:
    """A growing transcript, asked after every round; ``long``: with rounds that bring nothing, before and after."""
    style: Style = rng.choices(("queries", "question first", "thoughts"), (0.5, 0.1, 0.4))[0]
    rounds = (
        play(rng, task, depth, style, rng.choice((0.0, 0.15, 0.35)), rng.choice((0, 0, 1, 2, 4)))
        if long
        else play(rng, task, depth, style)
    )
    shown = [
        Round(number, one.query, one.passages, one.thought if style == "thoughts" else "")
        for number, one in enumerate(rounds, 1)
    ]
    while shown and len(page_of(View(task.question, tuple(shown))).words) > window:
        # What an agent does whose transcript outgrows the window: the oldest goes first, then the worst passages.
        if len(shown) > 1:
            shown, rounds = shown[1:], rounds[1:]
        elif shown[0].passages:
            shown[0] = replace(shown[0], passages=shown[0].passages[:-1])
        else:
            shown = []
    view = View(task.question, tuple(shown))
    case: Case | None = None
    for count in range(len(shown), -1, -1):
        part = replace(view, rounds=view.rounds[:count])
        page = page_of(part, lexicon=lexicon)
        if case is None:
            case = Case(page.words, marks=_marks(task, page))
        if count == 0 and rng.random() < 0.7:
            continue
        knows = known(task, page, rounds[:count])
        # A model that may take notes is asked so about the last round alone: its earlier notes would be shown.
        noting = count == len(shown) and style == "queries" and rng.random() < 0.3
        case.labels += _of(part, _asked(rng, task, page, knows, spread=False, noting=noting))
    return case


def newest_case(rng: random.Random, task: Task, window: int, depth: int, lexicon: Lexicon) -> Case | None:
    """The newest round alone; now and then with its query, and with the agent's own notes."""
    style: Style = rng.choices(("queries", "question first", "thoughts"), (0.5, 0.2, 0.3))[0]
    rounds = play(rng, task, depth, style)
    if not rounds:
        return None
    at = rng.randrange(len(rounds))
    how = rng.random()
    taking, drafting = how < 0.25, how > 0.85
    notes: tuple[str, ...] = ()
    if taking:
        before = rounds[: at + (rng.random() < 0.4)]
        found = [
            stated_alone(passage.title, sentence)
            for one in before
            for passage in one.passages
            for hop in task.hops
            for source, sentence in sorted(hop.evidence)
            if source == passage.id and rng.random() < 0.9
        ]
        notes = tuple(dict.fromkeys(found))
    query = rounds[at].query if taking else f"{task.question} {_guess(rng, task)}" if drafting else ""
    passages = rounds[at].passages
    while True:
        view = View(task.question, (Round(at + 1 if query else 1, query, passages),), notes=notes)
        page = page_of(view, lexicon=lexicon)
        if len(page.words) <= window or not passages:
            break
        passages = passages[:-1]
    case = Case(page.words, marks=_marks(task, page))
    knows = known(task, page)
    # Without its query and notes it is lobotomized: a note would be forgotten, so none is taken.
    labels = _asked(rng, task, page, knows, spread=True, noting=taking, forgetful=not taking and rng.random() < 0.15)
    case.labels = _of(view, labels)
    return case


def _guess(rng: random.Random, task: Task) -> str:
    return rng.choice([hop.answer for hop in task.hops if hop.answer] + [UNANSWERABLE])


def belief_case(rng: random.Random, task: Task, window: int, depth: int, lexicon: Lexicon, form: Form) -> Case | None:
    """A belief, and passages that are to be read after it."""
    style: Style = rng.choices(("queries", "question first", "thoughts"), (0.6, 0.15, 0.25))[0]
    rounds = play(rng, task, depth, style)
    if not rounds:
        return None
    at = rng.randrange(len(rounds)) if rng.random() < 0.85 else len(rounds)
    belief, targets = _belief(rng, task, rounds[:at], form)
    view = View(task.question, belief=belief)
    page = page_of(view, lexicon=lexicon)
    if len(page.words) > window:
        return None
    knows = known(task, page)
    labels = _asked(rng, task, page, knows, spread=True, forgetful=rng.random() < 0.12)
    if belief.items > 1 and rng.random() < 0.7:
        left = [text for text, hop in targets.items() if hop not in knows.seen]
        labels.append(curate_label(page, knows, left))
    labels = _of(view, labels)
    for text, hop in targets.items():
        if rng.random() < 0.5:
            sought = sought_labels(rng, task, page, knows, text, hop)
            labels += _of(replace(view, target=text), sought)
    # The round that comes next in the search, or one that was read before.
    following = rounds[at] if at < len(rounds) and rng.random() < 0.92 else rng.choice(rounds)
    passages = following.passages
    while passages:
        page = page_of(view, passages, lexicon)
        if len(page.words) <= window:
            label, found = extract_label(task, view, page, targets)
            label = replace(label, view=view, passages=passages)
            return Case(page.words, [*labels, label], _marks(task, page, found))
        passages = passages[:-1]
    return Case(page.words, labels, {})


def _of(view: View, labels: Sequence[Label]) -> list[Label]:
    return [replace(label, view=view) for label in labels]


def _asked(
    rng: random.Random,
    task: Task,
    page: SearchPage,
    knows: Knowledge,
    *,
    spread: bool,
    noting: bool = False,
    forgetful: bool = False,
) -> list[Label]:
    """The next move, a thought and the answer.

    Args:
        rng: Source of randomness.
        task: The task.
        page: What is shown.
        knows: The facts in it.
        spread: Whether earlier queries are not shown.
        noting: Whether a note may be taken.
        forgetful: Whether it may, but would not be shown, or need not, as what is shown is kept anyway.
    """
    moves = ["search", "answer"] if rng.random() < 0.9 else ["search"]
    found = [
        query_label(rng, task, page, knows, [*moves, "note"] if noting or forgetful else moves, spread, noting),
        think_label(rng, task, page, knows, spread) if rng.random() < 0.8 else None,
        answer_label(task, page, knows),
    ]
    return [label for label in found if label is not None]


def _marks(task: Task, page: SearchPage, found: set[int] | None = None) -> dict[int, bool]:
    """Where the tags of sentences stand, and whether each matters; of new ones, whether it is to be extracted."""
    marks = {}
    places = [i for i, word in enumerate(page.words) if word[0] == "s" and word[1:].isdigit()]
    for place, item in zip(places, page.tagged, strict=False):
        if item.kind == "sentence":
            hops = [i for i, hop in enumerate(task.hops) if states(hop, item)]
            marks[place] = any(i in found for i in hops) if item.new and found is not None else bool(hops)
    return marks


def _belief(rng: random.Random, task: Task, rounds: Sequence[Played], form: Form) -> tuple[Belief, dict[str, int]]:
    """What an imperfect reader has made of some rounds, and the hop of each of its open questions."""
    facts: dict[tuple[str, str], Fact] = {}
    seen: set[int] = set()
    careless, messy = rng.random() < 0.15, rng.choice((0.0, 0.15, 0.5))
    for one in rounds:
        for passage in one.passages:
            for sentence in sentences(passage.text):
                hops = {i for i, hop in enumerate(task.hops) if (passage.id, sentence) in hop.evidence}
                if (hops and not (careless and rng.random() < 0.4)) or (not hops and rng.random() < messy / 4):
                    facts[passage.id, sentence] = _fact(passage, sentence)
                    seen |= hops
    kept = list(facts.values())
    if rng.random() < 0.1:
        rng.shuffle(kept)
    while len(kept) > 10:
        kept.pop(rng.randrange(len(kept)))
    targets, resolved = _open(rng, task, seen, form)
    questions = tuple(targets)
    return Belief(form, tuple(kept), questions, resolved), targets


def _open(rng: random.Random, task: Task, seen: set[int], form: Form) -> tuple[dict[str, int], tuple[str, ...]]:
    """Open questions, the first one first, with the hop that each is about; and those that are resolved."""
    last, following = len(task.hops) - 1, task.next_hop(seen)
    how = rng.random()
    if how < 0.08 or (form == "freeform" and how < 0.75):
        return {}, ()
    if how > 0.88:  # the task gives its sub-questions away
        done = [i for i in sorted(seen) if rng.random() < 0.9]
        targets = {hop.question: i for i, hop in enumerate(task.hops) if i not in done}
        return targets, tuple(task.hops[i].question for i in done)
    wording = 0 if rng.random() < 0.8 else None
    targets = {task.question: last}
    if following is not None and seen and rng.random() < 0.85:
        targets = {_sub_question(task.hops[following], wording): following} | targets
    elif following is not None and rng.random() < 0.15:
        targets |= {_sub_question(task.hops[following], wording): following}
    done = [i for i in sorted(seen) if i != last and i > 0 and rng.random() < 0.8]
    return targets, tuple(_sub_question(task.hops[i], wording) for i in done)


def _sub_question(hop: Hop, wording: int | None) -> str:
    return hop.question if wording is None else hop.queries[min(wording, len(hop.queries) - 1)]


@lru_cache(maxsize=4096)
def _fact(passage: Passage, sentence: str) -> Fact:
    return Fact(sentence, passage.id, passage.title, sentence, "deterministic")
