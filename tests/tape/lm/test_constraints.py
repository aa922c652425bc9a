"""Masks against brute force: which texts can be written token by token and then ended, and which should be."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tape.errors import ConstraintError
from tape.lm.base import Constraint, Forced, OneOf, Regex
from tape.lm.constraint_types import DEEPEST, LONGEST, written_out
from tape.lm.constraints import literals, to_decoder, to_grammar, to_pattern
from tests.tape.conftest import Keep

pytest.importorskip("llguidance")

from tape.lm import outlines_engine
from tape.lm.outlines_engine import Automaton, Processor, _vocabulary, transformers_compiler

SEED = 17
POOL = ("a", "b", "3", ".", "-", " ", "/", '"', "\\", "\n", "é", "ß", "٣", "中", "😀", "&", "~", "#", "_")
"""Characters of one to four bytes; with those that one kind of regular expression or another treats apart."""

LENGTH = 4
"""Characters of the longest text that is judged."""


def atom(rng: random.Random, letters: tuple[str, ...]) -> str:
    """What matches one character."""
    match rng.randrange(12):
        case 0:
            return "."
        case 1:
            return rng.choice((r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"))
        case 2 | 3 | 4:
            inside = "".join(re.escape(c) for c in rng.sample(letters, rng.randint(1, len(letters))))
            more = rng.choice(("", "", "0-9", "a-z", r"\d", r"\s", "^", "&&"[: rng.randint(0, 1)]))
            return f"[{rng.choice(('', '^'))}{inside}{more}]"
        case _:
            return re.escape(rng.choice(letters))


def pattern(rng: random.Random, letters: tuple[str, ...], depth: int) -> str:
    """A regular expression of the offered part of Python's syntax."""
    if depth == 0:
        return atom(rng, letters)
    inner = [pattern(rng, letters, depth - 1) for _ in range(rng.randint(1, 3))]
    match rng.randrange(6):
        case 0 | 1:
            return "".join(inner)
        case 2:
            return f"({rng.choice(('', '?:', f'?P<n{rng.randrange(10**9)}>'))}{'|'.join(inner)})"
        case 3:
            return f"(?:{'|'.join([*inner, ''])})"
        case _:
            low = rng.randint(0, 2)
            count = rng.choice(("*", "+", "?", f"{{{low}}}", f"{{{low},}}", f"{{{low},{low + rng.randint(0, 2)}}}"))
            return f"(?:{inner[0]}){count}{rng.choice(('', '', '?'))}{''.join(inner[1:])}"


def constraint(rng: random.Random, letters: tuple[str, ...]) -> Constraint:
    """A regular expression, or a choice among texts of which some begin others."""
    if rng.random() < 0.25:
        options = {"".join(rng.choices(letters, k=rng.randint(0, LENGTH + 1))) for _ in range(rng.randint(1, 6))}
        options |= {option[: rng.randint(0, 3)] for option in [*options] if rng.random() < 0.5}
        return OneOf(tuple(sorted(options))) if len(options) > 1 or rng.random() < 0.5 else Forced(options.pop())
    written = pattern(rng, letters, rng.randint(1, 3))
    return Regex(rng.choice((written, written, f"^{written}$" if "|" not in written else rf"\A(?:{written})\Z")))


def vocabulary(rng: random.Random, letters: tuple[str, ...]) -> list[bytes]:
    """Texts of tokens: of several characters, of parts of one, of ends and beginnings, twice, and empty."""
    texts = ["".join(rng.choices(letters, k=rng.randint(1, 3))).encode() for _ in range(rng.randint(2, 12))]
    if rng.random() < 0.5:
        texts += [c.encode() for c in letters]
    whole = "".join(rng.choices(letters, k=12)).encode()
    texts += [whole[i : i + rng.randint(1, 4)] for i in rng.sample(range(len(whole)), 4)]
    if rng.random() < 0.4:
        texts += [bytes([value]) for value in range(256)]
    if rng.random() < 0.3:
        texts += [b"", texts[0]]
    rng.shuffle(texts)
    return texts


def texts_of(letters: tuple[str, ...]) -> Iterator[str]:
    """Every text up to the length that is judged."""
    for length in range(LENGTH + 1):
        yield from map("".join, product(letters, repeat=length))


