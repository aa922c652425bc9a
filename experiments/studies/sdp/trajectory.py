"""The certified trajectory of an SDP episode, built from its trace (SDP section 3.3).

The paper's artifact is (s0, a0, s_t1, a_t1, .., s_T). This one also keeps rejected attempts with their reasons and
replaced chains, so that :mod:`experiments.studies.sdp.revalidation` can check the whole run from the file.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from experiments.studies.sdp.reader import TraceReader
from experiments.studies.sdp.records import ChainRecord, EpisodeEnding, FrozenRecord, Judged, Move, Origin
from tape.errors import TraceError
from tape.methods.sdp.events import TargetRecord
from tape.reading import read_json, short, wrong
from tape.trace import read_trace

SCHEMA = 1


class CertifiedTrajectory(FrozenRecord):
    """The artifact.

    Attributes:
        origin: Its origin.
        plans: The chains, oldest first.
        moves: All attempts, oldest first.
        ending: Its end.
        seal: Digest of the other fields, which reveals a damaged or edited file; not a signature.
    """

    origin: Origin
    plans: list[ChainRecord]
    moves: list[Move]
    ending: EpisodeEnding
    seal: str = ""

    @classmethod
    def from_trace(cls, path: Path, **where: Any) -> CertifiedTrajectory:
        """The trajectory of an episode.

        Args:
            path: The episode's trace.
            where: More fields of its :class:`Origin`, for instance the task.

        Raises:
            NotSdpError: The episode has no chain.
            TraceError: The trace cannot be read, is incomplete, or contradicts itself.
        """
        reader = TraceReader(path)
        for event in read_trace(path):
            reader.read(event)
        return cls(**reader.parts(where)._asdict()).sealed()

    @property
    def certified(self) -> list[Judged]:
        """The certified predicates, in order."""
        return [judged for move in self.moves for judged in move.certified]

    @property
    def history(self) -> list[Move]:
        """The failed attempts, oldest first (SDP appendix A.1)."""
        return [move for move in self.moves if move.rejected]

    @property
    def progress(self) -> float:
        """The share of planned predicates that were certified; 0 without a plan."""
        return self.ending.certified / self.ending.planned if self.ending.planned else 0.0

    def by_how(self) -> dict[str, int]:
        """The number of certificates of each kind; all but ``deterministic`` can be wrong."""
        return dict(sorted(Counter(judged.check.how for judged in self.certified).items()))

    def left(self) -> list[TargetRecord]:
        """The tail at the end; a replan without a chain keeps its predecessor."""
        filled = [plan for plan in self.plans if plan.targets]
        if not filled:
            return []
        plan = filled[-1]
        return plan.targets[len(self.certified) - plan.certified :]

    def digest(self) -> str:
        """The expected :attr:`seal`."""
        content = self.model_dump(exclude={"seal"})  # Python mode: JSON mode refuses unpaired surrogates
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()

    def sealed(self) -> CertifiedTrajectory:
        """The same with its seal."""
        return self.model_copy(update={"seal": self.digest()})

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"schema": SCHEMA, **self.model_dump()}
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="ascii")

    @classmethod
    def load(cls, path: Path) -> CertifiedTrajectory:
        """Read a file of :meth:`save`; :func:`experiments.studies.sdp.revalidation.revalidate` checks its consistency.

        Raises:
            TraceError: The file cannot be read, or has another schema.
        """
        record = read_json(path, surrogates=True, error=_no_trajectory)
        if not isinstance(record, dict):
            raise _no_trajectory(f"{path}: expected an object, got {short(record)}")
        schema = record.pop("schema", None)
        if schema != SCHEMA:
            raise TraceError(f"{path}: schema {short(schema)} is not {SCHEMA}; use the version that made it")
        try:
            return cls.model_validate(record)
        except ValidationError as error:
            raise _no_trajectory(f"{path}: {wrong(error)}") from error


def _no_trajectory(problem: str) -> TraceError:
    return TraceError(f"{problem}; so it is not a certified trajectory: make it anew from the trace")
