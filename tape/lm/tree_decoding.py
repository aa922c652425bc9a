"""Decoding with trees: prompts that begin alike are read once, forced text is written without asking the model.

Each request is a job with a tree of its own (:mod:`tape.lm.trees`). Every forward pass reads what all jobs under way
have not read yet: a whole prompt of one that begins, a token of each sample of another, and behind it the tokens that
its constraint forces. A job leaves when its last sample ends, and one that waits takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Protocol

import torch

from tape.errors import ModelError
from tape.lm.batching import SLOT, BatchCall
from tape.lm.samples import BeamSearch, Sample, Written, draw
from tape.lm.trees import Feed, PrefixStore, Shape, Tree
from tape.waiting import interruptible

LIVE_BYTES = 2 << 30
"""Keys and values of all jobs under way, at most, as far as several are under way."""

LIVE_SAMPLES = 128
"""Samples of all jobs under way, at most, as far as several are under way."""


class TreeNetwork(Protocol):
    """A network that reads new tokens of several trees in one pass (:mod:`tape.lm.trees`)."""

    @property
    def device(self) -> torch.device:
        """Where its trees must be."""

    @property
    def shape(self) -> Shape | None:
        """Of its keys and values; None where its attention is of another kind, and it reads no trees."""

    def read(self, feeds: Sequence[Feed]) -> torch.Tensor:
        """Logits of the tokens that are asked for, of all feeds in their order, (asked, vocabulary).

        Every tree grows by its new tokens. Raises like :meth:`tape.lm.decoding.Network.forward`.
        """


class DecodingJob(Protocol):
    """A request under way.

    Attributes:
        prompt: Tokens to be read first, forced ones at the beginning of the answer included.
        paths: What goes on after it; each has tokens that are to be read.
        most: Tokens that may be read after the prompt.
        samples: How many there are.
        whole: Whether logits are asked for of every token of the paths, and not of the last one alone.
    """

    prompt: list[int]
    most: int
    samples: int
    whole: bool

    @property
    def paths(self) -> Sequence[Written]:
        """Those that go on; the job is done where there is none."""

    @property
    def begun(self) -> int:
        """How many of the prompt's last tokens are the beginning of the answer."""

    def begin(self, logits: torch.Tensor) -> None:
        """Go on by what comes after the prompt, (1, vocabulary)."""

    def go_on(self, logits: torch.Tensor) -> None:
        """Go on by what comes after the paths' tokens, (asked, vocabulary)."""


class SampleJob:
    """Independent samples of one request; implements :class:`DecodingJob`."""

    whole = False

    def __init__(self, samples: Sequence[Sample], eos: int) -> None:
        self._all, self._eos = samples, eos
        first = samples[0]
        self.prompt, self.begun, self.samples = [*first.prompt, *first.tokens], len(first.tokens), len(samples)
        self.most = self.samples * first.longest

    @property
    def paths(self) -> list[Sample]:
        """The samples that go on."""
        return [sample for sample in self._all if not sample.finish]

    def begin(self, logits: torch.Tensor) -> None:
        """Draw every sample's first token."""
        self.go_on(logits.repeat(len(self.paths), 1))

    def go_on(self, logits: torch.Tensor) -> None:
        """Draw the next token of every sample."""
        paths = self.paths
        for path in paths:
            path.unread = []
        draw(paths, logits, self._eos)


class SearchJob:
    """Distinct samples of one request; implements :class:`DecodingJob`."""

    whole = False

    def __init__(self, search: BeamSearch) -> None:
        self._search = search
        begun = search.beams[0].tokens
        self.prompt, self.begun, self.samples = [*search.prompt, *begun], len(begun), search.request.n
        # Beams that are dropped on the way stay in the tree.
        self.most = 2 * self.samples * search.longest

    @property
    def paths(self) -> Sequence[Written]:
        """The beams that go on."""
        return self._search.live

    def begin(self, logits: torch.Tensor) -> None:
        """Go on with the best beams of all that come of it."""
        self._search.grow(logits)

    def go_on(self, logits: torch.Tensor) -> None:
        """Go on with the best beams of all that come of them."""
        self._search.grow(logits)


