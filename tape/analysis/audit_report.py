"""The chapter of ``tape diagnose`` on the records themselves: what was checked, found, and not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tape.analysis.audit import Audited
from tape.protocols.method import methods
from tape.runner.summary import escaped
from tape.show.document import Block, Bullets, Section, Table

SHOWN = 10
"""Findings that are quoted."""

MEANING = (
    "`links`: the lines of a trace do not follow from each other by their hashes, or do not end in the hash that the "
    "episode's record keeps",
    "`schema`: the trace cannot be read",
    "`record`: record, trace and configuration are not of one episode",
    "`books`: the result, or a payment, differs from what the events count",
    "`steps`: a step, a state or a path does not follow from what was observed before",
    "`grounding`: a fact, a key or a verdict is not that of the recorded state",
    "`replay`: played again, the episode differs from its record",
)
LIMITS = (
    "Hashes show a change after which the lines were not chained anew; who can write all files can chain them. "
    "Only a replay finds that (`--replay`). It takes the recorded answers of the model as they are: text from which "
    "nothing was derived, and times, cannot be checked afterwards (SECURITY.md lists the fields)."
)


def sections_of(audited: Sequence[Audited]) -> list[Section]:
    """The chapter.

    Args:
        audited: The episodes, as :func:`tape.analysis.audit.audit` returns them.
    """
    rules = Counter(finding.rule for one in audited for finding in one.findings)
    blocks: list[Block] = [_table(audited)]
    if rules:
        meaning = (*MEANING, *(rule for method in methods() for rule in method.rules))
        quoted = [(one, finding) for one in audited for finding in one.findings][:SHOWN]
        blocks += [
            f"Found: {', '.join(f'{n} {rule}' for rule, n in rules.most_common())}. For instance:",
            Bullets(tuple(_quoted(one, finding.rule, finding.what) for one, finding in quoted)),
            "What they mean:",
            Bullets(tuple(one for one in meaning if any(f"`{rule}`" in one.partition(":")[0] for rule in rules))),
        ]
    unchecked = Counter(why for one in audited for why in {*one.unchecked})
    if unchecked:
        listed = tuple(f"{n} episodes: {escaped(why)}" for why, n in unchecked.most_common())
        blocks += ["What could not be checked:", Bullets(listed)]
    return [Section("Records checked again", (*blocks, LIMITS), 3)]


def as_data(audited: Sequence[Audited]) -> list[dict[str, Any]]:
    """The same for a JSON file, one item for an episode."""
    return [asdict(one) for one in audited]


def _quoted(one: Audited, rule: str, what: str) -> str:
    plain = " ".join(what.replace("`", "'").split())
    return escaped(f"{one.configuration}, {one.task} ({one.key}): `{rule}` {plain[:300]}")


def _table(audited: Sequence[Audited]) -> Table:
    rows = []
    for name in dict.fromkeys(one.configuration for one in audited):
        own = [one for one in audited if one.configuration == name]
        links = Counter(one.links for one in own)
        chained = ", ".join(f"{n} {state}" for state, n in links.most_common())
        sums = [
            str(sum(counts)) for counts in zip(*((one.facts, one.actions, one.verdicts) for one in own), strict=True)
        ]
        found = f"{sum(len(one.findings) for one in own)} in {sum(bool(one.findings) for one in own)}"
        rows.append((escaped(name), str(len(own)), chained, *sums, found))
    head = ("configuration", "episodes", "hashes of lines", "facts re-grounded", "actions replayed")
    return Table((*head, "verdicts repeated", "findings in episodes"), tuple(rows))
