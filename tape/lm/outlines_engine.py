"""Constrained decoding by the automata of llguidance, Outlines' backend for them, compiled once and shared.

outlines-core, the other backend of Outlines, drops texts that match (a one-byte token after a complete match is never
allowed), tries alternatives in order, and has no bound on its automata. llguidance builds an automaton as far as it is
followed, within limits. Its traps (1.9.1) are handled here: where text is forced it admits one way of writing it alone;
where no token can go on, or a limit is reached, it offers the end of the sequence; its mask kernel for torch is
wrapped in ``torch.compile``, which loads a compiler and costs 10-60 s at the first constrained call of a process. A
literal that the tokenizer cannot write would be dropped without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol

from tape.errors import ConstraintError
from tape.lm.base import Constraint
from tape.lm.constraints import literals, to_grammar

if TYPE_CHECKING:
    import torch
    from llguidance import LLMatcher, LLTokenizer

COMPILED = 128
"""Most constraints whose automata are kept: those used last."""

LIMITS = {"initial_lexer_fuel": 1_000_000, "step_lexer_fuel": 200_000, "max_lexer_states": 50_000}
"""Of one automaton: work to build it (some 20 ms), work for one mask (some 15 ms), states (1 to 2 kB each)."""


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


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Token ids of a text, without special tokens."""
    try:
        return list(tokenizer.encode(text, add_special_tokens=False))
    except Exception as error:  # the tokenizers library raises nothing more specific
        raise ConstraintError(f"the tokenizer cannot write {text[:200]!r}: {error}") from error


def written_so(tokenizer: Tokenizer, first: int, second: int) -> bool:
    """Whether the tokenizer splits the text of two tokens into these very ones; also where they are parts of one."""
    text = tokenizer.decode([first, second])
    return "\ufffd" in text or encode(tokenizer, text) == [first, second]


