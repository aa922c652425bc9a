"""``tape audit FILE [--check] [--last HASH]``: the audit log of a gateway, and whether it is as it was written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; exit code 0, or 1 where a check finds something."""
    parser = argparse.ArgumentParser(
        prog="tape audit",
        description="List the calls in the audit log of a gateway, or check that no line of it was cut, changed, taken "
        "out or moved. What was cut off its end shows only where a later hash was kept: give it by --last.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the audit log ([gateway] audit in the configuration)")
    parser.add_argument("--check", action="store_true", help="check the chain of hashes, and print the last one")
    parser.add_argument("--last", metavar="HASH", help="what an earlier check printed; the log may have grown since")
    args = parser.parse_args(argv)
    from tape.gateway.audit import read_audit

    last, number, known, faults = "none", 0, 0, list[str]()
    for number, (last, record, wrong) in enumerate(read_audit(args.file), 1):
        known = number if last == args.last else known
        faults += [f"{args.file}:{number}: {wrong}"] if wrong else []
        if not (args.check or args.last):
            said = (record.get(name) for name in ("at", "client", "tool", "state", "error", "spent"))
            print(number, *(item for item in said if item is not None))
    if not (args.check or args.last):
        return 0
    if args.last and not known:
        faults.append(f"{args.file}: no line has the hash {args.last}: lines were cut off, or one up to it was changed")
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    print(f"{number} lines, {len(faults)} faults; the last hash is {last}")
    if known:
        print(f"the hash that was given is that of line {known}")
    elif not args.last:
        print("Lines that were cut off the end do not show in this. Keep the hash, and give it by --last later.")
    return 1 if faults else 0
