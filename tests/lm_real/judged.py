"""A model under a judge: every answer must meet its constraint, unless its limit cut it off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tape.lm.base import Completion, LanguageModel, Request, Usage
from tape.lm.hosted.forms import problem_of
from tape.lm.wrapper import WrappedLM


class Judged(WrappedLM):
    """Passes requests on and judges the answers.

    Attributes:
        counts: Samples by role: ``whole``, or ``cut`` where the limit came first.
        wrong: What is wrong with whole answers that no decoder that enforces the constraint could have written.
    """

    counts: Counter[tuple[str, str]]
    wrong: list[str]

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self.counts, self.wrong = Counter(), []

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """See :meth:`tape.lm.base.LanguageModel.generate`."""
        completions = await self._model.generate(requests)
        for request, completion in zip(requests, completions, strict=True):
            for text, finish in zip(completion.texts, completion.finish, strict=True):
                self.counts[request.role, "cut" if finish == "length" else "whole"] += 1
                problem = None if finish == "length" else problem_of(request.constraint, text)
                if problem is not None and problem.ignored:
                    self.wrong.append(f"{request.role}: {problem.reason}: {text[:200]!r}")
        return completions

    async def score_options(self, requests: Sequence[Request]) -> list[tuple[tuple[float, ...], Usage]]:
        """See :meth:`tape.lm.base.LanguageModel.score_options`."""
        scores = await self._model.score_options(requests)
        for request, (weights, _) in zip(requests, scores, strict=True):
            self.counts[request.role, "whole"] += 1
            if abs(sum(weights) - 1) > 1e-6:
                self.wrong.append(f"{request.role}: the options' weights add up to {sum(weights)}")
        return scores
