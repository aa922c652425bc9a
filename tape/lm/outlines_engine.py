"""Constrained decoding: Outlines' logits processors, compiled once and shared.

Measured traps of outlines-core 0.2.14 are handled here: its mask kernel is
wrapped in ``torch.compile``, which costs 10-60 s at the first constrained call of a process; a
``Generator`` rebuilds the vocabulary each time; a literal that the tokenizer cannot write is
dropped without a word.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tape.errors import ConstraintError
from tape.lm.base import Constraint
from tape.lm.constraints import literals, to_pattern

BYPASS_VERSIONS = ("0.2.14",)
"""Versions of outlines-core whose kernel is known to work without its ``torch.compile`` wrapper."""


@lru_cache(maxsize=1)
def unwrap_mask_kernel() -> bool:
    """Replace the compiled mask kernel by the plain function it wraps; True where that was done.

    On an unknown version nothing is touched: slower at first, never wrong.
    """
    if importlib.metadata.version("outlines_core") not in BYPASS_VERSIONS:
        return False
    import outlines_core.kernels.torch as kernels

    plain: Callable[..., Any] | None = getattr(
        kernels._apply_token_bitmask_inplace_kernel, "_torchdynamo_orig_callable", None
    )
    if plain is None:
        return False
    kernels._apply_token_bitmask_inplace_kernel = plain
    return True


def encode(tokenizer: Any, text: str) -> list[int]:
    """Token ids of a text, without special tokens.

    Raises:
        ConstraintError: The tokenizer has no token for a part of it.
    """
    try:
        return list(tokenizer.encode(text, add_special_tokens=False))
    except Exception as error:  # the tokenizers library raises nothing more specific
        raise ConstraintError(f"the tokenizer cannot write {text[:200]!r}: {error}") from error


class ConstraintCompiler:
    """Compiles constraints for one model; one vocabulary, one cache.

    Args:
        model: A transformers model.
        tokenizer: Its tokenizer; it must have an end-of-sequence token.

    Raises:
        ConstraintError: The tokenizer has no end-of-sequence token.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        if tokenizer.eos_token_id is None:
            raise ConstraintError("the tokenizer has no end-of-sequence token; constrained decoding needs one")
        unwrap_mask_kernel()
        import outlines
        from outlines.backends.outlines_core import OutlinesCoreBackend

        self._tokenizer = tokenizer
        self._backend = OutlinesCoreBackend(outlines.from_transformers(model, tokenizer))
        self._indices: dict[str, Any] = {}

    def index(self, constraint: Constraint) -> Any:
        """The compiled automaton of a constraint.

        Raises:
            ConstraintError: It is not a regular language, no token sequence meets it, or one of its
                literals cannot be written by the tokenizer.
        """
        pattern = to_pattern(constraint)
        if pattern not in self._indices:
            for literal in literals(constraint):
                self._check_round_trip(literal)
            try:
                processor = self._backend.get_regex_logits_processor(pattern)
            except (ValueError, RuntimeError) as error:
                raise ConstraintError(f"the tokenizer cannot meet the constraint {pattern[:200]!r}: {error}") from error
            self._indices[pattern] = processor.index
            for literal in literals(constraint):
                self._check_admitted(pattern, literal)
        return self._indices[pattern]

    def processor(self, constraint: Constraint) -> Any:
        """A fresh logits processor for one group of sequences under the same constraint."""
        from outlines.backends.outlines_core import OutlinesCoreLogitsProcessor

        return OutlinesCoreLogitsProcessor(self.index(constraint), self._backend.tensor_library_name)

    def _check_round_trip(self, literal: str) -> None:
        ids = encode(self._tokenizer, literal)
        unknown = self._tokenizer.unk_token_id
        if self._tokenizer.decode(ids) != literal or (unknown is not None and unknown in ids):
            raise ConstraintError(
                f"the tokenizer cannot write {literal!r} exactly (it gives {self._tokenizer.decode(ids)!r}); "
                "it would be dropped from the choice without notice"
            )

    def _check_admitted(self, pattern: str, literal: str) -> None:
        from outlines_core import Guide

        guide = Guide(self._indices[pattern])
        for token in encode(self._tokenizer, literal):
            if not guide.accepts_tokens([token]):
                raise ConstraintError(f"{literal!r} is not reachable under {pattern[:200]!r}")
            guide.advance(token_id=token, return_tokens=False)
        if not guide.accepts_tokens([self._tokenizer.eos_token_id]) and not guide.is_finished():
            raise ConstraintError(f"{literal!r} cannot end under {pattern[:200]!r}")
