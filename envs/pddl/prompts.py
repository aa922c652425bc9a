"""The ``chat`` prompts of planning problems: actions are functions of Python, a plan is a program of calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from envs.pddl.names import FINISH
from envs.pddl.state import as_state
from tape.budget import in_units
from tape.errors import InvalidOutputError
from tape.lm.base import Message, OneOf, Regex, Request
from tape.lm.constraints import escape
from tape.protocols import Action, Plan, State
from tape.protocols.prompt_format import PromptFormat, turns

if TYPE_CHECKING:
    from envs.pddl.domain import PddlDomain

RULES = (
    "You solve planning problems. Each action is a Python function; its docstring says what it needs in the state "
    "before it and what it changes. A plan is a list of calls, one a line, with the names of objects as arguments. "
    "Every call must have all that it needs at its turn, and after the last call the goal must hold."
)

EXAMPLE = (
    "Objects:\nroom: kitchen, hall\nball: ball1\n\nActions:\n"
    'def move(to: room): "Needs: nothing. Then: robot_at(to)."\n'
    'def pick(what: ball, where: room): "Needs: robot_at(where); at(what, where); free_hand. '
    'Then: carries(what); no longer at(what, where), free_hand."\n'
    'def drop(what: ball, where: room): "Needs: robot_at(where); carries(what). Then: at(what, where), free_hand; no '
    'longer carries(what)."\n\nState: at(ball1, hall), free_hand, robot_at(kitchen)\nGoal: at(ball1, kitchen)\n'
    "Write the plan.",
    "move(hall)\npick(ball1, hall)\nmove(kitchen)\ndrop(ball1, kitchen)",
)

MOST_CALLS = 40
"""The longest plan that is asked for at once."""

CALL_TOKENS = 16
THOUGHT_TOKENS = 80

LARGEST = 20_000
"""The longest pattern of calls, in characters; where there are more objects, a call is any name with any names."""

ANY_CALL = r"[A-Za-z_]\w{0,60}\([A-Za-z_0-9, ]{0,300}\)"

_NAME = re.compile(r"(?<![\w-])[A-Za-z][\w-]*")


class PlannedFormat(PromptFormat):
    """Asks no model: for plans of a planner, or of the exact search."""

    instead = "without a language model the agent is tape, with --proposer planner:NAME or declared"

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """An end is reached by the problem's own rules, so nothing is asked."""
        del state
        return Request("The goal is:", 1, constraint=OneOf(("reached",)), role="score"), {"reached": 1.0}


