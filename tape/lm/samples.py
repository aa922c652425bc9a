"""Independent samples of a request, drawn token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

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
        """Go on with a token, and with those that must follow it; sets ``finish`` where that ends it.

        Args:
            token: The token, or the end.
            eos: The end-of-sequence token.
            longest: Most tokens.
        """
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
    """Draw the next token of every sample.

    Args:
        samples: Those that go on.
        logits: Of what comes next, (samples, vocabulary); overwritten.
        eos: The end-of-sequence token.

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
