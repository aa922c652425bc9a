"""The bundled tool model decomposes and reads; it cannot verify, so its own second reading is the verifier.

Its ``<plan>`` of look-ups is the decomposition: ``founder of #1`` is a sub-question. Its ``<read>`` finds a name in up
to three paragraphs. It was never trained to judge a finding, so a finding counts as supported where the model, shown
the cited paragraph alone and the sub-question, reads the same name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from envs.hotpotqa.actions import Find
from envs.hotpotqa.minds.base import NOT_FOUND, HopTask
from envs.hotpotqa.minds.names import NameReader, NameVerifier
from envs.hotpotqa.state import Certified
from envs.musique.environment import KIND, tools
from envs.musique.prompts import LookUpLexicon
from envs.musique.retrieval import RETRIEVERS, Corpus
from envs.musique.words import parse_query
from envs.search.metrics import normalise
from tape.errors import InvalidOutputError, ModelError
from tape.lm.base import Regex, Request
from tape.protocols.search import Passage
from tape.sdp.adapter import Tools
from tape.sdp.operators import How
from tape.tools.calls import Call, call
from tape.tools.domain import ToolDomain
from tape.tools.prompts.compact import CompactToolFormat
from tape.tools.state import ToolState

AT_ONCE = 3
"""Paragraphs that are read at once, as in the model's training."""

_BEST = RETRIEVERS[-1].name
_RANK = f"v{len(RETRIEVERS)}"


class BundledMind(NameReader, NameVerifier):
    """Implements decomposer, reader and verifier with the ``tools`` prompt format of one question.

    Args:
        with_tools: The model.
        question: The question.
    """

    how: ClassVar[How] = "lm"
    label: ClassVar[str] = "bundled reader"

    def __init__(self, with_tools: Tools, question: str) -> None:
        self._tools = with_tools
        self._lexicon = LookUpLexicon(question)
        nothing = Corpus([Passage("0", "nothing", "nothing")])  # the prompt format wants tools; none is ever called
        self._format = CompactToolFormat(ToolDomain(question, tools(nothing)), self._lexicon)

    async def decompose(
        self, question: str, certified: Sequence[Certified], count: int, failures: Sequence[tuple[str, str]]
    ) -> tuple[str, ...]:
        """The calls of a plan of so many calls, the failed ones in the prompt."""
        del question
        state = ToolState()
        for hop in certified:
            state = state.with_call(_call(hop.sub_question), json.dumps(hop.finding))
        for failed, _ in failures:
            state = state.with_failure(_call(failed), "")
        text = await self._tools.ask(self._plan_request(state, count))
        subs: list[str] = []
        for part in text.split(";")[:count]:
            words = part.split()
            subs.append(str(json.loads(dict(self._lexicon.read(state, KIND, words[2:]))["query"])))
        return tuple(subs)

    def _plan_request(self, state: ToolState, count: int) -> Request:
        asked = self._format.plan_request(state, {})
        made = len(state.got)
        # The k-th call may refer to earlier results alone.
        calls = "".join(self._call_pattern(state, made + number) + "; " for number in range(count))
        return replace(asked, constraint=Regex(f"{calls}answer #{made + count} "), role="plan")

    def _call_pattern(self, state: ToolState, earlier: int) -> str:
        references = f"#[1-{earlier}]" if earlier else ""
        return f"{KIND} {_RANK} {self._lexicon.pattern(state, KIND, references)}"

    async def find(self, task: HopTask) -> Find:
        """Reads the first three paragraphs at once; after a failure one alone, the best first."""
        again = len(task.failures)
        shown = task.paragraphs[again - 1 : again] if again else task.paragraphs[:AT_ONCE]
        found = await self._read(task.sub_question, shown)
        if found is None:
            return Find(task.hop, NOT_FOUND, "")
        title = next((passage.title for passage in shown if found in passage.text), shown[0].title)
        return Find(task.hop, found, title, found)

    async def _read(self, sub_question: str, passages: Sequence[Passage]) -> str | None:
        if not passages or parse_query(sub_question) is None:
            return None
        text = " ".join(p.text if p.title in p.text else f"{p.title}: {p.text}" for p in passages)
        state = ToolState().with_call(_call(sub_question), json.dumps(text), text)
        request = self._format.project_request(state)
        assert request is not None, "a text was just obtained"
        # Reading is greedy, as the engine's projector reads.
        [done] = await self._tools.roles.lm.generate([replace(request, n=1, temperature=0.0, seed=0)])
        try:
            read = self._format.read_project(state, done.texts[0])
        except InvalidOutputError as error:
            self._tools.roles.count_malformed("project", done.texts[0], error)
            return None
        return str(read.values()[0]) if read.got else None

    async def supports(self, sub_question: str, finding: str, passage: Passage) -> bool:
        """Whether it reads the same in that paragraph alone."""
        read = await self._read(sub_question, [passage])
        return read is not None and normalise(read) == normalise(finding)


def _call(sub_question: str) -> Call:
    if parse_query(sub_question) is None:
        raise ModelError(
            f"unsupported: the bundled tool LM has no words for the sub-question {sub_question[:80]!r}. Choose a "
            "general model, for instance --model openai:NAME"
        )
    return call(KIND, _BEST, query=sub_question)