class PddlFormat(PlannedFormat):
    """Chat messages for general models."""

    instead = ""

    def __init__(self, domain: PddlDomain) -> None:
        self._domain, self._task, self._names = domain, domain.task, domain.names

    # --- what is shown ------------------------------------------------------------------------------

    def _text(self, node: Any) -> str:
        """A condition or an atom with names of Python."""
        objects = self._names.objects
        return _NAME.sub(lambda m: objects.get(m[0], m[0].replace("-", "_")), str(node))

    def _atoms(self, lines: Sequence[str]) -> str:
        """Atoms of PDDL as calls: ``on(a, b)``."""
        shown = []
        for line in lines:
            name, *arguments = line.strip("()").split()
            objects = self._names.objects
            if name == "=":
                *inner, value = line[2:-1].split()
                shown.append(f"{self._atoms([' '.join(inner)])} = {value}")
            else:
                inside = f"({', '.join(objects.get(a, a) for a in arguments)})" if arguments else ""
                shown.append(name.replace("-", "_") + inside)
        return ", ".join(shown) or "nothing"

    @cached_property
    def _world(self) -> str:
        """Objects, functions and what never changes."""
        problem, objects = self._task.problem, self._names.objects
        kinds: dict[str, list[str]] = {}
        for item in problem.all_objects:
            kinds.setdefault(str(item.type).split(" ")[0], []).append(objects[item.name])
        listed = "\n".join(f"{kind.replace('-', '_')}: {', '.join(items)}" for kind, items in kinds.items())
        always = self._atoms(self._task.constant_lines())
        stubs = "\n".join(map(self._stub, problem.actions))
        if self._task.finishes:
            named = self._names.actions[FINISH]
            stubs += f'\ndef {named}(): "Needs: the goal. Ends the plan; preferences that do not hold are paid."'
        return f"Objects:\n{listed}\n\nActions:\n{stubs}\n\nAlways: {always}\n"

    def _stub(self, action: Any) -> str:
        given = ", ".join(
            f"{p.name.replace('-', '_')}: {str(p.type).split(' ')[0].replace('-', '_')}" for p in action.parameters
        )
        needs = "; ".join(map(self._text, action.preconditions)) or "nothing"
        added, gone, other = list[str](), list[str](), list[str]()
        for effect in action.effects:
            text = self._text(effect.fluent)
            if effect.is_conditional() or effect.forall or not effect.value.is_bool_constant():
                other.append(self._text(effect))
            else:
                (added if effect.value.bool_constant_value() else gone).append(text)
        then = [", ".join(added + other) or "nothing"] + ([f"no longer {', '.join(gone)}"] if gone else [])
        return f'def {self._names.actions[action.name]}({given}): "Needs: {needs}. Then: {"; ".join(then)}."'

    def _ask(self, state: State, task: str, remaining: Mapping[str, int]) -> tuple[Message, ...]:
        here = as_state(state)
        goal = "; ".join(map(self._text, self._task.problem.goals)) or "nothing"
        left = ", ".join(in_units(kind, count) for kind, count in remaining.items())
        note = f"Last: {here.note}\n" if here.note else ""
        text = (
            f"{self._world}\nState: {self._atoms(here.lines())}\nGoal: {goal}\n"
            f"{f'Left: {left}{chr(10)}' if left else ''}{note}{task}"
        )
        return turns(RULES, [EXAMPLE], text)

    # --- what may be written ------------------------------------------------------------------------

    @cached_property
    def _call(self) -> str:
        """The pattern of a call with objects of the right types, possible now or not."""
        calls = []
        for schema in self._task.schemas.values():
            given = [
                "(?:" + "|".join(escape(self._names.objects[item]) for item in objects) + ")"
                for _, objects in schema.parameters
            ]
            calls.append(f"{self._names.actions[schema.name]}\\({', '.join(given)}\\)")
        calls += [f"{self._names.actions[FINISH]}\\(\\)"] if self._task.finishes else []
        pattern = f"(?:{'|'.join(calls)})"
        return pattern if len(pattern) <= LARGEST and "(?:)" not in pattern else ANY_CALL

    def _first(self, state: State) -> str:
        """The pattern of a call that applies; of any where none does, or too many."""
        pattern = f"(?:{'|'.join(map(escape, self._domain.applicable(as_state(state))))})"
        return pattern if pattern != "(?:)" and len(pattern) <= LARGEST else self._call

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a program of calls, of which the first applies."""
        most = max(1, min(remaining.get("steps", MOST_CALLS), MOST_CALLS))
        pattern = Regex(f"{self._first(state)}(?:\\n{self._call}){{0,{most - 1}}}")
        prompt = self._ask(state, "Write the plan.", remaining)
        return Request(prompt, CALL_TOKENS * most, constraint=pattern, role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The calls up to the first line that is none."""
        del state
        lines = [line.strip() for line in text.strip().splitlines() if line.strip() and not line.startswith("```")]
        calls = []
        for line in lines:
            try:
                calls.append(self._names.call(self._domain.parse(line)))
            except ValueError:
                break
        return Plan(tuple(calls), valid=bool(calls) and len(calls) == len(lines))

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and a call that applies."""
        hint = f"Your plan goes on with: {'; '.join(plan)}. " if plan else ""
        call = self._first(state) if action is None else escape(action)
        task = f"{hint}Write a comment with a thought, then the next call."
        pattern = Regex(f"# [^\\n]{{1,200}}\\n{call}")
        return Request(self._ask(state, task, remaining), THOUGHT_TOKENS + CALL_TOKENS, constraint=pattern, role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The comment and the call below it."""
        del state
        thought, _, call = text.strip().rpartition("\n")
        try:
            return thought.removeprefix("# "), self._names.call(self._domain.parse(call))
        except ValueError as error:
            raise InvalidOutputError(str(error)) from None
