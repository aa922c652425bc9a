"""Requests, constraints, completions and the protocol of a language model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from tape.budget import Resources
from tape.errors import ConfigError, ModelError
from tape.lm.constraint_types import Constraint, Forced, Grammar, JsonSchema, OneOf, Regex
from tape.lm.price import FREE, UNSPLIT, Split, TokenPrice, cost_of

__all__ = [
    "Completion",
    "Constraint",
    "Forced",
    "Grammar",
    "JsonSchema",
    "LanguageModel",
    "Message",
    "OneOf",
    "Regex",
    "Request",
    "Usage",
]


@dataclass(frozen=True)
class Message:
    """One chat message.

    Attributes:
        role: ``system``, ``user`` or ``assistant``.
        content: Its text.

    Examples:
        >>> from tape.lm.base import Message, Request
        >>> prompt = (Message("system", "You are a courier."), Message("user", "Where do you go?"))
        >>> Request(prompt, max_tokens=5).prompt[-1].content
        'Where do you go?'
    """

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """One thing asked of a model.

    Attributes:
        prompt: A plain prompt, or chat messages.
        max_tokens: Most tokens per sample.
        constraint: What the completion must look like, if anything.
        n: Number of samples.
        temperature: 0 is greedy.
        seed: Sample i is drawn with a seed derived from this and i.
        role: Which role asks, for accounting and traces.
        distinct: Draw the samples without replacement: no two of the same tokens, where there are as many; else they
            are gone through again. The first one is what an independent sample is. A model that cannot, as hosted ones,
            draws independently; so does a greedy request, and one for more samples than a forward pass takes.
        again: Set by the payer: whether one more call, for the request given, may be made; reserves its worst case.
            A backend calls it before it repeats a call that may have cost something. None: it may.

    Examples:
        >>> from tape.lm.base import OneOf, Request
        >>> request = Request("Is it solved?", max_tokens=1, constraint=OneOf(("yes", "no")), n=4, temperature=1.0)
        >>> request.n, request.fingerprint("bundled:mini") == request.fingerprint("bundled:nano")
        (4, False)
        >>> Request("Is it solved?", max_tokens=0)
        Traceback (most recent call last):
            ...
        tape.errors.ConfigError: a request needs n >= 1 and max_tokens >= 1, got 1 and 0
    """

    prompt: str | tuple[Message, ...]
    max_tokens: int
    constraint: Constraint | None = None
    n: int = 1
    temperature: float = 0.0
    seed: int = 0
    role: str = ""
    distinct: bool = False
    again: Callable[[Request], bool] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.n < 1 or self.max_tokens < 1:
            raise ConfigError(f"a request needs n >= 1 and max_tokens >= 1, got {self.n} and {self.max_tokens}")
        if self.temperature != 0 and not 1e-6 <= self.temperature < float("inf"):
            raise ConfigError(f"temperature must be 0, or at least 1e-6 and finite, got {self.temperature}")

    def fingerprint(self, model: str) -> str:
        """A hash of everything that determines the completion, the model's identity included."""
        constraint: Any = None
        if isinstance(self.constraint, JsonSchema):
            constraint = ["JsonSchema", _schema(self.constraint.model)]
        elif self.constraint is not None:
            constraint = [type(self.constraint).__name__, asdict(self.constraint)]
        prompt = self.prompt if isinstance(self.prompt, str) else [[m.role, m.content] for m in self.prompt]
        seed = self.seed if self.temperature > 0 else None
        parts = [model, prompt, self.max_tokens, constraint, self.n, self.temperature, seed]
        parts += ["distinct"] if self.distinct and self.n > 1 and self.temperature > 0 else []
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=512)
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """Made once for each class: it takes longer than all else of a fingerprint."""
    return model.model_json_schema()


UsageSource = Literal["counted", "reported", "assumed"]


