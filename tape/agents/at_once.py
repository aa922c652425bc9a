"""Actions of a path that run at once [ours]: each is paid for before it begins, and observed in its turn.

So the states of a path, the mismatch test and the trace are those of a path that is followed step by step; only what
nothing has to wait for has begun before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

from tape.budget import Reservation, in_units, unknown
from tape.budget.deadline import KIND as WALL
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.in_turn import InTurn
from tape.engine.infeasible import known_least
from tape.errors import BudgetExceededError
from tape.protocols import Action
from tape.protocols.parts import CallsAtOnce
from tape.trace import LedgerEvent, ScheduledCall, ScheduledEvent, with_critical

PURPOSE = "ahead:"
"""The purpose of what is set aside for an action that has begun before its turn, before the action."""


@dataclass
class _Ahead:
    """An action that is paid for before its turn.

    Attributes:
        action: The action as the path has it.
        reservation: Its worst case.
        start: When it began, in milliseconds; None before.
        end: When it had ended.
    """

    action: Action
    reservation: Reservation
    start: int | None = None
    end: int | None = None


class AtOnce(InTurn):
    """The actions of one episode that run at once."""

    def __init__(self, episode: Episode, calls: CallsAtOnce) -> None:
        self._episode, self._calls, self._most = episode, calls, episode.config.parallel
        self._ahead: dict[Action, _Ahead] = {}
        self._ran: list[ScheduledCall] = []
        self._start = 0
        self._end: int | None = None
        self._giving_up = False
        self._noted: set[Action] = set()

    @classmethod
    def of(cls, episode: Episode) -> InTurn:
        """What runs at once in an episode, if anything may, and the environment begins it before its turn."""
        calls = episode.env.calls_at_once
        return episode.at_once if calls is None or episode.config.parallel == 1 else cls(episode, calls)

    @property
    def busy(self) -> bool:
        """Whether an action of the path is paid for before its turn."""
        return bool(self._ahead)

    def has(self, action: Action) -> bool:
        """Whether this action is paid for before its turn."""
        return action in self._ahead

    def _now(self) -> int:
        return round(self._episode.deadline.elapsed() * 1000)

    # --- planned --------------------------------------------------------------------------------

    def schedule(self, path: Sequence[Action]) -> list[ScheduledCall]:
        """When the actions of a path run from now on if each takes its declared ``seconds``, those under way the rest.

        Of several that may begin the first of the path does.
        """
        waits, first = self._calls.waits(path), self._now()
        open_, running = dict(enumerate(path)), list[tuple[int, int]]()
        ended, calls, now = set[int](), dict[int, ScheduledCall](), first
        while open_ or running:
            for place in [*open_]:
                if len(running) < self._most and ended.issuperset(waits[place]):
                    end = now + self._milliseconds(action := open_.pop(place))
                    calls[place] = ScheduledCall(name=action.partition("(")[0], start=now, end=end)
                    heappush(running, (end, place))
            now, place = heappop(running)
            ended.add(place)
        return with_critical([*calls.values()])

    def _milliseconds(self, action: Action) -> int:
        episode, ahead = self._episode, self._ahead.get(action)
        declared = episode.env.domain.cost(episode.state, action)["seconds"] or 0
        if ahead is None or ahead.start is None:
            return declared
        return 0 if ahead.end is not None else max(0, declared - (self._now() - ahead.start))

    def in_time(self, path: Sequence[Action]) -> bool:
        """Whether a path ends before ``wall_seconds`` are up if each action takes its declared ``seconds``."""
        left = self._episode.deadline.left()
        return left is None or self.lasts(path) <= left * 1000

    def lasts(self, path: Sequence[Action]) -> int:
        """Milliseconds from now until the last action of a path has ended."""
        return max((call.end for call in self.schedule(path)), default=self._now()) - self._now()

    def too_late(self, paths: Sequence[Sequence[Action]]) -> EpisodeEnded:
        """The end of an episode in which paths fit into all budgets, and none of those examined ends in time."""
        episode, soonest = self._episode, min(paths, key=self.lasts)
        lasts, left = self.lasts(soonest), round((episode.deadline.left() or 0) * 1000)
        cap = round(episode.deadline.elapsed() * 1000) + lasts
        text = (
            f"no plan fits into the {in_units(WALL, left)} that are left: with at most {episode.config.parallel} calls "
            f"at once the soonest of the {len(paths)} best takes {in_units(WALL, lasts)} by the declared seconds; a "
            f"cap of {in_units(WALL, cap)} and the time for planning would do"
        )
        return known_least(episode, text, len(paths), {**episode.remaining(), WALL: left}, {WALL: cap})

    def log(self, path: Sequence[Action]) -> None:
        """Log when the actions of a path will run."""
        self._episode.trace.write(ScheduledEvent(done=False, calls=self.schedule(path)))

    # --- run ------------------------------------------------------------------------------------

    def begin(self, action: Action, rest: Sequence[Action]) -> None:
        """Pay for the actions of a path that may run beside its first one, whose turn it is, and begin what can.

        The first that cannot be paid for ends them. Where an approver selects by the moment, none begins early.
        """
        if self._giving_up:
            return
        episode, path = self._episode, [action, *rest]
        most = self._calls.independent(path)
        if episode.asks:
            most = min(most, 1)  # what is asked about may depend on the step and on what is left then
        if episode.config.horizon is not None:
            most = min(most, episode.config.horizon - episode.result.steps)
        count = min(most, 1)
        while count < most and (path[count] in self._ahead or self._paid(path[count])):
            count += 1
        self._calls.begin(path[:count], self._most if episode.trace.live else 0, self._begun, self._ended)
        self._take_noted()

    def _paid(self, action: Action) -> bool:
        episode = self._episode
        try:
            held = episode.ledger.reserve(episode.env.domain.cost(episode.state, action))
        except BudgetExceededError:
            return False
        self._ahead[action] = _Ahead(action, held)
        return True

    def _begun(self, action: Action) -> None:
        if (ahead := self._ahead.get(action)) is not None:  # else it is its turn
            ahead.start = self._now()
            self._log("reserve", ahead)

    def _ended(self, action: Action) -> None:
        if (ahead := self._ahead.get(action)) is not None:
            ahead.end = self._now()

    def _log(self, what: Literal["reserve", "settle", "release"], ahead: _Ahead) -> None:
        if not self._episode.trace.live:
            return  # the record has it
        amounts = dict(ahead.reservation.worst_case)
        self._episode.trace.write(LedgerEvent(what=what, purpose=PURPOSE + ahead.action, amounts=amounts))

    def note(self, action: Action) -> None:
        """Take an action as begun whose process has ended since: it is done again in its turn."""
        self._noted.add(action)
        self._take_noted()

    def _take_noted(self) -> None:
        for action in [*self._noted & self._ahead.keys()]:
            self._noted.remove(action)
            self._ahead[action].start = self._now()
            self._calls.note(action)

    def turn(self, action: Action) -> Reservation | None:
        """What is set aside for an action whose turn it is; None where nothing is."""
        ahead = self._ahead.pop(action, None)
        self._start, self._end = self._now(), None
        if ahead is None:
            return None
        if ahead.start is not None:
            self._log("release", ahead)  # the step reserves it
            self._start, self._end = ahead.start, ahead.end
        return ahead.reservation

    def observed(self, action: Action) -> None:
        """Note when the action has run whose turn it was."""
        end = self._now() if self._end is None else self._end
        self._ran.append(ScheduledCall(name=action.partition("(")[0], start=self._start, end=end))

    async def give_up(self) -> None:
        """Observe what has begun where its path is abandoned, so that nothing that is paid for is lost; free the rest.

        Raises:
            EpisodeEnded: As a step does.
        """
        for action in [action for action, ahead in self._ahead.items() if ahead.start is None]:
            self._ahead.pop(action).reservation.release()
        self._giving_up, seen = True, set[Action]()
        try:
            while (begun := self._calls.begun()) is not None and begun[0] not in seen:
                action, written = begun
                seen.add(action)
                if action in self._ahead:
                    self._ahead[written] = self._ahead.pop(action)
                await self._episode.step(written, text="It had begun before its path was abandoned.")
        finally:
            self._giving_up = False
        await self._drop()

    async def _drop(self) -> None:
        """Cancel what runs, and pay for it in full; free what has not begun."""
        await self._calls.stop()
        for ahead in self._ahead.values():
            if ahead.start is None:
                ahead.reservation.release()
            else:
                ahead.reservation.settle(unknown(ahead.reservation.worst_case))
                self._log("settle", ahead)
        self._ahead.clear()

    async def end(self) -> None:
        """End what still runs with the episode, and log when actions have run."""
        await self._drop()
        if self._ran:
            self._episode.trace.write(ScheduledEvent(done=True, calls=with_critical(self._ran)))
