"""How tools are shown to a model: as stubs in the language that it answers in."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from tape.plan.shown import comment, cut, literal
from tape.plan.vocabulary import ANSWER, Parameter, ToolSignature, Vocabulary

logger = logging.getLogger("tape.plan")

MOST_CHARACTERS = 6_000
"""Of all stubs, some 1,500 tokens; of a toolbox with more, some are shown."""
MOST_NAMES = 2_000
"""Characters of the names of the others."""
LONGEST_DESCRIPTION = 300
"""Characters of a tool's description, and of a parameter's note."""


def stub(signature: ToolSignature) -> str:
    """A tool as a line of Python.

    Examples:
        >>> from tape.plan.stubs import stub
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
        >>> from tape.plan.stubs import answer_stub
        >>> from tape.plan.vocabulary import Parameter, Vocabulary
        >>> answer_stub(Vocabulary.of(answer=(Parameter("name", "str"), Parameter("n", "int"))))
        'answer(name: str, n: int)'
    """
    return f"{ANSWER}({_parameters(words.answer or (Parameter('value'),))})"


def stubs(words: Vocabulary, task: str = "") -> str:
    """The tools, one below the other; of a large toolbox those that the task speaks of, and the names of the rest.

    A program that calls one of the rest is read as well.

    Args:
        words: What may be called.
        task: In words; the stubs whose names and descriptions have most of them are shown (BM25).
    """
    by_operator = {name: symbol for symbol, name in words.operators.items()}
    shown = {name: stub(signature) for name, signature in words.tools.items() if name not in by_operator}
    operators = _operators(words, by_operator)
    if sum(map(len, shown.values())) <= MOST_CHARACTERS:
        return "\n".join([*operators, *shown.values()])
    room, kept = MOST_CHARACTERS, set[str]()
    for name in _ranked([words.tools[name] for name in shown], task):
        room -= len(shown[name])
        if room < 0:
            break
        kept.add(name)
    rest = cut(", ".join(name for name in shown if name not in kept), MOST_NAMES)
    return "\n".join([*operators, *(text for name, text in shown.items() if name in kept), f"# There are also: {rest}"])


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
