"""The bundled LMs' tokenizers: one token per word, each with its leading space.

``python -m experiments.lm_tokenizer FAMILY FILE`` writes one; FAMILY is ``sokoban`` or ``tools``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from experiments.lm_packing import EOS, PAD


def build(words: Sequence[str]) -> Tokenizer:
    """Words keep their leading space, so that decoding a single token gives its exact text."""
    vocabulary = {word if word in (PAD, EOS) else f" {word}": i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(" [^ ]+"), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([PAD, EOS])
    return tokenizer


if __name__ == "__main__":
    from experiments.lm_families import SOKOBAN, TOOLS

    build({"sokoban": SOKOBAN, "tools": TOOLS}[sys.argv[1]].words).save(str(Path(sys.argv[2])))
