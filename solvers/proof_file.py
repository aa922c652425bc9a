"""`Proof`: a proof and its problem, as files have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvers.check_proof import check

if TYPE_CHECKING:
    from solvers.problem import PathProblem


@dataclass(frozen=True, eq=False)
class Proof:
    """A proof, and the problem that it is of; their texts are made when they are asked for.

    Attributes:
        of: The problem, or its file's text.
        data: The proof, as JSON has it.

    Examples:
        >>> from solvers import PathProblem, solve
        >>> problem = PathProblem(
        ...     2, [(0, 1)], rewards=[0, 1], costs=[[3]], budgets=[2], start=0, terminals=[1], horizon=1
        ... )
        >>> solve(problem, proof=True).proof.check()
        'proven: nothing fits (budgets: r0 2)'
    """

    of: str | PathProblem
    data: Mapping[str, Any]

    @cached_property
    def problem(self) -> str:
        """The problem as JSON, or in the OR-Library's format."""
        return self.of if isinstance(self.of, str) else self.of.to_json()

    @cached_property
    def text(self) -> str:
        """The proof as JSON."""
        return json.dumps(self.data, separators=(",", ":"))

    def check(self) -> str:
        """What it shows, in words; raises `solvers.check_proof.ProofError` where it shows nothing."""
        return check(self.problem, self.text)

    def save(self, folder: str | Path) -> None:
        """Write ``problem.json`` and ``proof.json`` into a folder, for ``python check_proof.py PROBLEM PROOF``."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "problem.json").write_text(self.problem, encoding="utf-8")
        (Path(folder) / "proof.json").write_text(self.text, encoding="utf-8")
