"""What linked lines cost a ledger: ``python -m experiments.benches.ledger_links --plain URL --linked URL --out FILE``.

The two databases are made by ``tape ledger init``, the second one with ``--chain``. Each measure is taken in turn of
both, and of two files, several times over; the middle one counts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from experiments.benches.ledger import speed
from tape.budget import LedgerStore, open_store
from tape.budget.stores.file import FileStore

ROUNDS, CLIENTS = 5, (1, 16)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write what came of it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benches.ledger_links", description=__doc__)
    parser.add_argument("--plain", required=True, help="a database whose changes are not linked")
    parser.add_argument("--linked", required=True, help="one whose changes are")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    args = parser.parse_args(argv)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        makes: dict[str, list[Callable[[], LedgerStore]]] = {
            "file": [lambda: FileStore(Path(folder) / "a"), lambda: FileStore(Path(folder) / "b", chain=True)],
            "PostgreSQL": [lambda: open_store(args.plain), lambda: open_store(args.linked)],
        }
        for store, clients in [(store, clients) for store in makes for clients in CLIENTS]:
            rates: list[list[float]] = [[], []]
            for _ in range(ROUNDS):
                for of_kind, make in zip(rates, makes[store], strict=True):
                    measured = speed(make, clients, 320 if store == "file" else 1600)
                    of_kind.append(float(str(measured["pairs a second"]).replace(",", "")))
            plain, linked = map(median, rates)
            rows.append({"store": store, "clients": clients, "plain": f"{plain:,.0f}", "linked": f"{linked:,.0f}",
                         "ratio": f"{linked / plain:.2f}"})  # fmt: skip
            print(rows[-1], flush=True)
    args.out.write_text(json.dumps({"links": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
