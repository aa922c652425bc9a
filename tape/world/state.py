"""States: pydantic models, held as the JSON that models read and write.

What is declared wrongly, or cannot be read back, raises a `WorldError`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, get_args

from pydantic import BaseModel, Field, ValidationError, create_model

from tape.errors import InvalidOutputError
from tape.protocols import State
from tape.tools.results import jsonable
from tape.world.errors import WorldError
from tape.world.schema import SchemaAnswer


class Context:
    """Marks a field of a state, as in ``log: Annotated[tuple[str, ...], Context]``.

    Such a field is shown to the model but is no part of a state's identity, and is not predicted: history, noise, and
    what never changes, such as a map. A predicted state has it as it was before.

    Examples:
        >>> from typing import Annotated
        >>> from pydantic import BaseModel
        >>> from tape.world import Context, World
        >>> class Stairs(BaseModel):
        ...     floor: int = 0
        ...     log: Annotated[list[str], Context] = []
        >>> class Climb(BaseModel):
        ...     "Climb to the next floor."
        >>> stairs = World("stairs", rules="Climb to floor 2.", deterministic=True)
        >>> @stairs.action
        ... def climb(here: Stairs, action: Climb) -> Stairs:
        ...     return Stairs(floor=here.floor + 1, log=[*here.log, "climbed"])
        >>> one, other = (stairs.states.write(Stairs(log=log)) for log in ([], ["slept"]))
        >>> one == other, stairs.states.key(one) == stairs.states.key(other)
        (False, True)
    """


@dataclass(frozen=True)
class WorldState:
    """What is known of a state.

    Attributes:
        text: The visible fields, as JSON.
        note: Why the last action was refused, or what could not be read; else empty.
        seen: What was observed and a model still has to read; else empty.
        action: The action that it was observed after.
    """

    text: str
    note: str = ""
    seen: str = ""
    action: str = ""


def as_state(state: State) -> WorldState:
    """Narrow the engine's opaque state."""
    assert isinstance(state, WorldState), f"not a state of a world: {state!r}"
    return state


