"""A local model with batched, constrained decoding.

Our own key-value-cache loop around a network's forward pass. The ``generate`` of transformers has one random
state and one length limit per batch; here every sample has its own seed, constraint, temperature and limit, and
a finished one leaves the batch. ``python -m experiments.benches.lm`` compares their times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from tape.errors import ConstraintError, ModelError
from tape.lm.base import FREE, Choice, Completion, Price, Request, Usage
from tape.lm.beam_search import Search
from tape.lm.outlines_engine import ConstraintCompiler, Processor, Tokenizer, encode
from tape.seeds import derive
from tape.waiting import interruptible

MAX_ROWS = 128
"""Most sequences in one forward pass."""


@dataclass
class _Row:
    """One sample being decoded."""

    prompt: list[int]
    request: Request
    rng: np.random.Generator | None
    tokens: list[int] = field(default_factory=list)
    logprob: float = 0.0
    finish: str = ""


class Cache(Protocol):
    """Keys and values of the tokens that a network has read."""

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keep only these rows, (kept,) of int64; one that comes twice is copied."""


CacheT = TypeVar("CacheT", bound=Cache)


class Network(Protocol[CacheT]):
    """A causal language model's forward pass.

    Attributes:
        device: Where its inputs must be.
        window: Most tokens of a sequence.
    """

    @property
    def device(self) -> torch.device:
        """Where its inputs must be."""

    @property
    def window(self) -> int:
        """Most tokens of a sequence."""

    def new_cache(self) -> CacheT:
        """An empty cache."""

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: CacheT | None, keep: int
    ) -> torch.Tensor:
        """Logits of the last positions.

        Args:
            ids: New tokens, (rows, length).
            mask: 1 for a token, 0 for padding, over all tokens so far, (rows, cached + length).
            positions: Of the new tokens, from 0, (rows, length).
            cache: What was read before; it grows by the new tokens. None: nothing was, nothing is kept.
            keep: For how many positions, from the end.

        Returns:
            (rows, keep, vocabulary).

        Raises:
            RuntimeError: It failed, for instance for want of memory.
            IndexError: A token is outside the vocabulary.
        """


