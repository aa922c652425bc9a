"""`Proof`: a proof and its problem, as files have them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from solvers.check_proof import check


@dataclass(frozen=True)
class Proof:
    """A proof, and the problem that it is of, as files have them.

    Attributes:
        problem: The problem as JSON, or in the OR-Library's format.
        text: The proof as JSON.

    Examples:
        >>> from solvers import PathProblem, solve
        >>> problem = PathProblem(
        ...     2, [(0, 1)], rewards=[0, 1], costs=[[3]], budgets=[2], start=0, terminals=[1], horizon=1
        ... )
        >>> solve(problem, proof=True).proof.check()
        'proven: nothing fits (budgets: r0 2)'
    """

    problem: str
    text: str

    def check(self) -> str:
        """What it shows, in words; raises `solvers.check_proof.ProofError` where it shows nothing."""
        return check(self.problem, self.text)

    def save(self, folder: str | Path) -> None:
        """Write ``problem.json`` and ``proof.json`` into a folder, for ``python check_proof.py PROBLEM PROOF``."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "problem.json").write_text(self.problem, encoding="utf-8")
        (Path(folder) / "proof.json").write_text(self.text, encoding="utf-8")
