"""The bundled LM's tokenizer: one token per word, each with its leading space.

``python -m experiments.lm_tokenizer FILE`` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from experiments.lm_data import EOS, PAD, WORDS


def build() -> Tokenizer:
    """Words keep their leading space, so that decoding a single token gives its exact text."""
    vocabulary = {word if word in (PAD, EOS) else f" {word}": i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(" [^ ]+"), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([PAD, EOS])
    return tokenizer


if __name__ == "__main__":
    build().save(str(Path(sys.argv[1])))
