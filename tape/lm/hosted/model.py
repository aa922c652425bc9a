"""A hosted model: calls in flight, retries, repairs, and an honest account of what they used."""

from __future__ import annotations

import asyncio
import random
import warnings
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar
from weakref import WeakKeyDictionary

from tape.errors import ConstraintError, EndpointWarning
from tape.lm.base import BatchError, Completion, EndpointError, Message, OneOf, Request, Usage
from tape.lm.hosted.concessions import ABOUT_THE_REQUEST, Concessions, RequestAccount, messages_of
from tape.lm.hosted.forms import Form, describe, form_of, most_tokens, problem_of, read_back
from tape.lm.hosted.limits import EndpointLimits, InLoop
from tape.lm.hosted.wire import (
    PASSING,
    RETRYABLE,
    UNBILLED,
    HttpCall,
    HttpFailure,
    HttpReply,
    HttpSample,
    Wire,
    WireSession,
    text_within,
)
from tape.lm.price import TokenPrice
from tape.seeds import derive

T = TypeVar("T")

MOST_USAGE = 100
"""A reported usage is credible up to so many times what was reserved for the call.

More than was reserved is booked as reported, and counts as a cost above the declared bound: an endpoint may think
longer than declared. A larger usage cannot be that of one call.
"""
MOST_CHARACTERS = 128
"""Characters of the longest tokens that vocabularies have (white space)."""


