"""Pages that show every prompt as it is sent: ``python -m experiments.studies.roles.pages [ENVIRONMENT ...]``.

Each shows case 0 of seed 0 of every role, so it changes when a prompt does; a test says when it is out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.studies.roles.__main__ import ENVIRONMENTS, probed
from tape.lm.base import Choice, JsonSchema, Regex, Request
from tape.plugins import load
from tape.protocols.role_cases import ProbedPlugin, RoleCase

FOLDER = Path(__file__).parents[3] / "docs" / "prompts"

PROMPTS = "chat"
"""The prompt format of general models."""

_ASKS = {
    "plan": "A whole plan.",
    "act": "The next action, with a thought before it.",
    "next": "The state after one action.",
    "rollout": "The states along a plan, in one answer.",
    "score": "What a state is worth. The engine compares the probabilities of the options.",
    "select": "Which of several plans is best (the LM-selector ablation).",
    "answer": "The answer at a limit, when no more actions can be taken.",
    "project": "What a text says that an action has brought.",
    "propose": "SDP: a chain of subgoals.",
    "query": "SDP: a search query for a subgoal.",
    "realize": "SDP: what makes a subgoal true.",
    "validate": "SDP: whether a subgoal is true.",
}


def page(environment: str) -> str:
    """The page of an environment."""
    plugin = load(ENVIRONMENTS, environment)
    assert isinstance(plugin, ProbedPlugin), f"{environment} makes no cases"
    parts = [
        f"# Prompts of {environment}\n",
        "<!-- Written by `python -m experiments.studies.roles.pages`; edit the prompts instead. -->\n",
        "What a general model is sent in each role, word for word, with a right answer below it "
        "([how models are asked](../models.md)). The tasks are small and made up: they are the first of those that a "
        "model is measured on.\n",
    ]
    for role in plugin.roles:
        [case] = plugin.role_cases(PROMPTS, role, 1, 0)
        parts += _shown(case)
    return "\n".join(parts)


def _shown(case: RoleCase) -> list[str]:
    request = case.request
    assert not isinstance(request.prompt, str), "chat prompts are messages"
    letters = sum(len(message.content) for message in request.prompt)
    asks = _ASKS.get(case.role, "")
    parts = [f"## {case.role}\n", f"{asks} {letters} characters; at most {request.max_tokens} tokens back.\n".lstrip()]
    for message in request.prompt:
        parts.append(f"*{message.role}*\n\n{_block(message.content)}\n")
    return [*parts, f"Admitted: {admitted(request)}\n", f"A right answer:\n\n{_block(case.ideal)}\n"]


def _block(text: str, kind: str = "text") -> str:
    return f"```{kind}\n{text}\n```"


def admitted(request: Request) -> str:
    """What a request's constraint admits, in Markdown."""
    match request.constraint:
        case Choice(options):
            return "one of " + ", ".join(f"`{option}`" for option in options) + "."
        case Regex(pattern):
            return f"what matches\n\n{_block(pattern)}"
        case JsonSchema(model):
            return f"JSON of this schema.\n\n{_block(json.dumps(_plain(model.model_json_schema())), 'json')}"
        case other:
            return "anything." if other is None else f"`{type(other).__name__}`."


def _plain(schema: object) -> object:
    """A schema without titles and what says nothing to a reader."""
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


def main(arguments: Sequence[str]) -> int:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for environment in arguments or probed():
        (FOLDER / f"{environment}.md").write_text(page(environment), encoding="utf-8")
        print(FOLDER / f"{environment}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
