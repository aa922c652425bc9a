"""A behaviour net: small commands whose outcomes must survive a refactoring.

Every command of the table is played in a temporary folder with ``python -m tape``, and what comes out is compared with
what was recorded before: ``python -m tools.net`` checks against ``tools/net.json``, ``--record FILE`` makes such a
file. An option may be spelled anew in the table: a command's arguments are recorded and not compared.

Of a run every line of ``episodes.jsonl`` is hashed, in order, without times, without the sentence in ``detail`` and
without ``key`` (the hash of a configuration's own layout) and ``trace_hash`` (of lines with times); of ``tape solve
--json`` the answer without ``seconds``. What is hashed is in normal form (:func:`normal`), so that a field may move
to its method: what a method holds stands beside the rest.
Beside the digest the file holds every episode's fields in short, so that a difference can be named. Standard library
only; what it calls is installed in the Python that ``--python`` names.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tools.net_graphs import graphs

SCHEMA = 1
NET = Path(__file__).with_name("net.json")
OUT = "run"
"""The run directory of every command, in its own temporary folder."""

LEFT_OUT = ("solver_seconds", "wall_seconds", "wall_overrun_seconds", "detail", "answer", "explanation")
"""Fields of a result that are times, words for people, or follow from the others."""

METHOD = "method"
"""Where results hold what methods count."""

LIMIT_S = 600
SHOWN = 60
"""Longer values are kept as a hash."""

EASY = "sokoban --levels easy --model bundled:nano"
HARD = "sokoban --levels hard --model bundled:nano-1500"
CHAINS = "tool_chains --proposer declared --scorer declared"
AEC = "alfworld --verify aec --limit 2"

RUNS = {
    # Agents, on Sokoban.
    "sokoban-tape": f"{EASY} --limit 4",
    "sokoban-tape-weak": "sokoban --levels hard --model bundled:nano-750 --slack 4 --limit 3 --seed 3",
    "sokoban-tape-all-step": f"{HARD} --agent tape_all_step --limit 2",
    "sokoban-open-loop": f"{HARD} --agent open_loop --limit 4",
    "sokoban-react": f"{HARD} --agent react --limit 3 --repeats 2",
    "sokoban-plan-and-act": f"{HARD} --agent plan_and_act --limit 4",
    "sokoban-plan-and-act-replan": f"{HARD} --agent plan_and_act_replan --limit 4",
    "sokoban-best-of-n-react": f"{HARD} --agent best_of_n_react --limit 3 --no-repeat",
    "sokoban-best-of-n-plan-and-act": f"{HARD} --agent best_of_n_plan_and_act --limit 3",
    # Switches of the engine.
    "sokoban-selector-lm": f"{HARD} --ablation selector=experiments.ablations.selectors:LmSelector --limit 2",
    "sokoban-free": f"{HARD} --execution free --limit 2",
    "sokoban-forced-every-step": f"{HARD} --execution forced --ablation replan_every_step=on --limit 2",
    "sokoban-simulator": f"{HARD} --world-model simulator --limit 3",
    "sokoban-cbc": f"{HARD} --solver pulp:cbc --limit 3",
    "sokoban-cp-sat": f"{HARD} --solver cp-sat --limit 3",
    "sokoban-labelling": f"{HARD} --solver labelling --ablation score=expected --ablation discount=0.95 --horizon 12 "
    "--limit 3",
    "sokoban-bare": f"{HARD} --no-repeat --ablation cautious=off --ablation probe=off --ablation extend=0 "
    "--ablation requery_threshold=0 --ablation replan=off "
    "--limit 4",
    "sokoban-tokens": f"{HARD} --budget tokens=1200,calls=70 --planning-reserve tokens=100 --limit 4",
    "sokoban-workers": f"{HARD} --workers 2 --batch 2 --limit 4",
    # AEC and its search.
    "sokoban-aec": f"{HARD} --verify aec --limit 3",
    "sokoban-two-frontier": f"{EASY} --proposer two_frontier --limit 3",
    "alfworld-tape": "alfworld --observation full --tightness tight --limit 3",
    "alfworld-react": "alfworld --agent react --commands shown --limit 3",
    "alfworld-aec": f"{AEC} --gate thresholds --limit 4",
    "alfworld-aec-query-all": f"{AEC} --gate query_all --query-errors 0.3",
    "alfworld-aec-simulate-all": f"{AEC} --gate simulate_all --query-budget 6",
    "alfworld-aec-belief": f"{AEC} --commit belief --margin 0.2 --ensemble 4",
    "alfworld-two-frontier": "alfworld --proposer two_frontier --limit 1",
    "alfworld-sdp-aec": "alfworld --agent sdp --verify aec --max-replans 50 --limit 2",
    # SDP.
    "sokoban-sdp-walk": f"{HARD} --agent sdp --chain walk --limit 3",
    "sokoban-sdp-sample": f"{HARD} --agent sdp --chain sample --limit 3",
    "sokoban-sdp-strict": f"{HARD} --agent sdp --chain sample --strict-algorithm1 --cascade off --attempts 2 --limit 3",
    "sokoban-sdp-always": f"{HARD} --agent sdp --validation always --limit 3",
    # Search agents.
    "search-cgdp": "musique_search --agent cgdp --limit 3",
    "search-cgdp-aec": "musique_search --agent cgdp --context-tokens 384 --gate voi --verify aec --limit 4",
    "search-cgdp-solver": "musique_search --agent cgdp --select solver --depths 5,10 --budget tokens=4000 --limit 3",
    "search-ircot": "musique_search --agent ircot --memory freeform --gate f_j0.6_u0.3_p2 --limit 4",
    "search-react": "hotpot_search --agent react_search --limit 3",
    "search-memgpt": "locomo --agent memgpt --limit 3",
    "search-iter-retgen": "musique_search --agent iter_retgen --limit 3",
    "search-locomo": "locomo --agent cgdp --context-tokens 384 --limit 3",
    "search-code": "repo_qa --agent cgdp --limit 2",
    # Typed tools.
    "chains-tape": f"{CHAINS} --limit 3",
    "chains-price": f"{CHAINS} --level 10 --tools 100 --change price --limit 2",
    "chains-lm": "tool_chains --reader lm --model bundled:chains --proposer declared --scorer declared "
    "--execution forced --count 2",
    "chains-react": "tool_chains --agent react --model declared:first --change refused --limit 3",
    # Other environments.
    "scienceworld-sdp-adapter": "scienceworld --agent sdp --chain adapter --task short --limit 2",
    "scienceworld-tape": "scienceworld --task short --limit-steps 40 --limit 2",
    "scienceworld-react": "scienceworld --agent react --task short --limit-steps 30 --limit 2",
    "travelplanner-tape": "travelplanner --tightness tight --limit 3",
    "travelplanner-best": "travelplanner --objective best --tightness loose --limit 3",
    "travelplanner-infeasible": "travelplanner --tightness infeasible --limit 3",
    "travelplanner-react": "travelplanner --agent react --limit 3",
    "travelplanner-sdp-walk": "travelplanner --agent sdp --chain walk --limit 2",
    "travelplanner-sdp-adapter": "travelplanner --agent sdp --chain adapter --limit 4",
    "travelplanner-sdp-random": "travelplanner --agent sdp --chain adapter --model declared:random --tightness loose "
    "--limit 3",
}
"""Arguments of ``tape run``, without ``--out``."""

SOLVES = {
    "solve-feasible": "graph.json --budget usd=6,steps=4",
    "solve-feasible-cbc": "graph.json --budget usd=2.5,steps=5 --solver pulp:cbc --discount 0.9",
    "solve-infeasible": "graph.json --budget usd=1,steps=3",
    "solve-too-short": "chain.json --horizon 2",
    "solve-risk": "risky.json --budget usd=5 --risk 0.1",
}
"""Arguments of ``tape solve``, without ``--json``."""

WORLD = "world"
"""A program that plays environments of a user's own."""
WORLD_PROGRAM = NET.parent.parent / "experiments" / "harness" / "net_world.py"

