"""What constraints cost at a real vocabulary, by Outlines' backends: time, memory, and whether masks are right.

``python -m experiments.benches.constraints --tokenizer FOLDER`` takes a tokenizer of transformers, asks every
environment's chat prompts for their constraints, and walks each along texts that meet it (Python's ``re`` says so).
Of each backend: seconds to make its vocabulary and to compile, of the first mask and of the others; megabytes that
stay after the constraints and after fifty more actions; how many of the texts it refuses; and how many of its masks
are wrong: at every step some of the tokens that it allows, and some that it forbids, are judged by whether a matching
text can go on with them (partial matching of the package ``regex``, which transformers brings).

Backends: ``llguidance``, which is used; ``outlines_core`` and ``xgrammar``, where they are installed. A backend that
takes longer than ``--patience`` seconds for a constraint is not asked for more of that kind.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.metadata
import json
import random
import re
import statistics
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.errors import NonInteractiveExampleWarning
from transformers import AutoTokenizer

from tape.errors import TapeError
from tape.lm.base import Constraint, JsonSchema, Regex, Request
from tape.lm.constraints import to_grammar, to_pattern
from tape.plugins import load, names
from tape.protocols.prompt_format import ProjectingFormat
from tape.protocols.search import SearchDomain

regex: Any = importlib.import_module("regex")  # it has no types
ACTIONS = 50
"""Different actions of the episode whose memory is measured."""

ROLES = ("plan", "act", "score", "rollout", "fixed act", "next", "project")
"""What an environment may be asked."""

LONGEST = 400
"""Characters of a text that is walked along."""

JUDGED = 6
"""Tokens of each kind, allowed and forbidden, that are judged at every step."""


def requests_of(environment: str) -> Iterator[tuple[str, Request | str]]:
    """What an environment's first task is asked by chat prompts, by role; a text says why nothing is asked.

    Args:
        environment: Its name; one whose tasks cannot be read here has no roles, and ``all`` stands for them.
    """
    plugin = load("tape.environments", environment)
    parser = argparse.ArgumentParser()
    plugin.add_arguments(parser)
    try:
        env = plugin.make(next(iter(plugin.tasks(vars(parser.parse_args([]))))))
        if isinstance(env.domain, SearchDomain):
            yield "all", "search agents ask other roles"
            return
        chat = env.prompt_format("chat")
        state = env.domain.project(env.reset(0))
    except TapeError as error:
        yield "all", str(error)
        return
    actions = list(env.domain.admissible(state) or ())[:2]
    makers: dict[str, Callable[[], Request | None]] = {
        "plan": lambda: chat.plan_request(state, {"steps": 8}),
        "act": lambda: chat.act_request(state, {}, None, []),
        "score": lambda: chat.score_request(state)[0],
    }
    if actions:
        makers["rollout"] = lambda: chat.rollout_request(state, actions)
        makers["fixed act"] = lambda: chat.act_request(state, {}, actions[0], actions)
        makers["next"] = lambda: chat.next_request(state, actions[0])
    if isinstance(chat, ProjectingFormat):
        makers["project"] = lambda: chat.project_request(state)
    for role in ROLES:
        if role in makers:
            yield role, makers[role]() or "it asks nothing at the start of a task"
        else:
            yield role, "its prompts have no such role" if role == "project" else "no action is listed at the start"


def pattern_of(constraint: Constraint) -> str:
    """A regular expression for a constraint; outlines-core makes that of a schema, without the bounds of numbers."""
    if not isinstance(constraint, JsonSchema):
        return to_pattern(constraint)
    from outlines_core.json_schema import build_regex_from_schema

    gap = "\ue000"
    pattern = str(build_regex_from_schema(json.dumps(constraint.model.model_json_schema()), gap))
    return pattern.replace(f":{gap}", ": ").replace(f",{gap}", ", ").replace(gap, "")


def texts_of(pattern: str, count: int) -> list[str]:
    """Texts that match a pattern as a whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonInteractiveExampleWarning)
        # Of a class, plain letters more often than the rest of Unicode.
        drawn = st.from_regex(re.compile(pattern), fullmatch=True, alphabet=st.characters(max_codepoint=126))
        found = [drawn.example() for _ in range(count)]
    return [text for text in found if re.fullmatch(pattern, text) and len(text) <= LONGEST]


