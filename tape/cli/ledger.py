"""``tape ledger``: caps that programs and hosts share, what is left of them, and the holds behind that."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tape.cli.numbers import whole

if TYPE_CHECKING:
    from tape.budget import Balance, LedgerStore

ADDRESS = "TAPE_LEDGER"
"""The address of the ledger of `tape ledger`, where ``--url`` is not given."""


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; exit code 0, or 1 where a check finds something."""
    args = _parser().parse_args(argv)
    from tape.budget import open_store
    from tape.budget.stores.addresses import read_address
    from tape.errors import ConfigError

    url: str = args.url or os.environ.get(ADDRESS, "")
    if args.what == "verify":
        return _verify(args.source or url, args.anchor)
    if not url:
        raise ConfigError(f"which ledger? name it by --url, or in the environment variable {ADDRESS}")
    address = read_address(url)
    if args.what == "init" and address.conninfo:
        from tape.budget.stores.postgres import PostgresStore

        PostgresStore.create(address, chain=args.chain)
    if args.what == "init" and address.path is not None and args.chain:
        from tape.budget.stores.file import FileStore

        FileStore(address.path, chain=True).close()
    store = open_store(address)
    try:
        doing: Callable[[LedgerStore, argparse.Namespace], int] = _DO[args.what]
        return doing(store, args)
    finally:
        store.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tape ledger",
        description="Caps that programs and hosts share: make, see and check them (docs/reference/ledger.md).",
    )
    parser.add_argument("--url", help=f"postgresql://user@host/database or file:///path (default: ${ADDRESS})")
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    init = commands.add_parser(
        "init", help="make or upgrade the tables of a database, or make the file; what is there stays"
    )
    init.add_argument("--chain", action="store_true", help="write every change as a line that verify can replay")
    cap = commands.add_parser(
        "cap", help="make or change caps: tape ledger cap org/team '$100, 5000 calls' --per month"
    )
    add = commands.add_parser("add", help="add to caps in their present period: tape ledger add org '$20' --why launch")
    reset = commands.add_parser("reset", help="forgive what was spent in the present period: tape ledger reset org usd")
    for item in (cap, add):
        item.add_argument("account", help="a scope such as org/team, or a label such as org#customer=42")
        item.add_argument("amounts", help="for instance '$100, 5000 calls'")
    reset.add_argument("account", help="a scope, or a label")
    reset.add_argument("resource", help="for instance usd")
    for item in (cap, add, reset):
        item.add_argument(
            "--per", default="total", help="total, hour, day@Europe/Berlin, week, month#15 or rolling:3600"
        )
        item.add_argument("--why", type=_words, default="", help="kept beside the change")
    show = commands.add_parser("show", help="what is left of all caps, or of those of a scope")
    show.add_argument("scope", nargs="?", default="")
    show.add_argument("--label", action="append", default=[], metavar="NAME=VALUE", help="what the call is for")
    holds = commands.add_parser("holds", help="the latest holds of a scope, and how they ended")
    holds.add_argument("scope", nargs="?", default="")
    holds.add_argument("--most", type=whole(), default=20, help="how many (default: 20)")
    rule = commands.add_parser(
        "rule", help="what happens at the caps of a scope: tape ledger rule org/team --at-limit ask --seconds 3600"
    )
    rule.add_argument("account", help="a scope, or a label")
    rule.add_argument("--at-limit", default="refuse", help="refuse (default), wait, or ask")
    rule.add_argument("--seconds", type=whole(0), default=0, help="how long a call waits, for others or for a person")
    rule.add_argument("--warn", type=_percents, default=(), metavar="50,80,100", help="at which percents of a cap")
    rule.add_argument("--webhook", default="", metavar="URL", help="gets warnings as JSON")
    rule.add_argument("--same", type=whole(0), default=0, help="as many equal calls in a row pause the scope")
    rule.add_argument("--tools", type=whole(0), default=0, help="so does a call of one more different tool than this")
    commands.add_parser("pauses", help="the rules, and what is paused")
    pause = commands.add_parser("pause", help="let no new call of a scope begin")
    stop = commands.add_parser("stop", help="refuse its new calls at once, also those that wait")
    resume = commands.add_parser("resume", help="let its calls begin again")
    resume.add_argument(
        "--once", action="store_true", help="add to the cap what the call lacks that was refused, and no more"
    )
    for item in (pause, stop, resume):
        item.add_argument("account", help="a scope, with all below it, or a label")
    for item in (rule, pause, stop, resume):
        item.add_argument("--why", type=_words, default="", help="kept beside the change")
    commands.add_parser("notes", help="the changes by hand: when, who, what, why")
    settle = commands.add_parser(
        "settle", help="end an open hold by hand at all that it took: tape ledger settle ID '1 step, $0.01'"
    )
    settle.add_argument("id")
    settle.add_argument("amounts", nargs="?", default="", help="what it took (default: nothing)")
    decide = _add_claims(commands)
    _add_checks(commands)
    for item in (cap, add, reset, rule, pause, stop, resume, decide):
        item.add_argument(
            "--who", type=_words, default="", metavar="NAME", help="who makes the change (default: the user)"
        )
    return parser


