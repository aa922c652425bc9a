"""A local model with batched, constrained decoding.

Our own key-value-cache loop around a network's forward pass. The ``generate`` of transformers has one random
state and one length limit per batch; here every sample has its own seed, constraint, temperature and limit, and
a finished one leaves the batch. There are two loops. This one pads the prompts of a batch and goes on with all of them
in step, and nothing is kept from one call to the next: the bundled models answer by it, to the last bit. General models
are decoded by :mod:`tape.lm.tree_decoding`, which reads once what prompts share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, Protocol, TypeAlias

import torch

from tape.errors import ConstraintError, ModelError
from tape.lm.base import Completion, OneOf, Request, Usage
from tape.lm.constraints import is_optional
from tape.lm.outlines_engine import ConstraintCompiler, Processor, Tokenizer, encode, written_so
from tape.lm.price import FREE, TokenPrice
from tape.lm.samples import BeamSearch, Sample, Written, draw, new_sample
from tape.lm.tree_decoding import DecodingJob, OptionsJob, SampleJob, SearchJob, TreeDecoder
from tape.waiting import interruptible

MAX_ROWS = 128
"""Most sequences in one forward pass."""

PAIRS = 1 << 16
"""Pairs of tokens of which it is remembered whether the tokenizer splits a text so."""

_Scored: TypeAlias = list[tuple[list[int], list[list[int]]]]
"""Tokens of a prompt, and of each of its options."""


class Network(Protocol):
    """A causal language model's forward pass."""

    @property
    def device(self) -> torch.device:
        """Where its inputs must be."""

    @property
    def window(self) -> int:
        """Most tokens of a sequence."""

    def new_cache(self) -> Any:
        """An empty cache of what is read.

        Its ``batch_select_indices`` keeps only some rows, (kept,) of int64; one that comes twice is copied.
        """

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any, keep: int
    ) -> torch.Tensor:
        """Logits of the last positions, (rows, keep, vocabulary).

        Args:
            ids: New tokens, (rows, length).
            mask: 1 for a token, 0 for padding, over all tokens so far, (rows, cached + length).
            positions: Of the new tokens, from 0, (rows, length).
            cache: What was read before; it grows by the new tokens. None: nothing was, nothing is kept.
            keep: For how many positions, from the end.

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
        trees: Whether to decode with trees where the network can: what prompts share is read once, and text that a
            constraint forces is written as the tokenizer writes it.
    """

    def __init__(
        self,
        network: Network,
        tokenizer: Tokenizer,
        compiler: ConstraintCompiler,
        *,
        name: str,
        identity: str,
        prompt_format: str,
        trees: bool = False,
    ) -> None:
        self._network, self._tokenizer, self._compiler = network, tokenizer, compiler
        self.name, self.identity, self.prompt_format = name, identity, prompt_format
        self.price: TokenPrice | None = FREE
        self._eos = compiler.eos
        self._adjoin = lru_cache(maxsize=PAIRS)(partial(written_so, tokenizer))
        fits: Any = network if trees and getattr(network, "shape", None) is not None else None
        self._trees = None if fits is None else TreeDecoder(fits, name)

    weighs = True
    """See :func:`tape.lm.base.weighs`."""

    @property
    def continuous(self) -> bool:
        """See :func:`tape.lm.base.is_continuous`."""
        return self._trees is not None

    @property
    def window(self) -> int:
        """See :func:`tape.lm.base.window_of`."""
        return self._network.window

    def _encode(self, request: Request) -> list[int]:
        if isinstance(request.prompt, str):
            return encode(self._tokenizer, request.prompt)
        raise ModelError(f"{self.name} has no chat template, so it cannot read chat messages; use a plain prompt")

    def prompt_tokens(self, request: Request) -> int:
        """Exact number of prompt tokens."""
        return len(self._encode(request))

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests in one or more batches of fixed order."""
        prompts = [self._encode(request) for request in requests]
        for prompt in prompts:
            self._check_window(len(prompt))
        samples: dict[int, list[Sample]] = {}
        searches: dict[int, BeamSearch] = {}
        for i, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
            # Drawn without replacement, unless a step would take more rows than fit.
            if request.distinct and 1 < request.n <= MAX_ROWS and request.temperature > 0:
                searches[i] = self._new_search(request, prompt)
            else:
                samples[i] = self._new_samples(request, prompt)
        if self._trees is not None:
            jobs: list[DecodingJob] = [
                SearchJob(searches[i]) if i in searches else SampleJob(samples[i], self._eos)
                for i in range(len(requests))
            ]
            await self._trees.run(jobs)
        else:
            with interruptible():
                flat = [sample for mine in samples.values() for sample in mine]
                for first in range(0, len(flat), MAX_ROWS):
                    self._decode(flat[first : first + MAX_ROWS])
                for batch in _batches(list(searches.values())):
                    self._search(batch)
        return [
            self._found(searches[i]) if i in searches else self._sampled(prompt, samples[i])
            for i, prompt in enumerate(prompts)
        ]

    def _sampled(self, prompt: Sequence[int], rows: Sequence[Written], computed: int = 0) -> Completion:
        """The answer that samples come to, for which so many tokens at least were computed."""
        return Completion(
            tuple(self._tokenizer.decode(row.tokens) for row in rows),
            tuple(row.finish for row in rows),
            tuple(row.logprob for row in rows),
            Usage(len(prompt), max(computed, sum(len(row.tokens) + (row.finish == "stop") for row in rows))),
        )

    def _found(self, search: BeamSearch) -> Completion:
        """The answer that a search comes to; too few sequences are repeated."""
        # Beginnings that samples share are computed once, yet they count for every sample.
        beams = [search.beams[k % len(search.beams)] for k in range(search.request.n)]
        return self._sampled(search.prompt, beams, search.computed)

    def _processor(self, request: Request) -> tuple[Processor | None, list[int]]:
        """Masks by a request's constraint, if it has one; and what every answer begins with."""
        if request.constraint is None:
            return None, []
        try:
            processor = self._compiler.processor(request.constraint, jump=self._trees is not None)
            return processor, processor.begin()
        except ConstraintError:
            if is_optional(request.constraint):
                return None, []
            raise

    def _new_search(self, request: Request, prompt: list[int]) -> BeamSearch:
        processor, begun = self._processor(request)
        adjoin = None if self._trees is None else self._adjoin
        search = BeamSearch(prompt, request, processor, self._eos, self._network.window, adjoin)
        search.begin(begun)
        return search

    def _new_samples(self, request: Request, prompt: list[int]) -> list[Sample]:
        processor, begun = self._processor(request)
        samples = []
        for k in range(request.n):
            own = processor if k == 0 or processor is None else processor.copied()
            samples.append(new_sample(prompt, request, k, own, self._network.window))
            samples[-1].begin(begun, self._eos, samples[-1].longest)
        return samples

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
    def _decode(self, rows: list[Sample]) -> None:
        prompts = list(dict.fromkeys(tuple(row.prompt) for row in rows))  # its samples share the pass over a prompt
        ids, mask, positions = self._pad(prompts)
        cache = self._network.new_cache()
        logits = self._forward(ids, mask, positions, cache)[:, -1]
        if len(prompts) < len(rows):
            number = {prompt: i for i, prompt in enumerate(prompts)}
            copies = torch.tensor([number[tuple(row.prompt)] for row in rows], device=ids.device)
            cache.batch_select_indices(copies)
            mask, positions, logits = mask[copies], positions[copies], logits[copies]
        while True:
            chosen = draw(rows, logits, self._eos)
            still = [i for i, row in enumerate(rows) if not row.finish]
            if not still:
                return
            if len(still) < len(rows):
                keep = torch.tensor(still, device=ids.device)
                cache.batch_select_indices(keep)
                mask, positions = mask[keep], positions[keep]
                chosen = [chosen[i] for i in still]
                rows = [rows[i] for i in still]
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], 1)
            positions = positions[:, -1:] + 1
            step = torch.tensor(chosen, device=ids.device)[:, None]
            logits = self._forward(step, mask, positions, cache)[:, -1]

    @torch.inference_mode()
    def _search(self, searches: list[BeamSearch]) -> None:
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
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any, keep: int = 1
    ) -> torch.Tensor:
        """Logits of the last positions, (rows, keep, vocabulary), float32."""
        try:
            logits: torch.Tensor = self._network.forward(ids, mask, positions, cache, keep)
            return logits.float()
        except (RuntimeError, IndexError) as error:
            raise ModelError(f"{self.name}: the forward pass failed: {error}") from error

    def _options(self, request: Request) -> list[list[int]]:
        if not isinstance(request.constraint, OneOf):
            raise ConstraintError("score_options needs requests with a Choice")
        return [encode(self._tokenizer, option) for option in request.constraint.options]

    def scoring_tokens(self, request: Request) -> int:
        """One where every option is one token, else all tokens of all options and their ends."""
        options = self._options(request)
        return 1 if _single(options) else sum(len(option) + 1 for option in options)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Probability of each option of a :class:`OneOf`, by a forward pass over prompt and option."""
        scored: _Scored = []
        for request in requests:
            options = self._options(request)
            assert request.constraint is not None
            self._compiler.check(request.constraint)
            prompt = self._encode(request)
            self._check_window(len(prompt) + max(map(len, options)))
            scored.append((prompt, options))
        if self._trees is not None:
            jobs = [OptionsJob(prompt, options, self._eos) for prompt, options in scored]
            await self._trees.run(jobs)
            logs = [job.logs for job in jobs]
        else:
            with interruptible():
                logs = self._by_passes(scored)
        answers = []
        for (prompt, options), mine in zip(scored, logs, strict=True):
            top = max(mine)
            weights = [math.exp(value - top) for value in mine]
            total = sum(weights)
            usage = Usage(len(prompt), 1 if _single(options) else sum(len(o) + 1 for o in options))
            answers.append((tuple(w / total for w in weights), usage))
        return answers

    def _by_passes(self, scored: _Scored) -> list[list[float]]:
        """Log-probability of every option of every request, by passes over prompts and options together."""
        flat: list[tuple[list[int], list[int]]] = []
        for prompt, options in scored:
            # Where every option is one token, one pass over the prompt scores them all.
            flat += [(prompt, [])] if _single(options) else [(prompt, o) for o in options]
        values: list[torch.Tensor] = []
        for first in range(0, len(flat), MAX_ROWS):
            values += self._option_logits(flat[first : first + MAX_ROWS])
        all_numbers, rest = [], iter(values)
        for _, options in scored:
            if _single(options):
                logs = next(rest)[0]
                all_numbers.append([float(logs[option[0]]) for option in options])
            else:
                rows = [(next(rest), [*option, self._eos]) for option in options]
                all_numbers.append([sum(float(row[j, token]) for j, token in enumerate(ids)) for row, ids in rows])
        return all_numbers

    @torch.inference_mode()
    def _option_logits(self, flat: list[tuple[list[int], list[int]]]) -> list[torch.Tensor]:
        """Log-probabilities from the last prompt token on: one (len(option) + 1, vocabulary) each."""
        ids, mask, positions = self._pad([prompt + option for prompt, option in flat])
        keep = max(len(option) for _, option in flat) + 1
        logp = torch.log_softmax(self._forward(ids, mask, positions, None, keep), -1)
        return [logp[i, keep - len(option) - 1 :] for i, (_, option) in enumerate(flat)]


def _batches(searches: Sequence[BeamSearch]) -> list[list[BeamSearch]]:
    """Searches that are run together, so that no forward pass has more than :data:`MAX_ROWS` sequences."""
    beam_searches: list[list[BeamSearch]] = []
    rows = MAX_ROWS
    for search in searches:
        if not beam_searches or rows + search.request.n > MAX_ROWS:
            beam_searches.append([])
            rows = 0
        beam_searches[-1].append(search)
        rows += search.request.n
    return beam_searches


def _single(options: list[list[int]]) -> bool:
    return all(len(option) == 1 for option in options)
