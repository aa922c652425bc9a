"""Mutated LM outputs through every parser: nothing but InvalidOutputError comes out, and every parser ends."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from envs.alfworld import prompts
from envs.alfworld.domain import HouseholdDomain
from envs.alfworld.predicates import inside, shut
from envs.alfworld.prompts import chat_schema as household_schema
from envs.sokoban.domain import SokobanDomain
from envs.sokoban.prompts.chat import ActAnswer, ChatFormat, Outcome, PlanAnswer, RolloutAnswer
from envs.sokoban.prompts.compact import CompactFormat
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, Constraint, Forced, JsonSchema, Regex
from tape.lm.hosted import anthropic_wire, openai_wire
from tape.lm.hosted.forms import form_of, problem_of, read_back
from tape.lm.hosted.wire import Failure, Reply, json_object, retry_after
from tape.protocols import State
from tape.protocols.prompt_format import PromptFormat
from tape.tools.domain import ToolDomain
from tape.tools.prompts import chat_schema
from tape.tools.prompts.chat import ChatToolFormat
from tape.tools.prompts.common import ToolFormat
from tape.tools.state import ToolState
from tests.envs.alfworld import households
from tests.tape.helpers import ROOM
from tests.tape.tools import helpers as tools
from tests.tape.tools import lexicon

SEED = 20
COMPACT, CHAT = CompactFormat(SokobanDomain(ROOM)), ChatFormat(SokobanDomain(ROOM))
STATE = ROOM.start

VALID = [
    " U D L R R",
    " (1,2) (2,3)",
    " invalid",
    " next: push L action: L",
    '{"actions": ["U", "D", "L", "R"]}',
    '{"valid": true, "player": [1, 2], "boxes": [[2, 3]]}',
    '{"outcomes": [{"valid": true, "player": [1, 2], "boxes": [[2, 3]]}, {"valid": false, "player": [1, 2], '
    '"boxes": []}]}',
    '{"thought": "I go left, so that the box is not blocked; then up.", "action": "L"}',
    '{"answer": "possible"}',
    '```json\n{"answer": "possible"}\n```',
    '{"calls": [{"tool": "add", "arguments": {"a": 1, "b": "#1"}}, {"tool": "note", "arguments": {"text": "see #1", '
    '"tags": ["x"]}}], "answer": "#2"}',
    '{"thought": "add them", "call": {"tool": "multiply.exact", "arguments": {"a": 2.5, "b": "#1"}}}',
    '{"thought": "as planned", "action": "add(a=1, b=[#1, \\"x\\", {}])"}',
    '{"thought": "", "action": "add(a=1, b=#1)"}',
    '{"found": true, "answer": "Ann Ode"}',
    '{"answer": "#1"}',
    " add v1 n1 n2 ; multiply v3 #1 n2 ; answer #2",
    " search v2 founder e1",
    " answer #1",
    " e1",
    '{"actions": ["go to fridge 1", "open fridge 1", "take apple 1 from fridge 1", "use desklamp 1"]}',
    '{"thought": "it is closed", "action": "put apple in/on fridge 1"}',
    '{"change": "arrived", "place": "fridge 1", "found": "cannot be closed"}',
    '{"changes": [{"change": "put", "place": "fridge 1", "thing": "apple"}, {"change": "nothing"}]}',
    "go fridge1 open fridge1 put apple fridge1 use desklamp",
    "put apple fridge1",
    "at fridge1 shut",
    "take apple fridge1",
    "fridge1",
    "fridge 1",
    "yes",
    "First, I move right instead of left, because the wall is on the left. Then up.",
]

PIECES = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    ",",
    ":",
    "(",
    ")",
    " ",
    "\n",
    "\x00",
    "\u2028",
    "\ud800",
    "é",
    "😀",
    "null",
    "NaN",
]
PIECES += [
    "true",
    "-1",
    "1e999",
    "9" * 40,
    "0x1",
    "U",
    "then ",
    "not ",
    "action:",
    "plan:",
    "(9,9)",
    "->",
    "```",
    "\\ud800",
]

PIECES += ["#1", "#99", "#0", ";", "v1", "answer", "add", "add(", "=", "a=1", '"tool"', '"arguments": {', "Infinity"]

Parser = Callable[[str], object]

PARSERS: dict[str, Parser] = {
    "compact plan": lambda text: COMPACT.read_plan(STATE, text),
    "compact next": lambda text: COMPACT.read_next(STATE, text),
    "compact act": lambda text: COMPACT.read_act(STATE, text),
    "compact rollout": lambda text: COMPACT.read_rollout(STATE, "UD", text),
    "compact intention": COMPACT.read_intention,
    "chat plan": lambda text: CHAT.read_plan(STATE, text),
    "chat next": lambda text: CHAT.read_next(STATE, text),
    "chat act": lambda text: CHAT.read_act(STATE, text),
    "chat rollout": lambda text: CHAT.read_rollout(STATE, "UDLR", text),
    "chat intention": CHAT.read_intention,
}

TOOLS = tools.domain()
TOOLS_CHAT = ChatToolFormat(TOOLS)
GOT = tools.after(tools.call("add", a=1, b=2))
UNREAD = ToolState().with_call(tools.call("search", "grade1", relation="founder", of="Acme"), '"text"', "text")


def _followed(domain: ToolDomain, prompt_format: ToolFormat, text: str) -> None:
    """Read a plan and take it as far as it goes, as the engine does."""
    state: State = GOT
    for action in prompt_format.read_plan(state, text).actions:
        domain.cost(state, action)
        state = domain.outcome(state, action).state
        if state is None:
            break
        assert action in domain.variants(state, action)


for _name, _domain, _format in (("chat", TOOLS, TOOLS_CHAT), ("compact", lexicon.DOMAIN, lexicon.FORMAT)):
    PARSERS |= {
        f"tools {_name} plan": partial(_followed, _domain, _format),
        f"tools {_name} act": partial(_format.read_act, GOT),
        f"tools {_name} project": partial(_format.read_project, UNREAD),
        f"tools {_name} answer": partial(_format.read_answer, GOT),
    }

HOUSE = households.world_of(households.KITCHEN)
HELD = replace(HOUSE.known, holding="apple 1", at=("fridge 1",))
ASKED = [inside("apple", "fridge 1"), shut("cabinet 1")]
HOUSEHOLD = HouseholdDomain(HOUSE.layout)


def _lived(prompt_format: PromptFormat, text: str) -> None:
    """Read a plan; whatever comes out of it can be said here, and can be asked about."""
    for action in prompt_format.read_plan(HELD, text).actions:
        prompt_format.next_request(HELD, action)
        prompt_format.act_request(HELD, {}, action, [action])


for _name in ("household", "chat"):
    _household: Any = prompts.prompt_format(HOUSEHOLD, _name)
    PARSERS |= {
        f"house {_name} plan": partial(_lived, _household),
        f"house {_name} next": partial(_household.read_next, HELD),
        f"house {_name} act": partial(_household.read_act, HELD),
        f"house {_name} rollout": partial(_household.read_rollout, HELD, ["put apple in/on fridge 1", "open fridge 1"]),
        f"house {_name} predict": partial(_household.read_predict, HELD, ASKED),
        f"house {_name} intention": _household.read_intention,
    }

CONSTRAINTS: list[Constraint | None] = [
    None,
    Choice(("possible", "solved")),
    Forced(" U"),
    Regex(r"(?: [UDLR]){1,9}"),
    *(JsonSchema(model) for model in (PlanAnswer, Outcome, RolloutAnswer, ActAnswer)),
    JsonSchema(household_schema.PlanAnswer),
    JsonSchema(household_schema.RolloutAnswer),
    JsonSchema(household_schema.ActAnswer),
    JsonSchema(chat_schema.plan_model(TOOLS.toolbox)),
    JsonSchema(chat_schema.act_model(TOOLS.toolbox)),
]


def mutated(rng: random.Random) -> str:
    """A valid output after some edits; one in fifty is very long or very deep."""
    text = rng.choice(VALID)
    for _ in range(rng.randint(0, 6)):
        at, to = sorted(rng.randint(0, len(text)) for _ in range(2))
        match rng.randrange(6):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + rng.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + text[at:to] * rng.randint(2, 4) + text[to:]
            case 3:
                text = text[:at] + rng.choice(PIECES) + text[at + 1 :]
            case 4:
                text = text[:to]
            case 5:
                text = text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x110000)))) + text[at:]
        text = text[:4000]
    if rng.random() < 0.02:
        text = text[: rng.randint(0, 20)] + rng.choice([*PIECES, "[[", '{"a":', "R, ", "U then "]) * 20_000
    return text


@contextmanager
def ends_within(seconds: int) -> Iterator[None]:
    """Fail instead of hanging; generous, for it is no speed test. The time limit of the whole test is kept."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"a parser has not ended within {seconds} s")

    handler = signal.signal(signal.SIGALRM, stop)
    began, (left, interval) = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, handler)
        rest = max(left - (time.monotonic() - began), 1e-3) if left else 0.0
        signal.setitimer(signal.ITIMER_REAL, rest, interval)