def _add_checks(commands: Any) -> None:
    """The commands that look whether all is as it should be."""
    commands.add_parser("check", help="compute every sum again from the holds")
    export = commands.add_parser("export", help="all holds as JSON lines, the latest first")
    export.add_argument("--chain", action="store_true", help="instead all changes in order, as verify takes them")
    verified = commands.add_parser(
        "verify", help="replay all changes: each hold fitted, each ended once, no line was changed"
    )
    verified.add_argument("source", nargs="?", default="", help="an address, or a file of export --chain")
    verified.add_argument(
        "--anchor", action="append", default=[], metavar="ROOT=HASH", help="a hash that was kept: is its line there?"
    )


def _add_claims(commands: Any) -> argparse.ArgumentParser:
    """The commands about effects; returns the one that changes something."""
    claims = commands.add_parser("claims", help="the latest effects of a scope, and what became of them")
    claims.add_argument("scope", nargs="?", default="")
    claims.add_argument("--most", type=whole(), default=20, help="how many (default: 20)")
    decide: argparse.ArgumentParser = commands.add_parser(
        "decide", help="say what became of an unknown effect: tape ledger decide KEY done --why 'looked it up'"
    )
    decide.add_argument("key")
    decide.add_argument("end", choices=("done", "not-done"))
    decide.add_argument("result", nargs="?", default="", help="what the call returned, in JSON, where it was done")
    decide.add_argument("--why", type=_words, default="", help="kept beside the change")
    return decide


def _percents(text: str) -> tuple[int, ...]:
    """Reads percents between commas, for ``type=`` of ``argparse``."""
    return tuple(whole(1, 100)(word) for word in text.split(",") if word.strip())


def _words(text: str) -> str:
    """Words of a command line in UTF-8, where Python has decoded them by another encoding of file names."""
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return text


def _who(args: argparse.Namespace) -> str:
    """Who makes a change: as is asked, else the user's name, or the number of a user who has none (in containers)."""
    try:
        return args.who or getpass.getuser()
    except (KeyError, OSError, ImportError):  # of older versions of Python, of newer ones, and of Windows
        return str(getattr(os, "getuid", lambda: "unknown")())


def _init(store: LedgerStore, _: argparse.Namespace) -> int:
    print(f"the ledger is there, with {len(store.balances())} caps")
    return 0


def _cap(store: LedgerStore, args: argparse.Namespace) -> int:
    from tape.budget import Budget, Cap, Period
    from tape.errors import ConfigError

    caps = Budget.parse(args.amounts)
    if not caps:
        raise ConfigError("no amount is given; write for instance '$100, 5000 calls'")
    for kind, count in caps.items():
        change = store.set_cap if args.what == "cap" else store.top_up
        change(Cap(args.account, kind, count, Period.parse(args.per)), _who(args), args.why)
    return _listed(balance for balance in store.balances() if balance.cap.account == args.account)


def _reset(store: LedgerStore, args: argparse.Namespace) -> int:
    from tape.budget import Period

    store.reset(args.account, args.resource, Period.parse(args.per), _who(args), args.why)
    return _listed(balance for balance in store.balances() if balance.cap.account == args.account)


def _show(store: LedgerStore, args: argparse.Namespace) -> int:
    labels = dict(text.partition("=")[::2] for text in args.label)
    return _listed(store.read(args.scope, labels) if args.scope else store.balances())


def _listed(balances: Iterable[Balance]) -> int:
    from tape.budget.resources import in_units

    rows: list[tuple[str, ...]] = [("account", "per", "cap", "left", "held", "spent", "")]
    for balance in balances:
        kind = balance.cap.resource
        amounts = [in_units(kind, count) for count in (balance.amount, balance.left, balance.held, balance.spent)]
        debt = f"{in_units(kind, balance.debt)} beyond worst cases" if balance.debt else ""
        rows.append((balance.cap.account, str(balance.cap.period), *amounts, debt))
    if len(rows) == 1:
        print("no caps")
        return 0
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _holds(store: LedgerStore, args: argparse.Namespace) -> int:
    for record in store.history(args.scope, args.most):
        labels = "".join(f" {name}={value}" for name, value in record.labels.items())
        amounts = f"worst {_amounts(record.worst)}" + (
            "" if record.state == "held" else f", spent {_amounts(record.spent)}"
        )
        begun, name = f"{record.begun:%Y-%m-%d %H:%M:%S}", record.name or "-"
        print(f"{begun} {record.id} {record.scope}{labels} {name}: {record.state}, {amounts}")
    return 0


def _amounts(counts: Mapping[str, int | None]) -> str:
    from tape.budget.resources import in_units

    written = [f"? {kind}" if n is None else in_units(kind, n) for kind, n in counts.items() if n != 0]
    return ", ".join(written) or "nothing"


def _rule(store: LedgerStore, args: argparse.Namespace) -> int:
    from tape.budget import Rule

    rule = Rule(args.account, args.at_limit, args.seconds, args.warn, args.webhook, args.same, args.tools)
    store.set_rule(rule, _who(args), args.why)
    return _pauses(store, args)


