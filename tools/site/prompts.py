"""Pages that show every prompt as it is sent: case 0 of seed 0 of every role."""

from __future__ import annotations

import json

from tape.lm.base import JsonSchema, OneOf, Regex, Request
from tape.plugins import load, names
from tools.site.search_prompts import asked

PROMPTS = "chat"
"""The prompt format of general models."""

_ASKS = {
    "plan": "A whole plan.",
    "act": "The next action, with a thought before it.",
    "next": "The state after one action.",
    "rollout": "The states along a plan, in one answer.",
    "score": "What a state is worth. The engine compares the probabilities of the options.",
    "answer": "The answer at a limit, when no more actions can be taken.",
    "project": "What a text says that an action has brought.",
    "propose": "SDP: a chain of subgoals.",
    "query": "SDP: a search query for a subgoal.",
    "realize": "SDP: what makes a subgoal true.",
    "validate": "SDP: whether a subgoal is true.",
}


SEARCH = "search"
"""The page of all search environments together."""

ENVIRONMENTS = "tape.environments"


def probed() -> list[str]:
    """The environments whose plugins make cases."""
    return [name for name in names(ENVIRONMENTS) if load(ENVIRONMENTS, name).roles]


def pages() -> dict[str, str]:
    """Markdown by the page's path in docs/."""
    return {f"reference/prompts/{name}.md": page(name) for name in (*probed(), SEARCH)}


def page(environment: str) -> str:
    """The page of an environment, or of :data:`SEARCH`."""
    if environment == SEARCH:
        return search_page()
    plugin = load(ENVIRONMENTS, environment)
    assert plugin.roles, f"{environment} makes no cases"
    parts = [
        f"# Prompts of {environment}\n",
        "What a general model is sent in each role, word for word, with a right answer below it "
        "([how models are asked](../models.md)). The tasks are small and made up: they are the first of those that a "
        "model is measured on.\n",
    ]
    for role in plugin.roles:
        [case] = plugin.role_cases(PROMPTS, role, 1, 0)
        parts += _exchange(case.role, _ASKS.get(case.role, ""), case.request, case.ideal)
    return "\n".join(parts)


def search_page() -> str:
    """The page of search agents, whose prompts are the same but for what the corpus is made of."""
    parts = [
        "# Prompts of search agents\n",
        "What a general model is sent in each role of a [search](../methods/cgdp.md), word for word, with a right "
        "answer below it ([how models are asked](../models.md)). In conversations and in code `passage` is a turn of "
        "a talk, or a definition.\n",
    ]
    for name, asks, request, ideal in asked():
        parts += _exchange(name, asks, request, ideal)
    return "\n".join(parts)


def _exchange(name: str, asks: str, request: Request, ideal: str) -> list[str]:
    assert not isinstance(request.prompt, str), "chat prompts are messages"
    letters = sum(len(message.content) for message in request.prompt)
    about = f"{asks} {letters} characters; at most {request.max_tokens} tokens back."
    parts = [f"## {name}\n", f"{about}\n".lstrip()]
    for message in request.prompt:
        parts.append(f"*{message.role}*\n\n{_block(message.content)}\n")
    return [*parts, f"Admitted: {admitted(request)}\n", f"A right answer:\n\n{_block(ideal)}\n"]


def _block(text: str, kind: str = "text") -> str:
    return f"```{kind}\n{text}\n```"


def admitted(request: Request) -> str:
    """What a request's constraint admits, in Markdown."""
    match request.constraint:
        case OneOf(options):
            return "one of " + ", ".join(f"`{option}`" for option in options) + "."
        case Regex(pattern):
            return f"what matches\n\n{_block(pattern)}"
        case JsonSchema(model):
            return f"JSON of this schema.\n\n{_block(json.dumps(_plain(model.model_json_schema())), 'json')}"
        case other:
            return "anything." if other is None else f"`{type(other).__name__}`."


def _plain(schema: object) -> object:
    """A schema without titles and other parts of no use to a reader."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = {"properties", "$defs"}
    kept = {key: value for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    kept.pop("additionalProperties", None)
    kept.pop("description", None)
    return {
        key: {name: _plain(inner) for name, inner in value.items()} if key in named else _plain(value)
        for key, value in kept.items()
    }
