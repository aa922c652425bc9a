"""Mutated LM outputs through every parser: nothing but InvalidOutputError comes out, and every parser ends."""

import argparse
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from envs.alfworld import prompts
from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.predicates import inside, shut
from envs.alfworld.prompts import chat_schema as household_schema
from envs.hotpotqa.prompts import prompt_format as hotpotqa_format
from envs.scienceworld.environment import started
from envs.scienceworld.prompts.chat import ScienceChatFormat as ScienceFormat
from envs.scienceworld.state import ScienceTask
from envs.sokoban.domain import SokobanDomain
from envs.sokoban.prompts import chat_schema as sokoban_schema
from envs.sokoban.prompts.chat import SokobanChatFormat
from envs.sokoban.prompts.compact import CompactFormat
from envs.sokoban.xsb import parse
from envs.travelplanner.plugin import PLUGIN as TRAVELPLANNER
from envs.web_qa import prompts as web_prompts
from tape.errors import InvalidOutputError
from tape.lm.base import Constraint, Forced, JsonSchema, OneOf, Regex
from tape.lm.hosted import wires
from tape.lm.hosted.forms import form_of, problem_of, read_back
from tape.lm.hosted.wire import json_object, retry_after
from tape.methods.sdp.chat_prompts import PredicatePrompts
from tape.methods.sdp.target import Target
from tape.protocols import Action, State
from tape.protocols.prompt_format import PromptFormat
from tape.reading import parsed
from tape.tools.calls import call
from tape.tools.domain import ToolDomain
from tape.tools.prompts.common import ToolFormat
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.state import ToolState
from tests.envs.alfworld import worlds
from tests.envs.hotpotqa import helpers as hotpotqa
from tests.envs.scienceworld.recorded import recorded, views
from tests.tape.conftest import Keep
from tests.tape.fuzz import HUGE, VALID, ends_within, mutated
from tests.tape.tools import helpers as tools
from tests.tape.world.worlds import Round, make_courier

SEED = 20
[ROOM] = parse("#########\n#       #\n# @ $ . #\n#       #\n#########\n")
COMPACT, CHAT = CompactFormat(SokobanDomain(ROOM)), SokobanChatFormat(SokobanDomain(ROOM))
STATE = ROOM.start

PARSERS: dict[str, Callable[[str], object]] = {}


def _add(name: str, layout: PromptFormat, state: State, actions: Sequence[Action], *, unasked: bool = False) -> None:
    """Every reader of a format that answers are asked for, or all that it has."""
    PARSERS[f"{name} plan"] = partial(layout.read_plan, state)
    PARSERS[f"{name} act"] = partial(layout.read_act, state)
    if unasked or layout.rollout_request(state, actions) is not None:
        PARSERS[f"{name} rollout"] = partial(layout.read_rollout, state, actions)
        PARSERS[f"{name} next"] = partial(layout.read_next, state)
    if type(layout).read_project is not PromptFormat.read_project:
        PARSERS[f"{name} project"] = partial(layout.read_project, state)


_add("compact", COMPACT, STATE, "UD", unasked=True)
_add("chat", CHAT, STATE, "UDLR")

TOOLS = tools.domain()
TOOLS_CHAT = ProgramFormat(TOOLS)
GOT = tools.after(call("add", a=1, b=2))
DONE = ToolState().with_call(call("add", a=1, b=2), "3")
UNREAD = ToolState().with_call(call("search", "grade1", relation="founder", of="Acme"), '"text"', "text")


def _followed(domain: ToolDomain, prompt_format: ToolFormat, text: str) -> None:
    """Read a plan and take it as far as it goes, as the engine does."""
    state: State = GOT
    for action in prompt_format.read_plan(state, text).actions:
        domain.cost(state, action)
        state = domain.outcome(state, action).state
        if state is None:
            break
        assert action in domain.variants(state, action)


PARSERS |= {
    "tools chat plan": partial(_followed, TOOLS, TOOLS_CHAT),
    "tools chat act": partial(TOOLS_CHAT.read_act, GOT),
    "tools chat project": partial(TOOLS_CHAT.read_project, UNREAD),
    "tools chat answer": partial(TOOLS_CHAT.read_answer, DONE),
}

HOUSE = worlds.world_of(worlds.KITCHEN)
HELD = replace(HOUSE.known, holding="apple 1", at=("fridge 1",))
ASKED = [inside("apple", "fridge 1"), shut("cabinet 1")]
HOUSEHOLD = AlfworldDomain(HOUSE.layout)


def _lived(prompt_format: PromptFormat, text: str) -> None:
    """Read a plan; every action of it can be written and asked about here."""
    for action in prompt_format.read_plan(HELD, text).actions:
        prompt_format.next_request(HELD, action)
        prompt_format.act_request(HELD, {}, action, [action])


for _name in ("household", "chat"):
    _household: Any = prompts.prompt_format(HOUSEHOLD, _name)
    _add(f"house {_name}", _household, HELD, ["put apple in/on fridge 1", "open fridge 1"], unasked=True)
    PARSERS[f"house {_name} plan"] = partial(_lived, _household)
    PARSERS[f"house {_name} predict"] = partial(_household.read_predict, HELD, ASKED)

WORLD = make_courier().environment(Round(), task="Deliver at the mill.")
TRIP = argparse.ArgumentParser()
TRAVELPLANNER.add_arguments(TRIP)
JOURNEY = TRAVELPLANNER.make(TRAVELPLANNER.tasks(vars(TRIP.parse_args(["--count", "1"])))[0])
QUESTION = hotpotqa.environment()
FIND = recorded()["find-living-thing"]
SCIENCE_TASK = ScienceTask(FIND["task"], FIND["variation"], "easy", "Find a living thing.")
SCIENCE = started(SCIENCE_TASK, views(FIND["task"])[0][1])


