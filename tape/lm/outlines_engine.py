"""Constrained decoding by Outlines' automata, compiled once and shared.

Measured traps of outlines-core 0.2.14 are handled here: its mask kernel for torch is
wrapped in ``torch.compile``, which loads a compiler (a second of processor time) and costs 10-60 s at the
first constrained call of a process; a ``Generator`` rebuilds the vocabulary each time; a literal that the
tokenizer cannot write is dropped without a word.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tape.errors import ConstraintError
from tape.lm.base import Constraint
from tape.lm.constraints import literals, to_pattern

if TYPE_CHECKING:
    import torch
    from outlines_core import Index, Vocabulary

Processor: TypeAlias = "Callable[[torch.Tensor, torch.Tensor], torch.Tensor]"
"""From a sequence's tokens so far, (1, length), and its logits, (1, vocabulary), to logits with -inf where the
constraint forbids a token. It belongs to one sequence and must see it after every token."""

BYPASS_VERSIONS = ("0.2.14",)
"""Versions of outlines-core whose kernel is known to work without its ``torch.compile`` wrapper."""


class Tokenizer(Protocol):
    """What decoding needs of a tokenizer; that of transformers has it."""

    @property
    def eos_token_id(self) -> int | None:
        """The end of a sequence."""

    @property
    def unk_token_id(self) -> int | None:
        """What stands for text that cannot be written, if the tokenizer has such a token."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Token ids of a text."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids."""


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


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Token ids of a text, without special tokens.

    Raises:
        ConstraintError: The tokenizer has no token for a part of it.
    """
    try:
        return list(tokenizer.encode(text, add_special_tokens=False))
    except Exception as error:  # the tokenizers library raises nothing more specific
        raise ConstraintError(f"the tokenizer cannot write {text[:200]!r}: {error}") from error


class ConstraintCompiler:
    """Compiles constraints for one tokenizer; one vocabulary, one cache.

    Args:
        tokenizer: The tokenizer; it must have an end-of-sequence token.
        vocabulary: Makes its vocabulary as Outlines needs it.
        processor: Makes a logits processor for one sequence from an automaton.

    Attributes:
        eos: The end-of-sequence token.

    Raises:
        ConstraintError: The tokenizer has no end-of-sequence token.
    """

    def __init__(
        self, tokenizer: Tokenizer, vocabulary: Callable[[], Vocabulary], processor: Callable[[Index], Processor]
    ) -> None:
        if tokenizer.eos_token_id is None:
            raise ConstraintError("the tokenizer has no end-of-sequence token; constrained decoding needs one")
        self.eos = int(tokenizer.eos_token_id)
        self._tokenizer, self._vocabulary, self._processor = tokenizer, vocabulary(), processor
        self._indices: dict[str, Index] = {}

    def index(self, constraint: Constraint) -> Index:
        """The compiled automaton of a constraint.

        Raises:
            ConstraintError: It is not a regular language, no token sequence meets it, or one of its
                literals cannot be written by the tokenizer.
        """
        from outlines_core import Index

        pattern = to_pattern(constraint)
        if pattern not in self._indices:
            for literal in literals(constraint):
                self._check_round_trip(literal)
            try:
                self._indices[pattern] = Index(pattern, self._vocabulary)
            except (ValueError, RuntimeError) as error:
                raise ConstraintError(f"the tokenizer cannot meet the constraint {pattern[:200]!r}: {error}") from error
            for literal in literals(constraint):
                self._check_admitted(pattern, literal)
        return self._indices[pattern]

    def processor(self, constraint: Constraint) -> Processor:
        """A fresh logits processor for one sequence."""
        return self._processor(self.index(constraint))

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
        if not guide.accepts_tokens([self.eos]) and not guide.is_finished():
            raise ConstraintError(f"{literal!r} cannot end under {pattern[:200]!r}")


def transformers_compiler(model: Any, tokenizer: Any) -> ConstraintCompiler:
    """A compiler for a transformers model, by Outlines' own vocabulary and logits processor.

    Args:
        model: The model.
        tokenizer: Its tokenizer; it must have an end-of-sequence token.

    Raises:
        ConstraintError: The tokenizer has no end-of-sequence token.
    """

    def vocabulary() -> Vocabulary:
        import outlines
        from outlines.backends.outlines_core import OutlinesCoreBackend

        unwrap_mask_kernel()
        found: Vocabulary = OutlinesCoreBackend(outlines.from_transformers(model, tokenizer)).vocabulary
        return found

    def processor(index: Index) -> Processor:
        from outlines.backends.outlines_core import OutlinesCoreLogitsProcessor

        made: Processor = OutlinesCoreLogitsProcessor(index, "torch")
        return made

    return ConstraintCompiler(tokenizer, vocabulary, processor)


def plain_compiler(tokenizer: Tokenizer, tokens: dict[str, int]) -> ConstraintCompiler:
    """A compiler for a small vocabulary, without Outlines' torch kernels and what they load.

    Args:
        tokenizer: The tokenizer; it must have an end-of-sequence token.
        tokens: The text of every token, and its id.

    Raises:
        ConstraintError: The tokenizer has no end-of-sequence token.
    """

    def vocabulary() -> Vocabulary:
        from outlines_core import Vocabulary

        # Outlines adds the end of a sequence itself; it is no text.
        texts = {text: [token] for text, token in tokens.items() if token != tokenizer.eos_token_id}
        return Vocabulary(tokenizer.eos_token_id, texts)

    return ConstraintCompiler(tokenizer, vocabulary, PlainProcessor)


class PlainProcessor:
    """Does for one sequence what ``OutlinesCoreLogitsProcessor`` does, with the same guide and no kernel.

    Args:
        index: The automaton.
    """

    def __init__(self, index: Index) -> None:
        from outlines_core import Guide

        self._guide = Guide(index)
        self._started = False

    def __call__(self, tokens: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        """Logits, (1, vocabulary), with -inf for every token that the guide forbids after ``tokens``, (1, length)."""
        last = int(tokens[0, -1])
        if not self._started:
            self._started = True  # what is there already is the prompt
        elif not self._guide.is_finished() or self._guide.accepts_tokens([last]):
            self._guide.advance(token_id=last, return_tokens=False)
        allowed = self._guide.get_tokens()
        masked = logits.new_full(logits.shape, float("-inf"))
        masked[:, allowed] = logits[:, allowed]
        return masked