@dataclass(frozen=True)
class Usage:
    """Tokens of one request, all samples together.

    A prompt counts once per call, however many samples are drawn from it.

    Attributes:
        prompt_tokens: Tokens of the prompt.
        completion_tokens: Tokens of the samples.
        calls: Calls that were made for it; more than one where an endpoint had to be asked again.
        source: ``counted`` by the model's own tokenizer here; ``reported`` by an endpoint; ``assumed``: the endpoint
            reported nothing credible for a call that it may bill, so the worst case stands in.
        cached: The answer came from a cache: these are the tokens of the calls that first gave it, and now nothing
            was paid.
        unproven: Tokens of prompts and of samples among them that are ``assumed``.
        split: What the provider's cache had of the prompts, as far as that is reported.
        answered: What the answers call the models that gave them, as far as they say so.
        cost: What it cost, where several models of different prices were asked; else its price says so.

    Examples:
        >>> from tape.lm.base import Usage
        >>> both = Usage(120, 8) + Usage(130, 9, source="reported")
        >>> both.total, both.calls, both.source
        (267, 2, 'reported')
    """

    prompt_tokens: int
    completion_tokens: int
    calls: int = 1
    source: UsageSource = "counted"
    cached: bool = field(default=False, compare=False)
    unproven: tuple[int, int] = (0, 0)
    split: Split = UNSPLIT
    answered: tuple[str, ...] = ()
    cost: Any = field(default=None, compare=False)

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        """Both together; what is partly assumed is assumed, and what is partly paid is not from a cache."""
        ranked: tuple[UsageSource, ...] = ("counted", "reported", "assumed")
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            max(self.source, other.source, key=ranked.index),
            self.cached and other.cached,
            (self.unproven[0] + other.unproven[0], self.unproven[1] + other.unproven[1]),
            self.split + other.split,
            tuple(dict.fromkeys(self.answered + other.answered)),
        )


class EndpointError(ModelError):
    """A hosted model did not answer one request.

    Attributes:
        usage: What its calls used or may have used (:class:`tape.lm.base.Usage`).
        passing: It was not reached, had too many calls or a fault of its own, so that another model may answer.
    """

    def __init__(self, message: str, usage: Usage, *, passing: bool = False) -> None:
        self.usage, self.passing = usage, passing
        super().__init__(message)


class WrongAnswerError(ModelError):
    """A backend has answered, but not what it was asked for; what that used is unknown."""


class BatchError(ModelError):
    """Some requests of a batch were not answered; the others' answers are kept.

    Attributes:
        answers: In the order of the requests: an answer, or the :class:`EndpointError` in its place.
    """

    def __init__(self, answers: Sequence[Any]) -> None:
        self.answers = tuple(answers)
        failures = [answer for answer in self.answers if isinstance(answer, EndpointError)]
        count = f" ({len(failures)} of {len(self.answers)} requests failed)" if len(self.answers) > 1 else ""
        super().__init__(f"{failures[0]}{count}")


@dataclass(frozen=True)
class Completion:
    """The answer to a request.

    Attributes:
        texts: The n samples.
        finish: Per sample: ``stop``; ``length`` where max_tokens cut it off; ``refusal`` where a hosted model
            declined to answer.
        logprobs: Per sample: the sum of the log-probabilities of its tokens, the end included,
            under the constrained, untempered distribution; 0.0 where the backend does not report it.
        usage: Tokens used.

    Examples:
        >>> import asyncio
        >>> from tape.lm.base import Request
        >>> from tape.lm.scripted import ScriptedLM
        >>> model = ScriptedLM(["go left", "go right and on"])
        >>> [completion] = asyncio.run(model.generate([Request("Where to?", max_tokens=2, n=2)]))
        >>> completion.texts, completion.finish, completion.usage.completion_tokens
        (('go left', 'go right'), ('stop', 'length'), 4)
    """

    texts: tuple[str, ...]
    finish: tuple[str, ...]
    logprobs: tuple[float, ...]
    usage: Usage


