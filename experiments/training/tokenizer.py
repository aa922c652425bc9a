"""The bundled LMs' tokenizers: one token per word and a space before or after it.

``python -m experiments.training.tokenizer FAMILY FILE`` writes one; FAMILY is
``sokoban``, or a size of another family such as ``household``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from experiments.training.packing import EOS, PAD


def build(words: Sequence[str], space: Literal["before", "after"] = "before") -> Tokenizer:
    """Words keep their space, so that decoding a single token gives its exact text.

    Args:
        words: The vocabulary; the position is the id.
        space: Where it stands. ``after`` where a word may be the beginning of another: constraints are followed
            character by character, and after ``a`` no token would go on to ``answer``.
    """
    form = " {}" if space == "before" else "{} "
    vocabulary = {word if word in (PAD, EOS) else form.format(word): i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(form.format("[^ ]+")), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([PAD, EOS])
    return tokenizer


if __name__ == "__main__":
    from experiments.training.families import family_of

    family = family_of(sys.argv[1])
    build(family.words, family.space).save(str(Path(sys.argv[2])))
