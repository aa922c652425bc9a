"""What a program may call: tools with their parameters, the fields of the answer, and operators that are tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tape.errors import ConfigError

ASK = "ask"
"""The function by which a program lets the model read results."""
ANSWER = "answer"
"""The function that ends a program."""
AGAIN = "again"
"""The parameter by which a program asks for an effect that was made already."""
FUNCTIONS = frozenset({"len", "min", "max", "sum", "round", "str", "int", "float", "sorted"})
"""Functions that cost nothing."""
RESERVED = FUNCTIONS | {ASK, ANSWER, "print", "True", "False", "None"}
"""Names that no tool may have."""
OPERATORS = ("+", "-", "*", "/", "//", "%", "**")
"""Operators on numbers, each of which a tool may stand for."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a tool, or a field of the answer.

    Attributes:
        name: A name of Python.
        type: As it is shown, for instance ``str``.
        required: It has no default.
        default: As it is shown; empty for none.
        note: What it is for and its bounds, in words.
    """

    name: str
    type: str = "Any"
    required: bool = True
    default: str = ""
    note: str = ""


@dataclass(frozen=True)
class ToolSignature:
    """A tool as programs see it.

    Attributes:
        name: A name of Python that is not reserved.
        parameters: In the order in which they are given without their names.
        returns: The type of the result, as it is shown.
        description: What it does, in a sentence.
        changes: A call may change something; such a call may stand in no branch and no comprehension.
        price: As it is shown; empty where nothing is capped.

    Raises:
        ConfigError: A name is none of Python's, reserved, or there twice.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    returns: str = "Any"
    description: str = ""
    changes: bool = False
    price: str = ""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ConfigError(f"a tool named {self.name!r} cannot be called in a program; map it to a name of Python")
        if self.name in RESERVED:
            raise ConfigError(f"no tool can be named {self.name!r}, which programs have for something else; rename it")
        names = [parameter.name for parameter in self.parameters]
        if AGAIN in names:
            raise ConfigError(f"{self.name}: no parameter can be named {AGAIN!r}, which asks for a second effect")
        if len(set(names)) < len(names):
            raise ConfigError(f"{self.name}: two parameters have one name: {', '.join(names)}")


@dataclass(frozen=True)
class Vocabulary:
    """What a program may call.

    Attributes:
        tools: By their names.
        answer: The fields of the answer; empty where it is one value of any type.
        operators: The name of the tool that an operator calls. Where there is one, no other operator and neither
            ``sum`` nor ``round`` can be used, since they would compute for nothing what a tool is paid for.

    Raises:
        ConfigError: An operator is unknown, or its tool is not there, changes something, or does not take two values.

    Examples:
        >>> from tape.plan.vocabulary import Parameter, ToolSignature, Vocabulary
        >>> words = Vocabulary.of(ToolSignature("query", (Parameter("sql", "str"),), "dict"))
        >>> sorted(words.tools)
        ['query']
    """

    tools: Mapping[str, ToolSignature]
    answer: tuple[Parameter, ...] = ()
    operators: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for operator, name in self.operators.items():
            if operator not in OPERATORS:
                raise ConfigError(f"no tool can stand for {operator!r}; the operators are {' '.join(OPERATORS)}")
            signature = self.tools.get(name)
            if signature is None or signature.changes or len(signature.parameters) != 2:
                raise ConfigError(f"the operator {operator} needs a pure tool of two parameters; {name!r} is none")

    def changes(self, name: str) -> bool:
        """Whether a call of this name, ``ask`` included, may change something."""
        return name != ASK and self.tools[name].changes

    @classmethod
    def of(
        cls, *tools: ToolSignature, answer: tuple[Parameter, ...] = (), operators: Mapping[str, str] | None = None
    ) -> Vocabulary:
        """The vocabulary of some tools."""
        by_name = {signature.name: signature for signature in tools}
        if len(by_name) < len(tools):
            names = [signature.name for signature in tools]
            raise ConfigError(f"two tools have one name: {', '.join(sorted(names))}")
        return cls(by_name, answer, operators or {})
