"""No language model: what answers where every answer is one of a few listed options.

``declared:first`` takes the first option, which in lists sorted by price is the cheapest: the paper's greedy order
without a model's judgement. ``declared:random`` takes any of them, by the request's seed: it stands in for a model that
knows what is allowed and nothing about prices, and is called simulated wherever its results are shown.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tape.errors import ConstraintError, UnknownNameError
from tape.lm.base import Completion, Forced, LanguageModel, OneOf, Request, Usage
from tape.lm.price import FREE, TokenPrice

POLICIES = ("first", "random")


class DeclaredLM:
    """Implements :class:`tape.lm.base.LanguageModel` for the prompt format ``declared``.

    Args:
        policy: ``first`` or ``random``.

    Raises:
        UnknownNameError: There is no such policy.
    """

    prompt_format = "declared"
    price: TokenPrice | None = FREE

    def __init__(self, policy: str) -> None:
        if policy not in POLICIES:
            raise UnknownNameError("policy of declared models", policy, POLICIES, "For instance declared:first.")
        self._policy = policy
        self.name = self.identity = f"declared:{policy}"

    def prompt_tokens(self, request: Request) -> int:
        """None: nothing is read."""
        del request
        return 0

    def scoring_tokens(self, request: Request) -> int:
        """None."""
        del request
        return 0

    def _one(self, request: Request, sample: int) -> str:
        match request.constraint:
            case Forced(text):
                return text
            case OneOf(options):
                if self._policy == "first":
                    return options[0]
                return random.Random(f"declared {request.seed} {sample}").choice(options)
            case _:
                raise ConstraintError(
                    f"{self.name} answers only where the options are listed, not the {request.role or 'this'} request; "
                    "use a language model"
                )

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Forced texts and choices alone.

        Raises:
            ConstraintError: Anything else is asked.
        """
        answers = []
        for request in requests:
            texts = tuple(self._one(request, sample) for sample in range(request.n))
            answers.append(Completion(texts, ("stop",) * request.n, (0.0,) * request.n, Usage(0, 0)))
        return answers

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """All probability on the first option."""
        pairs = []
        for request in requests:
            assert isinstance(request.constraint, OneOf)
            weights = tuple(float(i == 0) for i in range(len(request.constraint.options)))
            pairs.append((weights, Usage(0, 0)))
        return pairs


def open_declared(argument: str) -> LanguageModel:
    """Open ``declared:POLICY``.

    Raises:
        UnknownNameError: There is no such policy.
    """
    return DeclaredLM(argument)
