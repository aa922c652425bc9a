"""The base of the plug-ins of search environments."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from envs.search.environment import SearchEnvironment
from envs.search.index import Index
from envs.search.options import Retrieval, level_set, usual_hops
from tape.budget import Budget
from tape.protocols import EnvironmentPlugin, Task

STEPS = 30
"""Most searches and answers of an episode; the same for all questions, so that it reveals nothing of their hops."""


class SearchPlugin(EnvironmentPlugin):
    """Questions for search agents."""

    prompt_version: Mapping[str, str] = MappingProxyType({"chat": "2", "search": "1"})
    model = "bundled:search"
    agent = "cgdp"
    reads = False
    replayable = True

    def task(self, id_: str, name: str, retrieval: Retrieval, content: str, *, given: bool, **facts: Any) -> Task:
        """A task.

        Args:
            id_: Unique in its set.
            name: The name of the set, without the options of the search.
            retrieval: How the corpus is searched.
            content: All that identifies the question, its corpus and the search.
            given: Whether gold sub-questions are given.
            facts: ``text`` of the question, and what :meth:`make` needs.
        """
        return Task(
            id=id_,
            level_set=level_set(name, retrieval, given=given),
            budget=Budget({"steps": STEPS}),
            digest=hashlib.sha256(content.encode()).hexdigest()[:16],
            facts={"retrieval": retrieval, "given": given, **facts},
        )

    def environment(
        self, task: Task, indexes: Sequence[Index], corpus: str, *, sub_questions: Sequence[str], **more: Any
    ) -> SearchEnvironment:
        """The environment of a task.

        Args:
            task: The task.
            indexes: The indexes of its corpus.
            corpus: The name of the corpus in the calibration.
            sub_questions: Gold sub-questions, used where the task gives them.
            more: Other arguments of :class:`envs.search.SearchEnvironment`.
        """
        retrieval: Retrieval = task.facts["retrieval"]
        return SearchEnvironment(
            task.facts["text"],
            indexes,
            depths=retrieval.depths,
            calibration=retrieval.calibration(corpus),
            sub_questions=sub_questions if task.facts["given"] else (),
            budget=task.budget,
            **{"hops": usual_hops(corpus), **more},
        )
