"""Training data and tokenizer of the bundled tool LM: batches, vocabulary, window, one token a word."""

import runpy
import sys
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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


def same(one: Batch, other: Batch) -> bool:
    return all(one[name].shape == other[name].shape and torch.equal(one[name], other[name]) for name in one)


def test_batches_depend_on_seed_and_number_alone() -> None:
    stream = tool_lm_data.batches(5, "tools", 8)
    first, second = next(stream), next(stream)
    assert same(second, next(tool_lm_data.batches(5, "tools", 8, first=1)))
    assert same(first, next(tool_lm_data.batches(5, "another", 8)))
    assert not same(first, second)
    assert not same(first, next(tool_lm_data.batches(6, "tools", 8)))


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


def test_every_answer_is_what_the_next_tokens_are_and_then_its_end(drawn: list[Batch]) -> None:
    end = tool_lm_data.ID[EOS]
    for batch in drawn[:3]:
        for ids, labels in zip(batch["ids"].tolist(), batch["label"].tolist(), strict=True):
            for at, (label, before) in enumerate(zip(labels, [-100, *labels], strict=False)):
                if label == -100:
                    assert before in (-100, end), "an answer is trained on to its end"
                elif label != end:
                    assert ids[at + 1] == label


def test_both_environments_are_in_every_batch(drawn: list[Batch]) -> None:
    search, amount = tool_lm_data.ID["search"], [tool_lm_data.ID[f"n{number}"] for number in (1, 2)]
    for batch in drawn:
        assert (batch["ids"] == search).any()
        assert torch.isin(batch["ids"], torch.tensor(amount)).any()


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


def prefixes(tokenizer: Tokenizer) -> Iterator[tuple[str, str]]:
    """Tokens that are the beginning of another: in order, one stands before the next that begins with it."""
    return ((one, other) for one, other in pairwise(sorted(tokenizer.get_vocab())) if other.startswith(one))


def test_no_token_is_the_beginning_of_another() -> None:
    assert list(prefixes(TOKENIZER)) == []
    assert len(TOKENIZER.get_vocab()) == len(TOOLS.words)
    # With the space before them, as the Sokoban family has it, some would be.
    assert any(one.strip() == "a" for one, _ in prefixes(build(TOOLS.words, "before")))


@given(st.lists(st.sampled_from(TOOLS.words[2:]), max_size=30))
def test_texts_read_back_as_they_were(words: list[str]) -> None:
    text = "".join(f"{word} " for word in words)
    ids = TOKENIZER.encode(text).ids
    assert [TOOLS.words[number] for number in ids] == words
    assert TOKENIZER.decode(ids, skip_special_tokens=False) == text


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
