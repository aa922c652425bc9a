"""Training text of the bundled search model: its replies are admitted and right, and nothing held out is in it."""

import random
import re
from collections.abc import Iterator

import pytest

from envs.locomo.generator import dialogues as shown_dialogues
from envs.musique.corpus import is_held_out, load_corpus
from envs.search.metrics import exact_match
from experiments.training.search import code, dialogues, musique
from experiments.training.search.data import CONDITIONS, DOMAINS, ID, draw_case
from experiments.training.search.labels import Case, Label
from experiments.training.search.task import Task
from tape.cgdp.prompts.compact import MOVES, CompactSearchFormat, text_of
from tape.cgdp.prompts.lexicon import Lexicon
from tape.lm.base import Regex, Request
from tape.protocols.search import UNANSWERABLE

FORM = CompactSearchFormat()


@pytest.fixture(autouse=True)
def _one_small_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "TRAINED", ("json",))


def drawn(domain: str, count: int) -> Iterator[tuple[Task, Case]]:
    rng = random.Random(f"test:{domain}")
    for _ in range(count):
        for task in DOMAINS[domain](rng):
            for condition in CONDITIONS:
                window, long = rng.choice((128, 256, 512)), rng.random() < 0.5
                case = draw_case(rng, task, window, condition, Lexicon(), long=long)
                if case is not None:
                    yield task, case


def role_of(label: Label) -> str:
    return "seek" if label.view.target else label.role.partition(":")[0]


def request_of(label: Label) -> Request:
    match role_of(label):
        case "query" | "seek":
            return FORM.query_request(label.view, [move for move in MOVES if move in label.prompt[-4:]])
        case "think":
            return FORM.think_request(label.view)
        case "extract":
            return FORM.extract_request(label.view, label.passages)
        case "curate":
            return FORM.curate_request(label.view)
        case _:
            return FORM.answer_request(label.view)


def read(label: Label, reply: str) -> object:
    match role_of(label):
        case "query" | "seek":
            return FORM.read_query(label.view, reply)
        case "think":
            return FORM.read_think(label.view, reply)
        case "extract":
            return FORM.read_extract(label.view, label.passages, reply)
        case "curate":
            return FORM.read_curate(label.view, reply)
        case _:
            return FORM.read_answer(label.view, reply)


@pytest.mark.parametrize("domain", DOMAINS)
def test_what_is_taught_is_what_a_run_asks_and_admits(domain: str) -> None:
    roles = set()
    for task, case in drawn(domain, 2):
        assert all(word in ID for word in case.words)
        for label in case.labels:
            roles.add(role_of(label))
            request, reply = request_of(label), text_of(label.reply)
            assert request.prompt == text_of([*case.words[: label.upto], *label.prompt])
            assert isinstance(request.constraint, Regex)
            assert re.fullmatch(request.constraint.pattern, reply)
            assert len(label.reply) <= request.max_tokens
            answer = read(label, reply)
            if role_of(label) == "answer" and answer != UNANSWERABLE:
                assert exact_match(str(answer), [task.answer])
    assert roles == {"query", "seek", "think", "extract", "curate", "answer"}


def test_what_is_held_out_is_never_drawn() -> None:
    rng = random.Random("test:held out")
    own = {passage.text for passage in load_corpus()}
    for task in (task for _ in range(8) for task in musique.draw(rng)):
        assert not is_held_out(task.question)
        assert not own & {passage.text for passage in task.index.passages}
    shown = {turn.text for talk in shown_dialogues("dev") for turn in talk.passages if len(turn.text.split()) > 12}
    for task in dialogues.draw(rng):
        assert not shown & {turn.text for turn in task.index.passages}
