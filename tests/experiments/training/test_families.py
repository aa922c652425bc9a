"""Families of bundled models: vocabulary, window, one token a word."""

from experiments.training.families import HOUSEHOLD, family_of
from experiments.training.packing import EOS, PAD
from experiments.training.tokenizer import build
from experiments.training.train import SIZES, config

TOKENIZER = build(HOUSEHOLD.words, HOUSEHOLD.space)


def test_every_word_is_one_token_that_reads_back_as_it_was() -> None:
    for number, word in enumerate(HOUSEHOLD.words):
        written = word if word in (PAD, EOS) else f"{word} "
        assert TOKENIZER.encode(written).ids == [number]
        assert TOKENIZER.decode([number], skip_special_tokens=False) == written


def test_every_size_belongs_to_a_family_whose_words_and_window_it_has() -> None:
    for size in SIZES:
        made, family = config(size), family_of(size)
        assert (family.prompt_format == size) == (size not in ("nano", "mini", "base"))
        assert (made.vocab_size, made.max_position_embeddings) == (len(family.words), family.window)
        assert [family.words[made.pad_token_id], family.words[made.eos_token_id]] == [PAD, EOS]
        assert all(0 <= number < len(family.words) for number in family.actions)
