"""Questions about Python sources for the command line and the runner."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from envs.repo_qa.errors import RepoQaError, SkippedFilesWarning
from envs.repo_qa.index import Repository, read_package, read_repo
from envs.repo_qa.questions import PARTS, Part, RepoQuestion, questions
from envs.search.options import Retrieval, add_arguments, gives_gold, read_options
from envs.search.plugin import SearchPlugin
from tape.protocols import Environment, Task

PACKAGE = "networkx"
"""The default package; it is always installed."""
NOUN = "piece of code"
CORPUS = "repo_qa"
"""As :meth:`envs.search.options.Retrieval.calibration` knows it; measured on one package, and taken for all."""


class RepoQaPlugin(SearchPlugin):
    """Questions about source code."""

    name = "repo_qa"

    def add_arguments(self, parser: Any) -> None:
        """``--package``, ``--repo`` and ``--part``, and those of every search."""
        parser.add_argument(
            "--package",
            help=f"an installed package, by the name it is imported by; read, never executed (default: {PACKAGE})",
        )
        parser.add_argument("--repo", metavar="DIR", help="a folder of Python sources instead of a package")
        parser.add_argument("--part", choices=PARTS, default="dev", help="of the generated questions (default: dev)")
        add_arguments(parser)

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per question."""
        retrieval = read_options(options)
        where = _where(options)
        repository = _repository(where)
        given = gives_gold(options)
        part: Part = options.get("part") or "dev"
        made = questions(repository, 0, part)
        if not made:
            raise RepoQaError(
                f"{repository.name}: nothing can be asked of it without ambiguity; name a larger package or folder"
            )
        _warn_of_skipped(repository)
        return [
            self.task(
                each.id,
                f"{repository.name}-generated-{part}",
                retrieval,
                json.dumps([_identity(each), repository.digest, asdict(retrieval), given], sort_keys=True),
                given=given,
                asked=each,
                where=where,
                text=each.text,
                kind=each.kind,
                hops=len(each.hops),
            )
            for each in made
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment; the runner passes the task's budget."""
        asked: RepoQuestion = task.facts["asked"]
        retrieval: Retrieval = task.facts["retrieval"]
        return self.environment(
            task,
            retrieval.indexes(_repository(task.facts["where"]).passages),
            CORPUS,
            answers=asked.answers,
            evidence=asked.evidence,
            answerable=asked.answerable,
            noun=NOUN,
            sub_questions=asked.sub_questions,
        )


def _identity(made: RepoQuestion) -> dict[str, Any]:
    """All that is played of a question."""
    names = ("id", "text", "answers", "evidence", "answerable", "kind", "sub_questions", "heldout")
    return {**{name: getattr(made, name) for name in names}, "hops": len(made.hops)}


def _where(options: Mapping[str, Any]) -> tuple[str, str]:
    """``package`` or ``repo``, and which."""
    package, repo = options.get("package"), options.get("repo")
    if package == "" or repo == "":
        raise RepoQaError("--package or --repo is empty; name a package or a folder, or leave it out")
    if package and repo:
        raise RepoQaError("--package and --repo both name the sources; give one of them")
    return ("repo", str(Path(repo).absolute())) if repo else ("package", package or PACKAGE)


def _repository(where: tuple[str, str]) -> Repository:
    return read_repo(Path(where[1])) if where[0] == "repo" else read_package(where[1])


def _warn_of_skipped(repository: Repository) -> None:
    if unusable := repository.unusable:
        first = next(skipped for skipped in repository.skipped if skipped.reason != "tests")
        counts = ", ".join(f"{reason} {count}" for reason, count in sorted(unusable.items()))
        text = f"{repository.name}: {unusable.total()} files were left out ({counts}), the first {first.path!r:.80}"
        warnings.warn(text, SkippedFilesWarning, 3)


PLUGIN = RepoQaPlugin()