class ConstraintCompiler:
    """Compiles constraints for one tokenizer; one vocabulary, one cache.

    Raises:
        ConstraintError: The tokenizer has no end-of-sequence token.
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary: Callable[[], LLTokenizer]) -> None:
        if tokenizer.eos_token_id is None:
            raise ConstraintError("the tokenizer has no end-of-sequence token; constrained decoding needs one")
        self.eos = int(tokenizer.eos_token_id)
        self._tokenizer, self._vocabulary = tokenizer, vocabulary()
        self._compiled: dict[str, Automaton] = {}

    def check(self, constraint: Constraint) -> None:
        """Compile a constraint; nothing happens where that was done before.

        Raises:
            ConstraintError: It is not a regular language, it is too large, no token can begin a text that meets it,
                or one of its literals cannot be written by the tokenizer.
        """
        self._automaton(constraint)

    def processor(self, constraint: Constraint, *, jump: bool = False) -> Processor:
        """A fresh logits processor for one sequence; it raises ConstraintError where no token can go on.

        Args:
            constraint: What the sequence must look like.
            jump: Whether text that must come next is written as the tokenizer writes it, without asking the model,
                which could only choose how to split it into tokens.
        """
        return Processor(self._automaton(constraint).copied(), self._forced if jump else None)

    def _forced(self, automaton: Automaton) -> list[int]:
        """The tokens that must come next, perhaps the end; the automaton takes them."""
        text = automaton.forced_text()
        if not text:
            return [self.eos] if automaton.must_end() else []
        try:
            ids = encode(self._tokenizer, text)
        except ConstraintError:
            return []  # a word of which only the beginning is forced, for a tokenizer that knows whole words
        ahead = automaton.copied()
        if not ahead.takes(ids):
            return []  # it writes something else
        if ahead.must_end():
            automaton.takes(ids)
            return [*ids, self.eos]
        # What comes after it may be one token with its last characters: those are the model's to split.
        del ids[-1]
        automaton.takes(ids)
        return ids

    def _automaton(self, constraint: Constraint) -> Automaton:
        grammar = to_grammar(constraint)
        automaton = self._compiled.pop(grammar, None)
        if automaton is None:
            for text in literals(constraint):
                self._check_round_trip(text)
            automaton = Automaton(self._vocabulary, grammar, self.eos)
            automaton.allowed()
            for text in literals(constraint):
                self._check_admitted(automaton, text)
        self._compiled[grammar] = automaton  # now the last one used
        if len(self._compiled) > COMPILED:
            self._compiled.pop(next(iter(self._compiled)))
        return automaton

    def _check_round_trip(self, literal: str) -> None:
        ids = encode(self._tokenizer, literal)
        unknown = self._tokenizer.unk_token_id
        if self._tokenizer.decode(ids) != literal or (unknown is not None and unknown in ids):
            raise ConstraintError(
                f"the tokenizer cannot write {literal!r} exactly (it gives {self._tokenizer.decode(ids)!r}); "
                "it would be dropped from the choice without notice"
            )

    def _check_admitted(self, automaton: Automaton, literal: str) -> None:
        if not automaton.copied().admits(encode(self._tokenizer, literal)):
            raise ConstraintError(f"the constraint does not admit {literal!r} as the tokenizer writes it")


class Automaton:
    """What a constraint admits, token by token; where it stands belongs to one sequence.

    Raises:
        ConstraintError: The grammar is too large, or llguidance cannot read it.
    """

    def __init__(self, vocabulary: LLTokenizer, grammar: str, eos: int) -> None:
        self._vocabulary, self._grammar, self._eos = vocabulary, grammar, eos
        self._taken: list[int] = []
        self._alone = False
        self._matcher = self._compiled()

    def _compiled(self) -> LLMatcher:
        from llguidance import LLMatcher, LLParserLimits

        limits = LLParserLimits(**LIMITS, verbose_errors=False)
        grammar = LLMatcher.grammar_from_lark(self._grammar)
        matcher = LLMatcher(self._vocabulary, grammar, log_level=0, limits=limits)
        if matcher.is_error():
            raise self._failure("the constraint cannot be compiled", matcher)
        return matcher

    def copied(self) -> Automaton:
        """The same where it stands, for one sequence; what was built of the automaton is shared."""
        automaton = copy(self)
        automaton._taken, automaton._matcher = [*self._taken], self._matcher.deep_copy()
        return automaton

    def allowed(self) -> bytearray:
        """A byte for every token of the vocabulary; 0: it is forbidden.

        Raises:
            ConstraintError: No token can go on and the text is not complete, or the automaton grew too large.
        """
        mask = bytearray(self._matcher.compute_logit_bias())
        # Where it cannot go on llguidance offers the end, complete or not.
        mask[self._eos] = self._matcher.is_accepting()
        if mask.count(0) < len(mask):
            return mask
        self._go_alone("the tokenizer cannot meet the constraint: no token can go on")
        return self.allowed()

    def advance(self, token: int) -> None:
        """Take a token."""
        if not self._matcher.consume_token(token):
            self._go_alone(f"the constraint does not allow token {token} here")
            self.advance(token)
        else:
            self._taken.append(token)

    def forced_text(self) -> str:
        """The text that must come next, as far as it consists of whole characters."""
        data: bytes = self._matcher.compute_ff_bytes()
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            return data[: error.start].decode()

    def must_end(self) -> bool:
        """Whether the text is complete, and nothing may follow."""
        return bool(self._matcher.is_stopped() and self._matcher.is_accepting())

    def takes(self, tokens: Sequence[int]) -> bool:
        """Take tokens; where they are not all allowed, the automaton cannot be used any further."""
        taken: int = self._matcher.try_consume_tokens(list(tokens))
        self._taken += tokens[:taken]
        return taken == len(tokens)

    def admits(self, tokens: Sequence[int]) -> bool:
        """Whether tokens, and the end after them, may follow; the automaton cannot be used any further."""
        return self.takes(tokens) and bool(self._matcher.is_accepting())

    def _go_alone(self, what: str) -> None:
        """Build the automaton anew along this sequence, for others may have used up what one may hold."""
        if self._alone:
            raise self._failure(what, self._matcher)
        self._alone, self._matcher = True, self._compiled()
        if not self._matcher.consume_tokens(self._taken):
            raise self._failure(what, self._matcher)

    def _failure(self, what: str, matcher: LLMatcher) -> ConstraintError:
        reason = matcher.get_error().strip().partition("\n")[0][:200]
        return ConstraintError(f"{what} ({reason or 'it leads nowhere'}); its grammar: {self._grammar[:200]!r}")


class Processor:
    """Masks the logits of one sequence by an automaton, which takes every token of the sequence.

    Args:
        automaton: It belongs to this processor alone.
        forced: Gives the tokens that must come next, which the automaton takes; None: the model chooses every token.
    """

    def __init__(self, automaton: Automaton, forced: Callable[[Automaton], list[int]] | None = None) -> None:
        self._automaton, self._forced = automaton, forced

    def copied(self) -> Processor:
        """The same for a sequence that begins like this one."""
        return Processor(self._automaton.copied(), self._forced)

    def begin(self) -> list[int]:
        """The tokens that every sequence begins with, already taken. Call it once, at the beginning."""
        return [] if self._forced is None else self._forced(self._automaton)

    def take(self, token: int) -> list[int]:
        """Take the next token, which is not the end; the tokens that must follow, perhaps the end, already taken."""
        self._automaton.advance(token)
        return [] if self._forced is None else self._forced(self._automaton)

    def masked(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits, (1, vocabulary), with -inf for every token that is forbidden."""
        import torch

        mask = self._automaton.allowed()
        # A network may have more outputs than the vocabulary has tokens, or fewer; the others write nothing known.
        outputs = logits.shape[1]
        if len(mask) != outputs:
            mask = mask[:outputs].ljust(outputs, b"\0")
        forbidden = torch.frombuffer(mask, dtype=torch.uint8).logical_not()
        return logits.masked_fill(forbidden.to(logits.device), float("-inf"))


