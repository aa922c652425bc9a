"""HotpotQA and MuSiQue with SDP's adapter, for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from envs.hotpotqa.environment import HotpotEnvironment
from envs.hotpotqa.errors import HotpotError
from envs.hotpotqa.loader import HOPS, load, pooled, with_hops
from envs.hotpotqa.sdp import CAPS
from envs.hotpotqa.search import TitledCorpus, with_distractors
from envs.hotpotqa.setting import BENCHMARKS, READERS, require_reader
from envs.musique import loader as musique_loader
from envs.musique.corpus import PARTS, load_corpus, load_questions
from envs.musique.question import MusiqueQuestion
from tape.budget import Budget
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.protocols.search import Passage

MODES = ("distractor", "open")


class HotpotPlugin(EnvironmentPlugin):
    """Multi-hop questions over paragraphs."""

    name = "hotpotqa"
    prompt_version: Mapping[str, str] = MappingProxyType({"chat": "2"})
    roles = ("plan", "act", "score", "answer", "propose", "query", "realize", "validate")
    cases = "envs.hotpotqa.role_cases"
    model = "smollm2"
    built_on = ("envs.musique", "tape.tools")
    reads = False
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--benchmark``, ``--mode``, ``--data``, ``--questions``, ``--reader`` and ``--errors``."""
        parser.add_argument(
            "--benchmark",
            choices=BENCHMARKS,
            default="hotpotqa",
            help="hotpotqa: two hops; musique: as many as the id names, stricter answers (default: hotpotqa)",
        )
        parser.add_argument(
            "--mode",
            choices=MODES,
            default="distractor",
            help="distractor: the paragraphs are given; open: the agent searches for them (default: distractor)",
        )
        parser.add_argument("--data", type=str, help="a file in the benchmark's public format")
        parser.add_argument("--questions", choices=PARTS, default="dev", help="our own questions (default: dev)")
        parser.add_argument(
            "--reader", choices=READERS, default="lm", help="scripted: no model reads or verifies; own questions only"
        )
        parser.add_argument(
            "--errors", type=float, default=0.0, help="share of simulated errors of the scripted reader (default: 0)"
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per question."""
        benchmark, mode, data = options["benchmark"], options["mode"], options.get("data")
        reader, errors = options.get("reader", "lm"), float(options.get("errors", 0.0))
        require_reader(reader, errors, own=not data)
        questions = _from_file(Path(data), benchmark) if data else _own(options["questions"], benchmark)
        if data and (without := [question.id for question in questions if not question.passages]):
            _need_paragraphs(Path(data), mode, without, len(questions))
        name = f"{benchmark}-{mode}-{Path(data).stem if data else options['questions']}"
        name += "" if reader == "lm" else "-scripted-reader"
        name += f"-simulated-errors-{errors:g}" if errors else ""
        shared = (pooled(questions) if data else load_corpus()) if mode == "open" or not data else ()
        # The name of the one retriever is part of the digests in published results.
        settings = {"benchmark": benchmark, "mode": mode, "retriever": "bm25", "reader": reader, "errors": errors}
        corpus = hashlib.sha256(repr(shared).encode()).hexdigest()
        return [
            Task(
                id=question.id,
                level_set=name,
                budget=Budget({"steps": CAPS[benchmark].steps}),
                digest=hashlib.sha256(f"{question.digest} {corpus} {settings}".encode()).hexdigest()[:16],
                facts={**settings, "question": question, "corpus": shared, "text": question.text},
            )
            for question in questions
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment."""
        facts = task.facts
        question: MusiqueQuestion = facts["question"]
        corpus = _corpus(facts["corpus"]) if facts["corpus"] else None
        given: tuple[Passage, ...] = ()
        if facts["mode"] == "distractor":
            given = question.passages or with_distractors(question, _required(corpus))
            corpus = None
        return HotpotEnvironment(
            question,
            benchmark=facts["benchmark"],
            given=given,
            corpus=corpus,
            reader=facts["reader"],
            errors=facts["errors"],
        )


def _own(part: str, benchmark: str) -> list[MusiqueQuestion]:
    """Our own questions, with the number of hops in the id as in the public MuSiQue files."""
    named = [replace(question, id=f"{question.operations}hop__{question.id}") for question in load_questions(part)]
    return [question for question in named if benchmark == "musique" or question.operations == HOPS]


def _from_file(path: Path, benchmark: str) -> list[MusiqueQuestion]:
    if benchmark == "hotpotqa":
        return load(path)
    return [with_hops(question) for question in musique_loader.load(path)]


def _need_paragraphs(path: Path, mode: str, without: Sequence[str], count: int) -> None:
    """Refuse a file with questions that come without paragraphs, unless those of the others are searched."""
    if mode != "open":
        raise HotpotError(f"{path}: question {without[0]!r} comes without paragraphs to read; choose --mode open")
    if len(without) == count:
        raise HotpotError(
            f"{path}: no question comes with paragraphs, so there is nothing to search; give another file"
        )


def _required(corpus: TitledCorpus | None) -> TitledCorpus:
    assert corpus is not None, "our own questions come with the shared corpus"
    return corpus


@lru_cache(maxsize=4)
def _corpus(passages: tuple[Passage, ...]) -> TitledCorpus:
    """A corpus, indexed once."""
    return TitledCorpus(passages)


PLUGIN = HotpotPlugin()