def through_every_parser(count: int, seed: int) -> Counter[str]:
    """Send outputs through all parsers; returns how many of each kind of end there were."""
    rng = random.Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(count):
        text = mutated(rng)
        with ends_within(60):
            for name, parse in PARSERS.items():
                try:
                    parse(text)
                    ends[f"{name}: read"] += 1
                except InvalidOutputError as error:
                    str(error).encode()  # it is written to traces
                    ends[f"{name}: invalid"] += 1
            constraint = rng.choice(CONSTRAINTS)
            for native in (frozenset[str](), frozenset(("regex", "choice"))):
                answer = read_back(form_of(constraint, native), constraint, text)
                ends["answer: fits" if problem_of(constraint, answer) is None else "answer: breaks"] += 1
            ends[_http(text, rng)] += 1
    return ends


def _http(text: str, rng: random.Random) -> str:
    """A mutated text as an endpoint's body, or inside one."""
    body: Any = text.encode("utf-8", errors="surrogatepass")
    if rng.random() < 0.7:
        usage = {"prompt_tokens": rng.choice([3, -1, "x", None, True, 1e9]), "completion_tokens": 3}
        message = rng.choice([{"content": text}, {"refusal": text}, text, None, [text]])
        choices = rng.choice([[{"message": message, "finish_reason": rng.choice([text, "length", 3])}], text, [text]])
        body = json.dumps({"choices": choices, "usage": rng.choice([usage, text]), "content": rng.choice([choices, 3])})
        body = body.encode()
    retry_after({"retry-after": text[:100]})
    loaded = json_object(body, "key")
    if loaded is None:
        return "http: no object"
    for wire in (openai_wire, anthropic_wire):
        outcome = wire._reply(loaded)
        assert isinstance(outcome, Reply | Failure)
        assert isinstance(outcome, Failure) or outcome.samples
    return "http: read"


@pytest.mark.slow
def test_mutated_outputs_are_read_or_counted() -> None:
    ends = through_every_parser(2_000, SEED)
    # The sweep reaches both sides of every parser that has two.
    for name in PARSERS:
        if name not in ("compact rollout", "house household rollout"):  # they are never asked for
            assert ends[f"{name}: read"] > 0
    assert all(
        ends[f"{name}: invalid"] > 0
        for name in PARSERS
        if name.endswith(("next", "act", "rollout", "project", "answer", "predict"))
    )
    assert min(ends[kind] for kind in ("answer: fits", "answer: breaks", "http: read", "http: no object")) > 0


@pytest.mark.soak
def test_100_000_mutated_outputs(record_property: Callable[[str, object], None]) -> None:
    count = int(os.environ.get("TAPE_FUZZ_OUTPUTS", "100000"))
    ends = through_every_parser(count, SEED + 1)
    record_property("outputs", count)
    record_property("ends", json.dumps(ends, sort_keys=True))
