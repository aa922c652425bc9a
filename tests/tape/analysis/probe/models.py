"""Models of known accuracy, and a small environment plugin without cases of its own."""

from collections.abc import Iterable, Mapping
from typing import Any

from tape.budget import Budget
from tape.lm.base import FREE, OneOf, Request, TokenPrice
from tape.lm.scripted import ScriptedLM
from tape.protocols import Environment, EnvironmentPlugin, Task
from tape.protocols.role_cases import RoleCase
from tape.testing.line import Line


def asked(request: Request) -> tuple[Any, Any]:
    """What tells requests apart, whoever pays for them."""
    return request.prompt, request.constraint


class Ideal(ScriptedLM):
    """Gives the ideal answer to every case.

    Args:
        cases: All that it knows.
        wrong: Roles in which it gives the first other answer of the same role that is not right, or babbles.
        price: What it costs.
    """

    def __init__(
        self, cases: Mapping[str, Iterable[RoleCase]], wrong: Iterable[str] = (), price: TokenPrice | None = FREE
    ) -> None:
        self._known = {asked(case.request): case for example in cases.values() for case in example}
        self._wrong = frozenset(wrong)
        super().__init__(
            self._answer, prompt_format="chat", identity=f"scripted:ideal-{sorted(self._wrong)}", price=price
        )

    def _answer(self, request: Request, sample: int) -> str:
        case = self._known[asked(request)]
        if case.role not in self._wrong:
            return case.ideal
        if isinstance(request.constraint, OneOf):
            options = request.constraint.options
            return next((option for option in options if not case.judge(option).right), options[0])
        return next((other.ideal for other in self._known.values() if _misleads(case, other)), "I am not sure.")


def _misleads(case: RoleCase, other: RoleCase) -> bool:
    judged = case.judge(other.ideal) if other.role == case.role else None
    return judged is not None and judged.valid and not judged.right


class Guessing(Ideal):
    """Of a choice among k options it is right every k-th time; elsewhere it is ideal."""

    def _answer(self, request: Request, sample: int) -> str:
        if not isinstance(request.constraint, OneOf):
            return super()._answer(request, sample)
        case = self._known[asked(request)]
        options = request.constraint.options
        turn = [role_case for role_case in self._known.values() if role_case.role == case.role].index(case)
        return (
            case.ideal
            if turn % len(options) == 0
            else next(option for option in options if not case.judge(option).right)
        )


class LinePlugin(EnvironmentPlugin):
    """Lines of several lengths; brings no cases."""

    name = "line"
    model = "scripted"
    replayable = True
    prompt_version = "1"

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """Lines of 2 to 9 cells."""
        return [
            Task(id=f"line-{n}", level_set="line", budget=Budget({"steps": n}), digest=str(n), facts={"last": n})
            for n in range(2, 9)
        ]

    def make(self, task: Task) -> Environment:
        """A fresh one."""
        return Line(task.facts["last"])
