"""What one search brings: ``python -m experiments.studies.cgdp.retrieval --locomo FILE --musique FILE``.

The paper varies the retriever and the depth under its agents (CGDP tables 20 and 22); this is what the retrieval alone
is worth there: the share of questions all of whose evidence is among the k best passages, for BM25, dense embeddings
(all-MiniLM-L6-v2) and their weighted sum, without any agent. LoCoMo's answerable questions (category 4) are asked as
they are, of all turns of their conversation. MuSiQue's are asked of the passages of all questions of the file
together, as they are and by their gold sub-questions, each with k passages.

Intervals are of 95 %, clustered by conversation. Nothing is drawn at random.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from functools import partial
from pathlib import Path
from typing import Any

from envs.locomo.loader import load as load_locomo
from envs.musique.search_plugin import public
from envs.search import Index, Passage, bm25, dense, hybrid
from tape.files import replace_file
from tape.statistics import success_interval

OUT = Path("experiments/results/cgdp_retrieval.json")
DEPTHS = (3, 5, 10)
ALPHAS = (0.9, 0.7, 0.5, 0.3, 0.1)
ANSWERABLE = 4
"""LoCoMo's category of questions that one turn answers."""

_PICTURE = re.compile(r" ?\[picture: .*\]\Z", re.DOTALL)


@dataclass(frozen=True)
class Asked:
    """Searches that are made for one question.

    Attributes:
        cluster: What its outcome may depend on.
        queries: What is searched for.
        evidence: Ids of the passages that answer it.
        apart: Whether each query has to find its own piece of evidence, in order.
    """

    cluster: str
    queries: tuple[str, ...]
    evidence: tuple[str, ...]
    apart: bool = False


@dataclass(frozen=True)
class Part:
    """Questions over one corpus."""

    passages: tuple[Passage, ...]
    asked: tuple[Asked, ...]


def locomo_parts(file: Path, *, captions: bool) -> list[Part]:
    """The conversations of a public file.

    Args:
        file: The file.
        captions: Whether turns keep the captions of their pictures.
    """
    parts = []
    for dialogue in load_locomo(file, (ANSWERABLE,)):
        passages = dialogue.passages
        if not captions:
            passages = tuple(changed(one, text=_PICTURE.sub("", one.text) or one.title) for one in passages)
        asked = [Asked(dialogue.name, (one.text,), one.evidence) for one in dialogue.questions if one.evidence]
        parts.append(Part(passages, tuple(asked)))
    return parts


def musique_parts(file: Path, *, hops: Sequence[int], gold: bool, apart: bool = False) -> list[Part]:
    """The questions of a public file that take so many hops, over the passages of all of them.

    Args:
        file: The file.
        hops: Numbers of hops.
        gold: Search for the gold sub-questions in place of the question.
        apart: Each sub-question has to find its own passage; else what one finds counts for all.
    """
    asked = []
    passages: tuple[Passage, ...] = ()
    for each in public(file, pooled=True):
        passages = each.passages
        if len(each.gold.evidence) in hops:
            queries = each.gold.sub_questions if gold else (each.question.text,)
            asked.append(Asked(each.question.id, queries, each.gold.evidence, apart))
    return [Part(passages, tuple(asked))]


def retrievers(passages: tuple[Passage, ...]) -> Iterator[tuple[str, Index]]:
    """All that are compared, from BM25 to dense."""
    yield "bm25", bm25(passages)
    for alpha in ALPHAS:
        yield f"hybrid {alpha:g}", hybrid(passages, alpha)
    yield "dense", dense(passages)


def found(asked: Asked, index: Index) -> dict[int, bool]:
    """Whether all the evidence is there, by depth."""
    ranked = [[passage.id for passage in index.search(query, max(DEPTHS))] for query in asked.queries]
    if asked.apart:
        pairs = list(zip(asked.evidence, ranked, strict=True))
        return {k: all(gold in ids[:k] for gold, ids in pairs) for k in DEPTHS}
    return {k: set(asked.evidence) <= {one for ids in ranked for one in ids[:k]} for k in DEPTHS}


def measured(name: str, parts: Sequence[Part]) -> dict[str, Any]:
    """The share of questions with all evidence, by retriever and depth."""
    outcomes: dict[str, list[tuple[str, dict[int, bool]]]] = {}
    for part in parts:
        for retriever, index in retrievers(part.passages):
            outcomes.setdefault(retriever, []).extend((one.cluster, found(one, index)) for one in part.asked)
    rows = []
    for retriever, told in outcomes.items():
        clusters = [cluster for cluster, _ in told]
        for depth in DEPTHS:
            hits = [by_depth[depth] for _, by_depth in told]
            low, high, method = success_interval(hits, clusters)
            share = sum(hits) / len(hits)
            rows.append(
                {
                    "retriever": retriever,
                    "depth": depth,
                    "share": round(share, 4),
                    "low": round(low, 4),
                    "high": round(high, 4),
                    "interval": method,
                }
            )
    counted = {"questions": sum(len(part.asked) for part in parts), "corpora": len(parts)}
    return {"name": name, **counted, "passages": sum(len(part.passages) for part in parts), "rows": rows}


def table(results: Sequence[dict[str, Any]]) -> str:
    """The results as Markdown, one row a retriever and one group of columns a corpus."""
    lines = []
    for result in results:
        shares = {(row["retriever"], row["depth"]): row for row in result["rows"]}
        lines += [f"**{result['name']}** ({result['questions']} questions, {result['passages']:,} passages)", ""]
        lines += ["| retriever | " + " | ".join(f"k = {k}" for k in DEPTHS) + " |", "|---|" + "---|" * len(DEPTHS)]
        for retriever in dict.fromkeys(row["retriever"] for row in result["rows"]):
            cells = [shares[retriever, k] for k in DEPTHS]
            told = " | ".join(f"{_two(c['share'])} [{_two(c['low'])}, {_two(c['high'])}]" for c in cells)
            lines.append(f"| {retriever} | {told} |")
        lines.append("")
    return "\n".join(lines)


def _two(share: float) -> str:
    return f"{share:.2f}".removeprefix("0") if share < 1 else "1"


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.cgdp.retrieval", description=__doc__)
    parser.add_argument("--locomo", type=Path, metavar="FILE", help="LoCoMo's public JSON file")
    parser.add_argument("--musique", type=Path, metavar="FILE", help="a JSON Lines file in the public MuSiQue format")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where the results go (default: {OUT})")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write the results, print the tables."""
    parser = arguments()
    args = parser.parse_args(argv)
    if not (args.locomo or args.musique):
        parser.error("give --locomo FILE, --musique FILE, or both")
    made: dict[str, Callable[[], list[Part]]] = {}
    if args.locomo:
        made["LoCoMo, category 4"] = lambda: locomo_parts(args.locomo, captions=False)
        made["LoCoMo, category 4, with captions"] = lambda: locomo_parts(args.locomo, captions=True)
    if args.musique:
        two = partial(musique_parts, args.musique, hops=(2,))
        made["MuSiQue, 2 hops, the question alone"] = lambda: two(gold=False)
        made["MuSiQue, 2 hops, gold sub-questions"] = lambda: two(gold=True)
        made["MuSiQue, 2 hops, gold sub-questions, each finds its own"] = lambda: two(gold=True, apart=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    results = []
    for name, parts in made.items():
        results.append(measured(name, parts()))
        print(table(results[-1:]), flush=True)
        replace_file(args.out, json.dumps({"results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
