"""What the tests of the chat prompt format share: two tasks, and answers of a model that knows."""

import json
from dataclasses import replace

from envs.alfworld import prompts
from envs.alfworld.commands import AlfworldCommand
from envs.alfworld.prompts.chat import AlfworldChatFormat
from envs.alfworld.prompts.chat_schema import DONE, LEADS_TO, NOTHING
from envs.alfworld.state import BARE, KEPT, OPEN, SHUT
from experiments.training.alfworld.world import World
from tape.lm.base import JsonSchema, Request
from tests.envs.alfworld.worlds import KITCHEN, STUDY, domain_of, known, world_of

KNOWN = replace(
    known(KITCHEN).found("countertop 1", "bare").found("fridge 1", SHUT),
    at=("fridge 1",),
    inside=frozenset({("mug 1", "countertop 1")}),
)


def format_of(world: World) -> AlfworldChatFormat:
    prompt_format = prompts.prompt_format(domain_of(world), "chat")
    assert isinstance(prompt_format, AlfworldChatFormat)
    return prompt_format


COOK, READER = format_of(world_of(KITCHEN)), format_of(world_of(STUDY))


def prompt(request: Request) -> str:
    assert not isinstance(request.prompt, str)
    roles = [message.role for message in request.prompt]
    assert (roles[0], roles[-1]) == ("system", "user")
    assert roles[1:-1] == ["user", "assistant"] * (len(roles) // 2 - 1)  # worked examples
    return request.prompt[-1].content


def act(action: str) -> str:
    return json.dumps({"thought": "so be it", "action": action})


def actions_of(request: Request) -> set[str]:
    """The commands that a request's schema leaves."""
    assert isinstance(request.constraint, JsonSchema)
    field = request.constraint.model.model_json_schema()["properties"]["action"]
    return set(field.get("enum", [field.get("const")]))


FOUND = {SHUT: "closed", KEPT: "closed", OPEN: "open", BARE: "cannot be closed"}


def result(world: World, command: AlfworldCommand) -> str:
    """The real result of a command, as a model that knows it writes it."""
    if not world.do(command):
        return f"{command.text}{LEADS_TO}{NOTHING}"
    name = f", {FOUND[world.known.of(command.place)]}" if command.verb == "go" else ""
    return f"{command.text}{LEADS_TO}{DONE[command.verb]}{name}"


def steps(*results: str) -> str:
    """A rollout."""
    return json.dumps({f"step_{i}": outcome for i, outcome in enumerate(results, 1)})