class LanguageModel(Protocol):
    """What every backend offers; a class with these members is one.

    Examples:
        >>> import asyncio
        >>> from tape.lm.base import Completion, LanguageModel, Request, Usage
        >>> from tape.lm.price import FREE
        >>> class Parrot:
        ...     name, identity, prompt_format, price = "parrot", "parrot 1", "chat", FREE
        ...     def prompt_tokens(self, request):
        ...         return len(str(request.prompt).split())
        ...     def scoring_tokens(self, request):
        ...         return 1
        ...     async def generate(self, requests):
        ...         return [Completion((one.prompt,), ("stop",), (0.0,), Usage(1, 1)) for one in requests]
        ...     async def score_options(self, requests):
        ...         return [((1.0,), Usage(1, 1)) for one in requests]
        >>> model: LanguageModel = Parrot()
        >>> [completion] = asyncio.run(model.generate([Request("hello", max_tokens=1)]))
        >>> completion.texts
        ('hello',)
    """

    @property
    def name(self) -> str:
        """The string it was opened with, for instance ``bundled:mini``."""

    @property
    def identity(self) -> str:
        """Changes whenever its answers may: name, version and a checksum of the weights."""

    @property
    def prompt_format(self) -> str:
        """Which prompts it understands: ``chat``, or one of the bundled models', for instance ``compact``."""

    @property
    def price(self) -> TokenPrice | None:
        """Its price, or None where it is unknown."""

    def prompt_tokens(self, request: Request) -> int:
        """Tokens of a request's prompt, counted locally; an upper bound where it cannot be exact."""

    def scoring_tokens(self, request: Request) -> int:
        """Completion tokens that scoring the options of a request's :class:`OneOf` takes at most."""

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests, in their order."""

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Probability of each option of each request's :class:`OneOf`, normalised over the options.

        Sampling under a choice mask is per token, not per option; this scores the
        options whole. Where a model's answer was none of the options, all its weights are 0.
        """


def most_completion_tokens(model: LanguageModel, request: Request) -> int:
    """The most completion tokens of a request, all samples together.

    ``n * max_tokens``, unless the model has a method of this name: a backend that must wrap what is asked for in
    more text than the request knows of declares it there.
    """
    own = getattr(model, "most_completion_tokens", None)
    return request.n * request.max_tokens if own is None else int(own(request))


def is_metered(model: LanguageModel) -> bool:
    """Whether a call that failed may have used something: one that costs money, or that an endpoint was asked.

    A model in this process that failed is not at work any more. A backend that asks an endpoint has a true attribute
    ``remote``.
    """
    return model.price != FREE or is_remote(model)


def is_remote(model: LanguageModel) -> bool:
    """Whether an endpoint is asked; what it answers does not depend, as far as is known, on what is asked beside it."""
    return bool(getattr(model, "remote", False))


def is_continuous(model: LanguageModel) -> bool:
    """Whether what is asked while it decodes something else joins that; it has a true attribute ``continuous`` then.

    Its calls may overlap, as coroutines of one event loop (:mod:`tape.lm.batching`).
    """
    return bool(getattr(model, "continuous", False))


def weighs(model: LanguageModel) -> bool:
    """Whether its scores of options are probabilities that it has computed: a true attribute of this name.

    Elsewhere they are 1 for its answer and 0 else. Where they are, a text can be read from both sides
    (:mod:`tape.lm.reading`).
    """
    return bool(getattr(model, "weighs", False))


def usual_batch(model: LanguageModel) -> int:
    """How many episodes are played side by side by default: the model's attribute ``usual_batch``, else 8."""
    return int(getattr(model, "usual_batch", 8))


def window_of(model: LanguageModel) -> int | None:
    """Most tokens of a prompt and its answer together: the model's attribute ``window``; None if undeclared."""
    result = getattr(model, "window", None)
    return None if result is None else int(result)


def for_run(model: LanguageModel) -> LanguageModel:
    """The model for a run: what learns while it is asked has a method of this name, and begins anew."""
    fresh = getattr(model, "for_run", None)
    made: LanguageModel = model if fresh is None else fresh()
    return made


def worst_case(model: LanguageModel, request: Request) -> Resources:
    """What one call of a request may use at most: prompt plus ``n * max_tokens`` at the model's price."""
    return cost_of(model.price, model.prompt_tokens(request), most_completion_tokens(model, request))


def worst_case_of_scoring(model: LanguageModel, request: Request) -> Resources:
    """What scoring a request's options may use at most."""
    return cost_of(model.price, model.prompt_tokens(request), model.scoring_tokens(request))


def actual_cost(price: TokenPrice | None, usage: Usage) -> Resources:
    """What a completion used, at a price."""
    split = usage.split
    more = {"cached": split.read, "written": split.written, "written_1h": split.written_1h}
    unsplit = usage.prompt_tokens - split.read - split.written - split.plain
    return cost_of(price, usage.prompt_tokens, usage.completion_tokens, usage.calls, **more, unsplit=unsplit)
