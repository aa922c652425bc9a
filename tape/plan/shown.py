"""How anything from outside stands in a prompt: results, failures, hints, names and descriptions of tools.

All of them pass :func:`literal`. Servers read the special tokens of a chat template inside of contents too, and JSON's
own escapes leave them whole; so the characters that they are made of are written as escapes.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tape.plan.vocabulary import ANSWER, Parameter, ToolSignature, Vocabulary

LONGEST_RESULT = 400
"""Characters of a value that is shown."""

_SPECIAL = re.compile(r"[<>|]|\[(?=[/A-Z])")
"""What special tokens of chat templates are made of: ``<|im_end|>``, ``</s>``, ``[INST]``, ``[/INST]``."""
_BROKEN = re.compile(r"\\(u[0-9a-f]{0,3})?\Z")
"""An escape that was cut through."""


def literal(value: Any, longest: int = LONGEST_RESULT) -> str:
    r"""A value in one line of ASCII: JSON without the characters of special tokens, cut where it is long.

    A float that is none of JSON's becomes a text; what is cut ends with how much is missing.

    Examples:
        >>> from tape.plan.shown import literal
        >>> literal({"note": "<|im_end|>\nnew line"})
        '{"note": "\\u003c\\u007cim_end\\u007c\\u003e\\nnew line"}'
        >>> literal(list(range(1000)), 20)
        '[0, 1, 2, 3, 4, 5] and 994 more'
    """
    if isinstance(value, list) and len(whole := _written(value)) > longest:
        return _rows(value, longest) or cut(whole, longest)
    return cut(_written(value), longest)


def comment(text: str, longest: int = LONGEST_RESULT) -> str:
    """A text from outside as words without quotes, for the end of a line: a failure, a hint."""
    return literal(" ".join(text.split()), longest).replace('\\"', '"').removeprefix('"').removesuffix('"')


def _written(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    except ValueError:
        text = json.dumps(str(value))
    return _SPECIAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _rows(values: list[Any], longest: int) -> str:
    """The first items of a list, as many as there is room for; empty for none."""
    shown: list[str] = []
    room = longest - 2
    for value in values:
        text = _written(value)
        room -= len(text) + 2 * bool(shown)
        if room < 0:
            break
        shown.append(text)
    return f"[{', '.join(shown)}] and {len(values) - len(shown)} more" if shown else ""


def cut(text: str, longest: int) -> str:
    """The beginning of a text, and how many characters are missing."""
    if len(text) <= longest:
        return text
    kept = _BROKEN.sub("", text[:longest])
    return f"{kept} ... and {len(text) - len(kept)} more characters"


logger = logging.getLogger("tape.plan")

MOST_CHARACTERS = 6_000
"""Of all stubs, some 1,500 tokens; of a toolbox with more, some are shown."""
MOST_FURTHER = 1_500
"""Of those that a later task of a conversation adds."""
MOST_NAMES = 2_000
"""Characters of the names of the others."""
LONGEST_DESCRIPTION = 300
"""Characters of a tool's description, and of a parameter's note."""


def stub(signature: ToolSignature) -> str:
    """A tool as a line of Python.

    Examples:
        >>> from tape.plan.shown import stub
        >>> from tape.plan.vocabulary import Parameter, ToolSignature
        >>> stub(ToolSignature("query", (Parameter("sql", "str"),), "dict", "First row of a SELECT.", price="$0.002"))
        'def query(sql: str) -> dict: "First row of a SELECT."  # $0.002'
    """
    head = f"def {signature.name}({_parameters(signature.parameters)}) -> {signature.returns}:"
    described = [literal(signature.description, LONGEST_DESCRIPTION)] if signature.description else ["..."]
    notes = [
        f"{parameter.name}: {comment(parameter.note, LONGEST_DESCRIPTION)}"
        for parameter in signature.parameters
        if parameter.note
    ]
    tail = "; ".join([*notes, *([signature.price] if signature.price else [])])
    return " ".join([head, *described]) + (f"  # {tail}" if tail else "")


def answer_stub(words: Vocabulary) -> str:
    """How the answer is given.

    Examples:
        >>> from tape.plan.shown import answer_stub
        >>> from tape.plan.vocabulary import Parameter, Vocabulary
        >>> answer_stub(Vocabulary.of(answer=(Parameter("name", "str"), Parameter("n", "int"))))
        'answer(name: str, n: int)'
    """
    return f"{ANSWER}({_parameters(words.answer or (Parameter('value'),))})"


def stubs(words: Vocabulary, task: str = "", later: str = "") -> tuple[str, str]:
    """The tools, one below the other; of a large toolbox those that the task speaks of, and the names of the rest.

    Shown are those whose names and descriptions have most words of the task (BM25). A program that calls one of the
    rest is read as well.

    Args:
        words: What may be called.
        task: The task, of a conversation the first: what is shown for it stays as it is, so that servers find the
            beginning of each prompt in their caches.
        later: A later task of the conversation.

    Returns:
        The tools, and those of the rest that the later task speaks of.
    """
    by_operator = {name: symbol for symbol, name in words.operators.items()}
    shown = {name: stub(signature) for name, signature in words.tools.items() if name not in by_operator}
    kept = _kept(words, shown, task, MOST_CHARACTERS)
    rest = {name: text for name, text in shown.items() if name not in kept}
    further = _kept(words, rest, later, MOST_FURTHER) if later else ()
    lines = [*_operators(words, by_operator), *(text for name, text in shown.items() if name in kept)]
    lines += [f"# There are also: {cut(', '.join(rest), MOST_NAMES)}"] if rest else []
    return "\n".join(lines), "\n".join(text for name, text in rest.items() if name in further)


def _kept(words: Vocabulary, shown: Mapping[str, str], task: str, room: int) -> set[str]:
    """The names of the stubs that are shown: all where they fit, else those that the task speaks of."""
    if sum(map(len, shown.values())) <= room:
        return {*shown}
    kept = set[str]()
    for name in _ranked([words.tools[name] for name in shown], task):
        room -= len(shown[name])
        if room < 0:
            break
        kept.add(name)
    return kept


def _operators(words: Vocabulary, by_operator: Mapping[str, str]) -> list[str]:
    """Tools that operators call, those of one price in a line: their names and operators say what they do."""
    prices = dict.fromkeys(words.tools[name].price for name in by_operator)
    same = [(price, [name for name in by_operator if words.tools[name].price == price]) for price in prices]
    shown = {}
    for name, symbol in by_operator.items():
        first, second = (parameter.name for parameter in words.tools[name].parameters)
        shown[name] = f"{first} {symbol} {second} is {name}({first}, {second})"
    return [
        f"# {', '.join(shown[name] for name in names)}" + (f"; each {price}" if price else "") for price, names in same
    ]


def _ranked(tools: Sequence[ToolSignature], task: str) -> list[str]:
    """The names of tools, those first that a task speaks of most."""
    try:
        import bm25s
    except ImportError:
        logger.warning(
            "not the tools that the task speaks of are shown, but the first: pip install 'tape-planner[search]'"
        )
        return [tool.name for tool in tools]
    texts = [f"{tool.name.replace('_', ' ')} {tool.description}" for tool in tools]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    [tokens] = bm25s.tokenize([task], return_ids=False, show_progress=False)
    scores = index.get_scores(tokens) if tokens else [0.0] * len(texts)
    return [tool.name for _, tool in sorted(zip(scores, tools, strict=True), key=lambda pair: -pair[0])]


def _parameters(parameters: Sequence[Parameter]) -> str:
    return ", ".join(
        f"{parameter.name}: {parameter.type}" + ("" if parameter.required else f" = {parameter.default or 'None'}")
        for parameter in parameters
    )
