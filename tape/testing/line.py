"""A minimal environment for planning, with its prompts and a scripted model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tape.budget import STEP, Budget, Resources
from tape.errors import InvalidOutputError, UnknownNameError
from tape.lm.base import Forced, OneOf, Request
from tape.lm.scripted import ScriptedLM
from tape.protocols import Action, Domain, Environment, Observation, Plan, State
from tape.protocols.prompt_format import OfferedPath, PromptFormat, offered_text

LEFT, RIGHT = "left", "right"


class LineDomain(Domain):
    """Cells 0 to ``last``; a state is a cell."""

    deterministic = True

    def __init__(self, last: int) -> None:
        self.last = last

    def key(self, state: State) -> str:
        """The cell."""
        return str(state)

    def render(self, state: State) -> str:
        """The line, with ``@`` at the cell."""
        return "".join("@" if cell == state else "." for cell in range(self.last + 1))

    def project(self, observation: Observation) -> State:
        """The observation is the cell."""
        return int(observation.text)

    def admissible(self, state: State) -> Sequence[Action]:
        """Both directions, in every cell."""
        del state
        return (LEFT, RIGHT)

    def cost(self, state: State, action: Action) -> Resources:
        """A step."""
        del state, action
        return STEP


class LineFormat(PromptFormat):
    """Prompts of a few words: ``line LAST at CELL ROLE ...``."""

    def __init__(self, domain: LineDomain) -> None:
        self._domain = domain

    def _request(self, role: str, state: State, rest: str, constraint: OneOf | Forced | None, tokens: int) -> Request:
        prompt = f"line {self._domain.last} at {state} {role} {rest}".strip()
        return Request(prompt, tokens, constraint, role=role)

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for one whole plan."""
        del remaining
        return self._request("plan", state, "", None, 2 * self._domain.last)

    def read_plan(self, state: State, text: str) -> Plan:
        """Words up to the first that is no direction."""
        del state
        actions: list[Action] = []
        for word in text.split():
            if word not in (LEFT, RIGHT):
                return Plan(tuple(actions), valid=False)
            actions.append(word)
        return Plan(tuple(actions), valid=bool(actions))

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for the cell after one action."""
        cells = [str(cell) for cell in range(self._domain.last + 1)]
        return self._request("next", state, action, OneOf(tuple(cells if valid else [*cells, "invalid"])), 1)

    def read_next(self, state: State, text: str) -> State | None:
        """A cell, or None for ``invalid``."""
        del state
        word = text.strip()
        if word == "invalid":
            return None
        if not re.fullmatch("[0-9]{1,6}", word) or int(word) > self._domain.last:
            raise InvalidOutputError(f"{text[:80]!r} is no cell of the line")
        return int(word)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask whether the goal is reached."""
        return self._request("score", state, "", OneOf(("far", "solved")), 1), {"far": 0.0, "solved": 1.0}

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for an action; the thought is empty."""
        del remaining
        constraint = OneOf((LEFT, RIGHT)) if action is None else Forced(action)
        return self._request("act", state, " ".join(plan), constraint, 1)

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """Read the action."""
        del state
        if text.strip() not in (LEFT, RIGHT):
            raise InvalidOutputError(f"{text[:80]!r} is no direction")
        return "", text.strip()

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best path."""
        listed = offered_text(paths, remaining)
        return self._request("select", state, listed, OneOf(tuple(str(i) for i in range(1, len(paths) + 1))), 1)


class Line(Environment):
    """Go from cell 0 to the last one; a step beyond an end changes nothing but costs a step.

    Args:
        last: The number of the goal's cell.
        steps: Most steps; None leaves the budget to the caller.

    Examples:
        >>> from tape.testing import Line
        >>> line = Line(last=2)
        >>> line.reset(seed=0).text, line.step("right")[0].text, line.success()
        ('0', '1', False)
        >>> line.domain.render(1)
        '.@.'
    """

    domain: LineDomain

    def __init__(self, last: int = 3, steps: int | None = None) -> None:
        self.domain = LineDomain(last)
        self.budget = Budget() if steps is None else Budget({"steps": steps})
        self._cell = 0

    def prompt_format(self, name: str) -> PromptFormat:
        """The prompts, in the prompt format ``compact``; there is no other one."""
        if name != "compact":
            raise UnknownNameError("prompt format of the line", name, ("compact",), "")
        return LineFormat(self.domain)

    def reset(self, seed: int) -> Observation:
        """Start at cell 0; nothing is random."""
        del seed
        self._cell = 0
        return Observation("0")

    def step(self, action: Action) -> tuple[Observation, Resources]:
        """Move."""
        self._cell = after(self.domain.last, self._cell, action)
        return Observation(str(self._cell)), STEP

    def success(self) -> bool:
        """Whether the last cell is reached."""
        return self._cell == self.domain.last


class LineModel(ScriptedLM):
    """Answers every prompt of a line correctly, with exceptions.

    Args:
        wrong: (role, cell) -> a wrong answer, for instance ``{("plan", 0): "left", ("next", 1): "3"}``.

    Examples:
        >>> from tape import TapeAgent
        >>> from tape.testing import Line, LineModel
        >>> result = TapeAgent(LineModel()).run(Line(last=3, steps=5))
        >>> result.end_state, result.actions
        ('success', ['right', 'right', 'right'])
        >>> TapeAgent(LineModel({("plan", 0): "left"})).run(Line(last=3, steps=5)).replans > 0
        True
    """

    def __init__(self, wrong: Mapping[tuple[str, int], str] | None = None) -> None:
        self._wrong = dict(wrong or {})
        super().__init__(self._answer, prompt_format="compact", identity="scripted:line")

    def _answer(self, request: Request, sample: int) -> str:
        del sample
        words = str(request.prompt).split()
        last, cell, role, rest = int(words[1]), int(words[3]), words[4], words[5:]
        if isinstance(request.constraint, Forced):
            return request.constraint.text
        if (role, cell) in self._wrong:
            return self._wrong[role, cell]
        right = {
            "plan": " ".join([RIGHT] * (last - cell)),
            "next": str(after(last, cell, rest[0])) if role == "next" else "",
            "score": "solved" if cell == last else "far",
            "act": RIGHT,
            "select": "1",
        }
        return right[role]


def after(last: int, cell: int, action: Action) -> int:
    """The cell after an action."""
    return max(0, min(last, cell + {LEFT: -1, RIGHT: 1}.get(action, 0)))
