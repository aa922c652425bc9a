"""Distinct samples of one request: stochastic beam search.

Sequences are drawn without replacement from the very distribution that independent sampling draws from, constraint and
temperature included: the first one is an independent sample, the second one is drawn from what is left, and so on.
Every step keeps the ``n`` sequences with the largest perturbed log-probabilities, so it computes no more tokens than
``n`` independent samples of that length.

Source: Kool, van Hoof and Welling, "Stochastic beams and where to find them", ICML 2019, algorithm 1 and appendix B.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from tape.lm.base import Request
from tape.lm.outlines_engine import Processor
from tape.seeds import derive

Floats = NDArray[np.float64]


@dataclass
class Beam:
    """A sequence, finished or not.

    Attributes:
        processor: Masks what may come next, where there is a constraint; it is this sequence's own.
        tokens: Its tokens, the end left out.
        logprob: Log-probability under the constrained, untempered distribution.
        likelihood: Log-probability under the distribution that is sampled from.
        perturbed: That plus Gumbel noise: the largest of all sequences that begin like this one.
        finish: As of :class:`tape.lm.base.Completion`; empty where it goes on.
    """

    processor: Processor | None
    tokens: list[int] = field(default_factory=list)
    logprob: float = 0.0
    likelihood: float = 0.0
    perturbed: float = 0.0
    finish: str = ""


class Search:
    """The samples of one request.

    Args:
        prompt: Tokens of its prompt.
        request: The request; its temperature is above 0.
        processor: Masks by its constraint, if it has one.
        eos: The end-of-sequence token.
        window: Most tokens of a sequence, the prompt included.

    Attributes:
        beams: The sequences that are kept, the largest perturbed log-probability first.
        computed: Tokens of all sequences, also of those that were dropped on the way.
    """

    def __init__(
        self, prompt: Sequence[int], request: Request, processor: Processor | None, eos: int, window: int
    ) -> None:
        self.prompt, self.request = list(prompt), request
        self.beams, self.computed = [Beam(processor)], 0
        self._eos = eos
        self._longest = min(request.max_tokens, window - len(self.prompt))

    @property
    def live(self) -> list[Beam]:
        """The sequences that go on."""
        return [beam for beam in self.beams if not beam.finish]

    def grow(self, logits: torch.Tensor) -> list[int]:
        """Add a token to every live sequence, and keep the best ``n`` of all that come of it.

        Args:
            logits: Of the next token of each live sequence, (live, vocabulary).

        Returns:
            For each sequence that is live now, which row of ``logits`` it continues.
        """
        kept = [(beam.perturbed, beam, -1, 0, 0.0, 0.0) for beam in self.beams if beam.finish]
        for row, beam in enumerate(self.live):
            mine = logits[row : row + 1]
            if beam.processor is not None:
                mine = beam.processor(torch.tensor([self.prompt + beam.tokens]), mine.clone())
            values = mine[0].double().numpy(force=True)
            plain, likelihood = log_softmax(values), beam.likelihood + log_softmax(values / self.request.temperature)
            rng = np.random.default_rng(derive(self.request.seed, "beam", *beam.tokens))
            perturbed = conditioned(likelihood + rng.gumbel(size=len(values)), beam.perturbed)
            for token in largest(perturbed, self.request.n):
                one = (float(perturbed[token]), beam, row, token, float(likelihood[token]), float(plain[token]))
                kept.append(one)
        kept = sorted(kept, key=lambda one: -one[0])[: self.request.n]
        self.beams, rows = [], []
        for perturbed_value, beam, row, token, likely, logprob in kept:
            if row < 0:
                self.beams.append(beam)
                continue
            child = self._child(beam, token)
            child.logprob, child.likelihood, child.perturbed = beam.logprob + logprob, likely, perturbed_value
            self.beams.append(child)
            self.computed += 1
            rows += [] if child.finish else [row]
        return rows

    def _child(self, beam: Beam, token: int) -> Beam:
        """A sequence with one more token."""
        processor = None if beam.processor is None else beam.processor.copied()
        if token == self._eos:
            return Beam(processor, beam.tokens, finish="stop")
        tokens = [*beam.tokens, token]
        return Beam(processor, tokens, finish="length" if len(tokens) >= self._longest else "")


def log_softmax(values: Floats) -> Floats:
    """Normalised log-probabilities, (vocabulary,); what is -inf stays so."""
    top = values.max()
    found: Floats = values - (top + np.log(np.exp(values - top).sum()))
    return found


def conditioned(perturbed: Floats, largest_is: float) -> Floats:
    """Gumbel variables given their maximum, appendix B.3 there; computed so that nothing is lost to rounding.

    Args:
        perturbed: Independent ones; -inf where there is none.
        largest_is: What the largest of them is to be.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        above = largest_is - perturbed + np.log1p(-np.exp(perturbed - perturbed.max()))
        found: Floats = largest_is - np.maximum(above, 0.0) - np.log1p(np.exp(-np.abs(above)))
    return np.where(np.isneginf(perturbed), -np.inf, found)


def largest(values: Floats, count: int) -> list[int]:
    """Where the largest values are, at most so many, those that are -inf left out."""
    best = np.argsort(-values, kind="stable")[:count]
    return [int(index) for index in best if not np.isneginf(values[index])]