Flat = dict[str, Any]
"""Fields of an episode or an answer by their dotted names."""


@dataclass(frozen=True)
class Outcome:
    """What a command came to.

    Attributes:
        argv: Its arguments after ``python -m tape``.
        exit: Its exit code.
        digest: Of all that must stay the same, the exit code aside.
        records: What was hashed, in short: one item for an episode, or one for an answer.
        lines: What was hashed, as it is.
        seconds: How long it took.
        complaint: The end of its standard error, where nothing came out.
    """

    argv: tuple[str, ...]
    exit: int
    digest: str
    records: tuple[Flat, ...]
    lines: tuple[str, ...]
    seconds: float
    complaint: str = ""

    def kept(self) -> dict[str, Any]:
        """What is recorded."""
        return {"argv": list(self.argv), "exit": self.exit, "digest": self.digest, "records": list(self.records)}


def main(argv: Sequence[str] | None = None) -> int:
    """Record or check; exit code 0 where all is the same, 1 where something differs or could not be recorded."""
    commands = _commands()
    args = _parser().parse_args(argv)
    unknown = sorted({*args.only} - {*commands})
    if unknown:
        print(f"no such command: {', '.join(unknown)}; there is: {', '.join(commands)}", file=sys.stderr)
        return 2
    names = [name for name in commands if not args.only or name in args.only]
    if args.list:
        for name in names:
            print(f"{name}: tape {shlex.join(commands[name])}")
        return 0
    held: dict[str, Any] = {}
    if args.record is None:
        held = json.loads(args.check.read_text(encoding="utf-8"))["commands"]
    elif args.only and args.record.exists():
        held = json.loads(args.record.read_text(encoding="utf-8"))["commands"]
    bad = []
    began = time.monotonic()
    with ThreadPoolExecutor(max_workers=args.jobs) as pool:
        outcomes = pool.map(lambda name: play(args.python, name, commands[name]), names)
        for name, outcome in zip(names, outcomes, strict=True):
            if args.keep is not None:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in outcome.lines), "utf-8")
            if args.record is not None:
                held[name] = outcome.kept()
                verdict = f"FAILED  {outcome.complaint}" if outcome.complaint else "recorded"
            else:
                ordered = in_recorded_order(outcome, held[name]) if name in held else outcome
                different = difference(held.get(name), ordered)
                verdict = f"DIFFERENT  {different}" if different else "same"
            if verdict not in ("same", "recorded"):
                bad.append(name)
            ends = ",".join(str(record.get("end_state", record.get("status"))) for record in outcome.records)
            print(f"{name:<32} {outcome.seconds:6.1f} s  {verdict}  [{ends}]", flush=True)
    if args.record is not None:
        args.record.write_text(file_text({name: held[name] for name in commands if name in held}), encoding="utf-8")
    print(f"{len(names) - len(bad)} of {len(names)} in {time.monotonic() - began:.0f} s")
    if bad:
        print(f"not so: {' '.join(bad)}")
    return 1 if bad else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.net", description=__doc__.partition("\n")[0])
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--record", type=Path, metavar="FILE", help="write what comes out (with --only: update FILE)")
    either.add_argument("--check", type=Path, metavar="FILE", default=NET, help="compare (default: tools/net.json)")
    parser.add_argument("--python", default=sys.executable, help="in which tape is installed (default: this one)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these commands alone")
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time (default: 2)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write what is hashed to DIR/NAME.jsonl, to be diffed")
    parser.add_argument("--list", action="store_true", help="print the commands and play nothing")
    return parser


