"""From a domain file and a problem file to a :class:`~envs.pddl.task.PddlTask`."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envs.pddl import text
from envs.pddl.errors import PddlError
from envs.pddl.expressions import Atom, written
from envs.pddl.metric import TOTAL_COST
from envs.pddl.names import in_python
from envs.pddl.task import PddlTask

if TYPE_CHECKING:
    from unified_planning.model import Problem

_LINE = re.compile(r"line:?\s*(\d+)")


def load_problem(domain: Path, problem: Path) -> tuple[Problem, list[tuple[str, Any, Fraction]]]:
    """Read a problem of unified-planning, and its preferences.

    Args:
        domain: The file of the domain.
        problem: The file of the problem.

    Returns:
        The problem without its preferences; and of each preference its name, its condition and its weight.

    Raises:
        PddlError: A file cannot be read, or has what is not supported; names the file, and the line where it is known.
    """
    texts = {file: text.load(file) for file in (domain, problem)}
    wholes = {file: text.read(content, file) for file, content in texts.items()}
    for file, whole in wholes.items():
        text.require_supported(whole, file)
    _require_tree(wholes[domain], domain)
    plain, preferences = text.without_preferences(wholes[problem], problem)
    # Where the reader would lose a part of the costs, total-cost is a number like any other.
    summed = text.minimizes_total_cost(text.read(plain, problem)) and text.sums_costs(wholes[domain])
    if summed:
        plain = text.without_metric(text.read(plain, problem))
    elif not preferences:
        plain = texts[problem]
    parsed = _parsed(texts[domain], plain, domain, problem)
    if summed:
        from unified_planning.model.metrics import MinimizeExpressionOnFinalState

        parsed.add_quality_metric(MinimizeExpressionOnFinalState(parsed.fluent(TOTAL_COST)()))
    soft = []
    for preference in preferences:
        condition = _condition(texts[domain], wholes[problem], preference.condition, domain, problem, parsed)
        soft.append((preference.name, condition, preference.weight))
    return parsed, soft


def _require_tree(domain: text.SExpression, file: Path) -> None:
    """Refuse types that are their own supertypes, which a parser follows for ever."""
    types = next((item for item in domain.parts if item.head == ":types"), None)
    above, waiting = dict[str, tuple[str, int]](), list[text.SExpression]()
    words = list(types.parts[1:]) if types is not None else []
    for i, word in enumerate(words):
        if word.word == "-" and i + 1 < len(words):
            above.update({item.word: (words[i + 1].word, item.line) for item in waiting})
            waiting = []
        elif i == 0 or words[i - 1].word != "-":
            waiting.append(word)
    for name, (_, line) in above.items():
        seen, here = {name}, above[name][0]
        while here in above and here != "object":
            if here in seen:
                raise PddlError(f"the type {name} is its own supertype", file, line)
            seen.add(here)
            here = above[here][0]
        if here in seen:
            raise PddlError(f"the type {name} is its own supertype", file, line)


def _parsed(domain_text: str, problem_text: str, domain: Path, problem: Path) -> Problem:
    from unified_planning.environment import get_environment
    from unified_planning.io import PDDLReader

    def read(*given: str) -> Any:
        # In the global environment: with another one the reader of 1.3.0 mixes both where there are quantifiers.
        return PDDLReader().parse_problem_string(*given)

    environment = get_environment()
    before, environment.error_used_name = environment.error_used_name, False  # an action may be named as a predicate
    try:
        return read(domain_text, problem_text)
    except RecursionError:
        raise PddlError("is nested too deep", problem) from None
    except Exception as error:
        try:
            read(domain_text)
            file = problem
        except Exception:
            file = domain
        raise _worded(error, file) from None
    finally:
        environment.error_used_name = before


def _worded(error: Exception, file: Path) -> PddlError:
    """An error of the parser as ours, with the line that it names."""
    line = getattr(error, "lineno", None)
    said = str(error) or type(error).__name__
    if line is None and (match := _LINE.search(said)):
        line = int(match[1])
    said = said.split("  (at char")[0].strip().splitlines()[0]
    if isinstance(error, KeyError):
        said = f"{said} is not declared"
    return PddlError(said, file, line)


def _condition(
    domain_text: str, whole: text.SExpression, condition: str, domain: Path, problem: Path, parsed: Problem
) -> Any:
    """The condition of a preference, read as the goal of the same problem."""
    parts = [item for item in whole.parts if item.head not in (":goal", ":metric")]
    goal = text.SExpression(whole.line, f"( :goal {condition} )")
    written_out = str(text.SExpression(whole.line, parts=(*parts, goal)))
    read = _parsed(domain_text, written_out, domain, problem)
    return parsed.environment.expression_manager.And(read.goals)


def load_task(domain: Path, problem: Path) -> PddlTask:
    """Read a problem to be played.

    Raises:
        PddlError: As for :func:`load_problem`.
    """
    return PddlTask(*load_problem(domain, problem))


def bounded(task: PddlTask, name: str, most: Fraction) -> tuple[Atom, Fraction]:
    """The number of the state that a cap names, in PDDL without parentheses or as a name of Python.

    Raises:
        PddlError: There is no such number, with those that there are; or it is above its cap at the start.
    """
    atoms = [atom for atom, _ in task.start.numbers]
    identifiers = in_python([" ".join(atom) for atom in atoms])
    for atom in atoms:
        if name in (" ".join(atom), written(atom), identifiers[" ".join(atom)]):
            if (value := dict(task.start.numbers)[atom]) > most:
                raise PddlError(f"cap {name}={most}: it is {value} at the start already")
            return atom, most
    known = ", ".join(identifiers[" ".join(atom)] for atom in atoms[:10]) or "none"
    raise PddlError(f"--cap {name}: there is no such number; those of the state: {known}")
