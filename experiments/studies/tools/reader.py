"""How well models read: ``python -m experiments.studies.tools.reader --model smollm2 --model smollm2:reader``.

One look-up at a time, no agent: one paragraph or three of made-up worlds, all worded in ways that no training text has,
or paragraphs of the public MuSiQue file (``--data FILE``) with the questions of its hops, of the half of its questions
that the reader was not trained on. Chat models are asked as HotpotQA's reader asks them; ``bundled:tools`` is asked in
its own format, by relation and name, since it knows no question. An answer counts by exact match (articles, case and
punctuation aside). Chance is a name, year or number drawn from the paragraphs.

What is found is added to ``--out`` model by model, with the outcome of every question.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.hotpotqa.minds.base import NOT_FOUND, HopTask
from envs.hotpotqa.minds.chat_prompts import find_request, read_find
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.environment import MusiqueEnvironment
from envs.musique.retrieval import Corpus
from envs.musique.words import query_text
from envs.musique.world import make_world
from envs.search.metrics import exact_match, normalise
from experiments.training.reader import made_up
from experiments.training.reader.public import load_hops
from tape.errors import InvalidOutputError, ModelError
from tape.files import replace_file
from tape.lm.base import LanguageModel, Request
from tape.lm.registry import open_model
from tape.protocols.search import Passage
from tape.statistics import success_interval
from tape.tools.calls import call
from tape.tools.state import ToolState

OUT = Path("experiments/results/reader.json")
LOOKED_AT = 50
"""Public hops, and worlds of the names "reader-cases" and "reader-cases-2", on which earlier readers were measured; no
case comes from them."""
BATCH = 10
_CANDIDATE = re.compile(r"[A-Z][\w'’-]+(?: (?:(?:of|the|de) )*[A-Z][\w'’-]+)*|\b\d[\d,.]*\d\b|\b\d\b")


@dataclass(frozen=True)
class Case:
    """Paragraphs and a question.

    Attributes:
        id: Unique in its part.
        group: What its outcome may depend on: cases of one question belong together.
        question: As it is asked.
        query: For a model that knows relations and names alone; empty where there is none.
        passages: What is shown.
        answers: Those that count.
    """

    id: str
    group: str
    question: str
    query: str
    passages: tuple[Passage, ...]
    answers: tuple[str, ...]

    @property
    def chance(self) -> float:
        """How often a name, year or number drawn from the paragraphs is right."""
        text = " ".join(f"{p.title}. {p.text}" for p in self.passages)
        options = {normalise(found[0]) for found in _CANDIDATE.finditer(text)} - {""}
        options -= {normalise(p.title) for p in self.passages if normalise(p.title) in normalise(self.question)}
        return len(options & {normalise(answer) for answer in self.answers}) / max(1, len(options))


def made_up_cases(paragraphs: int, count: int) -> list[Case]:
    """Cases of worlds of their own, one a world, in wordings that are held out."""
    found: list[Case] = []
    while len(found) < count:
        number = len(found)
        rng = random.Random(f"reader-cases-3:{paragraphs}:{number}")
        world = make_world(f"reader-cases-3:{paragraphs}:{number}")
        sheet = made_up.sheet(rng, paragraphs, 1, held_out=True, world=world)
        asked = sheet.asked[0]
        query = query_text(*asked.fact)
        found.append(
            Case(f"{paragraphs}-{number}", str(number), asked.question, query, sheet.passages, (asked.answer,))
        )
    return found


def public_cases(file: Path, paragraphs: int, count: int) -> list[Case]:
    """Hops of the public questions that the reader was not trained on, with their gold paragraphs."""
    _, hops = load_hops(file)
    rng = random.Random("reader-study:public")
    found = []
    for hop in rng.sample(hops, len(hops))[LOOKED_AT:][:count]:
        shown = [hop.gold, *rng.sample(hop.others, paragraphs - 1)]
        rng.shuffle(shown)
        found.append(Case(hop.id, hop.id.partition(":")[0], hop.question, "", tuple(shown), hop.answers))
    return found


def parts(file: Path | None, count: int) -> dict[str, list[Case]]:
    """All cases, by what is shown."""
    found = {
        "made up, one paragraph": made_up_cases(1, count),
        "made up, three paragraphs": made_up_cases(3, count),
    }
    if file is not None:
        found["public, gold paragraph"] = public_cases(file, 1, count)
        found["public, gold and two others"] = public_cases(file, 3, count)
    return found


Asked = tuple[Request, Callable[[str], str]]


def chat_request(case: Case) -> Asked:
    """As HotpotQA's reader asks, and how its answer is read."""
    task = HopTask(case.question, 1, case.question, (), case.passages, (), ())

    def read(text: str) -> str:
        finding = read_find(task, text).finding
        return "" if finding == NOT_FOUND else finding

    return find_request(task), read


