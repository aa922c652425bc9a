"""What alignment by subject refuses: ``python -m experiments.studies.cgdp.alignment --locomo FILE``.

An answer is grounded only in facts whose subject agrees with the question's (:mod:`tape.cgdp.alignment`). The subject
of a turn of a conversation is its speaker, so LoCoMo's swapped questions (category 5: true of one speaker, asked of the
other, who never said so) should be refused and its answerable ones (category 4) should not. Every question is searched
for as it is asked. Where the best hit is evidence, that turn is the only fact; beside it, all evidence as facts,
whatever is found. No agent and no model takes part.

``strict`` also refuses every question that names neither speaker, which was the rule first. That such questions are let
through was decided on these very conversations.

Refused questions that were true, and swapped ones that passed, are counted by what the question names. Intervals are
of 95 %, clustered by conversation.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.locomo.dialogue import Dialogue, Question
from envs.locomo.loader import load
from envs.search import Index, Passage, bm25, hybrid
from tape.cgdp.alignment import aligned, names
from tape.cgdp.view import Fact
from tape.files import replace_file
from tape.statistics import success_interval, wilson

OUT = Path("experiments/results/cgdp_alignment.json")
ALPHAS = (0.5, 0.9)
"""Of hybrid retrieval: the paper's, for most harnesses and for IRCoT."""
TARGETS = {"swapped": "at least .70", "true": "at most .08"}
RULES = ("aligned", "strict")

_WORD = re.compile(r"[^\W_]+")
_SHORT = 2
"""A short form of a name has at least so many letters (Jo)."""


@dataclass(frozen=True)
class Case:
    """A question with the facts that are there to answer it.

    Attributes:
        setting: Where the facts are from: a retriever, or ``all evidence``.
        dialogue: The conversation.
        question: The question.
        facts: Turns.
    """

    setting: str
    dialogue: Dialogue
    question: Question
    facts: tuple[Fact, ...]

    def refused(self, rule: str) -> bool:
        """Whether a rule leaves nothing to answer from."""
        if rule == "strict" and not any(names(name, self.question.text) for name in self.dialogue.speakers):
            return True
        return not aligned(self.question.text, self.facts, self.dialogue.speakers)

    @property
    def cause(self) -> str:
        """What the question names, for questions that the rule gets wrong."""
        said = {fact.subject for fact in self.facts}
        named = [name for name in self.dialogue.speakers if names(name, self.question.text)]
        if set(named) & said:
            return "names the speaker of the evidence"
        if named:
            return "names the other speaker alone"
        short = any(_is_short(word, name) for word in _WORD.findall(self.question.text) for name in said)
        return "has a short form of the name" if short else "names no speaker"


def _is_short(word: str, name: str) -> bool:
    return _SHORT <= len(word) < len(name) and name.startswith(word)


def cases(dialogue: Dialogue, alphas: Sequence[float] = ALPHAS) -> Iterator[Case]:
    """The cases of a conversation: all evidence, and for each retriever the questions whose best hit is evidence.

    Args:
        dialogue: The conversation.
        alphas: Of hybrid retrieval, beside BM25.
    """
    turns = {passage.id: passage for passage in dialogue.passages}
    asked = [question for question in dialogue.questions if question.evidence]
    for question in asked:
        yield Case("all evidence", dialogue, question, tuple(_fact(turns[one]) for one in question.evidence))
    indexes: list[Index] = [bm25(dialogue.passages), *(hybrid(dialogue.passages, alpha) for alpha in alphas)]
    for index in indexes:
        for question in asked:
            best = index.search(question.text, 1)
            if best and best[0].id in question.evidence:
                yield Case(index.name, dialogue, question, (_fact(best[0]),))


def _fact(passage: Passage) -> Fact:
    return Fact(passage.text, passage.id, passage.title, passage.text, "deterministic")


def measured(found: Sequence[Case]) -> list[dict[str, Any]]:
    """What is refused, by setting, rule and kind of question."""
    rows = []
    for setting in dict.fromkeys(case.setting for case in found):
        for rule in RULES:
            for kind, target in TARGETS.items():
                these = [c for c in found if c.setting == setting and c.question.answerable == (kind == "true")]
                if not these:
                    continue
                refused = [case.refused(rule) for case in these]
                low, high, method = success_interval(refused, [case.dialogue.name for case in these])
                wrong = Counter(c.cause for c, no in zip(these, refused, strict=True) if no == (kind == "true"))
                rows.append(
                    {
                        "facts": setting,
                        "rule": rule,
                        "questions": kind,
                        "n": len(these),
                        "refused": sum(refused),
                        "share": round(sum(refused) / len(these), 4),
                        "low": round(low, 4),
                        "high": round(high, 4),
                        "interval": method,
                        "wilson": [round(end, 4) for end in wilson(sum(refused), len(these))],
                        "target": target,
                        "wrong": dict(wrong.most_common()),
                    }
                )
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = ["| facts | rule | questions | n | refused | 95 % | wrong, by what the question names |", "|" + "---|" * 7]
    for row in rows:
        wrong = ", ".join(f"{cause}: {count}" for cause, count in row["wrong"].items())
        lines.append(
            f"| {row['facts']} | {row['rule']} | {row['questions']} | {row['n']} | {row['share']:.3f} "
            f"| {row['low']:.3f} to {row['high']:.3f} | {wrong} |"
        )
    return "\n".join(lines)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.studies.cgdp.alignment", description=__doc__)
    parser.add_argument("--locomo", type=Path, metavar="FILE", required=True, help="LoCoMo's public JSON file")
    parser.add_argument("--out", type=Path, default=OUT, help=f"where the results go (default: {OUT})")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write the results, print the table."""
    given = arguments().parse_args(argv)
    dialogues = load(given.locomo)
    rows = measured([case for dialogue in dialogues for case in cases(dialogue)])
    told = {"file": given.locomo.name, "conversations": len(dialogues), "rows": rows}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    replace_file(given.out, json.dumps(told, indent=1) + "\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