class HostedLM:
    """Implements :class:`tape.lm.base.LanguageModel` on an endpoint.

    Prompts cannot be counted here, so :meth:`prompt_tokens` is an upper bound (a token has at least one byte); what is
    settled is the usage that the endpoint reports, or the worst case where it reports none.

    Args:
        wire: The provider's part.
        name: The string it was opened with.
        identity: Changes whenever its answers may, as far as that is known.
        prompt_format: ``chat`` or ``compact``.
        price: Its price, if declared.
        limits: Concurrency, time-outs, retries.
        sleep: Waits before a retry.
    """

    remote = True

    def __init__(
        self,
        wire: Wire,
        *,
        name: str,
        identity: str,
        prompt_format: str = "chat",
        price: TokenPrice | None = None,
        limits: EndpointLimits | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name, self.identity, self.prompt_format, self.price = name, identity, prompt_format, price
        self.limits = limits or EndpointLimits()
        self._wire, self._sleep = wire, sleep
        self._warned: set[str] = set()
        self.concessions = Concessions(wire, self._warn)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, InLoop] = WeakKeyDictionary()

    def prompt_tokens(self, request: Request) -> int:
        """An upper bound: one token per byte of prompt and constraint, and some for the chat template."""
        texts = [message.content for message in messages_of(request)]
        # The constraint may be sent as a schema, in words, or both.
        constraint = 2 * len(describe(request.constraint).encode())
        return 64 + sum(16 + len(text.encode("utf-8", "replace")) for text in texts) + constraint

    def most_completion_tokens(self, request: Request) -> int:
        """Samples times limit, the wrapper of the constraint and the reasoning included."""
        return request.n * self._max_tokens(request)

    def scoring_tokens(self, request: Request) -> int:
        """One answer: options are not scored but chosen from."""
        return self._max_tokens(request)

    def _max_tokens(self, request: Request) -> int:
        limit = most_tokens(request.max_tokens, request.constraint, self._wire.native) + self.limits.reasoning
        return min(limit, self.concessions.most or limit)

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests, with several calls in flight.

        An answer that still breaks its constraint after all repairs is returned as it is, for the reader to count.

        Raises:
            BatchError: Some requests failed; holds the answers to the others.
        """
        return await self._each(requests, self._complete)

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Ask for one option each: the answer gets weight 1, and none where it is no option."""
        return await self._each(requests, self._score)

    async def _each(self, requests: Sequence[Request], function: Callable[[Request], Awaitable[T]]) -> list[T]:
        outcomes = await asyncio.gather(*(function(request) for request in requests), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, EndpointError):
                raise outcome
        if any(isinstance(outcome, EndpointError) for outcome in outcomes):
            raise BatchError(outcomes)
        return outcomes  # type: ignore[return-value]  # no exceptions are left in it

    async def _score(self, request: Request) -> tuple[tuple[float, ...], Usage]:
        if not isinstance(request.constraint, OneOf):
            raise ConstraintError("score_options needs requests with a Choice")
        completion = await self._complete(replace(request, n=1, temperature=0.0))
        weights = tuple(float(option == completion.texts[0]) for option in request.constraint.options)
        return weights, completion.usage

    async def _complete(self, request: Request) -> Completion:
        account = RequestAccount(request)
        try:
            form = form_of(request.constraint, self._wire.native)
        except ConstraintError as error:
            raise EndpointError(f"{self.name}: {error}", account.usage) from None
        samples: list[HttpSample] = []
        while len(samples) < request.n:
            missing = request.n - len(samples)
            asked = replace(request, n=missing if self.concessions.several and not samples else 1)
            seed = request.seed if not samples else derive(request.seed, len(samples))
            reply = await self._ask(account, replace(asked, seed=seed), form)
            samples += reply.samples[:missing]
        self._require_text(account, samples)
        read = [await self._read(account, sample, form) for sample in samples]
        texts, finish = tuple(s.text for s in read), tuple(s.finish for s in read)
        return Completion(texts, finish, (0.0,) * request.n, account.usage)

    def _require_text(self, account: RequestAccount, samples: Sequence[HttpSample]) -> None:
        """Warn of an answer without a text, since reasoning used up its length.

        Raises:
            EndpointError: All are so, and no room was made for reasoning, or several samples show that it is too small.
        """
        used_up = [sample for sample in samples if sample.finish == "length" and not sample.text]
        if not used_up:
            return
        room = self.limits.reasoning
        what = (
            f"uses up the length of an answer ({self._max_tokens(account.request)} tokens) by reasoning, before there "
            f"is any text of it; give it more room: the option reasoning=N in the model's string (now {room}), for "
            f"instance #reasoning={max(2048, 4 * room)}"
        )
        if len(used_up) == len(samples) and (len(samples) > 1 or not room):
            raise EndpointError(f"{self.name} {what}", account.usage)
        self._warn("reasoning", what)

    async def _read(self, account: RequestAccount, sample: HttpSample, form: Form) -> HttpSample:
        """Take the answer out of a sample; ask again where it breaks the constraint."""
        request = account.request
        for attempt in range(self.limits.repairs + 1):
            if sample.finish == "refusal":
                return sample
            text = read_back(form, request.constraint, sample.text)
            problem = problem_of(request.constraint, text)
            if problem is None:
                return replace(sample, text=text)
            # Only the beginning of a truncated answer shows whether the schema was enforced.
            cut = sample.finish != "stop"
            ignored = _no_object(form, sample.text) if cut else problem.ignored
            if ignored and form.kind != "free" and not self.concessions.eased(form):
                self._warn(
                    "ignored", f"ignores the {form.kind} that it is asked to enforce: {problem.reason}: {text[:200]!r}"
                )
            asked = replace(request, n=1, prompt=_repair(request, sample.text, problem.reason))
            if cut or attempt == self.limits.repairs or not account.may_call(asked):
                break
            [sample, *_] = (await self._ask(account, asked, form)).samples
        return replace(sample, text=text)

    async def _ask(self, account: RequestAccount, request: Request, form: Form) -> HttpReply:
        """One call, repeated after retryable failures."""
        tries, unread = 0, False
        while True:
            request = request if self.concessions.several else replace(request, n=1)
            if not account.may_call(request):
                raise EndpointError(
                    f"{self.name}: {account.last or 'one call gives too few samples'}; the budget does not cover "
                    "another call",
                    account.usage,
                )
            call = self._call(account, request, form)
            async with self._here() as session:
                outcome = await self._send(session, call)
            if isinstance(outcome, HttpReply):
                reply = replace(outcome, samples=tuple(_bounded(sample, call) for sample in outcome.samples[: call.n]))
                account.pay(self._usage(request, call, reply))
                return reply
            account.pay(self._after(outcome, request, call))
            account.last = outcome.message
            if outcome.status in ABOUT_THE_REQUEST:
                self.concessions.learn(outcome, account, call, form)
                if self._call(account, request, form) != call:
                    continue
            # What cannot be read the second time either would come again, and each time may be billed.
            again = outcome.kind in RETRYABLE and not (unread and outcome.kind == "garbage")
            if not again or tries == self.limits.retries:
                tried = f" (tried {tries + 1} times)" if tries else ""
                passing = outcome.kind in PASSING
                raise EndpointError(f"{self.name}: {outcome.message}{tried}", account.usage, passing=passing)
            unread |= outcome.kind == "garbage"
            await self._wait(outcome, tries, account)
            tries += 1

    def _call(self, account: RequestAccount, request: Request, form: Form) -> HttpCall:
        return self.concessions.call(account, request, form, self._max_tokens(request))

    async def _send(self, session: WireSession, call: HttpCall) -> HttpReply | HttpFailure:
        try:
            async with asyncio.timeout(self.limits.timeout):
                return await session.send(call)
        except TimeoutError:
            return HttpFailure("timeout", f"no answer within {self.limits.timeout:g} s")

    def _warn(self, topic: str, what: str) -> None:
        """Warn, once per topic."""
        if topic not in self._warned:
            self._warned.add(topic)
            warnings.warn(f"{self.name} ({self.identity}) {what}", EndpointWarning, stacklevel=2)

    async def _wait(self, failure: HttpFailure, tries: int, account: RequestAccount) -> None:
        seconds = failure.retry_after
        if seconds is None:
            seconds = min(self.limits.backoff * 2**tries, self.limits.max_wait) * random.uniform(0.5, 1.0)
        elif seconds > self.limits.max_wait:
            raise EndpointError(
                f"{self.name}: {failure.message}; it asks to wait {seconds:g} s, more than "
                f"max_wait={self.limits.max_wait:g}",
                account.usage,
                passing=True,
            )
        await self._sleep(seconds)

    def _usage(self, request: Request, call: HttpCall, reply: HttpReply) -> Usage:
        """What the endpoint reports, if that is credible: one token for two words at least, and no absurd number."""
        prompt = sum(len(message.content.split()) for message in call.messages)
        answers = sum(len(sample.text.split()) for sample in reply.samples)
        answered = (reply.model,) if reply.model else ()
        worst = replace(self._worst(request, call), answered=answered)
        # Bytes, and the marks around a text and its reasoning.
        others = (len(sample.text.encode()) + sample.thought + 16 for sample in reply.samples[1:])
        rest = sum(min(call.max_tokens, most) for most in others) if reply.of_first else 0
        rest = rest if reply.others is None else min(rest, reply.others)
        if reply.usage is None or reply.usage[0] * 2 < prompt or (reply.usage[1] + rest) * 2 < answers:
            self._warn("usage", "reports no credible usage, so the worst case is booked for each call")
            return worst
        if sum(reply.usage) > MOST_USAGE * worst.total:
            self._warn(
                "absurd usage",
                f"reports a usage of more than {MOST_USAGE} times the most that a call can take ({worst.total} tokens "
                "here), which is not credible, so the worst case is booked for each such call",
            )
            return worst
        reported = Usage(*reply.usage, source="reported", split=reply.split, answered=answered)
        if reply.others is not None:
            return reported + Usage(0, rest, calls=0, source="reported")
        return reported + replace(_assumed(0, rest), calls=0) if rest else reported

    def _worst(self, request: Request, call: HttpCall) -> Usage:
        return _assumed(self.prompt_tokens(request), call.n * call.max_tokens)

    def _after(self, failure: HttpFailure, request: Request, call: HttpCall) -> Usage | None:
        """What is booked for a call that failed; None for nothing."""
        if failure.read is not None and failure.read.usage is not None:
            return self._usage(request, call, failure.read)
        if failure.kind in UNBILLED:
            return None
        by_error = failure.status is not None and failure.status >= 400
        booked = self.limits.after_error if by_error else self.limits.after_no_answer
        worst = self._worst(request, call)
        return {"worst": worst, "prompt": _assumed(worst.prompt_tokens, 0), "nothing": None}[booked]

    def _here(self) -> InLoop:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = InLoop(self._wire, self.limits.concurrency)
        return self._loops[loop]


def _assumed(prompt: int, completion: int) -> Usage:
    return Usage(prompt, completion, source="assumed", unproven=(prompt, completion))


def _no_object(form: Form, text: str) -> bool:
    """Whether a text does not even begin as the JSON object that it should be."""
    return form.kind == "schema" and bool(text.strip()) and not text.lstrip().startswith("{")


def _bounded(sample: HttpSample, call: HttpCall) -> HttpSample:
    """A sample without keys, and cut off where an endpoint that keeps to the limit would have ended."""
    text = text_within(sample.text, MOST_CHARACTERS * call.max_tokens)
    cut = sample.finish == "stop" and len(sample.text) > MOST_CHARACTERS * call.max_tokens
    return replace(sample, text=text, finish="length" if cut else sample.finish)


def _repair(request: Request, answer: str, reason: str) -> tuple[Message, ...]:
    """The conversation that asks for a better answer."""
    wanted = describe(request.constraint)
    # No endpoint takes an empty message.
    answered = Message("assistant", answer if answer.strip() else "(nothing)")
    return (*messages_of(request), answered, Message("user", f"That answer cannot be used: {reason}. {wanted}"))