def _pauses(store: LedgerStore, _: argparse.Namespace) -> int:
    for rule in store.rules():
        does = [rule.at_limit if not rule.seconds else f"{rule.at_limit}, up to {rule.seconds} s"]
        does += [f"warn at {', '.join(map(str, rule.warn))} %"] if rule.warn else []
        does += [f"pause at {rule.same} equal calls in a row"] if rule.same else []
        does += [f"pause above {rule.tools} different tools"] if rule.tools else []
        print(f"rule of {rule.account}: {'; '.join(does)}")
    for pause in store.pauses():
        done = "stopped" if pause.stopped else "paused"
        print(
            f"{pause.account} is {done} since {pause.at:%Y-%m-%d %H:%M:%S} by {pause.who}"
            + (f": {pause.why}" if pause.why else "")
        )
    return 0


def _pause(store: LedgerStore, args: argparse.Namespace) -> int:
    who = _who(args)
    if args.what == "resume":
        store.resume(args.account, who, args.why, once=args.once)
    else:
        store.pause(args.account, who, args.why, stopped=args.what == "stop")
    return _pauses(store, args)


def _notes(store: LedgerStore, _: argparse.Namespace) -> int:
    for note in store.notes():
        print(f"{note.at:%Y-%m-%d %H:%M:%S} {note.who}: {note.what}" + (f" ({note.why})" if note.why else ""))
    return 0


def _settle(store: LedgerStore, args: argparse.Namespace) -> int:
    from tape.budget import Budget

    ended = store.settle(args.id, dict(Budget.parse(args.amounts)))
    print(f"{ended.id} is {ended.state} at {_amounts(ended.spent)}")
    return 0


def _claims(store: LedgerStore, args: argparse.Namespace) -> int:
    for claim in store.claims(args.scope, args.most):
        attempt = f", attempt {claim.attempt}" if claim.attempt > 1 else ""
        print(f"{claim.key} {claim.scope} {claim.name or '-'}: {claim.state}{attempt}")
    return 0


def _decide(store: LedgerStore, args: argparse.Namespace) -> int:
    from tape.budget.claims import decided

    store.decide(args.key, _who(args), args.why, done=args.end == "done", outcome=decided(args.result))
    print(f"the effect {args.key} is {args.end.replace('-', ' ')}")
    return 0


def _check(store: LedgerStore, _: argparse.Namespace) -> int:
    wrong = store.check()
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(wrong)} sums differ from the holds" if wrong else "all sums follow from the holds")
    return 1 if wrong else 0


def _changes(source: str) -> Sequence[str]:
    """The lines of a ledger by its address, or of a file that was exported."""
    from tape.budget.stores.addresses import is_address, read_address
    from tape.errors import ConfigError
    from tape.reading import read_text

    address = read_address(source) if is_address(source) else None
    if address is None or address.path is not None:
        path = Path(source) if address is None or address.path is None else address.path
        return [line for line in read_text(path).split("\n") if line]
    if not address.conninfo:
        raise ConfigError("a ledger in memory has no lines")
    from tape.budget.stores.postgres import PostgresStore

    store = PostgresStore(address)
    try:
        return store.chain()
    finally:
        store.close()


def _verify(source: str, anchors: Sequence[str]) -> int:
    from tape.budget.verify import verify
    from tape.errors import ConfigError

    if not source:
        raise ConfigError(f"which ledger? name it, or a file of its changes, or set {ADDRESS}")
    kept = [(root, last) for root, _, last in (anchor.rpartition("=") for anchor in anchors)]
    if wrong := [last for _, last in kept if not re.fullmatch("[0-9a-f]{64}", last)]:
        raise ConfigError(f"--anchor {wrong[0]!r}: an anchor is ROOT=HASH, as verify prints it")
    result = verify(_changes(source), kept)
    for line in result.wrong:
        print(line, file=sys.stderr)
    for line in result.debts:
        print(f"debt: {line}")
    if result.unlinked:
        print(f"{result.unlinked} lines have no hash: a change of them is not found (tape ledger init --chain)")
    for root, last in result.ends.items():
        if last:
            print(f"anchor: {root}={last}")
    if result.wrong:
        return 1
    print(
        f"verified: {result.lines} changes; {result.holds} holds fitted into the caps then in force, and each ended at "
        f"most once ({result.open} are open)"
    )
    return 0


def _export(store: LedgerStore, args: argparse.Namespace) -> int:
    if args.chain:
        for line in _changes(args.url or os.environ.get(ADDRESS, "")):
            print(line)
        return 0
    for record in store.history("", 10**9):
        written = {**record._asdict(), "begun": record.begun.isoformat(), "expires": record.expires.isoformat()}
        print(json.dumps(written))
    return 0


_DO = {
    "init": _init,
    "cap": _cap,
    "add": _cap,
    "reset": _reset,
    "show": _show,
    "holds": _holds,
    "rule": _rule,
    "pauses": _pauses,
    "pause": _pause,
    "stop": _pause,
    "resume": _pause,
    "notes": _notes,
    "settle": _settle,
    "claims": _claims,
    "decide": _decide,
    "check": _check,
    "export": _export,
}
