"""Actions: pydantic models, whose texts are calls such as ``Walk(to="mill")``, and the functions that take them.

What is no action raises an `InvalidActionError` with the reason, what is declared wrongly a `WorldError`.
"""

from __future__ import annotations

import inspect
import json
import random
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, reduce
from operator import or_
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, ValidationError, create_model

from tape.budget import Resources, kind_of
from tape.errors import ConfigError
from tape.protocols import Action
from tape.tools.calls import call, can_be_written, is_placeholder, parse
from tape.tools.errors import InvalidCallError
from tape.tools.results import jsonable
from tape.world.errors import InvalidActionError, WorldError
from tape.world.schema import MOST_CHOICES, SchemaAnswer, brief, choices, writable
from tape.world.state import first

LONGEST_THOUGHT = 300
"""Characters of the thought before a plan."""

Number: TypeAlias = int | float | str | Decimal | None
Amount: TypeAlias = Number | Callable[[Any, Any], Number]
"""What an action costs at most in units: an amount, None where it is unknown, or a function of state and action."""


@dataclass(frozen=True, eq=False)
class ActionType:
    """One kind of action.

    Attributes:
        model: Its arguments.
        function: Takes it: from a state and the action, and a ``random.Random`` where it draws, to the next state.
        draws: Whether it draws.
        amounts: What it costs at most.
        destructive: It may do what cannot be undone, so approval may be asked for.
    """

    model: type[BaseModel]
    function: Callable[..., Any]
    draws: bool
    amounts: Mapping[str, Amount]
    destructive: bool = False
    schema: Mapping[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", writable(self.model.model_json_schema(), self.name))
        if not isinstance(self.destructive, bool):
            raise WorldError(f"{self.name}: destructive is True or False, got {self.destructive!r}")
        if not self.description:
            raise WorldError(f"{self.name} needs a docstring, which describes the action to the model")
        if not can_be_written(self.name, "", self.schema["properties"]):
            raise WorldError(f"{self.name}: names of actions and of their fields have letters, digits and _ only")
        for name in self.amounts:
            kind_of(name)
        self.fixed()

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.__name__

    @property
    def description(self) -> str:
        """The first paragraph of the model's docstring."""
        own = self.model.__doc__ if self.model.__doc__ != BaseModel.__doc__ else ""
        return " ".join(inspect.cleandoc(own or "").split("\n\n")[0].split())

    def fixed(self) -> Resources:
        """What every action of this kind costs at most; amounts that depend on the state are left out."""
        return Resources.of(**{name: amount for name, amount in self.amounts.items() if not callable(amount)})

    def cost(self, state: BaseModel, action: BaseModel) -> Resources:
        """What an action costs at most in a state."""
        numbers: dict[str, Number] = {}
        for name, amount in self.amounts.items():
            if not callable(amount):
                numbers[name] = amount
                continue
            try:
                numbers[name] = amount(state, action)
            except Exception as error:
                raise WorldError(
                    f"what {action!r} costs in {name} cannot be computed in {state!r}: {type(error).__name__}: {error}"
                ) from error
        try:
            return Resources.of(**numbers)
        except ConfigError as error:
            raise WorldError(f"what {action!r} costs in {state!r}: {error}") from error

    def listed(self) -> str:
        """Name, arguments, description and cost, for prompts."""
        takes = ", ".join(f"{name}: {brief(part)}" for name, part in self.schema["properties"].items())
        notes = [f"{n} is {p['description']}" for n, p in self.schema["properties"].items() if "description" in p]
        lines = [f"- {self.name}({takes}): {self.description}", *(f"  {note}" for note in notes)]
        return "\n".join(lines)


class Actions:
    """All actions of a world."""

    def __init__(self, action_types: Sequence[ActionType]) -> None:
        self.types = {item.name: item for item in action_types}

    @cached_property
    def all(self) -> tuple[Action, ...] | None:
        """Every action, where they can be listed; None where they are open."""
        texts: dict[Action, None] = {}
        for item in self.types.values():
            values = choices(item.schema)
            if values is None:
                return None
            for value in values:
                try:
                    texts[self.text(item.name, value)] = None
                except InvalidActionError:
                    continue  # a validator of the model refuses it
        return tuple(texts) if len(texts) <= MOST_CHOICES else None

    def text(self, name: str, arguments: Mapping[str, Any]) -> Action:
        """An action in the one way in which it is written."""
        return self._written(*self._made(name, arguments))

    def _written(self, item: ActionType, action: BaseModel) -> Action:
        try:
            text = call(item.name, "", **jsonable(action.model_dump(by_alias=True))).text
            parse(text)  # there is a longest text
        except InvalidCallError as error:
            raise InvalidActionError(f"{item.name}: {error}") from None
        return text

    def parse(self, text: Action) -> tuple[ActionType, BaseModel]:
        """Read an action."""
        try:
            read = parse(text)
        except InvalidCallError as error:
            raise InvalidActionError(
                f"{text[:80]!r} is no action; one is written NAME(ARGUMENT=VALUE, ...): {', '.join(self.types)}"
            ) from error
        # What a tool would take for the result of another call is a text here.
        given = {name: value if is_placeholder(value) else json.loads(value) for name, value in read.args}
        return self._made(read.tool, given)

    def canonical(self, text: Action) -> Action:
        """The same action in the one way in which it is written."""
        item, action = self.parse(text)
        return self._written(item, action)

    def _made(self, name: str, arguments: Mapping[str, Any]) -> tuple[ActionType, BaseModel]:
        item = self.types.get(name)
        if item is None:
            raise InvalidActionError(f"there is no action {name[:80]!r}; there is: {', '.join(self.types)}")
        if unknown := sorted(arguments.keys() - item.schema["properties"].keys()):
            raise InvalidActionError(f"{name} has no argument {unknown[0][:80]!r}")
        try:
            return item, item.model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            raise InvalidActionError(f"{name}: {first(error)}") from None

    @cached_property
    def written(self) -> Any:
        """What models write for an action: its name and its arguments."""
        models = []
        for item in self.types.values():
            fields: dict[str, Any] = {"name": (Literal[item.name], ...), "arguments": (item.model, ...)}
            models.append(create_model(f"{item.name}_action", __base__=SchemaAnswer, **fields))
        return reduce(or_, models)

    @cached_property
    def _plans(self) -> dict[int, type[SchemaAnswer]]:
        return {}

    def plan(self, most: int) -> type[SchemaAnswer]:
        """What models write for a plan: a thought, and at least one action and at most so many."""
        if most not in self._plans:
            actions: Any = list[self.written]  # type: ignore[name-defined]
            thought = (str, Field(max_length=LONGEST_THOUGHT))
            listed = (actions, Field(min_length=1, max_length=most))
            self._plans[most] = create_model("Plan", __base__=SchemaAnswer, thought=thought, actions=listed)
        return self._plans[most]


@dataclass(frozen=True)
class Signature:
    """What the type hints of a step function declare.

    Attributes:
        state: The state model.
        actions: The action models.
        draws: Whether it takes a ``random.Random``.
    """

    state: type[BaseModel]
    actions: tuple[type[BaseModel], ...]
    draws: bool


def signature(function: Callable[..., Any]) -> Signature:
    """Read the type hints of a step function ``(state: State, action: Move | Wait[, rng: random.Random])``."""
    name = getattr(function, "__name__", repr(function))
    try:
        hints = get_type_hints(function, include_extras=True)
        parameters = list(inspect.signature(function).parameters.values())
    except Exception as error:  # whatever evaluating a hint raises
        raise WorldError(
            f"{name}: its type hints cannot be read: {error}. Define the models at the top of a module"
        ) from error
    if len(parameters) not in (2, 3):
        raise WorldError(f"{name}: a step function takes a state and an action, and rng: random.Random where it draws")
    if missing := [p.name for p in parameters if p.name not in hints]:
        raise WorldError(f"{name}: the parameter {missing[0]} needs a type hint")
    state, action, *rest = (hints[p.name] for p in parameters)
    if rest and rest[0] is not random.Random:
        raise WorldError(f"{name}: the third parameter is rng: random.Random, got {rest[0]!r}")
    if not _is_model(state):
        raise WorldError(f"{name}: a state is a pydantic model, got {state!r}")
    models = _members(action)
    if wrong := [model for model in models if not _is_model(model)]:
        raise WorldError(f"{name}: an action is a pydantic model, or a union of them, got {wrong[0]!r}")
    return Signature(state, tuple(models), bool(rest))


def _members(hint: Any) -> list[Any]:
    """The models of a union, which may be annotated with a discriminator."""
    if get_origin(hint) is Annotated:
        return _members(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return [member for part in get_args(hint) for member in _members(part)]
    return [hint]


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)
