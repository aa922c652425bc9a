"""A simulated planner for BFCL and AgentDojo: it knows the gold calls of tasks, and errs at stated rates.

It gets the prompts that any model gets, and uses what they show: which request is to be done, which calls were made and
which have failed. So agents are compared in planning, apart from language. Its results are no result of any model.

An error strikes a gold call: another value (two of five), the call left out, the call after its follower, or another
function of the same API (one of five each). Half of the errors come back whenever the same call is planned; the others
are drawn anew for each sample. A call that was seen to fail is not proposed again. As a judge it compares the planned
calls with the gold ones, and is wrong at its own rate.

Where a result shows a text that asks for something else (AgentDojo's injections), it obeys in a stated share of the
tasks: what the text asks for then comes before all that is left. Whether it does is drawn for the task, so that all
agents face the same. The prompt that it judges by is not searched for such texts.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from envs.bfcl.calls import ApiCall
from envs.rates import Rates
from tape.errors import ConfigError, ModelError
from tape.lm.base import OneOf, Request
from tape.lm.scripted import ScriptedLM
from tape.tools.calls import from_mapping, parse
from tape.tools.copies.dry_run import ON_COPY
from tape.tools.errors import InvalidCallError
from tape.tools.role_cases import python_text

_TASK = re.compile(
    r"^Task: ((?:(?!^Task: ).)*?)\n(?:End with answer\(|\nThese calls were planned:|\nThe calls were made on a copy)",
    re.S | re.M,
)
_MADE = re.compile(r"^(?:#\d+ = |r\d+ = (?=.+  # -> ))(.+)$", re.M)
_FAILED = re.compile(r"^This line failed:\n(?:r\d+ = )?(.+)$", re.M)


class KnownRequest(NamedTuple):
    """A request that is known.

    Attributes:
        name: Its conversation and number.
        gold: Its gold calls.
        functions: The functions of its APIs that may be called, and their parameters.
        reads: Those that change nothing.
        answer: What is to be answered in the end.
    """

    name: str
    gold: Sequence[ApiCall]
    functions: Mapping[str, Sequence[str]]
    reads: Collection[str]
    answer: str = "done"


_KNOWN: dict[str, KnownRequest] = {}


def know(turns: Iterable[tuple[str, KnownRequest]]) -> None:
    """Make requests known, by the text of the task."""
    _KNOWN.update(turns)


_INJECTED: dict[str, dict[str, Sequence[ApiCall]]] = {}


def know_injected(task: str, injected: str, asked: Sequence[ApiCall]) -> None:
    """Make known what a text asks for that a result shows to who does a task."""
    _INJECTED.setdefault(task, {})[json.dumps(injected)[1:-1]] = asked


def written(call: ApiCall) -> str:
    """A call as prompts show it."""
    return from_mapping(call.name, call.arguments).text


def _shown(request: Request) -> str:
    """The task and what was called for it: in one message, or line by line in those that follow."""
    if isinstance(request.prompt, str):
        return request.prompt
    texts = [message.content for message in request.prompt]
    task = max((number for number, text in enumerate(texts) if _TASK.search(text)), default=len(texts) - 1)
    text = texts[task]
    for line, came in zip(texts[task + 1 :: 2], texts[task + 2 :: 2], strict=False):
        text += f"\nThis line failed:\n{line}\n{came}" if came.startswith("Why: ") else f"\n{line}  # -> {came}"
    return text


class _Prompt:
    """One request of an agent, and what it shows."""

    def __init__(self, request: Request, sample: int, rates: Rates, obeys: float) -> None:
        self.text = _shown(request)
        task = _TASK.search(self.text)
        if task is None or task[1] not in _KNOWN:
            raise ModelError(
                "unsupported: the simulated planner knows the tasks of BFCL and AgentDojo that are played here, alone"
            )
        self.turn, self.rates = _KNOWN[task[1]], rates
        self.own = f"{request.fingerprint('simulated')} {sample if request.temperature > 0 else 0}"
        shown = self.text[task.end(1) :]
        self.made = Counter(filter(None, map(_call_of, _MADE.findall(shown))))
        failed = [_call_of(line) for line in _FAILED.findall(shown)]
        self.failed = "\n".join(failed) + shown.partition(ON_COPY)[2].replace('\\"', '"')
        self.asked = [
            call
            for injected, asked in _INJECTED.get(task[1], {}).items()
            if injected in shown and random.Random(f"{rates.seed} {self.turn.name} {injected}").random() < obeys
            for call in asked
        ]

    def left(self) -> list[ApiCall]:
        """The gold calls of this request that were not made yet."""
        return self._not_made(self.turn.gold)

    def _not_made(self, calls: Sequence[ApiCall]) -> list[ApiCall]:
        made, api_calls = self.made.copy(), []
        for call in calls:
            if made[written(call)] > 0:
                made[written(call)] -= 1
            else:
                api_calls.append(call)
        return api_calls

    def _slip(self, call: ApiCall) -> random.Random | None:
        """Chance to draw an error of a call from; None where there is none."""
        for where in (self.turn.name, self.own):
            rng = random.Random(f"{self.rates.seed} {where} {written(call)}")
            if rng.random() < self.rates.errors / 2:
                return rng
        return None

    def planned(self) -> list[ApiCall]:
        """The calls that are left, with errors."""
        calls, late = list[ApiCall](), list[ApiCall]()
        for call in self.left():
            kind, planned = self._struck(call)
            if kind == "order":
                late.append(call)
                continue
            calls += [*([] if kind == "missing" else [planned]), *late]
            late = []
        return [*self._not_made(self.asked), *calls, *late]

    def _struck(self, call: ApiCall) -> tuple[str, ApiCall]:
        """The kind of error that strikes a call, empty for none, and what is planned in its place."""
        rng = self._slip(call)
        if rng is None:
            return "", call
        kind = rng.choice(("value", "value", "missing", "order", "function"))
        wrong = _other_function(call, self.turn.functions, rng) if kind == "function" else call
        wrong = _other_value(call, rng) if kind == "value" else wrong
        return kind, call if written(wrong) in self.failed else wrong

    def judged(self) -> bool:
        """Whether what is planned does what is asked, by the gold calls; wrong at the rate of verdicts."""
        gold = Counter(map(written, self.turn.gold))
        more = (text for text in (self.made - gold) if parse(text).kind not in self.turn.reads)
        right = not gold - self.made and not any(more)
        return right != (random.Random(f"{self.rates.seed} {self.own} verdict").random() < self.rates.verdicts)


def _call_of(line: str) -> str:
    """The call at the beginning of a line; empty where there is none."""
    ends = [match.end() for match in re.finditer(r"\)", line)]
    for end in ends:
        try:
            return parse(line[:end]).text
        except InvalidCallError:
            continue
    return ""


def _other_value(call: ApiCall, rng: random.Random) -> ApiCall:
    if not call.arguments:
        return call
    name = rng.choice(sorted(call.arguments))
    old = call.arguments[name]
    new: Any = old
    if isinstance(old, bool):
        new = not old
    elif isinstance(old, int | float):
        new = old + rng.choice([-1, 1, 10])
    elif isinstance(old, str):
        new = old[:-1] if len(old) > 1 and rng.random() < 0.5 else f"{old}_2"
    if isinstance(old, list):
        new = old[:-1]
    return ApiCall(call.name, {**call.arguments, name: new})


def _other_function(call: ApiCall, functions: Mapping[str, Sequence[str]], rng: random.Random) -> ApiCall:
    """Another function that takes the same arguments; the same call where there is none."""
    others = [name for name, takes in functions.items() if name != call.name and {*takes} == {*call.arguments}]
    return ApiCall(rng.choice(others), call.arguments) if others else call


def _fixed_action(request: Request) -> str | None:
    """The action that a request admits alone."""
    return request.constraint.options[0] if isinstance(request.constraint, OneOf) else None


def reply(request: Request, sample: int, rates: Rates, obeys: float) -> str:
    """The answer to a request."""
    here = _Prompt(request, sample, rates, obeys)
    answer = here.turn.answer
    if request.role == "score":
        return "right" if here.judged() else "wrong"
    if request.role == "select":
        return "1"
    if request.role == "answer":
        return f"answer({python_text(answer)})"
    if (fixed := _fixed_action(request)) is not None:
        return fixed
    lines = [*map(_line, count(here.made.total() + 1), here.planned()), f"answer({python_text(answer)})"]
    return lines[0] if request.role == "act" else "\n".join(lines)


def _line(number: int, call: ApiCall) -> str:
    """A call as a line of a program; its values are plain, so "#1" in a text is no result."""
    given = ", ".join(f"{name}={python_text(value)}" for name, value in call.arguments.items())
    return f"r{number} = {call.name}({given})"


class SimulatedPlanner(ScriptedLM):
    """The simulated planner.

    Args:
        rates: Its error rates.
        name: The string it was opened with.
        obeys: In which share of the tasks it does what an injected text asks for.
    """

    def __init__(self, rates: Rates, name: str, obeys: float = 0.0) -> None:
        identity = f"simulated:bfcl@1 {rates}" + (f" obeys={obeys}" if obeys else "")
        super().__init__(lambda request, n: reply(request, n, rates, obeys), identity=identity)
        self.name = name


def open_planner(argument: str) -> SimulatedPlanner:
    """Open ``bfcl?errors=0.2`` or ``agentdojo?errors=0.2&obeys=0.5``.

    Raises:
        ConfigError: An option is unknown or out of range.
    """
    what, _, query = argument.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    obeys = 0.0
    if what == "agentdojo" and "obeys" in given:
        try:
            obeys = float(given.pop("obeys"))
        except ValueError:
            obeys = -1
        if not 0 <= obeys <= 1:
            raise ConfigError(f"simulated:{argument}: obeys is a share, from 0 to 1")
    return SimulatedPlanner(Rates.parse(what, urlencode(given)), f"simulated:{argument}", obeys)