@dataclass(frozen=True)
class Walk:
    """A compiled constraint on its way along a text.

    Attributes:
        mask: Makes the mask of the next token, as the backend has it.
        take: Takes a token, or raises.
        ended: Whether the text may end here.
        allowed: Of a mask, a truth value for each token of the vocabulary.
    """

    mask: Callable[[], Any]
    take: Callable[[int], object]
    ended: Callable[[], bool]
    allowed: Callable[[Any], Any]


class Llguidance:
    """The backend that is used, as it is used."""

    package = "llguidance"

    def __init__(self, tokenizer: Any) -> None:
        from llguidance.hf import from_tokenizer

        from tape.lm.outlines_engine import ConstraintCompiler

        self._compiler = ConstraintCompiler(tokenizer, lambda: from_tokenizer(tokenizer))

    def walk(self, constraint: Constraint) -> Walk:
        """A compiled constraint at its beginning."""
        automaton = self._compiler._automaton(constraint).fresh()
        return Walk(
            automaton.allowed,
            automaton.advance,
            lambda: bool(automaton.allowed()[self._compiler.eos]),
            lambda mask: np.frombuffer(mask, np.uint8) != 0,
        )


class OutlinesCore:
    """Outlines' own automata over tokens, complete before the first mask."""

    package = "outlines_core"

    def __init__(self, tokenizer: Any) -> None:
        from outlines.models.transformers import TransformerTokenizer
        from outlines_core import Vocabulary

        own = TransformerTokenizer(tokenizer)
        tokens: dict[str | bytes, list[int]] = defaultdict(list)
        for text, token in tokenizer.get_vocab().items():
            if token not in tokenizer.all_special_ids:
                tokens[own.convert_token_to_string(text)].append(token)
        self._vocabulary, self._size = Vocabulary(tokenizer.eos_token_id, dict(tokens)), len(tokenizer)
        self._index: tuple[str, Any] = ("", None)

    def walk(self, constraint: Constraint) -> Walk:
        """As for :class:`Llguidance`."""
        from outlines_core import Guide, Index

        pattern = pattern_of(constraint)
        if self._index[0] != pattern:  # the texts of a constraint come one after the other
            self._index = pattern, Index(pattern, self._vocabulary)
        guide = Guide(self._index[1])

        def allowed(tokens: list[int]) -> Any:
            found = np.zeros(self._size, bool)
            found[tokens] = True
            return found

        return Walk(guide.get_tokens, guide.advance, guide.is_finished, allowed)


class Xgrammar:
    """Push-down automata over bytes, with masks for each of their nodes made beforehand."""

    package = "xgrammar"

    def __init__(self, tokenizer: Any) -> None:
        import xgrammar

        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        self._x, self._compiler = xgrammar, xgrammar.GrammarCompiler(info, max_threads=1)
        self._mask, self._size = xgrammar.allocate_token_bitmask(1, info.vocab_size), info.vocab_size

    def walk(self, constraint: Constraint) -> Walk:
        """As for :class:`Llguidance`."""
        matcher = self._x.GrammarMatcher(self._compiler.compile_regex(pattern_of(constraint)))

        def take(token: int) -> None:
            if not matcher.accept_token(token):
                raise ValueError(f"token {token} is refused")

        def allowed(_: object) -> Any:
            bits = np.unpackbits(self._mask.numpy().view(np.uint8), bitorder="little")
            return bits[: self._size] != 0

        return Walk(lambda: matcher.fill_next_token_bitmask(self._mask), take, matcher.is_completed, allowed)


