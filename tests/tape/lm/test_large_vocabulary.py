"""Constraints at the size of real vocabularies, and text that is written without asking the model."""

from __future__ import annotations

import gc
import random
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("llguidance")

from tape.lm import outlines_engine
from tape.lm.base import Constraint, OneOf, Regex
from tape.lm.constraints import to_pattern
from tape.lm.outlines_engine import ConstraintCompiler, written_so
from tests.profiles import examples

SIZE = 49_152


class Words:
    """A vocabulary of bytes and of 49,000 words with and without a space before them; the longest piece goes first."""

    unk_token_id = None

    def __init__(self) -> None:
        rng = random.Random(5)
        words = {"".join(rng.choices("etaoinshrdlucmfwypv", k=rng.randint(2, 9))) for _ in range(45_000)}
        pieces = [bytes([value]) for value in range(256)]
        pieces += [piece.encode() for piece in ('{"', '":"', '","', '"}', '",', '."', "thought", "action", '":["')]
        for word in sorted(words):
            pieces += [word.encode(), b" " + word.encode()]
        self.pieces = pieces[: SIZE - 1]
        self.eos_token_id: int | None = SIZE - 1
        self._ids = {piece: token for token, piece in enumerate(self.pieces)}

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        rest, numbers = text.encode(), []
        while rest:
            length = next(length for length in range(min(10, len(rest)), 0, -1) if rest[:length] in self._ids)
            numbers.append(self._ids[rest[:length]])
            rest = rest[length:]
        return numbers

    def decode(self, ids: Any) -> str:
        return b"".join(self.pieces[token] for token in ids).decode(errors="replace")


@lru_cache(maxsize=1)
def words() -> Words:
    return Words()


@lru_cache(maxsize=1)
def compiler() -> ConstraintCompiler:
    texts = dict(enumerate(words().pieces))
    return ConstraintCompiler(words(), lambda: outlines_engine._vocabulary(texts, SIZE - 1))


def megabytes() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6


def fixed(action: str) -> Regex:
    """An action that is fixed, behind a thought that is not."""
    return Regex(rf'\{{"thought":"[^"\\\x00-\x1f]{{0,300}}","action":"{re.escape(action)}"\}}')


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="memory is read from /proc")
def test_actions_take_no_memory_to_speak_of() -> None:
    rng, before = random.Random(0), 0.0
    for number in range(16):
        if number == 5:
            before = megabytes()
        action = f"take plate {number} from cabinet {number}"
        thought = "".join(rng.choice(words().pieces[300:]).decode() for _ in range(12))
        text = f'{{"thought":"{thought[:290]}","action":"{action}"}}'
        here = compiler()._automaton(fixed(action)).copied()
        for token in words().encode(text, add_special_tokens=False):
            assert here.allowed()[token]
            here.advance(token)
        assert here.must_end()
    assert megabytes() - before < 100
    assert len(compiler()._compiled) <= outlines_engine.COMPILED


def test_the_constraints_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlines_engine, "COMPILED", 2)
    own = ConstraintCompiler(words(), lambda: compiler()._vocabulary)
    kept, other, third = (OneOf((text,)) for text in ("kept", "other", "third"))
    first = own._automaton(kept)
    for asked in (other, kept, third, kept):
        own.check(asked)
    assert len(own._compiled) == 2
    assert own._automaton(kept) is first, "it was used more often than what was compiled after it"


def test_what_is_forced_is_written_and_the_rest_is_the_models() -> None:
    processor = compiler().processor(fixed("go up"), jump=True)
    assert words().decode(processor.begin()) == '{"thought'
    for token in words().encode('":"', add_special_tokens=False):
        assert processor.take(token) == []
    assert processor.take(words()._ids[b"."]) == []
    rest = processor.take(words()._ids[b'",'])
    assert (words().decode(rest[:-1]), rest[-1]) == ('"action":"go up"}', SIZE - 1)
    asked = compiler().processor(fixed("go up"))
    assert asked.begin() == asked.take(words()._ids[b"{"]) == []


texts = st.text(st.sampled_from('ab1 "{}é中😀'), max_size=6)
choices = st.lists(texts, min_size=1, max_size=5, unique=True).map(lambda options: OneOf(tuple(options)))
patterns = st.sampled_from(
    [r'\{"a":"[a-c]{0,3}","b":(?:true|false)\}', r"(?:ab)+c|abd", r"x{3}y?z", r'"(?:é|😀|中){1,2}"(?:, end)?', r"a*"]
)


@given(choices, patterns, st.randoms(use_true_random=False))
@examples(15)
def test_every_option_can_be_written_with_jumps_and_what_is_written_matches(
    asked: OneOf, pattern: str, rng: random.Random
) -> None:
    for option in asked.options:
        assert written(asked, rng, option) == option
    assert written(asked, rng) in asked.options
    assert re.fullmatch(to_pattern(Regex(pattern)), written(Regex(pattern), rng))


def written(asked: Constraint, rng: random.Random, wanted: str | None = None) -> str:
    """A text that random tokens write under a constraint with jumps; of those that begin what is wanted, if any is."""
    processor, eos = compiler().processor(asked, jump=True), SIZE - 1
    tokens = processor.begin()
    while eos not in tokens:
        mask = processor._automaton.allowed()  # type: ignore[attr-defined]
        allowed = np.flatnonzero(np.frombuffer(mask, np.uint8)).tolist()
        if wanted is not None:
            begun = b"".join(words().pieces[token] for token in tokens)
            assert wanted.encode().startswith(begun)
            rest = wanted.encode()[len(begun) :]
            pieces = {token: b"" if token == eos else words().pieces[token] for token in allowed}
            allowed = [t for t, piece in pieces.items() if (rest.startswith(piece) if piece else t == eos and not rest)]
        token = eos if eos in allowed and rng.random() < 0.3 else rng.choice(allowed)
        tokens.append(token)
        tokens += [] if token == eos else processor.take(token)
    assert tokens.index(eos) == len(tokens) - 1
    return words().decode(tokens[:-1])


def test_a_pair_of_tokens_is_the_tokenizers_own_or_not() -> None:
    ids = words()._ids
    assert written_so(words(), ids[b'"'], ids[b":"])
    assert not written_so(words(), ids[b"{"], ids[b'"'])
    first, second = "é".encode()
    assert written_so(words(), ids[bytes([first])], ids[bytes([second])])
    assert written_so(words(), ids[bytes([second])], ids[b"a"])  # half a character is no text to split