def tools_request(case: Case) -> Asked:
    """As MuSiQue's environment asks the bundled tool LM.

    Raises:
        ModelError: It does not know what is asked.
    """
    if not case.query:
        raise ModelError("unsupported: the bundled tool LM reads for relations and names alone")
    prompt_format = MusiqueEnvironment(load_questions()[0], _corpus()).prompt_format("tools")
    text = " ".join(passage.text for passage in case.passages)
    state = ToolState().with_call(call("search", "v5", query=case.query), '""', text)
    request = prompt_format.project_request(state)  # type: ignore[attr-defined]
    if request is None:
        raise ModelError("unsupported: nothing is to be read")

    def read(said: str) -> str:
        values = prompt_format.read_project(state, said).values()  # type: ignore[attr-defined]
        return str(values[0]) if values else ""

    return request, read


def _corpus() -> Corpus:
    return Corpus(load_corpus())


async def outcomes(model: LanguageModel, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """What a model reads, greedily: for each case its id, what was said, and whether it is right."""
    ask = chat_request if model.prompt_format == "chat" else tools_request
    found: list[dict[str, Any]] = []
    for first in range(0, len(cases), BATCH):
        batch = cases[first : first + BATCH]
        asked = [ask(case) for case in batch]
        for case, (_, read), done in zip(batch, asked, await model.generate([r for r, _ in asked]), strict=True):
            try:
                said, valid = read(done.texts[0]), True
            except InvalidOutputError:
                said, valid = done.texts[0], False
            right = valid and exact_match(said, case.answers)
            found.append({"id": case.id, "group": case.group, "said": said, "valid": valid, "right": right})
    return found


def summary(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count, share right with its 95 % interval, and share that could be read."""
    right = [bool(one["right"]) for one in found]
    low, high, _ = success_interval(right, [one["group"] for one in found])
    valid = sum(bool(one["valid"]) for one in found) / len(found)
    share = sum(right) / len(right)
    return {"n": len(right), "right": round(share, 3), "ci95": [round(low, 3), round(high, 3)], "valid": valid}


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask models, and add what is found to a file."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.studies.tools.reader",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", action="append", required=True, help="for instance smollm2:reader; may be repeated")
    parser.add_argument("--data", type=Path, help="a file in the MuSiQue format")
    parser.add_argument("--part", action="append", help="only this part; may be repeated")
    parser.add_argument("-n", type=int, default=50, help="cases of each part (default: 50)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args(arguments)
    cases = parts(args.data, args.n)
    if unknown := set(args.part or ()) - set(cases):
        parser.error(f"there is no part {sorted(unknown)}; there is {', '.join(cases)}")
    for name in args.model:
        model = open_model(name)
        import torch

        torch.set_num_threads(args.threads)
        for part in args.part or cases:
            began, cpu = time.time(), time.process_time()
            try:
                found = asyncio.run(outcomes(model, cases[part]))
            except ModelError as error:
                if not str(error).startswith("unsupported"):
                    raise
                print(f"{part}: {name}: {error}", flush=True)
                continue
            row = {"model": name, "identity": model.identity, "part": part, **summary(found)}
            row["chance"] = round(sum(case.chance for case in cases[part]) / len(cases[part]), 3)
            row |= {"threads": args.threads, "cpu_seconds": round(time.process_time() - cpu, 1)}
            row |= {"seconds": round(time.time() - began, 1), "outcomes": found}
            keep(args.out, row)
            print(json.dumps({key: value for key, value in row.items() if key != "outcomes"}), flush=True)
    return 0


def keep(file: Path, row: dict[str, Any]) -> None:
    """Put a row into the file, in place of an earlier one of the same model and part."""
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else []
    rows = [old for old in rows if (old["model"], old["part"]) != (row["model"], row["part"])]
    rows = sorted([*rows, row], key=lambda one: (one["part"], one["model"]))
    replace_file(file, json.dumps({"rows": rows}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
