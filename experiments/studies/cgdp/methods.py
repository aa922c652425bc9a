"""What the study of search agents compares: domains of questions, harnesses, memory conditions, windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, get_args

from experiments.harness.matrix import agent_class, own_options, tasks_of
from experiments.harness.methods import Method
from tape.methods.cgdp.settings import Memory
from tape.protocols import Task

OWN = "own corpus"
MEMORIES: tuple[Memory, ...] = get_args(Memory)
WINDOWS: tuple[int | None, ...] = (256, None)
"""Most tokens of a prompt; None: no cap but the model's. Questions about code need 235."""


@dataclass(frozen=True)
class Domain:
    """Questions over one kind of corpus.

    Attributes:
        label: In tables; says whose corpus it is.
        environment: Its name.
        part: The option that names a part of the questions, ``dev`` or ``test``.
        own: Further options.
    """

    label: str
    environment: str
    part: str
    own: Mapping[str, Any] = field(default_factory=dict)

    def options(self, part: str) -> dict[str, Any]:
        """The environment's own options for a part of the questions."""
        return own_options(self.environment, (), {**self.own, self.part: part})

    def tasks(self, part: str) -> tuple[Task, ...]:
        """The questions of a part.

        Raises:
            TapeError: They cannot be played here; says what is missing.
        """
        return tasks_of(self.environment, self.options(part))


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


def methods(agent: str, window: int | None) -> list[Method]:
    """A harness under the memory conditions that it has, in the paper's order, with a window for its prompts."""
    has = agent_class(agent).memories  # type: ignore[attr-defined]
    return [
        Method(f"{HARNESSES[agent]}, {memory}", agent, {"cgdp": {"memory": memory, "context_tokens": window}})
        for memory in MEMORIES
        if memory in has
    ]
