"""Samples of a request, drawn token by token: independent ones, and distinct ones by stochastic beam search.

Distinct sequences are drawn without replacement from the very distribution that independent sampling draws from,
constraint and temperature included: the first one is an independent sample, the second one is drawn from what is left,
and so on. Every step keeps the ``n`` sequences with the largest perturbed log-probabilities, so it computes no more
tokens than ``n`` independent samples of that length.

Source: Kool, van Hoof and Welling, "Stochastic beams and where to find them", ICML 2019, algorithm 1 and appendix B.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from tape.lm.base import Request
from tape.lm.outlines_engine import Processor
from tape.seeds import derive


@dataclass
class Written:
    """A text under way, token by token.

    Attributes:
        processor: Masks what may come next, where there is a constraint; it is this text's own.
        tokens: Its tokens, the end left out.
        logprob: Log-probability under the constrained, untempered distribution.
        finish: As of :class:`tape.lm.base.Completion`; empty where it goes on.
        unread: The last of its tokens, which the network has not read yet.
        columns: Where its tree holds those that it has (:mod:`tape.lm.trees`).
    """

    processor: Processor | None
    tokens: list[int] = field(default_factory=list)
    logprob: float = 0.0
    finish: str = ""
    unread: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)

    def add(self, token: int, eos: int, longest: int) -> None:
        """Go on with a token, and with those that must follow it; sets ``finish`` where that ends it."""
        if self._appended(token, eos, longest) and self.processor is not None:
            for forced in self.processor.take(token):
                if not self._appended(forced, eos, longest):
                    break

    def begin(self, tokens: Sequence[int], eos: int, longest: int) -> None:
        """Begin with tokens that every text under its constraint begins with."""
        for token in tokens:
            if not self._appended(token, eos, longest):
                break
        self.unread = []  # they are read with the prompt

    def _appended(self, token: int, eos: int, longest: int) -> bool:
        """Append a token; whether the text goes on."""
        if token == eos:
            self.finish = "stop"
            return False
        self.tokens.append(token)
        self.unread.append(token)
        if len(self.tokens) >= longest:
            self.finish = "length"
        return not self.finish


@dataclass
class Sample(Written):
    """One independent sample.

    Attributes:
        prompt: Tokens of its prompt.
        temperature: 0 is greedy.
        longest: Most tokens.
        rng: Its own random numbers; None where it is greedy.
    """

    prompt: list[int] = field(default_factory=list)
    temperature: float = 0.0
    longest: int = 1
    rng: np.random.Generator | None = None


def new_sample(prompt: list[int], request: Request, index: int, processor: Processor | None, window: int) -> Sample:
    """The sample of this index of a request."""
    # Its seed does not depend on what is decoded beside it. A greedy sample needs none.
    rng = np.random.default_rng(derive(request.seed, index)) if request.temperature > 0 else None
    longest = min(request.max_tokens, window - len(prompt))
    return Sample(processor, prompt=prompt, temperature=request.temperature, longest=longest, rng=rng)


def draw(samples: Sequence[Sample], logits: torch.Tensor, eos: int) -> list[int]:
    """Draw the next token of every sample by logits, (samples, vocabulary), which are overwritten.

    Returns:
        The tokens, the end among them.
    """
    for i, sample in enumerate(samples):
        if sample.processor is not None:
            logits[i : i + 1] = sample.processor.masked(logits[i : i + 1].clone())
    logp = torch.log_softmax(logits, -1)
    greedy = logits.argmax(-1).tolist()
    chosen: list[int] = []
    for i, sample in enumerate(samples):
        token = greedy[i] if sample.rng is None else _drawn(logits[i], sample.temperature, sample.rng)
        sample.logprob += float(logp[i, token])
        sample.add(token, eos, sample.longest)
        chosen.append(token)
    return chosen


def _drawn(logits: torch.Tensor, temperature: float, rng: np.random.Generator) -> int:
    """Draw one token by inverting the cumulative distribution."""
    scaled = logits.double().numpy(force=True) / temperature
    weights = np.exp(scaled - scaled.max())
    cumulative = np.cumsum(weights)
    return int(min(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"), len(weights) - 1))


Floats = NDArray[np.float64]

WIDER = 4
"""Times as many tokens as there are samples are looked at, where some may be left out."""


@dataclass
class Beam(Written):
    """A sequence, finished or not.

    Attributes:
        likelihood: Log-probability under the distribution that is sampled from.
        perturbed: That plus Gumbel noise: the largest of all sequences that begin like this one.
    """

    likelihood: float = 0.0
    perturbed: float = 0.0


class BeamSearch:
    """The samples of one request.

    Args:
        prompt: Tokens of its prompt.
        request: The request; its temperature is above 0.
        processor: Masks by its constraint, if it has one.
        eos: The end-of-sequence token.
        window: Most tokens of a sequence, the prompt included.
        adjoin: Whether two tokens may stand side by side: where they do not, the same text is written by others, and
            two sequences would differ by their tokens alone. Sequences without such a pair are drawn, unless a
            sequence could not go on; None: any two may.

    Attributes:
        beams: The sequences that are kept, the largest perturbed log-probability first.
        computed: Tokens that were drawn for all sequences, also for those that were dropped on the way, and those that
            all begin with.
        longest: Most tokens of a sequence.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        request: Request,
        processor: Processor | None,
        eos: int,
        window: int,
        adjoin: Callable[[int, int], bool] | None = None,
    ) -> None:
        self.prompt, self.request = list(prompt), request
        self.beams, self.computed = [Beam(processor)], 0
        self._eos, self._adjoin = eos, adjoin
        self.longest = min(request.max_tokens, window - len(self.prompt))

    @property
    def live(self) -> list[Beam]:
        """The sequences that go on."""
        return [beam for beam in self.beams if not beam.finish]

    def begin(self, tokens: Sequence[int]) -> None:
        """Begin with tokens that every text under the constraint begins with."""
        self.beams[0].begin(tokens, self._eos, self.longest)
        self.computed += len(self.beams[0].tokens)

    def grow(self, logits: torch.Tensor) -> list[int]:
        """Add a token, and those that must follow it, to every live sequence; keep the best ``n`` of all that come.

        A sequence that must go on in one way keeps its perturbed log-probability, so those that have jumped ahead are
        compared with the others as they are.

        Returns:
            For each sequence that is live now, which row of ``logits`` it continues.
        """
        kept = [(beam.perturbed, beam, -1, 0, 0.0, 0.0) for beam in self.beams if beam.finish]
        for row, beam in enumerate(self.live):
            mine = logits[row : row + 1]
            if beam.processor is not None:
                mine = beam.processor.masked(mine.clone())
            values = mine[0].double().numpy(force=True)
            plain, likelihood = log_softmax(values), beam.likelihood + log_softmax(values / self.request.temperature)
            rng = np.random.default_rng(derive(self.request.seed, "beam", *beam.tokens))
            perturbed = conditioned(likelihood + rng.gumbel(size=len(values)), beam.perturbed)
            for token in self._candidates(beam, perturbed):
                pair = (float(perturbed[token]), beam, row, token, float(likelihood[token]), float(plain[token]))
                kept.append(pair)
        kept = sorted(kept, key=lambda item: -item[0])[: self.request.n]
        self.beams, rows = [], []
        for perturbed_value, beam, row, token, likely, logprob in kept:
            if row < 0:
                self.beams.append(beam)
                continue
            child = Beam(
                None if beam.processor is None else beam.processor.copied(),
                [*beam.tokens],
                beam.logprob + logprob,
                columns=[*beam.columns],
                likelihood=likely,
                perturbed=perturbed_value,
            )
            child.add(token, self._eos, self.longest)
            self.beams.append(child)
            self.computed += 1
            rows += [] if child.finish else [row]
        return rows

    def _candidates(self, beam: Beam, perturbed: Floats) -> list[int]:
        """The best tokens to go on with, at most as many as there are to be samples."""
        count = self.request.n
        if self._adjoin is None or not beam.tokens:
            return largest(perturbed, count)
        best, before = largest(perturbed, WIDER * count), beam.tokens[-1]
        numbers = [token for token in best if token == self._eos or self._adjoin(before, token)]
        return (numbers or best)[:count]


def log_softmax(values: Floats) -> Floats:
    """Normalised log-probabilities, (vocabulary,); what is -inf stays so."""
    top = values.max()
    numbers: Floats = values - (top + np.log(np.exp(values - top).sum()))
    return numbers


def conditioned(perturbed: Floats, largest_is: float) -> Floats:
    """Gumbel variables given their maximum, appendix B.3 there; computed so that nothing is lost to rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        above = largest_is - perturbed + np.log1p(-np.exp(perturbed - perturbed.max()))
        numbers: Floats = largest_is - np.maximum(above, 0.0) - np.log1p(np.exp(-np.abs(above)))
    return np.where(np.isneginf(perturbed), -np.inf, numbers)


def largest(values: Floats, count: int) -> list[int]:
    """Where the largest values are, at most so many, those that are -inf left out; of equal ones the first."""
    if count < len(values):
        # What cannot be among them is not sorted: of 49,000 tokens that takes 4 ms.
        candidates = np.flatnonzero(values >= np.partition(values, -count)[-count])
    else:
        candidates = np.arange(len(values))
    best = candidates[np.argsort(-values[candidates], kind="stable")[:count]]
    return [int(index) for index in best if not np.isneginf(values[index])]