class OptionsJob:
    """The probabilities of some options after a prompt; implements :class:`DecodingJob`.

    Args:
        prompt: Its tokens.
        options: The tokens of each option.
        eos: The end-of-sequence token, which follows each.

    Attributes:
        logs: Log-probability of each option; of its only token, without the end, where each has one.
    """

    whole, begun = True, 0

    def __init__(self, prompt: list[int], options: Sequence[list[int]], eos: int) -> None:
        self.prompt, self._options, self._eos = prompt, options, eos
        self.most, self.samples = sum(map(len, options)), len(options)
        self._single = all(len(option) == 1 for option in options)
        self.logs = [0.0] * len(options)
        self.paths: list[Written] = [Written(None)]  # it has begun, and is not done

    def begin(self, logits: torch.Tensor) -> None:
        """Score the options' first tokens; the rest are read, if there are any."""
        first = torch.log_softmax(logits[0], -1)
        ends = [option[0] if option else self._eos for option in self._options]
        self.logs = [float(first[token]) for token in ends]
        more = [] if self._single else [option for option in self._options if option]
        self.paths = [Written(None, [*option], unread=[*option]) for option in more]

    def go_on(self, logits: torch.Tensor) -> None:
        """Score what follows the options' first tokens."""
        logp, row = torch.log_softmax(logits, -1), 0
        for number, option in enumerate(self._options):
            for token in [*option[1:], self._eos] if option else []:
                self.logs[number] += float(logp[row, token])
                row += 1
        self.paths = []


@dataclass(eq=False)
class _Entry:
    job: DecodingJob
    call: BatchCall


@dataclass(eq=False)
class _Live(_Entry):
    tree: Tree


class TreeDecoder:
    """Runs jobs on a network."""

    def __init__(self, network: TreeNetwork, name: str) -> None:
        assert network.shape is not None
        self.network, self.shape, self.name = network, network.shape, name
        self.store = PrefixStore()
        self.alone = RLock()  # a server answers in several threads

    def passes(self) -> TreePasses:
        """New ones, with no call under way."""
        return TreePasses(self)

    async def run(self, jobs: Sequence[DecodingJob]) -> None:
        """Run jobs to their ends: at once, or as the batch scheduler decides where there is one."""
        call, slot = BatchCall(jobs), SLOT.get()
        if call.done:
            return
        if slot is not None:
            scheduler, episode = slot
            await scheduler.finish(episode, call, self.passes)
        else:
            passes = self.passes()
            passes.add(call)
            with interruptible(), self.alone:
                while not call.done:
                    passes.step()
        if call.error is not None:
            raise call.error


