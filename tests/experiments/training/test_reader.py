"""Training the reader: what it is shown, that packed rows are what they stand for, and the quick path to an adapter."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import ByteLevelBPETokenizer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from envs.musique.wordings import RELATIONS
from experiments.training.reader import made_up, public, ship
from experiments.training.reader.data import Row, Source
from experiments.training.reader.example import sentences
from experiments.training.reader.forms import draw_form
from experiments.training.reader.lora import adapt
from experiments.training.reader.train import Recipe, train
from tape.errors import ModelError
from tape.lm.adapter import CARD, FILE, MATRICES, card_of, load, write_merged
from tape.lm.smollm2 import adapters_folder
from tests.experiments.synthetic import public_question


def test_training_never_has_the_last_wording_of_a_group() -> None:
    rng = random.Random(3)
    for _ in range(200):
        sheet = made_up.sheet(rng, rng.choice((1, 2, 3)), 6)
        texts = {p.title: sentences(p.text) for p in sheet.passages}
        for asked in sheet.asked:
            assert not any(_worded(asked.question, relation.questions[-1]) for relation in RELATIONS.values())
            if asked.answer:
                assert asked.quote in texts[asked.title]
                assert asked.answer in asked.quote or asked.answer == asked.title
                assert not any(_worded(asked.quote, relation.sentences[-1]) for relation in RELATIONS.values())
            else:
                assert (asked.quote, asked.title) == ("", "")


def _worded(text: str, form: str) -> bool:
    """Whether a text has a wording; names stand in the gaps."""
    pattern = re.sub(r"\\\{[sox]\\\}", r"(?:the \\w+|[A-Z]\\w+(?: [A-Z]\\w+)?)", re.escape(form))
    return re.fullmatch(pattern, text) is not None or re.fullmatch(pattern, text[0].lower() + text[1:]) is not None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "public.jsonl"
    rows = [
        public_question(number, f"Hall {number}", "Common Hall" if number < 12 else f"Gate {number}")
        for number in range(10, 40)
    ]
    found.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return found


def test_nothing_that_is_held_out_is_trained_on(file: Path) -> None:
    training = public.load_hops(file)
    assert training
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    held_out = [row for row in rows if not public.is_for_training(row["id"])]
    shown = {p.title for hop in training for p in (hop.gold, *hop.others)}
    assert not shown & {paragraph["title"] for row in held_out for paragraph in row["paragraphs"]}
    assert not {hop.id.split(":")[0] for hop in training} & {row["id"] for row in held_out}
    second = next(hop for hop in training if hop.id.endswith(":2"))
    assert second.question.startswith("when was Ann ")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    rng = random.Random(0)
    texts = [p.text for _ in range(60) for p in made_up.sheet(rng, 3, 1).passages]
    texts += [draw_form(rng).system for _ in range(200)]
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts, vocab_size=900, special_tokens=["<|im_start|>", "<|im_end|>"], show_progress=False)
    return PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, eos_token="<|im_end|>")


def tiny(vocabulary: int, **options: Any) -> Any:
    """A random Llama whose heads share keys."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=24, intermediate_size=32, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=6, tie_word_embeddings=True, **options,
    )  # fmt: skip
    return LlamaForCausalLM(config)


@pytest.mark.slow
def test_the_quick_path_to_an_adapter(tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(4, rows=1, rank=4, first=1, lr=5e-3, warmup=1)
    source = Source(tokenizer)
    base = tmp_path / "base"
    tiny(len(tokenizer)).save_pretrained(base)
    whole = train(recipe, tiny(len(tokenizer)), source, tmp_path / "whole")
    assert set(whole) == {f"model.layers.{layer}.{part}.{name}.weight" for layer in (1, 2) for part, name in MATRICES}

    # Cut after two steps and gone on with, it comes to the same.
    monkeypatch.setattr("experiments.training.reader.train.SAVE_EVERY", 2)
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tiny(len(tokenizer)), _Stopped(source, 2), tmp_path / "cut")
    again = train(recipe, tiny(len(tokenizer)), source, tmp_path / "cut")
    assert all(torch.equal(one.up, again[name].up) for name, one in whole.items())
    assert any(one.up.any() for one in whole.values())

    written = {"recipe": vars(recipe), "public": None, "threads": 1, "torch": torch.__version__}
    (tmp_path / "whole" / "recipe.json").write_text(json.dumps(written))
    out = tmp_path / "adapter"
    ship.main([str(tmp_path / "whole"), "--out", str(out)])
    assert card_of(out).rank == 4
    assert json.loads((out / CARD).read_text())["training"]["steps"] == 4

    # Training that begins with it begins with what it holds, and one of another rank is refused.
    begun = train(Recipe(0, rank=4, first=1), tiny(len(tokenizer)), source, tmp_path / "begun", out)
    for name, (down, up) in load(out).items():
        torch.testing.assert_close(begun[name].down.data, down)
        torch.testing.assert_close(begun[name].up.data * recipe.scale, up)
    with pytest.raises(ModelError, match="another rank"):
        train(Recipe(0, rank=2, first=1), tiny(len(tokenizer)), source, tmp_path / "refused", out)

    # The merged checkpoint answers as the adapted model does, up to what eight bits lose.
    merged = tmp_path / "merged"
    merged.mkdir()
    write_merged(base, out, merged)
    factors = load(out)
    adapted = tiny(len(tokenizer))
    adapted.set_attn_implementation("f32_gqa")
    for name, one in adapt(adapted, 4, 1.0, 1).items():
        one.down.data, one.up.data = factors[name]
    ids = torch.arange(30)[None]
    with torch.no_grad():
        found = LlamaForCausalLM.from_pretrained(merged)(input_ids=ids).logits
        wanted = adapted.eval()(input_ids=ids, attention_mask=_causal(30)).logits
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    assert set(load_file(merged / "model.safetensors")) == set(load_file(base / "model.safetensors"))


def _causal(length: int) -> torch.Tensor:
    return torch.full((length, length), float("-inf")).triu(1)[None, None]


class _Stopped(Source):
    """Stops a training run after so many rows, as a kill does, but after the state was saved."""

    def __init__(self, source: Source, rows: int) -> None:
        self._source, self._rows = source, rows

    def row(self, seed: int, number: int) -> Row:
        if number >= self._rows:
            raise KeyboardInterrupt
        return self._source.row(seed, number)


def test_the_machine_readable_card_describes_what_ships() -> None:
    folder = adapters_folder() / ship.NAME
    if not (folder / CARD).exists():
        pytest.skip("no reader ships")
    facts = json.loads((folder / CARD).read_text(encoding="utf-8"))
    assert facts["bytes"] == (folder / FILE).stat().st_size
    assert facts["parameters"] == sum(down.numel() + up.numel() for down, up in load(folder).values())
