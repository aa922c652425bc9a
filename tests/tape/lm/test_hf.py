"""Checkpoints of transformers: what they lack is named at the start, and what they compute in."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BloomConfig, BloomForCausalLM

from tape.errors import ModelError
from tape.lm.hf import computes_in, digest_of
from tape.lm.registry import open_model
from tests.tape.lm.tiny_general import general_model

pytestmark = pytest.mark.slow


def without_template(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()


def with_a_short_context(folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.config.max_position_embeddings = 1024
    model.save_pretrained(folder)


def without_a_context(folder: Path) -> None:
    BloomForCausalLM(BloomConfig(vocab_size=400, hidden_size=16, n_layer=1, n_head=2)).save_pretrained(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_template, r"has no chat template.*chat_template\.jinja"),
        (with_a_short_context, r"reads at most 1024 tokens, and prompts take up to 2048; use a model"),
        (without_a_context, "put max_position_embeddings into its config"),
    ],
)
def test_what_a_checkpoint_lacks_is_named_at_the_start(tmp_path: Path, change: Any, message: str) -> None:
    general_model(tmp_path)
    change(tmp_path)
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{tmp_path}")


def test_another_chat_template_is_another_model(tmp_path: Path) -> None:
    template = tmp_path / "chat_template.jinja"
    template.write_text("{{ messages }}")
    before = digest_of(tmp_path)
    template.write_text("{{ messages[0] }}")
    assert digest_of(tmp_path) != before


@pytest.mark.parametrize(("flags", "dtype"), [((), "float32"), (("avx512_bf16",), "bfloat16")])
def test_half_precision_where_the_processor_computes_in_it(
    tmp_path: Path, flags: tuple[str, ...], dtype: str, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    general_model(tmp_path)
    AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path)
    monkeypatch.setattr("tape.lm.hf._cpu_flags", lambda: frozenset(flags))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    capfd.readouterr()
    model = open_model(f"hf:{tmp_path}")
    assert model.identity.endswith(f"/{dtype}")
    assert capfd.readouterr().err == ""  # no bars
    assert not computes_in(torch.float16)
