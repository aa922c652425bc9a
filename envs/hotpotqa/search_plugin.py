"""HotpotQA for search agents: the public files' questions, and our own of two hops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envs.data_files import DataFileError
from envs.hotpotqa.loader import HOPS, load
from envs.musique.evidence import Gold
from envs.musique.question import MusiqueQuestion
from envs.musique.search_plugin import MusiqueSearchPlugin, SearchedQuestion, asked_of, own
from tape.reading import read_json, short


class HotpotSearchPlugin(MusiqueSearchPlugin):
    """HotpotQA's questions, for search agents."""

    name = "hotpot_search"
    benchmark = "hotpotqa"

    def own(self, part: str) -> Sequence[SearchedQuestion]:
        """Our own questions of a part that take two hops."""
        return [asked for asked in own(part) if len(asked.gold.evidence) == HOPS]

    def hops(self, corpus: str) -> int:
        """Always two."""
        del corpus
        return HOPS

    def public(self, path: Path, *, pooled: bool) -> Sequence[SearchedQuestion]:
        """The questions of a file in the public format; those of full-wiki files may lack their evidence."""
        questions = load(path)
        records = read_json(path)
        golds = {
            question.id: _gold(record, question, str(path), number)
            for number, (record, question) in enumerate(zip(records, questions, strict=True), 1)
        }
        return asked_of(questions, golds, pooled=pooled)


def _gold(record: Mapping[str, Any], question: MusiqueQuestion, file: str, number: int) -> Gold:
    """The paragraphs that the supporting facts name by their titles; the file has no sub-questions."""
    if not question.passages:
        raise DataFileError(file, number, "context", f"is empty: there is nothing to search for {short(question.id)}")
    titles = [title for title, _ in record.get("supporting_facts", [])]
    return Gold(tuple(passage.id for passage in question.passages if passage.title in titles), ())


PLUGIN = HotpotSearchPlugin()