def disagreement(asked: Constraint, letters: tuple[str, ...], tokens: list[bytes], rng: random.Random) -> str:
    """What the masks get wrong on the texts over these letters; empty where nothing.

    Every token that begins the rest of a text that meets the constraint must be allowed, whatever tokens wrote what
    is there so far; the end must be allowed after the texts that meet it, and after no others.
    """
    if isinstance(asked, Regex):
        judge = re.compile(asked.pattern)
        every = [(text, judge.fullmatch(text) is not None) for text in texts_of(letters)]
    else:
        options = literals(asked)
        assert all(re.fullmatch(to_pattern(asked), option) for option in options)
        every = [(text, text in options) for text in {*texts_of(letters), *options}]
    members = {text.encode() for text, fits in every if fits}
    begun = {text[:i] for text in members for i in range(len(text) + 1)}
    known = {text.encode()[:i] for text, _ in every for i in range(len(text.encode()) + 1)}
    eos = len(tokens)
    automaton = Automaton(_vocabulary(dict(enumerate(tokens)), eos), to_grammar(asked), eos)
    ways: dict[bytes, list[int]] = {b"": []}
    waiting = [b""]
    while waiting:
        text = waiting.pop(rng.randrange(len(waiting)))
        here = automaton.copied()
        for token in ways[text]:
            here.advance(token)
        try:
            mask = here.allowed()
        except ConstraintError:
            mask = bytearray(eos + 1)
            if len({*tokens} & {bytes([value]) for value in range(256)}) == 256:
                return f"nothing is allowed after {text!r}, where a token before was"
        if bool(mask[eos]) != (text in members):
            return f"the end after {text!r} is {'allowed' if mask[eos] else 'forbidden'}"
        for token, written in enumerate(tokens):
            longer = text + written
            if not written:
                if mask[token]:
                    return f"a token without text is allowed after {text!r}"
            elif longer in begun and not mask[token]:
                return f"{written!r} is forbidden after {text!r}"
            elif mask[token] and longer in known:
                if longer not in ways:
                    waiting.append(longer)
                if longer not in ways or (longer in waiting and rng.random() < 0.5):
                    ways[longer] = [*ways[text], token]
    return ""


def masks_against_brute_force(count: int, seed: int) -> Counter[str]:
    """Judge random constraints under random vocabularies.

    Returns:
        How many there were of each kind, and how many of the judged texts are members.
    """
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    while seen["constraints"] < count:
        letters = tuple(rng.sample(POOL, rng.randint(2, 3)))
        try:
            asked = constraint(rng, letters)
        except ConstraintError as error:
            if "class of no writable character" not in str(error):  # for instance [^\d\D]
                raise
            seen["impossible"] += 1
            continue
        for _ in range(2):
            tokens = vocabulary(rng, letters)
            wrong = disagreement(asked, letters, tokens, rng)
            assert not wrong, f"{asked!r} over {letters!r} with {tokens!r}: {wrong}"
            seen["vocabularies"] += 1
        seen["constraints"] += 1
        seen[type(asked).__name__] += 1
    return seen


@pytest.mark.parametrize(("count", "seed"), [(30, SEED), pytest.param(5_000, SEED + 1, marks=pytest.mark.soak)])
def test_masks_admit_what_brute_force_admits(count: int, seed: int, keep_figures: Keep) -> None:
    seen = masks_against_brute_force(count, seed)
    assert min(seen[kind] for kind in ("Regex", "OneOf")) >= 5
    keep_figures("constraints", dict(seen))


DIGITS = r"-?[0-9]+(\.[0-9]+)?"
"""What showed that outlines-core loses texts: it never allowed the point after a digit."""


def automaton(pattern: str, texts: list[str]) -> Automaton:
    return Automaton(_vocabulary(dict(enumerate(texts)), len(texts)), to_grammar(Regex(pattern)), len(texts))


@pytest.mark.slow
def test_a_byte_level_tokenizer_writes_every_text_however_it_splits_it() -> None:
    from tests.tape.helpers import tiny_model
    from tests.tape.lm.tiny_general import byte_level

    tokenizer = byte_level([Path(__file__).read_text(encoding="utf-8"), "1234.5 98.7 -3.25 " * 50], vocab_size=600)
    compiler = transformers_compiler(tiny_model(), tokenizer)
    for pattern, texts in {
        DIGITS: ["3", "-3", "3.25", "-1234.5", "98.7"],
        r'\{"thought":"[^"\\\x00-\x1f]{0,40}"\}': ['{"thought":"é, 中 and 😀: then up"}', '{"thought":""}'],
        r"\w+ ?(?:é|😀)*": ["naïve é😀", "日本語"],
    }.items():
        split = compiler._automaton(Regex(pattern))
        for text in texts:
            ids = tokenizer.encode(text, add_special_tokens=False)
            alone = [tokenizer.convert_tokens_to_ids(piece) for byte in text for piece in tokenizer.tokenize(byte)]
            assert split.copied().admits(ids)
            assert split.copied().admits(alone)
            assert not split.copied().admits([*ids, ids[0], ids[0]]) or re.fullmatch(pattern, text + 2 * text[:1])
    compiler.check(OneOf(("drawer 1", "drawer 10", "Kühlschrank 😀")))


