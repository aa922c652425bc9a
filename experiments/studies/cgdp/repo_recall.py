"""Questions about sources, and what one search brings: ``python -m experiments.studies.cgdp.repo_recall``.

For each package: its passages, the generated questions of a part by hops, and the share of answerable questions all of
whose evidence BM25 finds among the k best, asked as they are and by their gold sub-questions (each has to find its own
piece of code). Intervals are Wilson's of 95 %. The same seed draws the same questions.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envs.repo_qa import RepoQuestion, questions, read_package
from envs.repo_qa.questions import PARTS, Part
from envs.search import Index, bm25
from experiments.studies.cgdp.retrieval import Asked, found
from tape.files import replace_file
from tape.statistics import wilson

OUT = Path("experiments/results/cgdp_repo_recall.json")
PACKAGES = ("networkx", "email", "http")
DEPTHS = (5, 10)


def measured(package: str, part: Part, seed: int) -> dict[str, Any]:
    """What a package holds, what is asked of it, and what is found."""
    repository = read_package(package)
    made = questions(repository, seed, part)
    index = bm25(repository.passages)
    answerable = [one for one in made if one.answerable]
    by_hops: dict[int, list[RepoQuestion]] = {}
    for one in answerable:
        by_hops.setdefault(len(one.hops), []).append(one)
    return {
        "package": package,
        "digest": repository.digest,
        "part": part,
        "seed": seed,
        "files": len(repository.sources),
        "passages": len(repository.passages),
        "questions": len(made),
        "unanswerable": len(made) - len(answerable),
        "kinds": dict(sorted(Counter(one.kind for one in made).items())),
        "rows": [{"hops": hops, "n": len(asked), **_shares(asked, index)} for hops, asked in sorted(by_hops.items())],
    }


def _shares(asked: Sequence[RepoQuestion], index: Index) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, gold in (("question", False), ("gold sub-questions", True)):
        outcomes = [found(_searches(one, gold), index) for one in asked]
        for depth in DEPTHS:
            hits = sum(by_depth[depth] for by_depth in outcomes)
            low, high = wilson(hits, len(asked))
            told[f"{name}, k = {depth}"] = [round(hits / len(asked), 4), round(low, 4), round(high, 4)]
    return told


def _searches(one: RepoQuestion, gold: bool) -> Asked:
    if gold:
        return Asked(one.id, one.sub_questions, tuple(hop.evidence.passage for hop in one.hops), apart=True)
    return Asked(one.id, (one.text,), one.evidence)


def table(results: Sequence[dict[str, Any]]) -> str:
    """The results as Markdown."""
    columns = [f"{name}, k = {depth}" for name in ("question", "gold sub-questions") for depth in DEPTHS]
    lines = [f"| package | hops | n | {' | '.join(columns)} |", "|---|" + "---|" * (len(columns) + 2)]
    for result in results:
        for row in result["rows"]:
            cells = " | ".join("{:.2f} [{:.2f}, {:.2f}]".format(*row[column]) for column in columns)
            lines.append(f"| {result['package']} | {row['hops']} | {row['n']} | {cells} |")
    counts = [
        f"{one['package']}: {one['files']} files, {one['passages']:,} passages, {one['questions']} questions "
        f"({one['unanswerable']} unanswerable)"
        for one in results
    ]
    return "\n".join([*counts, "", *lines])


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.cgdp.repo_recall", description=__doc__)
    parser.add_argument("--package", nargs="+", default=list(PACKAGES), help=f"(default: {' '.join(PACKAGES)})")
    parser.add_argument("--part", choices=PARTS, default="test", help="(default: test)")
    parser.add_argument("--seed", type=int, default=0, help="which questions are drawn (default: 0)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where the results go (default: {OUT})")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write the results, print the table."""
    args = arguments().parse_args(argv)
    results = [measured(package, args.part, args.seed) for package in args.package]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    replace_file(args.out, json.dumps({"results": results}, indent=1) + "\n")
    print(table(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
