"""Models of every kind pass the suite that users' models inherit: scripted, recorded, local, hosted, and wrapped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tape.lm.base import Completion, LanguageModel, Request
from tape.lm.cache import CachedLM
from tape.lm.hosted.providers import ANTHROPIC, OPENAI
from tape.lm.recorded import RecordedLM
from tape.lm.scripted import ScriptedLM
from tape.testing import ModelConformance
from tests.tape.helpers import tiny_lm
from tests.tape.lm.endpoint import Endpoint
from tests.tape.lm.hosting import PRICE, opened

YES = ScriptedLM(["yes"])


class TestScripted(ModelConformance):
    def model(self) -> LanguageModel:
        return ScriptedLM(lambda request, sample: "yes" if sample else "no", price=PRICE)


class TestRecorded(ModelConformance):
    scores = False

    @pytest.fixture(autouse=True)
    def _recorded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = tmp_path / "replies.json"
        self.file.write_text("{}")
        with monkeypatch.context() as recording:
            recording.setattr(RecordedLM, "asks", YES)
            asyncio.run(self.model().generate(self.requests()))

    def model(self) -> LanguageModel:
        return RecordedLM(self.file)


class TestLocal(ModelConformance):
    prompt = " size: 7x9 wall: none player: (1,1) box: (2,2) goal: (3,3)"
    options = (" U", " invalid", " L R")

    def model(self) -> LanguageModel:
        return tiny_lm()


class TestCached(TestLocal):
    @pytest.fixture(autouse=True)
    def _opened(self, tmp_path: Path) -> Iterator[None]:
        self.cache = CachedLM(tiny_lm(), tmp_path / "cache.sqlite")
        yield
        self.cache.close()

    def model(self) -> LanguageModel:
        return self.cache


class TestHosted(ModelConformance):
    provider: Any = OPENAI
    room = 20

    @pytest.fixture(autouse=True)
    def _served(self) -> Iterator[None]:
        with Endpoint(lambda body: [self.said(body)] * body.get("n", 1)) as self.endpoint:
            yield

    def said(self, body: dict[str, Any]) -> str:
        return json.dumps({"answer": "yes"}) if "schema" in json.dumps(body) else "yes"

    def model(self) -> LanguageModel:
        return opened(self.endpoint, self.provider, PRICE)


class TestHostedByMessages(TestHosted):
    provider = ANTHROPIC


class Wrong(ScriptedLM):
    """Changes its answers before it hands them over."""

    def __init__(self, change: Callable[[Completion], Completion]) -> None:
        super().__init__(["yes"])
        self._change = change

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        return [self._change(answer) for answer in await super().generate(requests)]


@pytest.mark.parametrize(
    ("change", "test"),
    [
        (lambda answer: replace(answer, texts=answer.texts[:-1]), "each_request_gets_its_samples"),
        (lambda answer: replace(answer, finish=("asleep",) * len(answer.texts)), "each_request_gets_its_samples"),
        (lambda answer: replace(answer, usage=replace(answer.usage, completion_tokens=99)), "each_request"),
        (lambda answer: replace(answer, texts=("maybe",) * len(answer.texts)), "a_choice_is_one_of_its_options"),
        (lambda answer: replace(answer, texts=(str(object()),) * len(answer.texts)), "the_same_request"),
    ],
    ids=["samples", "ends", "usage", "choice", "another each time"],
)
def test_a_broken_model_is_detected(change: Callable[[Completion], Completion], test: str) -> None:
    suite = type("Suite", (ModelConformance,), {"model": lambda self: Wrong(change)})()
    [name] = [name for name in dir(suite) if name.startswith(f"test_{test}")]
    with pytest.raises(AssertionError):
        getattr(suite, name)()
