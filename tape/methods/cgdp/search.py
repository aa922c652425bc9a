"""One search in progress: what all harnesses share.

A round is a query, its passages, the update of the memory and the gate's verdict. Every prompt goes through the window,
every call and every search through the episode's ledger, and everything into its trace. The call for the answer is
reserved at the start, so a search that runs out of its budget still answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tape.budget import Reservation
from tape.engine.episode import Episode, EpisodeEnded
from tape.errors import InvalidOutputError
from tape.lm.base import most_completion_tokens
from tape.lm.price import cost_of
from tape.methods.cgdp.entailment import aligned
from tape.methods.cgdp.events import RetrievedEvent, ShownSource, StoppedEvent
from tape.methods.cgdp.prices import ContextBudget, SearchPrices
from tape.methods.cgdp.prompts import MoveKind, NextMove, SearchFormat
from tape.methods.cgdp.reading import SearchReading
from tape.methods.cgdp.remembered import Remembered
from tape.methods.cgdp.settings import CgdpSettings
from tape.methods.cgdp.stopping import Stopping
from tape.methods.cgdp.view import Belief, SearchRound, View
from tape.protocols.search import LONGEST_TEXT, UNANSWERABLE, Passage, SearchOption, SearchTask


class CorpusSearch(Remembered):
    """One search."""

    def __init__(self, episode: Episode, settings: CgdpSettings, domain: SearchTask, prompts: SearchFormat) -> None:
        super().__init__(episode, settings, domain, prompts)
        self._began_with = () if self.belief is None else self.belief.questions
        self._answered_within = 0
        self.prices = SearchPrices(self)
        self.context_budget = ContextBudget(self, self.prices)
        self._stopping = Stopping(self, self.prices)
        self._reading = SearchReading(self)
        self._answer_call: Reservation | None = None
        self._answer_step: Reservation | None = None

    def is_resolved(self) -> bool:
        """Whether the initial predicates are resolved and curation dropped no open one."""
        assert self.belief is not None
        return not self.gave_up and {*self._began_with} <= {*self.belief.resolved}

    def first_open(self) -> str:
        """The next open predicate; without any, the question of a structured belief, and none of a freeform one."""
        assert self.belief is not None
        if self.belief.questions:
            return self.belief.questions[0]
        return self.domain.question if self.belief.form == "structured" else ""

    # Before the first round

    def begin(self, moves: Sequence[MoveKind]) -> None:
        """Check the window and reserve the call for the answer.

        Raises:
            ConfigError: The window is too small; names a sufficient one.
            BudgetExceededError: The budget does not even cover an answer.
            ModelError: The model cannot read the corpus.
        """
        self.prompts.require_readable(self.domain)
        lm = self.episode.roles.lm
        self.window.require(self.context_budget.least(moves))
        self.context_budget.make()
        answer = self.prompts.answer_request(self.bare())
        self._answered_within = self.context_budget.longest_answer(moves)
        worst = cost_of(lm.price, self._answered_within, most_completion_tokens(lm, answer))
        self._answer_call = self.episode.ledger.reserve(worst)
        step = self.episode.env.domain.cost(self.episode.state, self.domain.answer(UNANSWERABLE))
        self._answer_step = self.episode.ledger.reserve(step)

    def _most_answered_from(self) -> int | None:
        """The most tokens of the answer's prompt, by the reserved call and the rest of the budget; None: no limit."""
        if self.window.limit is not None:
            return self._answered_within
        left, price = self.episode.remaining(), self.episode.roles.lm.price
        more = [left["tokens"]] if "tokens" in left else []
        if "usd" in left and price is not None and price.prompt:
            more.append(int(left["usd"] / (price.prompt * 1_000_000)))
        return self._answered_within + min(more) if more else None

    # One round

    def think_aloud(self, thought: str) -> None:
        """Remember what the model wrote after the last round."""
        if self.rounds and thought:
            self.rounds[-1] = replace(self.rounds[-1], thought=thought)

    async def retrieve(
        self, query: str, option: SearchOption | None = None, *, thought: str = "", target: str = ""
    ) -> None:
        """Search and update the memory by the passages.

        Args:
            query: The query.
            option: How to search; the first option by default.
            thought: The words before it.
            target: The open predicate of the query.

        Raises:
            BudgetExceededError: The search does not fit; it was not made.
            EpisodeEnded: The horizon is reached.
        """
        chosen = option or self.options[0]
        query = " ".join(query.split())[:LONGEST_TEXT].strip()
        self._keep_the_last_move()
        await self.episode.step(self.domain.search(query, chosen), text=thought)
        observation = self.episode.observation
        passages: tuple[Passage, ...] = tuple(observation.data) if observation is not None else ()
        self.think_aloud(thought)
        self.rounds.append(SearchRound(len(self.rounds) + 1, query, passages))
        self.episode.trace.write(
            RetrievedEvent(
                round=len(self.rounds),
                query=query,
                option=chosen.name,
                thought=thought,
                passages=[ShownSource(id=passage.id, title=passage.title, text=passage.text) for passage in passages],
            )
        )
        new_facts = await self._reading.take_in(passages) if self.belief is not None else None
        signals = self._stopping.after(query, passages)
        productive = signals.upr > 0 if new_facts is None else new_facts > 0
        self.prices.chance().after(chosen, productive=productive)
        if target and self.belief is not None:
            self.prices.chance(target).after(chosen, productive=target in self.belief.resolved)

    def exhausted(self) -> str:
        """Why the search stops after this round; empty: it continues."""
        return self._stopping.reason()

    # What is asked

    async def move(self, moves: Sequence[MoveKind], target: str = "") -> NextMove | None:
        """The model's next move; None if it cannot be read. The first move is no answer.

        Raises:
            BudgetExceededError: The call does not fit; it was not made.
            EpisodeEnded: No further search is possible.
        """
        self._keep_the_last_move()
        self._require_a_move()
        prompts, view = self.prompts, self.view(target)
        if not self.rounds:
            moves = tuple(move for move in moves if move != "answer")

        def read(shown: View, text: str) -> NextMove:
            query = prompts.read_query(shown, text)
            if query.kind not in moves:
                raise InvalidOutputError(f"the move {query.kind!r} was not offered")
            return query

        return await self.ask(lambda shown: prompts.query_request(shown, moves), view, read)

    async def think(self) -> tuple[str, bool] | None:
        """The next sentence of the chain of thought, and whether it has the answer; None if it cannot be read."""
        prompts, view = self.prompts, self.view()
        return await self.ask(prompts.think_request, view, prompts.read_think)

    async def draft(self) -> str:
        """An answer from the current memory, which does not end the search; empty if it cannot be read."""
        prompts, view = self.prompts, self.view()
        return await self.ask(prompts.answer_request, view, prompts.read_answer) or ""

    # The end

    async def answer(self, reason: str) -> None:
        """Answer from the memory by the reserved call; an unreadable answer counts as an abstention.

        Raises:
            EpisodeEnded: The environment has taken the answer.
        """
        view, prompts = self.view(), self.prompts
        grounds: list[str] | None = None
        if self.settings.verify == "aec":
            assert self.belief is not None
            # Only quotes are grounded, not the model's own words.
            agreeing = aligned(self.domain.question, self.belief.facts, self.domain.subjects())
            facts = tuple(replace(fact, text=fact.quote) for fact in agreeing)
            grounds = [fact.source for fact in facts]
            view = View(self.domain.question, belief=Belief(self.belief.form, facts))
        text: str | None = UNANSWERABLE
        if grounds is None or grounds:
            most = self._most_answered_from()
            fitted = self.window.fit(prompts.answer_request, view, most)
            view = fitted.view
            if fitted.dropped:
                self.log_dropped("answer", fitted.dropped, most)
            if grounds is not None:
                grounds = [fact.source for fact in (view.belief.facts if view.belief else ())]
            text = await self.ask(prompts.answer_request, view, prompts.read_answer, self._answer_call)
        given = (text or UNANSWERABLE)[:LONGEST_TEXT]
        self.drop()
        self.episode.result.measures = self.measures()
        try:
            await self.episode.step(self.domain.answer(given), text=reason)
        finally:
            env = self.episode.env
            answers, sources = env.gold()
            self.episode.trace.write(
                StoppedEvent(
                    round=len(self.rounds),
                    reason=reason,
                    aligned=grounds,
                    answer=given if env.success() or self._has_answered(given) else "",
                    gold_answers=list(answers),
                    gold_sources=list(sources),
                    right=bool(env.success()),
                    shown=view.texts(),
                )
            )

    def _has_answered(self, answer: str) -> bool:
        """Whether the answer was executed; a horizon may have ended the episode before it."""
        return self.episode.result.actions[-1:] == [self.domain.answer(answer)]

    def _keep_the_last_move(self) -> None:
        """End the search if the horizon leaves only the move for the answer."""
        horizon = self.episode.config.horizon
        if horizon is not None and self.episode.result.steps >= horizon - 1:
            raise EpisodeEnded("failure", f"the last of {horizon} moves is reserved for the answer", limit=True)

    def _require_a_move(self) -> None:
        """End the search if a resource that only actions use has run out."""
        cost = self.episode.env.domain.cost(
            self.episode.state, self.domain.search(self.domain.question, self.options[0])
        )
        left = self.episode.remaining()
        for kind, count in cost.items():
            if (count or 0) > left.get(kind, count or 0):
                raise EpisodeEnded(f"budget:{kind}", f"{left[kind]} {kind} are left, and a search takes {count}")

    def measures(self) -> dict[str, float]:
        """The agent's measures of its search."""
        facts = 0 if self.belief is None else len(self.belief.facts)
        return {
            "longest_prompt": float(self.window.longest),
            "rounds": float(len(self.rounds)),
            "facts": float(facts),
        }

    def drop(self) -> None:
        """Release unused reservations of the answer."""
        for kept in (self._answer_call, self._answer_step):
            if kept is not None and kept.open:
                kept.release()
