"""A scripted model for tests and demonstrations: it answers from a list or a function.

It reads no weights and is never a result: its name starts with ``scripted`` wherever it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from tape.errors import ModelError
from tape.lm.base import Completion, JsonSchema, LanguageModel, OneOf, Request, Usage
from tape.lm.constraints import is_optional, to_pattern
from tape.lm.price import FREE, TokenPrice
from tape.reading import parse_json, read_text, shaped
from tape.seeds import derive

KEPT = 500
"""How many requests a scripted model keeps: each holds on to what it was paid from, and long runs ask millions."""


class ScriptedLM:
    """Answers each sample from ``script``; ``requests`` are the last ones that it got.

    Args:
        script: A list of replies, used in turn and from the start again, or a function of the
            request and the sample number.
        prompt_format: ``chat`` or ``compact``.
        price: The price it pretends to have; zero by default, None for unknown.
        obey: If True, a reply that breaks the request's constraint is an error of the script; if
            False it is passed on, as a model without constrained decoding would.
        identity: Part of cache keys.

    Examples:
        >>> from tape.lm.base import Request
        >>> import asyncio
        >>> from tape.lm.scripted import ScriptedLM
        >>> model = ScriptedLM(lambda request, sample: f"{request.role} {sample}")
        >>> [completion] = asyncio.run(model.generate([Request("Where to?", max_tokens=5, n=2, role="act")]))
        >>> completion.texts, model.requests[0].prompt
        (('act 0', 'act 1'), 'Where to?')
    """

    def __init__(
        self,
        script: Sequence[str] | Callable[[Request, int], str],
        *,
        prompt_format: str = "chat",
        price: TokenPrice | None = FREE,
        obey: bool = False,
        identity: str = "scripted",
    ) -> None:
        self._script, self._obey, self._next = script, obey, 0
        self.name, self.identity, self.prompt_format, self.price = "scripted", identity, prompt_format, price
        self.requests: list[Request] = []

    def prompt_tokens(self, request: Request) -> int:
        """Words of the prompt."""
        texts = [request.prompt] if isinstance(request.prompt, str) else [m.content for m in request.prompt]
        return sum(len(text.split()) for text in texts)

    def scoring_tokens(self, request: Request) -> int:
        """One word."""
        del request
        return 1

    def _keep(self, request: Request) -> None:
        self.requests.append(request)
        del self.requests[:-KEPT]

    def _reply(self, request: Request, sample: int) -> str:
        if callable(self._script):
            reply = self._script(request, sample)
        else:
            reply = self._script[self._next % len(self._script)]
            self._next += 1
        if self._obey and request.constraint is not None and not obeys(request, reply):
            raise ModelError(f"the script answers {reply!r}, which breaks the constraint of the {request.role} request")
        return reply

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer from the script; words count as tokens, and a reply longer than max_tokens is cut."""
        completions = []
        for request in requests:
            self._keep(request)
            texts, finish = [], []
            for sample in range(request.n):
                words = re.findall(r"\s*\S+", self._reply(request, sample))
                texts.append("".join(words[: request.max_tokens]))
                finish.append("length" if len(words) > request.max_tokens else "stop")
            used = sum(len(text.split()) for text in texts)
            completions.append(
                Completion(tuple(texts), tuple(finish), (0.0,) * request.n, Usage(self.prompt_tokens(request), used))
            )
        return completions

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """All probability on the option that the script replies."""
        answers = []
        for request in requests:
            assert isinstance(request.constraint, OneOf)
            self._keep(request)
            reply = self._reply(request, 0)
            if reply not in request.constraint.options:
                raise ModelError(f"the script scores {reply!r}, which is none of {request.constraint.options}")
            weights = tuple(float(option == reply) for option in request.constraint.options)
            answers.append((weights, Usage(self.prompt_tokens(request), 1)))
        return answers


def obeys(request: Request, text: str) -> bool:
    """Whether a text meets a request's constraint."""
    if isinstance(request.constraint, JsonSchema):
        try:
            request.constraint.model.model_validate_json(text)
        except ValidationError:
            return False
        return True
    return (
        request.constraint is None
        or is_optional(request.constraint)
        or re.fullmatch(to_pattern(request.constraint), text) is not None
    )


def open_scripted(argument: str) -> LanguageModel:
    """Open ``scripted:FILE``: a JSON list of replies, used in turn.

    Raises:
        ModelError: The file is missing or no list of texts.
    """
    where = f"scripted:{argument}"

    def no_script(problem: str) -> ModelError:
        return ModelError(f"{problem}; {where} is a JSON file with a list of replies")

    text = read_text(Path(argument), error=no_script)
    replies = shaped(parse_json(text, argument, error=no_script), list[str], argument, error=no_script)
    if not replies:
        raise no_script(f"{argument}: the list is empty")
    return ScriptedLM(replies, identity=f"scripted@{derive(0, text.encode()):x}")