def _commands() -> dict[str, list[str]]:
    """The arguments of every command by its name."""
    texts = {name: ["run", *shlex.split(text), "--out", OUT, "--quiet"] for name, text in RUNS.items()}
    texts |= {name: ["solve", *shlex.split(text), "--json"] for name, text in SOLVES.items()}
    return texts | {WORLD: [WORLD]}


def play(python: str, name: str, argv: Sequence[str]) -> Outcome:
    """Play one command in a temporary folder of its own."""
    hidden = ("PYTHONPATH", "PYTHONHASHSEED", "ALFWORLD_DATA")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    if any("experiments." in part for part in argv):
        environment["PYTHONPATH"] = str(NET.parent.parent)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tape-net-") as folder:
        place = Path(folder)
        for file, graph in graphs().items():
            (place / file).write_text(json.dumps(graph), encoding="utf-8")
        program = [str(WORLD_PROGRAM)] if name == WORLD else ["-m", "tape", *argv]
        command = [python, *program]
        try:
            done = subprocess.run(  # noqa: S603
                command,
                cwd=place,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(tuple(argv), -1, "", (), (), LIMIT_S, f"not done after {LIMIT_S} s")
        seconds = time.monotonic() - began
        records = list(_read(place, argv, done.stdout))
    lines = tuple(json.dumps(record, sort_keys=True) for record in records)
    digest = digest_of(lines)
    short = tuple(shortened(record) for record in records)
    complaint = "" if records else f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
    return Outcome(tuple(argv), done.returncode, digest, short, lines, seconds, complaint)


def _read(place: Path, argv: Sequence[str], printed: str) -> Iterator[dict[str, Any]]:
    """What a command came to, in normal form; nothing where it failed."""
    if argv[0] == "solve":
        if printed.lstrip().startswith("{"):
            answer = json.loads(printed)
            answer.pop("seconds", None)
            yield answer
        return
    file = place / OUT / "episodes.jsonl"
    if argv[0] == WORLD:
        lines = printed.splitlines()
    else:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for line in lines:
        yield normal(json.loads(line))


def normal(record: dict[str, Any]) -> dict[str, Any]:
    """An episode without times and keys, the fields of methods beside the common ones."""
    record.pop("key", None)
    record.pop("trace_hash", None)  # of lines with times
    values_by_name = {name: value for name, value in record.items() if name != "result"}
    result: dict[str, Any] = {}
    for name, value in record["result"].items():
        result |= value if name == METHOD else {name: value}
    # A field that only one method has may be missing or empty, which is the same.
    values_by_name["result"] = {
        name: value
        for name, value in result.items()
        if name not in LEFT_OUT and value not in (None, False, 0, "", [], {})
    }
    return values_by_name


def shortened(record: Mapping[str, Any]) -> Flat:
    """The fields by dotted names, those of ``result`` by their own; empty ones left out, long ones hashed."""
    mapping: Flat = {}
    for name, value in {**record, **record.get("result", {})}.items():
        if name == "result" or value in (None, False, 0, "", [], {}):
            continue
        text = json.dumps(value, sort_keys=True)
        mapping[name] = value
        if name == "actions" or len(text) > SHOWN:
            size = f", {len(value)} items" if isinstance(value, list | dict) else ""
            mapping[name] = f"#{hashlib.sha256(text.encode()).hexdigest()[:10]}{size}"
    return mapping


def in_recorded_order(outcome: Outcome, held: Mapping[str, Any]) -> Outcome:
    """The same with its episodes as the record has them: they are written as they end, in any order."""

    def named(record: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(record.get(name, 0) for name in ("cell", "task", "repeat"))

    places = {named(record): place for place, record in reversed([*enumerate(held["records"])])}
    order = sorted(range(len(outcome.records)), key=lambda i: places.get(named(outcome.records[i]), len(places)))
    lines = tuple(outcome.lines[i] for i in order)
    return replace(outcome, records=tuple(outcome.records[i] for i in order), lines=lines, digest=digest_of(lines))


def digest_of(lines: Sequence[str]) -> str:
    """The hash of what must stay the same."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def difference(held: Mapping[str, Any] | None, outcome: Outcome) -> str:
    """The first thing that differs, for people; empty where all is the same."""
    if held is None:
        return "never recorded"
    if outcome.complaint:
        return outcome.complaint
    if held["exit"] != outcome.exit:
        return f"exit code: {held['exit']} before, {outcome.exit} now"
    if held["digest"] == outcome.digest:
        return ""
    before, now = held["records"], outcome.records
    if len(before) != len(now):
        return f"{len(before)} records before, {len(now)} now"
    for old, new in zip(before, now, strict=True):
        for field in [*old, *(field for field in new if field not in old)]:
            if old.get(field) != new.get(field):
                where = f"{new['task']}: " if "task" in new else ""
                return f"{where}{field}: {old.get(field, '(empty)')!r} before, {new.get(field, '(empty)')!r} now"
    return "in an empty field, added or left out: compare with --keep"


def file_text(commands: Mapping[str, Mapping[str, Any]]) -> str:
    """The file's text: one line for every record."""
    parts = []
    for name, held in commands.items():
        head = json.dumps({field: held[field] for field in ("argv", "exit", "digest")}, ensure_ascii=False)
        records = ",\n".join("  " + json.dumps(record, ensure_ascii=False) for record in held["records"])
        parts.append(f'{json.dumps(name)}: {head[:-1]}, "records": [\n{records}]}}')
    return f'{{"schema": {SCHEMA}, "commands": {{\n' + ",\n".join(parts) + "\n}}\n"


if __name__ == "__main__":
    sys.exit(main())
