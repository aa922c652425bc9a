"""R_theta (TAPE section 3.1): the LM scores abstract states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tape.engine.context import RoleContext
from tape.protocols import Score, State
from tape.protocols.prompt_format import option_values


class LmScorer:
    """Scores from the model's own probabilities of the score's options; each state once per episode.

    Args:
        context: The episode's model and prompts.
    """

    def __init__(self, context: RoleContext) -> None:
        self._context = context
        self._known: dict[str, Score] = {}

    async def score(self, states: Sequence[State], remaining: Mapping[str, int]) -> list[Score]:
        """Score states; ``remaining`` is not part of a state's score (the solver keeps budgets)."""
        del remaining
        key = self._context.domain.key
        fresh = {key(state): state for state in states if key(state) not in self._known}
        asked = [self._context.prompt_format.score_request(state) for state in fresh.values()]
        # States that read alike are asked about once; what an answer is worth may differ all the same.
        distinct = list(dict.fromkeys(request for request, _ in asked))
        answers = dict(zip(distinct, await self._context.lm.score_options(distinct), strict=True))
        for name, (request, values) in zip(fresh, asked, strict=True):
            weights, _ = answers[request]
            scores = option_values(request, values)
            if not any(weights):
                # What cannot be read tells nothing about the state.
                self._context.count_malformed("score", "the answer is none of the options")
                self._known[name] = Score(0.0, 0.0)
                continue
            mean = sum(w * v for w, v in zip(weights, scores, strict=True))
            self._known[name] = Score(scores[weights.index(max(weights))], mean)
        return [self._known[key(state)] for state in states]