def test_masks_end_where_the_vocabulary_does_and_offer_no_end_where_no_token_goes_on() -> None:
    torch = pytest.importorskip("torch")
    for outputs in (2, 3, 7):
        masked = Processor(automaton("ab?", ["a", "b"])).masked(torch.zeros((1, outputs)))
        assert masked.tolist() == [[0.0, *[float("-inf")] * (outputs - 1)]]
    here = automaton("ab|c", ["a", "c"])
    here.advance(0)
    with pytest.raises(ConstraintError, match="no token can go on"):
        here.allowed()
    with pytest.raises(ConstraintError, match="does not allow token 1"):
        automaton("a", ["a", "b"]).advance(1)


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        (r"(?=a)a", "look-around"), (r"(?<!a)b", "look-around"), (r"(a)\1", "a backreference"),
        (r"(?P<x>a)(?P=x)", "a backreference"), (r"(a)?(?(1)b|c)", "a conditional group"),
        (r"a*+", "a possessive quantifier"), (r"(?>a|b)", "an atomic group"), (r"\ba", "a word boundary"),
        (r"a\B", "a word boundary"), (r"a^b", "\\^ inside the pattern"), (r"(?:a$)?b", "\\$ inside the pattern"),
        (r"(?i)a", "the inline flags re.IGNORECASE"), (r"(?s).", "the inline flags re.DOTALL"),
        (r"(?i:a)", "the inline flags re.IGNORECASE"), (r"(", "no regular expression"),
        (r"a{2,1}", "no regular expression"), (r"[^\d\D]", "a class of no writable character"),
        ("\ud800", "a class of no writable character"), ("(" * 50_000, "no regular expression"),
        ("(" * (DEEPEST + 2) + "a" + ")" * (DEEPEST + 2), "nests deeper"), ("a" * (LONGEST + 1), "at most"),
        (r"\w" * 100, "written out, at most"), (3, "is a text"),
    ],
)  # fmt: skip
def test_what_a_pattern_may_not_use_is_named(pattern: Any, construct: str) -> None:
    with pytest.raises(ConstraintError, match=construct) as caught:
        Regex(pattern)
    assert len(str(caught.value)) < 1_000


def test_a_choice_is_among_texts() -> None:
    options: Any = ("a", 3)
    with pytest.raises(ConstraintError, match="are texts"):
        OneOf(options)
    with pytest.raises(ConstraintError, match="lone surrogate"):
        to_decoder(OneOf(("a", "\ud800")))


def test_deep_patterns_that_are_read_are_compiled() -> None:
    deepest = DEEPEST // 2
    here = automaton("(?:" * deepest + "a" + ")?" * deepest, ["a"])
    assert here.allowed() == b"\xc8\x01"


def test_classes_hold_what_python_counts_to_them() -> None:
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    for letter in "dswD":
        runs = re.findall(r"\\x\{(\w+)\}-\\x\{(\w+)\}", written_out(f"\\{letter}"))
        members = [everything[_place(low) : _place(high) + 1] for low, high in runs]
        assert "".join(members) == "".join(re.findall(rf"\{letter}+", everything))


def _place(code: str) -> int:
    """Where a code point stands among those that can be written."""
    return int(code, 16) - (0x800 if int(code, 16) > 0xDFFF else 0)


EXPLOSIVE = (
    "(a{1,1000}){1,1000}", "(a|b)*a(a|b){25}", "((a|b)*a(a|b){25}.*){10}", "(?:.{0,1000}a){0,1000}",
    "((((((a{0,10}){0,10}){0,10}){0,10}){0,10}){0,10}){0,10}", "(a?){5000}a{5000}", "(.*a){50}", "(x+x+)+y|a*",
    "a{1000000}", r"\w{0,1000}\d{3,999}\w+|(a|b|ab)*", "|".join("a" * length for length in range(1, 150)),
)  # fmt: skip


@pytest.mark.parametrize("pattern", EXPLOSIVE)
def test_an_automaton_that_explodes_is_followed_as_far_as_it_goes(pattern: str) -> None:
    rng = random.Random(SEED)
    texts = ["a", "b", "ab", "ba", "aab", "c", " ", "é"]
    try:
        whole = automaton(pattern, texts)
        for _ in range(5):
            here, text = whole.copied(), ""
            for _ in range(60):
                *mask, end = here.allowed()
                if len(text) < 12:  # re takes exponential time for some of these
                    assert bool(end) == (re.fullmatch(pattern, text) is not None)
                if not any(mask):
                    break
                token = rng.choice([i for i, allowed in enumerate(mask) if allowed])
                here.advance(token)
                text += texts[token]
    except ConstraintError as error:
        if "lexer error: too many" not in str(error):
            raise


def test_a_sequence_is_not_refused_for_what_others_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(outlines_engine.LIMITS, "max_lexer_states", 300)
    rng = random.Random(SEED)
    whole = automaton("(a|b)*a(a|b){25}", ["a", "b"])
    sequences = []
    for _ in range(40):
        here = whole.copied()
        for _ in range(40):
            here.allowed()
            here.advance(rng.randrange(2))
        sequences.append(here)
    assert any(here._alone for here in sequences)
