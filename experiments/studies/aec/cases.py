"""What a run has shown of its predictions: the cases that calibration and rules are learned from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from experiments.studies.aec.fitting import Pair, isotonic
from experiments.studies.aec.learned_rules import Case
from tape.aec.calibration import IsotonicCalibration
from tape.aec.events import JudgedEvent
from tape.protocols.predicates import Predicate
from tape.runner.directory import RunDirectory
from tape.trace import Event, read_trace


def cases_in(directory: RunDirectory) -> list[Case]:
    """The cases in the traces of a run: one for every prediction of which the truth came to light.

    Selection is part of it: only preconditions of considered paths are predicted, and only what the agent looks at
    comes to light.

    Args:
        directory: The run.

    Raises:
        TraceError: A trace cannot be read.
    """
    found: list[Case] = []
    for record in directory.episodes():
        found += cases_of(record["task"], read_trace(directory.trace_file(record["key"])))
    return sorted(set(found))


def cases_of(episode: str, events: Iterable[Event]) -> Iterator[Case]:
    """The cases of one episode.

    Args:
        episode: Names the task, so that a rule's support counts tasks, however often one is played.
        events: Its events.
    """
    for event in events:
        if isinstance(event, JudgedEvent):
            features = tuple(tuple(feature) for feature in event.features)
            yield Case(episode, Predicate(event.predicate, tuple(event.args)), features, event.raw, event.value)


def pairs_of(cases: Iterable[Case]) -> list[Pair]:
    """Predicted probability and truth."""
    return [(case.predicted, case.observed) for case in cases]


def calibration_of(cases: Iterable[Case]) -> IsotonicCalibration:
    """The calibration fitted on all cases."""
    return isotonic(pairs_of(cases))
