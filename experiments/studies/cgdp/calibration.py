"""How often each way to search finds what it is asked for: ``python -m experiments.studies.cgdp.calibration``.

Success of a retriever at a depth is the share of single-hop queries whose passage is among so many. The queries are
gold sub-questions of development questions; LoCoMo's public questions of category 4 are asked as they are, and count
where all their turns are there. What is found goes to ``envs/search/data/calibration.json``, corpus by corpus; agents
take it for the chance that a search resolves an open question, and the mean number of hops for how many searches they
have to plan for. Nothing is drawn at random. What the file says of other corpora, and of other retrievers of the same
queries, is kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.locomo.generator import dialogues
from envs.locomo.loader import load as load_locomo
from envs.musique import search_plugin as musique
from envs.repo_qa.index import read_package
from envs.repo_qa.questions import questions as repo_questions
from envs.search import Index, Passage, bm25, dense, hybrid
from envs.search.options import RETRIEVERS
from tape.files import replace_file
from tape.statistics import success_interval

OUT = Path("envs/search/data/calibration.json")
DEPTHS = (1, 3, 5, 10, 20)
ALPHAS = (0.9, 0.7, 0.5, 0.3)
PACKAGE = "networkx"
ANSWERABLE = 4
"""LoCoMo's category of questions that one turn answers."""


@dataclass(frozen=True)
class Asked:
    """One search.

    Attributes:
        cluster: What its outcome may depend on.
        query: What is searched for.
        evidence: Ids of the passages that answer it.
    """

    cluster: str
    query: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Searches of one corpus."""

    passages: tuple[Passage, ...]
    asked: tuple[Asked, ...]


def locomo_parts(file: Path) -> list[Part]:
    """The conversations of a public file, with the captions of their pictures."""
    return [
        Part(
            dialogue.passages, tuple(Asked(dialogue.name, q.text, q.evidence) for q in dialogue.questions if q.evidence)
        )
        for dialogue in load_locomo(file, (ANSWERABLE,))
    ]


def musique_parts(asked: Sequence[musique.Asked]) -> list[Part]:
    """The hops of questions, each over the passages of its question."""
    corpora: dict[int, tuple[musique.Asked, list[Asked]]] = {}
    for one in asked:
        _, queries = corpora.setdefault(id(one.passages), (one, []))
        hops = zip(one.gold.sub_questions, one.gold.evidence, strict=True)
        queries += [Asked(one.question.id, query, (passage,)) for query, passage in hops]
    return [Part(first.passages, tuple(queries)) for first, queries in corpora.values()]


def own_locomo_parts() -> list[Part]:
    """The hops of the questions about our own conversations."""
    return [
        Part(
            one.passages,
            tuple(
                Asked(f"{one.name} {number}", hop.sub_question, (hop.turn,))
                for number, question in enumerate(one.questions)
                if question.answerable
                for hop in question.hops
            ),
        )
        for one in dialogues("dev")
    ]


def repo_parts() -> list[Part]:
    """The hops of the questions about the sources of one package."""
    repository = read_package(PACKAGE)
    asked = [
        Asked(question.id, hop.question, (hop.evidence.passage,))
        for question in repo_questions(repository, 0, "dev")
        if question.answerable
        for hop in question.hops
    ]
    return [Part(tuple(repository.passages), tuple(asked))]


def retrievers(passages: tuple[Passage, ...], names: Sequence[str]) -> Iterator[Index]:
    """Those of some names; ``hybrid`` with several weights."""
    if "bm25" in names:
        yield bm25(passages)
    if "dense" in names:
        yield dense(passages)
    if "hybrid" in names:
        yield from (hybrid(passages, alpha) for alpha in ALPHAS)


def calibrated(what: str, parts: Sequence[Part], names: Sequence[str], *, hops: bool = True) -> dict[str, Any]:
    """Success by option, with its interval, and how many queries a question takes.

    Args:
        what: The queries, in words.
        parts: The queries and what they search.
        names: The retrievers.
        hops: The queries are hops, and their cluster is the question; else they are questions asked whole.
    """
    hits: dict[str, list[bool]] = {}
    clusters = [one.cluster for part in parts for one in part.asked]
    for part in parts:
        for index in retrievers(part.passages, names):
            for one in part.asked:
                ranked = [passage.id for passage in index.search(one.query, max(DEPTHS))]
                for depth in DEPTHS:
                    found = set(one.evidence) <= set(ranked[:depth])
                    hits.setdefault(f"{index.name}-{depth}", []).append(found)
    options = {}
    for name, hit in hits.items():
        low, high, _ = success_interval(hit, clusters)
        options[name] = {"success": round(sum(hit) / len(hit), 4), "low": round(low, 4), "high": round(high, 4)}
    mean = {"hops": round(len(clusters) / len(set(clusters)), 2)} if hops else {}
    return {"queries": what, "n": len(clusters), "questions": len(set(clusters)), **mean, "options": options}


def main(argv: Sequence[str] | None = None) -> int:
    """Calibrate what the arguments name; other corpora keep their values in the file."""
    args = arguments().parse_args(argv)
    made: dict[str, Callable[[], tuple[str, list[Part]]]] = {
        musique.OWN: lambda: ("gold sub-questions, own corpus, dev", musique_parts(musique.own("dev"))),
        "locomo-own-corpus": lambda: ("gold sub-questions, own corpus, dev", own_locomo_parts()),
        "repo_qa": lambda: (f"gold sub-questions, {PACKAGE}, dev", repo_parts()),
    }
    if args.musique:
        for name, pooled in ((musique.PUBLIC, False), (musique.POOLED, True)):
            made[name] = lambda pooled=pooled: (  # type: ignore[misc]
                f"gold sub-questions, {args.musique.name}",
                musique_parts(musique.public(args.musique, pooled=pooled)),
            )
    if args.locomo:
        made["locomo"] = lambda: (
            f"questions of category 4, {args.locomo.name}",
            locomo_parts(args.locomo),
        )
    kept = json.loads(args.out.read_text(encoding="utf-8"))["corpora"] if args.out.exists() else {}
    for name in made if args.only is None else args.only:
        if name not in made:
            raise SystemExit(f"there is no corpus {name!r}; with these files there is: {', '.join(made)}")
        found = calibrated(*made[name](), args.retriever, hops=name != "locomo")
        before = kept.get(name, {})
        if all(before.get(field) == found[field] for field in ("queries", "n", "questions")):
            found["options"] = {**before["options"], **found["options"]}
        kept[name] = found
        print(name, {option: measured["success"] for option, measured in found["options"].items()}, flush=True)
        replace_file(args.out, json.dumps({"corpora": dict(sorted(kept.items()))}, indent=1) + "\n")
    return 0


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.cgdp.calibration", description=__doc__)
    parser.add_argument("--locomo", type=Path, metavar="FILE", help="LoCoMo's public JSON file")
    parser.add_argument("--musique", type=Path, metavar="FILE", help="development questions in MuSiQue's public format")
    parser.add_argument("--only", nargs="+", metavar="CORPUS", help="these corpora alone (default: all)")
    parser.add_argument("--retriever", nargs="+", choices=RETRIEVERS, default=RETRIEVERS, help="(default: all)")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where the results go (default: {OUT})")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
