"""Reading which of some things a text asks for, by a model's own probabilities, from both sides.

A small model that is to write one of several names writes the one that is likeliest anyway, whatever was asked. So two
things are asked instead, neither of which lists the names. *Forward*: how much likelier does the text make a name,
compared with a text that asks for nothing in particular (Holtzman et al. 2021, "Surface form competition",
arXiv:2104.08315)? *Backward*: how much likelier does a name make the text, compared with that other text (after Min et
al. 2022, "Noisy channel language model prompting", arXiv:2108.04106)? Both are differences of log-probabilities, and
their sum decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tape.budget import Resources
from tape.lm.base import LanguageModel, Message, OneOf, Request, Usage, worst_case_of_scoring

BLANK = "I need something, please."
"""The text that asks for nothing in particular."""

_LEAST = 1e-300
"""Probabilities below this are taken for it, so that they have a logarithm."""


class Scoring(Protocol):
    """What a reading asks: a model, or one whose calls are paid."""

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """See :meth:`tape.lm.base.LanguageModel.score_options`."""


@dataclass(frozen=True)
class Reading:
    """A text, and the things of which it asks for one.

    Attributes:
        text: The text.
        things: Their names, as an article may stand before them.
        role: Which role asks.
    """

    text: str
    things: tuple[str, ...]
    role: str = "project"

    @property
    def requests(self) -> tuple[Request, ...]:
        """Forward with the text and without it, then backward from each thing."""
        needed = OneOf(tuple(f"They need a {thing}." for thing in self.things))
        forward = [(f'Somebody says: "{text}" What do they need?', needed) for text in (self.text, BLANK)]
        said = OneOf(tuple(dict.fromkeys((self.text, BLANK))))
        backward = [(f"Somebody comes to you for a {thing}. What do they say?", said) for thing in self.things]
        return tuple(
            Request((Message("user", prompt),), 1, constraint=choice, role=self.role)
            for prompt, choice in (*forward, *backward)
        )

    async def read(self, model: Scoring) -> tuple[str, Usage]:
        """The likeliest thing, and what that took."""
        answers = await model.score_options(self.requests)
        forward, blank, *backward = [[math.log(max(weight, _LEAST)) for weight in weights] for weights, _ in answers]
        scores = [to - without + back[0] - back[-1] for to, without, back in zip(forward, blank, backward, strict=True)]
        return self.things[scores.index(max(scores))], sum((usage for _, usage in answers[1:]), answers[0][1])

    def worst_case(self, model: LanguageModel) -> Resources:
        """The most that it can use."""
        return sum((worst_case_of_scoring(model, request) for request in self.requests), Resources())
