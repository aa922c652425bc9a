"""Training data and tokenizer of the bundled tool LM: batches, vocabulary, window, one token a word."""

import runpy
import sys
from itertools import islice
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from envs.gsm_hard.generator import problem_set
from envs.gsm_hard.prompts import ArithmeticLexicon
from envs.musique.corpus import load_questions
from envs.musique.prompts import LookUpLexicon
from experiments.training import tokenizer as lm_tokenizer
from experiments.training.families import SOKOBAN, TOOLS, Family, family_of
from experiments.training.packing import EOS, PAD
from experiments.training.tokenizer import build
from experiments.training.tools import arithmetic as tool_lm_arithmetic
from experiments.training.tools import data as tool_lm_data
from experiments.training.tools import reading as tool_lm_reading
from experiments.training.train import SIZES, config

Batch = dict[str, torch.Tensor]
TOKENIZER = build(TOOLS.words, TOOLS.space)


@pytest.fixture(scope="module")
def drawn() -> list[Batch]:
    return list(islice(tool_lm_data.batches(11, "tools", 64), 20))


def test_every_token_is_in_the_vocabulary(drawn: list[Batch]) -> None:
    known = len(TOOLS.words)
    assert len(set(TOOLS.words)) == known
    for batch in drawn:
        assert 0 <= int(batch["ids"].min()) <= int(batch["ids"].max()) < known
        targets = batch["label"][batch["label"] != -100]
        assert len(targets) > 0
        assert 0 <= int(targets.min()) <= int(targets.max()) < known
        # Neither padding nor a word that stands for unknown ones is ever an answer.
        assert not torch.isin(targets, torch.tensor([tool_lm_data.ID[PAD], tool_lm_data.ID["<unk>"]])).any()


def test_no_prompt_with_its_answer_is_longer_than_the_window(drawn: list[Batch]) -> None:
    longest = max(int(batch["position"].max()) + 1 for batch in drawn)
    assert 64 < longest < TOOLS.window, "an answer's end needs a place too"


def test_the_vocabulary_covers_markers_slots_and_what_both_environments_write() -> None:
    words = set(TOOLS.words)
    assert TOOLS.words[:2] == [PAD, EOS]
    assert {*tool_lm_data.MARKERS, *tool_lm_data.SLOTS} <= words
    assert {*tool_lm_arithmetic.vocabulary(), *tool_lm_reading.vocabulary()} <= words
    for problem in problem_set("dev"):
        assert set(ArithmeticLexicon(problem.text).task()) <= words
    for question in load_questions("dev"):
        assert set(LookUpLexicon(question.text).task()) <= words


def test_every_word_is_one_token_that_reads_back_as_it_was() -> None:
    for number, word in enumerate(TOOLS.words):
        written = word if word in (PAD, EOS) else f"{word} "
        assert TOKENIZER.encode(written).ids == [number]
        assert TOKENIZER.decode([number], skip_special_tokens=False) == written


@pytest.mark.parametrize(("name", "family"), [("tools", TOOLS), ("sokoban", SOKOBAN)])
def test_the_command_writes_the_tokenizer_of_a_family(
    name: str, family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokenizer.json"
    monkeypatch.setattr(sys, "argv", ["lm_tokenizer", name, str(file)])
    runpy.run_path(str(Path(lm_tokenizer.__file__)), run_name="__main__")
    assert Tokenizer.from_file(str(file)).to_str() == build(family.words, family.space).to_str()


def test_every_size_belongs_to_a_family_whose_words_and_window_it_has() -> None:
    families = {size: family_of(size) for size in SIZES}
    assert {size: family.prompt_format for size, family in families.items() if family is TOOLS} == {"tools": "tools"}
    others = {size: family.prompt_format for size, family in families.items() if size != "tools"}
    for name in ("household", "chains", "search"):
        assert {size for size, prompt_format in others.items() if prompt_format == name} == {name}
    assert set(others.values()) == {"compact", "household", "chains", "search"}
    for size, family in families.items():
        made = config(size)
        assert (made.vocab_size, made.max_position_embeddings) == (len(family.words), family.window)
        assert [family.words[made.pad_token_id], family.words[made.eos_token_id]] == [PAD, EOS]
        assert all(0 <= number < len(family.words) for number in family.actions)