_add("world", WORLD.prompt_format("chat"), WORLD.domain.project(WORLD.reset(0)), ['Walk(to="mill")', "Deliver()"])
for _name in ("chat", "declared"):
    _add(f"trip {_name}", JOURNEY.prompt_format(_name), JOURNEY.domain.project(JOURNEY.reset(0)), [])
_add("science", ScienceFormat(), SCIENCE, ["look around"])
_add("question", hotpotqa_format(hotpotqa.setting(), "chat"), QUESTION.domain.project(QUESTION.reset(0)), [])
PARSERS["question answer"] = QUESTION.answer
PARSERS |= {f"web {role}": partial(parsed, schema) for role, (schema, *_) in web_prompts.ASKS.items()}
SDP = PredicatePrompts("t", Target("g", "goal", goal=True), rules="", forms=("shut(PLACE)", "inside(THING, PLACE)"))
PARSERS |= {
    "sdp chain": SDP.read_chain,
    "sdp action": SDP.read_action,
    "sdp verdict": lambda text: SDP.read_verdict(text, 3),
    "sdp target": SDP.target,
}

OPENED = [AlfworldCommand("open", "fridge 1"), AlfworldCommand("take", "fridge 1", "apple")]
SCHEMAS = [sokoban_schema.plan_model(9), sokoban_schema.outcome_model(ROOM, 1, "R"), sokoban_schema.act_model()]
SCHEMAS += [sokoban_schema.rollout_model(ROOM, 1, ("U", "R")), household_schema.rollout_model(OPENED)]
SCHEMAS += [household_schema.plan_model(("fridge 1", "cabinet 1"), ("apple",)), household_schema.AlfworldActAnswer]
TEXTS = [None, OneOf(("possible", "solved")), Forced(" U"), Regex(r"(?: [UDLR]){1,9}")]
CONSTRAINTS: list[Constraint | None] = [*TEXTS, *map(JsonSchema, SCHEMAS)]
NATIVE = (frozenset[str](), frozenset(("regex", "choice")))
FORMS = [{asked: form_of(asked, native) for asked in CONSTRAINTS} for native in NATIVE]
"""By what an endpoint enforces."""

A_SAMPLE = 16
"""Parsers that read one text; another draw for every text."""


def through_every_parser(count: int, seed: int) -> Counter[str]:
    """Send outputs through parsers, valid and a few huge ones through all; how many of each kind of end there were."""
    rng = random.Random(seed)
    ends: Counter[str] = Counter()
    for text in VALID:
        for name in PARSERS:
            _read(name, text, ends)
    for text in rng.sample(HUGE, min(len(HUGE), max(1, count // 1000))):
        with ends_within(120):
            for name in PARSERS:
                _read(name, text, ends)
    for _ in range(count):
        text = mutated(rng)
        with ends_within(60):
            for name in rng.sample([*PARSERS], A_SAMPLE):
                _read(name, text, ends)
            constraint = rng.choice(CONSTRAINTS)
            for forms in FORMS:
                answer = read_back(forms[constraint], constraint, text)
                ends["answer: fits" if problem_of(constraint, answer) is None else "answer: breaks"] += 1
            ends[_http(text, rng)] += 1
    return ends


def _read(name: str, text: str, ends: Counter[str]) -> None:
    try:
        PARSERS[name](text)
        ends[f"{name}: read"] += 1
    except InvalidOutputError as error:
        str(error).encode()  # it is written to traces
        ends[f"{name}: invalid"] += 1


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
    loaded = json_object(body)
    if loaded is None:
        return "http: no object"
    for reply in (wires._openai_reply(4, loaded), wires._anthropic_reply(loaded)):
        assert reply is None or all(isinstance(sample.text, str) for sample in reply.samples)
    return "http: read"


NEVER_READ = {"compact rollout", "house household rollout"}
"""They are never asked for."""

NEVER_REFUSED = {"trip declared act"}
"""The options are texts, and the domain refuses what is none of them."""


def test_a_long_name_that_is_none_is_refused_at_once() -> None:
    ends: Counter[str] = Counter()
    with ends_within(20):
        for text in ("é" * 3_000, f"add({'é' * 3_000}"):
            _read("tools chat act", text, ends)
    assert ends == {"tools chat act: invalid": 2}


@pytest.mark.slow
def test_mutated_outputs_are_read_or_counted() -> None:
    ends = through_every_parser(800, SEED)
    # The sweep reaches both sides of every parser that has two.
    for name in {*PARSERS} - NEVER_READ:
        assert ends[f"{name}: read"] > 0, name
    refusing = ("next", "act", "rollout", "project", "answer", "predict", "chain", "action", "verdict", "target")
    for name in {*PARSERS} - NEVER_REFUSED:
        if name.endswith(refusing):
            assert ends[f"{name}: invalid"] > 0, name
    assert min(ends[kind] for kind in ("answer: fits", "answer: breaks", "http: read", "http: no object")) > 0


@pytest.mark.soak
def test_40_000_mutated_outputs(keep_figures: Keep) -> None:
    count = int(os.environ.get("TAPE_FUZZ_OUTPUTS", "40000"))
    keep_figures("outputs", {"outputs": count, "ends": through_every_parser(count, SEED + 1)})
