"""Algorithm 1 once more, from the events of an episode alone: what the loop may do, step by step."""

from __future__ import annotations

from itertools import pairwise

from tape.methods.sdp.adapter import Caps
from tape.methods.sdp.events import ChainEvent, ConcludedEvent, ValidatedEvent
from tape.protocols.result import END_STATES
from tape.trace import Event, FinishedEvent
from tests.tape.methods.sdp.flags import Played, Script


def check(played: Played, caps: Caps, *, strict: bool = False, cascade: bool = True, watched: bool = False) -> None:
    """Compare an episode with algorithm 1 and the caps; ``watched``: a verifier may find a tail void at any time."""
    _end(played.events)
    own = [e for e in played.events if isinstance(e, (ChainEvent, ValidatedEvent, ConcludedEvent))]
    if own:
        _loop(own, caps, caps.attempts + strict, cascade=cascade, watched=watched)
    _shown(played.script)


def _end(events: list[Event]) -> None:
    [finished] = [e for e in events if isinstance(e, FinishedEvent)]
    end = str(finished.result["end_state"])
    assert end.partition(":")[0] in END_STATES
    assert not finished.result["budget_violations"]
    for kind, cap in finished.result["budget"].items():
        assert finished.result["used"].get(kind, 0) <= cap


def _loop(
    events: list[ChainEvent | ValidatedEvent | ConcludedEvent], caps: Caps, most: int, *, cascade: bool, watched: bool
) -> None:
    certified: list[str] = []
    tail: list[str] = []
    failed = replans = here = attempts = rejected = 0
    due, begun = True, False
    *inner, last = events
    assert isinstance(last, ConcludedEvent), "the loop says how it ended, and nothing comes after that"
    for event in inner:
        assert event.certified == len(certified)
        if isinstance(event, ChainEvent):
            assert due or watched, "a chain is replaced only after b failures, or where there is nothing to try"
            assert (event.reason == "proposed") == (not begun)
            if begun:
                replans, here = replans + 1, here + 1
                assert here <= caps.replans
            begun, due, failed = True, False, 0
            if event.targets:
                tail = [target.text for target in event.targets]
                assert [target.goal for target in event.targets] == [False] * (len(tail) - 1) + [True]
            continue
        assert isinstance(event, ValidatedEvent)
        assert not due, "after b failures no further attempt is made"
        attempts += 1
        assert attempts <= caps.steps
        assert event.failed == failed < most
        assert event.k == sum(c.holds for c in event.checks) <= len(tail)
        assert [c.holds for c in event.checks] == [True] * event.k + [False] * (len(event.checks) - event.k)
        if not cascade and not event.completed:
            assert event.k <= 1
        if event.k:
            certified, tail = certified + tail[: event.k], tail[event.k :]
            failed = here = 0
        elif event.counts:
            failed, rejected = failed + 1, rejected + 1
        due = failed == most or (event.action is None and not event.counts)
    assert (last.certified, last.planned) == (len(certified), len(certified) + len(tail))
    broken_off = due and begun  # REPLAN was asked, and a fault, a limit or a budget came before its chain
    assert last.rejected == rejected
    assert last.replans in (replans, replans + (broken_off or watched))
    assert last.goal_certified == (bool(certified) and not tail)


def _shown(script: Script) -> None:
    """What the operators were shown."""
    states = [at.state for at in script.realized]
    for before, after in pairwise(states):
        assert after.certified[: len(before.certified)] == before.certified, "certified states are never lost"
    for at in script.realized:
        assert all(attempt.target == at.target for attempt in at.attempts), "attempts at the current target only"
    histories = [history for _, history in script.replanned]
    for early, late in pairwise(histories):
        assert late[: len(early)] == early, "the history is only appended to"
    for at, history in script.replanned:
        assert history[len(history) - len(at.attempts) :] == at.attempts