class StateType:
    """The state model of a world, and how its states are written, read, compared and predicted.

    Raises:
        WorldError: It is none, or declares something of its fields that cannot be kept.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise WorldError(f"a state is a pydantic model, got {model!r}: class {_name(model)}(BaseModel): ...")
        self.model, self.name = model, model.__name__
        fields = model.model_fields
        self.hidden = frozenset(name for name, field in fields.items() if field.exclude)
        self.context = frozenset(name for name, field in fields.items() if _is_context(field.metadata))
        self.prints = model.__str__ is not BaseModel.__str__
        """Whether the class prints its states itself."""
        self._check()

    def _check(self) -> None:
        fields = self.model.model_fields
        for name in sorted(self.hidden):
            if fields[name].is_required():
                raise WorldError(
                    f"{self.name}.{name} is hidden (exclude=True), so it needs a default, which "
                    "stands there where the value is unknown"
                )
        if self.model.model_config.get("extra") == "allow":
            raise WorldError(
                f"{self.name} takes fields that it does not name (extra='allow'); they could not be predicted"
            )
        for name, field in fields.items():
            for inner in _models_in(field.annotation):
                marked = [n for n, f in inner.model_fields.items() if f.exclude or _is_context(f.metadata)]
                if marked:
                    raise WorldError(
                        f"{self.name}.{name}: only fields of {self.name} itself can be hidden or Context, not "
                        f"{inner.__name__}.{marked[0]}"
                    )
        if not self.identity:
            raise WorldError(
                f"{self.name} has no field that distinguishes its states; one must be neither hidden nor Context"
            )
        self.predicted.model_json_schema()

    @cached_property
    def identity(self) -> tuple[str, ...]:
        """The fields that a state is known by and that a model predicts."""
        return tuple(name for name in self.model.model_fields if name not in self.hidden | self.context)

    @cached_property
    def predicted(self) -> type[SchemaAnswer]:
        """What a model writes of a state that it predicts: all of its identity, no field left out."""
        fields: dict[str, Any] = {}
        for name in self.identity:
            field = self.model.model_fields[name]
            kept = Field(alias=field.alias, description=field.description, json_schema_extra=field.json_schema_extra)
            fields[name] = (Annotated[(field.annotation, *field.metadata, kept)], ...)
        try:
            return create_model(self.name, __base__=SchemaAnswer, **fields)
        except Exception as error:  # pydantic has no common base of what it refuses
            raise WorldError(f"{self.name}: its fields cannot be predicted: {error}") from error

    def descriptions(self) -> list[str]:
        """What the state's fields mean, where the model describes them."""
        visible = {name: field for name, field in self.model.model_fields.items() if name not in self.hidden}
        return [f"- {field.alias or name}: {field.description}" for name, field in visible.items() if field.description]

    def write(self, state: BaseModel) -> str:
        """The visible fields of a state as JSON, the same for equal states."""
        if not isinstance(state, self.model):
            raise WorldError(f"a state of this world is a {self.name}, got {state!r}")
        text = self._dumped(self.read(self._dumped(state)))  # read once, so that validators may round
        again = self._dumped(self.read(text))
        if again != text:
            raise WorldError(f"{self.name} does not survive JSON: {text} is read back as {again}")
        return text

    def _dumped(self, state: BaseModel) -> str:
        try:
            data = jsonable(state.model_dump(by_alias=True, warnings=False))  # reading it reports what is wrong
            text = json.dumps(data, ensure_ascii=False, allow_nan=False)
            text.encode()
        except Exception as error:  # whatever a serializer raises
            raise WorldError(f"{state!r} cannot be written as JSON: {error}") from error
        return text

    def read(self, text: str) -> BaseModel:
        """A state from its JSON; hidden fields have their defaults."""
        try:
            return self.model.model_validate_json(text)
        except ValidationError as error:
            raise WorldError(f"{text[:200]} is no {self.name}: {first(error)}") from error

    def key(self, text: str) -> str:
        """The identity of a state: its fields that are neither hidden nor context."""
        if not self.context:
            return text
        data = json.loads(text)
        kept = [self.model.model_fields[name].alias or name for name in self.identity]
        return json.dumps({name: data[name] for name in kept}, ensure_ascii=False)

    def after(self, before: str, written: BaseModel) -> str:
        """The state that a model has predicted: what it wrote, and the context as it was before.

        Raises:
            InvalidOutputError: A validator of the state refuses it.
        """
        merged: Mapping[str, Any] = {**json.loads(before), **written.model_dump(mode="json", by_alias=True)}
        try:
            state = self.model.model_validate_json(json.dumps(merged))
            return self.write(state)
        except (ValidationError, WorldError) as error:
            reason = first(error) if isinstance(error, ValidationError) else str(error)
            raise InvalidOutputError(f"no {self.name}: {reason}") from None


def first(error: ValidationError) -> str:
    """What is wrong first, and where."""
    details = error.errors(include_url=False)[0]
    where = ".".join(map(str, details["loc"]))
    return f"{where}: {details['msg']}" if where else str(details["msg"])


def _name(model: Any) -> str:
    return getattr(model, "__name__", None) or "State"


def _is_context(metadata: list[Any]) -> bool:
    return any(item is Context or isinstance(item, Context) for item in metadata)


def _models_in(hint: Any) -> list[type[BaseModel]]:
    """The models inside a type hint, those inside these too."""
    models: list[type[BaseModel]] = []
    todo = [hint]
    for part in todo:  # grows while it is read
        if isinstance(part, type) and issubclass(part, BaseModel):
            if part not in models:
                models.append(part)
                todo += [field.annotation for field in part.model_fields.values()]
        else:
            todo += get_args(part)
    return models