class Judge:
    """Says of tokens whether a text can go on with them; knows nothing of any backend.

    Args:
        tokenizer: The tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._texts: dict[int, str] = {}
        special = set(tokenizer.all_special_ids) | set(tokenizer.get_added_vocab().values())
        for token in range(len(tokenizer)):
            text = "" if token in special else tokenizer.decode([token])
            if text and "\ufffd" not in text:  # else a part of a letter, of which no regular expression can tell
                self._texts[token] = text
        self._known = np.zeros(len(tokenizer), bool)
        self._known[list(self._texts)] = True
        self._rng = np.random.default_rng(0)

    def wrong(self, pattern: Any, before: str, allowed: Any) -> tuple[int, int, int]:
        """Tokens judged at one step, those wrongly allowed, those wrongly forbidden.

        Args:
            pattern: The constraint, compiled by ``regex``.
            before: What is written so far.
            allowed: A truth value for each token.
        """
        counts = [0, 0, 0]
        allowed = allowed[: len(self._known)]
        for kind, mask in ((True, allowed & self._known), (False, ~allowed & self._known)):
            there = np.flatnonzero(mask)
            for token in self._rng.choice(there, min(JUDGED, len(there)), replace=False).tolist():
                goes_on = pattern.fullmatch(before + self._texts[token], partial=True) is not None
                counts[0] += 1
                counts[1] += kind and not goes_on
                counts[2] += not kind and goes_on
        return counts[0], counts[1], counts[2]


BACKENDS: dict[str, Any] = {
    "llguidance": Llguidance,
    "outlines_core": OutlinesCore,
    "xgrammar": Xgrammar,
}


def megabytes() -> float:
    """Memory of this process."""
    gc.collect()
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096 / 1e6


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of a call of this thread, and what it gave."""
    began = time.thread_time()
    found = call()
    return time.thread_time() - began, found


def judged(
    backend: Any, tokenizer: Any, judge: Judge, cases: Sequence[tuple[str, Constraint, list[str]]], patience: float
) -> Any:
    """Walk every constraint along its texts."""
    rows: dict[str, dict[str, Any]] = {}
    tired: set[str] = set()
    for name, constraint, texts in cases:
        role = name.split(": ")[1]
        if role in tired:
            rows[name] = {"left_out": "another of this kind took too long"}
            continue
        row: dict[str, Any] = {"texts": len(texts), "refused": 0, "failed": ""}
        row |= {"judged": 0, "wrongly_allowed": 0, "wrongly_forbidden": 0}
        first: list[float] = []
        masks: list[float] = []
        pattern = regex.compile(pattern_of(constraint))
        try:
            row["compile_s"], _ = seconds(lambda constraint=constraint: backend.walk(constraint))
            for text in texts:
                walk = backend.walk(constraint)
                try:
                    tokens = tokenizer.encode(text, add_special_tokens=False)
                    for i, token in enumerate(tokens):
                        took, mask = seconds(walk.mask)
                        (masks if i else first).append(took)
                        before = tokenizer.decode(tokens[:i])
                        if text.startswith(before):  # else it ends within a letter
                            found = judge.wrong(pattern, before, walk.allowed(mask))
                            for name_of, count in zip(
                                ("judged", "wrongly_allowed", "wrongly_forbidden"), found, strict=True
                            ):
                                row[name_of] += count
                        walk.take(token)
                    row["refused"] += not walk.ended()
                except (TapeError, ValueError, RuntimeError):
                    row["refused"] += 1
        except (TapeError, ValueError, RuntimeError, TypeError, MemoryError) as error:
            row["failed"] = str(error)[:200]
        row |= {"first_mask_s": max(first, default=0.0), "mask_ms": 1000 * statistics.mean(masks or [0.0])}
        row["worst_mask_ms"] = 1000 * max(masks, default=0.0)
        rows[name] = {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}
        if row.get("compile_s", 0.0) > patience:
            tired.add(role)
    return rows


