"""What the studies of search agents play: domains, harnesses, memory conditions, windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, get_args

from experiments.harness.matrix import agent_class, own_options, plugin_of, tasks_of
from experiments.harness.methods import Method
from tape.cgdp.settings import Memory
from tape.protocols import Task
from tape.protocols.search import UNANSWERABLE

MODEL = "bundled:search"
OWN = "own corpus"
MEMORIES: tuple[Memory, ...] = get_args(Memory)
WINDOWS: tuple[int | None, ...] = (256, 384, None)
"""Most tokens of a prompt; None: no cap but the model's. Questions about code need 235."""


LARGER = ("ircot", "react_search")
"""Harnesses that are also played with K = 12 (the paper's table 21)."""
K = 12


@dataclass(frozen=True)
class Domain:
    """Questions over one kind of corpus.

    Attributes:
        label: In tables; says whose corpus it is.
        environment: Its name.
        part: The option that names a part of the questions, ``dev`` or ``test``; empty of a public file, which has
            none.
        own: Further options.
        quick: Questions of ``--quick``.
    """

    label: str
    environment: str
    part: str
    own: Mapping[str, Any] = field(default_factory=dict)
    quick: int = 8

    def options(self, part: str, **more: Any) -> dict[str, Any]:
        """The environment's own options for a part of the questions."""
        return own_options(self.environment, (), {**self.own, **({self.part: part} if self.part else {}), **more})

    def tasks(self, part: str, **more: Any) -> tuple[Task, ...]:
        """The questions of a part.

        Raises:
            TapeError: They cannot be played here; says what is missing.
        """
        return tasks_of(self.environment, self.options(part, **more))


DOMAINS: Mapping[str, Domain] = MappingProxyType(
    {
        "musique_search": Domain(f"MuSiQue, {OWN}", "musique_search", "questions"),
        "locomo": Domain(f"LoCoMo, {OWN}", "locomo", "part"),
        "repo_qa": Domain(f"repository networkx, {OWN}", "repo_qa", "part", {"package": "networkx"}),
    }
)
"""By the environment's name."""

HARNESSES: Mapping[str, str] = MappingProxyType(
    {"ircot": "IRCoT", "react_search": "ReAct", "memgpt": "MemGPT", "iter_retgen": "Iter-RetGen", "cgdp": "CGDP"}
)
"""Agents by name, as they are called in tables."""


def memories_of(agent: str) -> tuple[Memory, ...]:
    """The memory conditions that a harness has, in the paper's order."""
    has = agent_class(agent).memories  # type: ignore[attr-defined]
    return tuple(memory for memory in MEMORIES if memory in has)


def method(agent: str, memory: Memory, note: str = "", **settings: Any) -> Method:
    """A harness under a memory condition.

    Args:
        agent: Its name.
        memory: The condition.
        note: What else its name says.
        settings: Fields of :class:`tape.cgdp.settings.CgdpSettings`.
    """
    label = ", ".join(filter(None, (HARNESSES[agent], memory, note)))
    return Method(label, agent, {"cgdp": {"memory": memory, **settings}})


def windowed(domain: Domain, window: int | None) -> str:
    """The name of a setting: a domain under a window."""
    return f"{domain.label}, {'no window' if window is None else f'window {window}'}"


@dataclass(frozen=True)
class Facts:
    """What tables group questions by.

    Attributes:
        answerable: Whether the corpus holds the answer.
        hops: Passages of evidence; 0 where none is told.
    """

    answerable: bool
    hops: int


def facts_of(environment: str, task: Task) -> Facts:
    """What an environment reports of a question once it is over."""
    env = plugin_of(environment).make(task)
    answers, evidence = env.gold()
    return Facts(tuple(answers) != (UNANSWERABLE,), len(set(evidence)))


Gold = tuple[tuple[str, str, str], ...]
"""Sub-questions, each with the id and the text of the passage that answers it."""


def _musique_gold(task: Task) -> Gold:
    asked = task.facts["asked"]
    texts = {passage.id: passage.text for passage in asked.passages}
    both = zip(asked.gold.sub_questions, asked.gold.evidence, strict=True)
    return tuple((question, source, texts[source]) for question, source in both)


def _locomo_gold(task: Task) -> Gold:
    question = task.facts["question"]
    texts = {passage.id: passage.text for passage in task.facts["dialogue"].passages}
    return tuple((hop.sub_question, hop.turn, texts[hop.turn]) for hop in question.hops) if question.answerable else ()


GOLD: Mapping[str, Callable[[Task], Gold]] = MappingProxyType({"musique_search": _musique_gold, "locomo": _locomo_gold})
"""By environment that gives them away: the gold sub-questions of a task; empty where nothing answers its question."""


def larger(agent: str) -> Method:
    """A harness with room for more items."""
    return method(agent, "structured", f"K = {K}", k_target=K, k_trigger=K + 4)
