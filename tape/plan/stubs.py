"""How tools are shown to a model: as stubs in the language that it answers in."""

from __future__ import annotations

from collections.abc import Sequence

from tape.plan.shown import comment, literal
from tape.plan.vocabulary import ANSWER, Parameter, Signature, Vocabulary

LONGEST_DESCRIPTION = 300
"""Characters of a tool's description, and of a parameter's note."""


def stub(signature: Signature) -> str:
    """A tool as a line of Python.

    Examples:
        >>> from tape.plan.stubs import stub
        >>> from tape.plan.vocabulary import Parameter, Signature
        >>> stub(Signature("query", (Parameter("sql", "str"),), "dict", "First row of a SELECT.", price="$0.002"))
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


def stubs(words: Vocabulary) -> str:
    """All tools, one below the other."""
    return "\n".join(stub(signature) for signature in words.tools.values())


def _parameters(parameters: Sequence[Parameter]) -> str:
    return ", ".join(
        f"{parameter.name}: {parameter.type}" + ("" if parameter.required else f" = {parameter.default or 'None'}")
        for parameter in parameters
    )
