"""An answer with a proof that the checker has passed."""

from __future__ import annotations

from solvers.api import solve
from solvers.check_proof import ProofError
from solvers.problem import PathProblem
from solvers.proof_file import Proof
from solvers.solution import PathSolution


def solved_and_proven(problem: PathProblem, seconds: float) -> tuple[PathSolution, Proof | None]:
    """The answer within a time limit, and its proof where the checker has passed one."""
    solution = solve(problem, time_limit=seconds, proof=True)
    try:
        if solution.proof is not None:
            solution.proof.check()
    except ProofError:
        return solution, None
    return solution, solution.proof
