"""A grammar that is not required holds a model to it where that can be done, and is left out elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tape.lm.base import Grammar, Message, Request
from tape.lm.registry import open_model
from tape.lm.scripted import ScriptedLM
from tape.plan.grammar import gbnf
from tape.plan.reader import read
from tape.waiting import run_sync
from tests.tape.lm.endpoint import Endpoint
from tests.tape.lm.hosting import ask, opened, replies
from tests.tape.plan.corpus import SHOP

pytest.importorskip("llguidance")

OPTIONAL = Grammar(gbnf(SHOP), required=False)


def test_servers_without_grammars_are_sent_none() -> None:
    with Endpoint(replies("answer(1)")) as endpoint:
        ask(opened(endpoint), OPTIONAL)
    assert not {"grammar", "structured_outputs", "response_format"} & endpoint.bodies[0].keys()


def test_a_script_may_write_anything_under_it() -> None:
    request = Request("How many?", 20, OPTIONAL)
    [completion] = run_sync(ScriptedLM(["no program"], obey=True).generate([request]))
    assert completion.texts == ("no program",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that can write any text."""
    from tests.tape.lm.tiny_general import general_model

    made = tmp_path_factory.mktemp("model")
    general_model(made)
    return made


def test_a_local_model_writes_the_beginning_of_a_program_under_it(folder: Path) -> None:
    lm = open_model(f"hf:{folder}")
    prompt = (Message("user", "How many?"),)
    request = Request(prompt, 40, OPTIONAL, n=4, temperature=1.0, role="plan")
    [completion] = run_sync(lm.generate([request]))
    starts: list[Any] = ["#", "query(", "rows(", "send_email(", "ask(", "answer("]
    for text in completion.texts:
        assert text.startswith(tuple(starts)) or text[0].islower() or text[0] == "_", text
        read(text, SHOP)


def test_a_model_of_words_alone_writes_freely() -> None:
    lm = open_model("bundled:nano")
    request = Request(" size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)", 3, OPTIONAL, role="plan")
    [completion] = run_sync(lm.generate([request]))
    assert len(completion.texts) == 1