def many_actions(backend: Any, tokenizer: Any, patience: float) -> dict[str, Any]:
    """An episode of actions that are all different, each with a thought."""
    before, spent = megabytes(), 0.0
    for number in range(ACTIONS):
        action = f"take plate {number} from cabinet {number}"
        fixed = Regex(rf'\{{"thought":"[^"\\\x00-\x1f]{{0,200}}","action":"{action}"\}}')
        text = f'{{"thought":"I need plate {number} to set the table, so I take it.","action":"{action}"}}'

        def step(fixed: Regex = fixed, text: str = text) -> None:
            walk = backend.walk(fixed)
            for token in tokenizer.encode(text, add_special_tokens=False):
                walk.mask()
                walk.take(token)

        took, _ = seconds(step)
        spent += took
        if spent > patience * 5:
            return {"actions": number + 1, "seconds": round(spent, 2), "megabytes": round(megabytes() - before, 1)}
    return {"actions": ACTIONS, "seconds": round(spent, 2), "megabytes": round(megabytes() - before, 1)}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benches.constraints",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tokenizer", required=True, help="a folder, or a model of the local hub cache")
    parser.add_argument("--environments", nargs="*", default=names("tape.environments"))
    parser.add_argument("--backends", nargs="*", default=[*BACKENDS], choices=[*BACKENDS])
    parser.add_argument("--texts", type=int, default=5, help="a constraint")
    parser.add_argument("--patience", type=float, default=20.0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    random.seed(0)
    tokenizer = AutoTokenizer.from_pretrained(args.tokenizer, local_files_only=True)
    cases, left_out = [], {}
    for environment in args.environments:
        for role, request in requests_of(environment):
            name = f"{environment}: {role}"
            if isinstance(request, str) or request.constraint is None:
                left_out[name] = request if isinstance(request, str) else "its answer is free text"
                print(f"{name}: left out: {left_out[name]}", file=sys.stderr)
                continue
            to_grammar(request.constraint)
            cases.append((name, request.constraint, texts_of(pattern_of(request.constraint), args.texts)))
    judge = Judge(tokenizer)
    result: dict[str, Any] = {
        "vocabulary": len(tokenizer), "constraints": len(cases), "patience_s": args.patience, "not_asked": left_out,
        "backends": {},
    }  # fmt: skip
    for name in args.backends:
        try:
            made, backend = seconds(lambda name=name: BACKENDS[name](tokenizer))
        except ImportError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
            continue
        before = megabytes()
        rows = judged(backend, tokenizer, judge, cases, args.patience)
        kept = megabytes() - before
        done = [row for row in rows.values() if "compile_s" in row]
        result["backends"][name] = {
            "version": importlib.metadata.version(BACKENDS[name].package),
            "vocabulary_s": round(made, 3),
            "worst_compile_s": max((row["compile_s"] for row in done), default=0.0),
            "worst_first_mask_s": max((row["first_mask_s"] for row in done), default=0.0),
            "mean_mask_ms": round(statistics.mean(row["mask_ms"] for row in done or [{"mask_ms": 0.0}]), 3),
            "worst_mask_ms": max((row["worst_mask_ms"] for row in done), default=0.0),
            "texts": sum(row["texts"] for row in done),
            "refused": sum(row["refused"] for row in done),
            "judged": sum(row["judged"] for row in done),
            "wrongly_allowed": sum(row["wrongly_allowed"] for row in done),
            "wrongly_forbidden": sum(row["wrongly_forbidden"] for row in done),
            "failed": sum(bool(row["failed"]) for row in done),
            "left_out": len(rows) - len(done),
            "megabytes": round(kept, 1),
            "fifty_actions": many_actions(backend, tokenizer, args.patience),
            "constraints": rows,
        }
        shown = {key: value for key, value in result["backends"][name].items() if key != "constraints"}
        print(f"{name}: {json.dumps(shown)}", flush=True)
    if args.out is not None:
        args.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