class TreePasses:
    """Calls under way on a network; implements :class:`tape.lm.batching.Passes`."""

    def __init__(self, decoder: TreeDecoder) -> None:
        self._decoder, self._shape, self._store = decoder, decoder.shape, decoder.store
        self._waiting: list[_Entry] = []
        self._live: list[_Live] = []

    def add(self, call: BatchCall) -> None:
        """Begin a call's jobs, as soon as memory allows."""
        self._waiting += [_Entry(job, call) for job in call.jobs if job.paths]

    def drop(self, call: BatchCall) -> None:
        """Forget a call, done or not."""
        self._waiting = [entry for entry in self._waiting if entry.call is not call]
        self._live = [item for item in self._live if item.call is not call]

    @torch.inference_mode()
    def step(self) -> None:
        """Make one forward pass for all jobs under way; where one fails, its call does, and no other."""
        with self._decoder.alone:
            begun, feeds = len(self._live), [_next(item.job, item.tree) for item in self._live]
            for entry in self._starting():
                self._waiting.remove(entry)
                feeds.append(self._beginning(entry.job))
                self._live.append(_Live(entry.job, entry.call, feeds[-1].tree))
            for i, (live, model_error) in enumerate(zip(self._live, self._read(feeds) if feeds else (), strict=True)):
                try:
                    if isinstance(model_error, ModelError):
                        raise model_error
                    if i < begun:
                        live.job.go_on(model_error)
                    else:
                        self._store.keep(live.job.prompt, live.tree)
                        live.job.begin(model_error)
                except Exception as error:  # whatever it is, it belongs to the one who asked
                    live.call.error = error
            self._live = [item for item in self._live if item.job.paths and item.call.error is None]
            self._waiting = [item for item in self._waiting if item.call.error is None]

    def _starting(self) -> list[_Entry]:
        """The jobs that begin in the next pass, in their order; always one where none is under way."""
        entries: list[_Entry] = []
        tokens = LIVE_BYTES // self._shape.bytes - sum(len(item.job.prompt) + item.job.most for item in self._live)
        samples = LIVE_SAMPLES - sum(item.job.samples for item in self._live)
        being_read = set()
        for entry in self._waiting:
            job = entry.job
            tokens -= len(job.prompt) + job.most
            samples -= job.samples
            if (self._live or entries) and (tokens < 0 or samples < 0):
                break
            # One that begins like another that begins now waits for a pass, and then finds that part read.
            missing = self._store.missing(job.prompt)
            if missing is None or missing not in being_read:
                entries.append(entry)
                being_read.add(missing)
        return entries

    def _beginning(self, job: DecodingJob) -> Feed:
        """A job's tree, and what is still to be read of its prompt."""
        blocks = self._store.longest(job.prompt)
        tree = Tree(self._shape, self._decoder.network.device, len(job.prompt) + min(job.most, 256))
        tree.load(blocks)
        rest = job.prompt[tree.length :]
        return Feed(tree, rest, [*range(tree.length, len(job.prompt))], [len(rest) - 1])

    def _read(self, feeds: Sequence[Feed]) -> Sequence[torch.Tensor | ModelError]:
        """Of each feed: logits that are asked for, (asked, vocabulary), float32, or why it could not be read."""
        lengths = [feed.tree.length for feed in feeds]
        try:
            logits = self._decoder.network.read(feeds).float()
        except (RuntimeError, IndexError) as error:
            for feed, length in zip(feeds, lengths, strict=True):
                feed.tree.length = length
            if len(feeds) > 1:  # one may be to blame, or all of them for their number
                return [model_error for feed in feeds for model_error in self._read([feed])]
            failure = ModelError(f"{self._decoder.name}: the forward pass failed: {error}")
            failure.__cause__ = error
            return [failure]
        return torch.split(logits, [len(feed.wanted) for feed in feeds])


def _next(job: DecodingJob, tree: Tree) -> Feed:
    """What a job that has begun reads next."""
    prompt, spans = len(job.prompt), []
    tokens: list[int] = []
    places: list[int] = []
    wanted: list[int] = []
    for path in job.paths:
        first, count = len(tokens), len(path.unread)
        tokens += path.unread
        place = prompt + len(path.tokens) - job.begun
        places += range(place - count, place)
        wanted += range(first, first + count) if job.whole else [first + count - 1]
        spans.append((path, first, count))
    plain = len(spans) == 1 and len(spans[0][0].columns) == tree.length - prompt
    feed = Feed(tree, tokens, places, wanted, None if plain else _visible(spans, prompt, tree.length, len(tokens)))
    if feed.sees is not None:
        feed.sees = feed.sees.to(tree.device)
    for path, first, count in spans:
        path.columns += range(tree.length + first, tree.length + first + count)
    return feed


def _visible(spans: Sequence[tuple[Written, int, int]], prompt: int, read: int, new: int) -> torch.Tensor:
    """Which token each new one may see, (new, read + new) of bool: the prompt, its own path, itself."""
    sees = torch.zeros((new, read + new), dtype=torch.bool)
    sees[:, :prompt] = True
    for path, first, count in spans:
        sees[first : first + count, path.columns] = True
        for index in range(count):
            sees[first + index, read + first : read + first + index + 1] = True
    return sees
