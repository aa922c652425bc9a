"""Recorded answers of the model and of the approver, for an episode that is played again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tape.approval import DECISIONS, Approval, ApprovalRequest
from tape.approval.forbid import FORBIDDEN, REFUSED_BEFORE
from tape.errors import ModelError
from tape.lm.base import BatchError, Completion, EndpointError, LanguageModel, Message, Request, Usage, UsageSource
from tape.lm.price import UNSPLIT, Split
from tape.lm.wrapper import AnswerPrices, WrappedLM
from tape.redaction import redacted
from tape.trace import ApprovalEvent, Event, FinishedEvent, GeneratedEvent


class NotRecordedError(Exception):
    """The model is asked for something that no answer is recorded for."""


class ResumedLM(WrappedLM):
    """Gives the recorded answers, in their order; the model counts tokens and is never asked.

    With ``exact`` every recorded request has to come again; else those between are passed over.
    """

    def __init__(self, model: LanguageModel, events: Sequence[Event], *, exact: bool) -> None:
        super().__init__(model)
        self._answers = [event for event in events if isinstance(event, GeneratedEvent)]
        self._exact = exact
        end = next((event for event in reversed(events) if isinstance(event, FinishedEvent)), None)
        self._failed = end is not None and end.result.get("end_state") == "model_error"
        self._detail = "" if end is None else str(end.result.get("detail"))

    @property
    def left(self) -> int:
        """How many answers were not asked for yet."""
        return len(self._answers)

    @property
    def answer_prices(self) -> AnswerPrices | None:
        """Those by which the next recorded answer was paid."""
        prices = super().answer_prices
        return replace(prices, recorded=self._answers[0].writes) if prices and self._answers else prices

    def _next(self, request: Request) -> GeneratedEvent:
        """The answer to a request."""
        asked = (Message("", request.prompt),) if isinstance(request.prompt, str) else request.prompt
        wanted = (request.role, [(message.role, redacted(message.content)) for message in asked])
        for place, event in enumerate(self._answers):
            if (event.role, [(part.role, part.content) for part in event.prompt]) == wanted:
                del self._answers[: place + 1]
                return event
            if self._exact:
                had = event.prompt[-1].content[-120:] if event.prompt else ""
                raise NotRecordedError(
                    f"the model is asked as {request.role!r} for {asked[-1].content[-120:]!r}, and the record has its "
                    f"answer as {event.role!r} to {had!r}"
                )
        if self._failed:
            raise ModelError(self._detail)
        raise NotRecordedError(f"the model is asked as {request.role!r}, and no answer is left in the record")

    def _usage(self, event: GeneratedEvent) -> Usage:
        """What it used; a model on this machine counts its prompts anew."""
        reported = event.prompt_tokens if self.remote else 0
        split = Split(*(event.prompt_split or ())) if self.remote else UNSPLIT
        source: UsageSource = "reported" if self.remote else "counted"
        calls = int(not self.remote or reported + event.completion_tokens > 0)  # one that was not made is recorded too
        return Usage(reported, event.completion_tokens, calls, source, split=split, answered=event.answered)

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """The recorded answers."""
        answers: list[Completion | EndpointError] = []
        for request in requests:
            event = self._next(request)
            usage, n = self._usage(event), len(event.texts)
            if n:
                finish, logprobs = event.finish or ("stop",) * n, event.logprobs or (0.0,) * n
                answers.append(Completion(event.texts, finish, logprobs, usage))
            else:
                answers.append(EndpointError(re.sub(r" \(\d+ of \d+ requests failed\)$", "", self._detail), usage))
        if any(isinstance(answer, EndpointError) for answer in answers):
            raise BatchError(answers)
        return [answer for answer in answers if isinstance(answer, Completion)]

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """The recorded probabilities."""
        events = [self._next(request) for request in requests]
        return [(event.weights or (), self._usage(event)) for event in events]


class ContinuedLM(ResumedLM):
    """Gives the recorded answers, and then the model's; of a batch that was cut off all are the model's."""

    def __init__(self, model: LanguageModel, events: Sequence[Event]) -> None:
        super().__init__(
            model, [e for e in events if not isinstance(e, GeneratedEvent) or e.texts or e.weights], exact=True
        )

    def ended(self) -> None:
        """Called when the model is asked."""

    def _asked(self, requests: Sequence[Request]) -> bool:
        """Whether the model is asked."""
        if self.left >= len(requests):
            return False
        self._answers.clear()
        self.ended()
        return True

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers."""
        return await (self._model.generate(requests) if self._asked(requests) else super().generate(requests))

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """Probabilities."""
        return await (self._model.score_options(requests) if self._asked(requests) else super().score_options(requests))


class Decisions:
    """Decides as it was decided."""

    def __init__(self, events: Sequence[Event]) -> None:
        asked = [event for event in events if isinstance(event, ApprovalEvent)]
        # Those with another reason were made without asking, and come again by themselves.
        self._made = [event for event in asked if event.reason in ("destructive", "selected")]
        self.any = any(event.reason not in (*FORBIDDEN, REFUSED_BEFORE) for event in asked)

    def selects(self, request: ApprovalRequest) -> bool:
        """Whether this action was to be approved."""
        return bool(self._made) and (self._made[0].step, self._made[0].action) == (request.step, request.action)

    def ask(self, request: ApprovalRequest) -> Approval:
        """What was decided; what was never decided is refused."""
        if not self.selects(request):
            return Approval.REFUSE
        event = self._made.pop(0)
        return next(approval for approval, decision in DECISIONS.items() if decision == event.decision)