class LocalLM:
    """Implements :class:`tape.lm.base.LanguageModel` on a network and a tokenizer.

    Args:
        network: The forward pass.
        tokenizer: Its tokenizer.
        compiler: Compiles constraints for this tokenizer.
        name: The string it was opened with.
        identity: Changes whenever its answers may.
        prompt_format: ``compact`` or ``chat``.
        price: Zero for a local model.
    """

    def __init__(
        self,
        network: Network[Any],
        tokenizer: Tokenizer,
        compiler: ConstraintCompiler,
        *,
        name: str,
        identity: str,
        prompt_format: str,
        price: Price | None = FREE,
    ) -> None:
        self._network, self._tokenizer, self._compiler = network, tokenizer, compiler
        self.name, self.identity, self.prompt_format, self.price = name, identity, prompt_format, price
        self._eos = compiler.eos

    def _encode(self, request: Request) -> list[int]:
        if isinstance(request.prompt, str):
            return encode(self._tokenizer, request.prompt)
        raise ModelError(f"{self.name} has no chat template, so it cannot read chat messages; use a plain prompt")

    def prompt_tokens(self, request: Request) -> int:
        """Exact number of prompt tokens."""
        return len(self._encode(request))

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests in one or more batches of fixed order.

        Raises:
            ModelError: A prompt is longer than the model's window, or the forward pass failed.
            ConstraintError: A constraint cannot be met by the tokenizer.
        """
        prompts = [self._encode(request) for request in requests]
        for prompt in prompts:
            self._check_window(len(prompt))
        searched = [i for i, request in enumerate(requests) if _is_searched(request)]
        searches = {i: self._new_search(requests[i], prompts[i]) for i in searched}
        rows: dict[int, list[_Row]] = {}
        for i, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
            if i not in searches:
                rows[i] = [_Row(prompt, request, _generator(request, k)) for k in range(request.n)]
        flat = [row for mine in rows.values() for row in mine]
        with interruptible():
            for first in range(0, len(flat), MAX_ROWS):
                self._decode(flat[first : first + MAX_ROWS])
            for batch in _batches(list(searches.values())):
                self._search(batch)
        return [
            self._found(searches[i]) if i in searches else self._sampled(prompt, rows[i])
            for i, prompt in enumerate(prompts)
        ]

    def _sampled(self, prompt: Sequence[int], rows: Sequence[_Row]) -> Completion:
        """The answer that independent samples come to."""
        return Completion(
            tuple(self._tokenizer.decode(row.tokens) for row in rows),
            tuple(row.finish for row in rows),
            tuple(row.logprob for row in rows),
            Usage(len(prompt), sum(len(row.tokens) + (row.finish == "stop") for row in rows)),
        )

    def _found(self, search: Search) -> Completion:
        """The answer that a search comes to; where there are too few sequences, they are gone through again."""
        beams = [search.beams[k % len(search.beams)] for k in range(search.request.n)]
        return Completion(
            tuple(self._tokenizer.decode(beam.tokens) for beam in beams),
            tuple(beam.finish for beam in beams),
            tuple(beam.logprob for beam in beams),
            # Beginnings that samples share are computed once, yet what is given counts as much as it would otherwise.
            Usage(len(search.prompt), max(search.computed, sum(len(b.tokens) + (b.finish == "stop") for b in beams))),
        )

    def _new_search(self, request: Request, prompt: list[int]) -> Search:
        constraint = request.constraint
        processor = None if constraint is None else self._compiler.processor(constraint)
        return Search(prompt, request, processor, self._eos, self._network.window)

    def _check_window(self, prompt: int) -> None:
        if prompt >= self._network.window:
            raise ModelError(
                f"{self.name} reads at most {self._network.window} tokens, the prompt has {prompt}; use a smaller task "
                "or a model with a longer context"
            )

    def _pad(self, sequences: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Left-pad: (ids, attention mask, positions), each (rows, length)."""
        length = max(map(len, sequences))
        device = self._network.device
        ids = torch.tensor([[self._eos] * (length - len(s)) + list(s) for s in sequences], device=device)
        mask = torch.tensor([[0] * (length - len(s)) + [1] * len(s) for s in sequences], device=device)
        return ids, mask, (mask.cumsum(1) - 1).clamp(min=0)

    @torch.inference_mode()
    def _decode(self, rows: list[_Row]) -> None:
        prompts = list(dict.fromkeys(tuple(row.prompt) for row in rows))  # its samples share the pass over a prompt
        ids, mask, positions = self._pad(prompts)
        cache = self._network.new_cache()
        processors = self._processors(rows)
        live = list(range(len(rows)))
        logits = self._forward(ids, mask, positions, cache)[:, -1]
        if len(prompts) < len(rows):
            number = {prompt: i for i, prompt in enumerate(prompts)}
            copies = torch.tensor([number[tuple(row.prompt)] for row in rows], device=ids.device)
            cache.batch_select_indices(copies)
            mask, positions, logits = mask[copies], positions[copies], logits[copies]
        while True:
            chosen = self._choose(rows, live, logits, processors)
            still = [i for i, index in enumerate(live) if not rows[index].finish]
            if not still:
                return
            if len(still) < len(live):
                keep = torch.tensor(still, device=ids.device)
                cache.batch_select_indices(keep)
                mask, positions = mask[keep], positions[keep]
                chosen = [chosen[i] for i in still]
                live = [live[i] for i in still]
            mask = torch.cat([mask, mask.new_ones(len(live), 1)], 1)
            positions = positions[:, -1:] + 1
            step = torch.tensor(chosen, device=ids.device)[:, None]
            logits = self._forward(step, mask, positions, cache)[:, -1]

    @torch.inference_mode()
    def _search(self, searches: list[Search]) -> None:
        """As :meth:`_decode`, where the rows of a request are the sequences that its search goes on with."""
        ids, mask, positions = self._pad([search.prompt for search in searches])
        cache = self._network.new_cache()
        logits = self._forward(ids, mask, positions, cache)[:, -1]
        while True:
            parents: list[int] = []
            first = 0
            for search in searches:
                rows = len(search.live)
                parents += [first + row for row in (search.grow(logits[first : first + rows]) if rows else ())]
                first += rows
            if not parents:
                return
            keep = torch.tensor(parents, device=ids.device)
            cache.batch_select_indices(keep)
            mask, positions = mask[keep], positions[keep, -1:] + 1
            mask = torch.cat([mask, mask.new_ones(len(parents), 1)], 1)
            step = torch.tensor([beam.tokens[-1] for search in searches for beam in search.live], device=ids.device)
            logits = self._forward(step[:, None], mask, positions, cache)[:, -1]

    def _forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Cache | None, keep: int = 1
    ) -> torch.Tensor:
        """Logits of the last positions, (rows, keep, vocabulary), float32."""
        try:
            logits: torch.Tensor = self._network.forward(ids, mask, positions, cache, keep)
            return logits.float()
        except (RuntimeError, IndexError) as error:
            raise ModelError(f"{self.name}: the forward pass failed: {error}") from error

    def _processors(self, rows: list[_Row]) -> dict[int, Processor]:
        """A logits processor for every constrained row; a guide belongs to one row for good."""
        return {
            i: self._compiler.processor(row.request.constraint)
            for i, row in enumerate(rows)
            if row.request.constraint is not None
        }

    def _choose(
        self, rows: list[_Row], live: list[int], logits: torch.Tensor, processors: dict[int, Processor]
    ) -> list[int]:
        """Pick the next token of every live row; sets ``finish`` where a row ends."""
        device = logits.device
        for i, index in enumerate(live):
            if index in processors:
                row = rows[index]
                seen = torch.tensor([row.prompt + row.tokens], device=device)
                logits[i : i + 1] = processors[index](seen, logits[i : i + 1].clone())
        logp = torch.log_softmax(logits, -1)
        greedy = logits.argmax(-1).tolist()
        chosen: list[int] = []
        for i, index in enumerate(live):
            row = rows[index]
            token = greedy[i] if row.rng is None else _sample(logits[i], row.request.temperature, row.rng)
            row.logprob += float(logp[i, token])
            if token == self._eos:
                row.finish = "stop"
            else:
                row.tokens.append(token)
                if (
                    len(row.tokens) >= row.request.max_tokens
                    or len(row.prompt) + len(row.tokens) >= self._network.window
                ):
                    row.finish = "length"
            chosen.append(token)
        return chosen

    def _options(self, request: Request) -> list[list[int]]:
        if not isinstance(request.constraint, Choice):
            raise ConstraintError("score_options needs requests with a Choice")
        return [encode(self._tokenizer, option) for option in request.constraint.options]

    def scoring_tokens(self, request: Request) -> int:
        """One where every option is one token, else all tokens of all options and their ends."""
        options = self._options(request)
        return 1 if _single(options) else sum(len(option) + 1 for option in options)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Probability of each option of a :class:`Choice`, by a forward pass over prompt and option.

        Raises:
            ConstraintError: A request has no choice, or an option cannot be written.
        """
        scored: list[tuple[list[int], list[list[int]]]] = []
        for request in requests:
            options = self._options(request)
            assert request.constraint is not None
            self._compiler.check(request.constraint)
            prompt = self._encode(request)
            self._check_window(len(prompt) + max(map(len, options)))
            scored.append((prompt, options))
        flat: list[tuple[list[int], list[int]]] = []
        for prompt, options in scored:
            # Where every option is one token, one pass over the prompt scores them all.
            flat += [(prompt, [])] if _single(options) else [(prompt, o) for o in options]
        values: list[torch.Tensor] = []
        with interruptible():
            for first in range(0, len(flat), MAX_ROWS):
                values += self._option_logits(flat[first : first + MAX_ROWS])
        answers = []
        taken = 0
        for prompt, options in scored:
            single = _single(options)
            mine = values[taken : taken + (1 if single else len(options))]
            taken += len(mine)
            if single:
                logs = [float(mine[0][0, o[0]]) for o in options]
            else:
                logs = [
                    sum(float(row[j, token]) for j, token in enumerate([*o, self._eos]))
                    for row, o in zip(mine, options, strict=True)
                ]
            top = max(logs)
            weights = [math.exp(value - top) for value in logs]
            total = sum(weights)
            usage = Usage(len(prompt), 1 if single else sum(len(o) + 1 for o in options))
            answers.append((tuple(w / total for w in weights), usage))
        return answers

    @torch.inference_mode()
    def _option_logits(self, flat: list[tuple[list[int], list[int]]]) -> list[torch.Tensor]:
        """Log-probabilities from the last prompt token on: one (len(option) + 1, vocabulary) each."""
        ids, mask, positions = self._pad([prompt + option for prompt, option in flat])
        keep = max(len(option) for _, option in flat) + 1
        logp = torch.log_softmax(self._forward(ids, mask, positions, None, keep), -1)
        return [logp[i, keep - len(option) - 1 :] for i, (_, option) in enumerate(flat)]


def _is_searched(request: Request) -> bool:
    """Whether its samples are drawn without replacement; not where a step would take more rows than fit."""
    return request.distinct and 1 < request.n <= MAX_ROWS and request.temperature > 0


def _generator(request: Request, sample: int) -> np.random.Generator | None:
    """The random numbers of an independent sample; a greedy one needs none."""
    return np.random.default_rng(derive(request.seed, sample)) if request.temperature > 0 else None


def _batches(searches: Sequence[Search]) -> list[list[Search]]:
    """Searches that are run together, so that no forward pass has more than :data:`MAX_ROWS` sequences."""
    found: list[list[Search]] = []
    rows = MAX_ROWS
    for search in searches:
        if not found or rows + search.request.n > MAX_ROWS:
            found.append([])
            rows = 0
        found[-1].append(search)
        rows += search.request.n
    return found


def _single(options: list[list[int]]) -> bool:
    return all(len(option) == 1 for option in options)


def _sample(logits: torch.Tensor, temperature: float, rng: np.random.Generator) -> int:
    """Draw one token by inverting the cumulative distribution, with the row's own generator."""
    scaled = logits.double().numpy(force=True) / temperature
    weights = np.exp(scaled - scaled.max())
    cumulative = np.cumsum(weights)
    return int(min(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"), len(weights) - 1))