def transformers_compiler(model: Any, tokenizer: Any) -> ConstraintCompiler:
    """A compiler for a transformers model, by the vocabulary that Outlines makes of it."""

    def vocabulary() -> LLTokenizer:
        import outlines
        from outlines.backends.llguidance import LLGuidanceBackend

        wrapped = outlines.from_transformers(model, tokenizer)
        try:
            return LLGuidanceBackend(wrapped).llg_tokenizer
        except ValueError:  # neither bytes nor pieces with bytes to fall back on: whole texts
            text_of = wrapped.tokenizer.convert_token_to_string
            texts = {token: text_of(text) for text, token in tokenizer.get_vocab().items()}
            return _vocabulary(texts, tokenizer.eos_token_id)

    return ConstraintCompiler(tokenizer, vocabulary)


def plain_compiler(tokenizer: Tokenizer, tokens: dict[str, int]) -> ConstraintCompiler:
    """A compiler for a small vocabulary, without what Outlines loads."""
    texts = {token: text for text, token in tokens.items()}
    return ConstraintCompiler(tokenizer, lambda: _vocabulary(texts, tokenizer.eos_token_id))


def _vocabulary(texts: Mapping[int, str | bytes], eos: int | None) -> LLTokenizer:
    """The vocabulary of llguidance with these texts by token; an id without one writes nothing."""
    from llguidance import LLTokenizer, TokenizerWrapper

    assert eos is not None  # the compiler has seen to it
    return LLTokenizer(TokenizerWrapper(_Tokens(texts, eos)), slices=[])


class _Tokens:
    """What llguidance asks a tokenizer for."""

    bos_token_id = None

    def __init__(self, texts: Mapping[int, str | bytes], eos: int) -> None:
        every = (texts.get(token, b"") for token in range(max(*texts, eos) + 1))
        self.tokens = [text if isinstance(text, bytes) else text.encode() for text in every]
        self.eos_token_id = eos
        # The end of a sequence is no text.
        self.special_token_ids = [eos]

    def __call__(self, text: bytes | str) -> list[int]:
        raise ConstraintError(f"texts are not split into tokens here, as {text!r:.200} was to be")
