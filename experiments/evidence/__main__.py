"""Replays the evidence without a model: ``python -m experiments.evidence``.

Each committed episode is played again from the committed replies and compared. A prompt that has changed since has no
reply: its row is named as stale. A ground whose data is absent is skipped by name.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from experiments.evidence.grounds import GROUNDS, Ground
from experiments.evidence.play import Played, play
from experiments.evidence.replies import Replies, StaleError, unpack
from experiments.evidence.tables import FOLDER, overview, rows, table
from tape.errors import ConfigError


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay grounds; exit 1 if a row is stale or has come out otherwise."""
    parser = argparse.ArgumentParser(prog="python -m experiments.evidence", description=__doc__)
    parser.add_argument("grounds", nargs="*", default=[*GROUNDS], help="of these (default: all)")
    given = parser.parse_args(arguments)
    stale = sum(_replayed(GROUNDS[name]) for name in given.grounds if rows(name))
    print(overview())
    return 1 if stale else 0


def _replayed(ground: Ground) -> int:
    """How many rows of a ground are stale or differ."""
    try:
        trials = {trial.id: trial for trial in ground.trials()}
    except ConfigError as error:
        print(f"{ground.title}: skipped: {error}", file=sys.stderr)
        return 0
    differ, stale = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        unpack(FOLDER / f"{ground.name}.replies.xz", Path(folder) / "replies.sqlite")
        replies = Replies(Path(folder) / "replies.sqlite", None)
        for row in rows(ground.name):
            name = f"{row['caps']}: {row['row']}"
            try:
                played = Played(row["row"], row["task"], row["caps"], row["draw"])
                again = play(played, ground, trials[row["task"]], replies, Path(folder) / "trace")
            except StaleError:
                stale[name] += 1
                continue
            differ[name] += again != row
        replies.close()
    print(f"{ground.title}: {len(rows(ground.name))} episodes replayed\n{table(ground.name)}")
    for name, count in (stale + differ).items():
        print(f"{ground.title}, {name}: {stale[name]} stale, {differ[name]} other than committed ({count})")
    return len(stale + differ)


if __name__ == "__main__":
    raise SystemExit(main())
