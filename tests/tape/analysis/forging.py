"""Edits of records by a forger who can write every file.

The forger numbers the lines anew, chains them by their new hashes and corrects the record.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from random import Random
from typing import Any

from tape.agents.base import Agent
from tape.analysis.audit import Audited, audit_trace
from tape.analysis.by_replay import Played
from tape.engine.settings import TapeConfig
from tape.lm.base import LanguageModel
from tape.plugins import load
from tape.trace.links import FIRST, hash_of

Line = dict[str, Any]
Trace = list[Line]
Edit = Callable[[Trace, Random], str]
"""Changes a trace; says what was done, or nothing where there was nothing to do it to."""

HEAD = ("schema", "seq", "episode", "type", "prev")


def read(path: Path) -> Trace:
    """The lines of a trace."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, lines: Trace, record: Line | None = None, *, chained: bool = True) -> Line | None:
    """Write a forged trace, and the record that goes with it.

    Args:
        path: Where to.
        lines: The trace.
        record: The episode's record; returned with what the forged trace says.
        chained: Number and chain the lines anew, and correct the record; else they stay as they are.
    """
    before, texts = FIRST, []
    for seq, line in enumerate(lines):
        changed = {**line, "seq": seq, "prev": before} if chained else line
        texts.append(json.dumps(changed))
        before = hash_of(texts[-1])
    path.write_text("".join(f"{text}\n" for text in texts))
    if record is None or not chained:
        return record
    results = [line["result"] for line in lines if line.get("type") == "finished" and "result" in line]
    return {**record, "trace_hash": before, "result": results[-1] if results else record["result"]}


def agent_of(path: Path, model: LanguageModel) -> Agent:
    """The agent of a trace, by its first line; its model counts tokens and is not asked."""
    config = dict(read(path)[0]["config"])
    agent: type[Agent] = load("tape.agents", config.pop("agent"))
    del config["model"]
    return agent(model, TapeConfig.make(**config))


def audited(path: Path, played: Played | None, model: LanguageModel | None) -> Audited:
    """What comes out of a trace without a run; nothing is played where ``played`` is None, no agent without a model."""
    one = Audited("configuration", "key", "task")
    agent = None if model is None else lambda: agent_of(path, model)
    audit_trace(one, path, None, played and replace(played, agent=agent))
    return one


def rules(one: Audited) -> set[str]:
    """The rules that are broken."""
    return {finding.rule for finding in one.findings}


def of(lines: Trace, kind: str) -> list[Line]:
    """The lines of a type."""
    return [line for line in lines if line["type"] == kind]


def put(lines: Trace, place: str, change: Any) -> None:
    """Put a value, or what a function makes of the old one, at a place: a type of line, its number, names in it."""
    kind, *path = place.split(".")
    *names, last = (int(name) if name.lstrip("-").isdigit() else name for name in path)
    held = _at(of(lines, kind), tuple(names))
    held[last] = change(held[last]) if callable(change) else change


def _recount(lines: Trace, **end: Any) -> None:
    """Correct what the end of the loop and the result count of the attempts."""
    moves, chains = of(lines, "sdp_validated"), of(lines, "sdp_chain")
    [finished], [concluded] = of(lines, "finished"), of(lines, "sdp_concluded")
    certified, planned = sum(move["k"] for move in moves), chains[-1]["certified"] + len(chains[-1]["targets"])
    rejected = sum(not move["k"] and move["counts"] for move in moves)
    concluded |= {"certified": certified, "planned": planned, "rejected": rejected, "replans": len(chains) - 1, **end}
    finished["result"]["method"] |= {
        "certified": certified, "chain_length": planned, "rejections": rejected,
        "goal_certified": concluded["goal_certified"], "certifying": sum(move["k"] > 0 for move in moves),
        "cascades": sum(move["k"] > 1 for move in moves),
    }  # fmt: skip


# --- the three that once passed -----------------------------------------------------------------


def failed_as_completed(lines: Trace, rng: Random) -> str:
    """A failed run as a completed one: the last attempt certifies all that is left, by the environment's report."""
    del rng
    if not of(lines, "sdp_concluded"):
        return ""
    moves, [finished], [concluded] = of(lines, "sdp_validated"), of(lines, "finished"), of(lines, "sdp_concluded")
    if finished["result"]["success"] or not moves or moves[-1]["action"] is None:
        return ""
    last, chain = moves[-1], [line for line in of(lines, "sdp_chain") if line["seq"] < moves[-1]["seq"]][-1]
    del lines[lines.index(last) + 1 : lines.index(concluded)]
    later = [move for move in moves if move["seq"] > chain["seq"]]
    done = sum(move["k"] for move in later[:-1])
    left = chain["targets"][done:]
    sure = {"holds": True, "how": "completion", "evidence": "the environment reports the task as done", "facts": []}
    last |= {"k": len(left), "checks": [{**sure, "truth": True} for _ in left]}
    last |= {"reason": "", "counts": True, "completed": True}
    _recount(lines, why="goal", goal_certified=True)
    finished["result"] |= {"success": True, "end_state": "success", "detail": ""}
    finished["result"] |= {"replans": len(of(lines, "replanned"))}
    return "a failed run as a completed one"


def judged(lines: Trace) -> Iterator[tuple[Line, Line, Line]]:
    """Every attempt with the targets that were looked at and the verdicts on them."""
    tail: list[Line] = []
    for line in lines:
        if line["type"] == "sdp_chain":
            tail = line["targets"]
        elif line["type"] == "sdp_validated":
            yield from ((line, target, check) for target, check in zip(tail, line["checks"], strict=False))
            tail = tail[line["k"] :]


def false_fact(lines: Trace, rng: Random) -> str:
    """A certificate of what is not so: target, facts and evidence fit, the state beside them does not."""
    sure = [target for _, target, check in judged(lines) if check["holds"] and check["facts"]]
    if not sure:
        return ""
    target = rng.choice(sure)
    name = target["requires"][0][0]
    other = name.replace("(", "(9", 1) if "9" not in name else name.replace("9", "8", 1)
    looked_at = [check for _, one, check in judged(lines) if one is target]
    target["requires"] = [[other if one == name else one, held] for one, held in target["requires"]]
    target["text"] = target["text"].replace(name, other)
    for check in looked_at:
        check["facts"] = [[other if one == name else one, held] for one, held in check["facts"]]
        check["evidence"] = check["evidence"].replace(name, other)
    return "a false fact beside the line's own state"


def other_node(lines: Trace, rng: Random) -> str:
    """Node and fields of an attempt as another attempt had them, against the facts."""
    moves = [m for m in of(lines, "sdp_validated") if m["action"] is not None]
    sure = [move for move in moves if move["k"] and move["checks"][0]["facts"]]
    pairs = [(a, b) for a in sure for b in moves if a["nodes"][1] != b["nodes"][1]]
    if not pairs:
        return ""
    one, other = rng.choice(pairs)
    at = of(lines, "sdp_validated").index(one)
    node, fields = other["nodes"][1], deepcopy(other["after"])
    one["nodes"][1], one["after"] = node, fields
    for later in of(lines, "sdp_validated")[at + 1 : at + 2]:
        later["nodes"][0], later["before"] = node, deepcopy(fields)
    return "node and fields against the facts"


NAMED: dict[str, Edit] = {"a": failed_as_completed, "b": false_fact, "c": other_node}


# --- random ones --------------------------------------------------------------------------------


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything that can be changed in a line."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, held in items:
        if path or name not in HEAD:
            yield (*path, name)
            yield from _leaves(held, (*path, name))


def _at(line: Any, path: tuple[Any, ...]) -> Any:
    return reduce(getitem, path, line)


def _other(value: Any, rng: Random, others: list[Any]) -> Any:
    """Another value of the same kind: one that stands elsewhere in the run, or one that is made up."""
    same = [one for one in others if type(one) is type(value) and one != value]
    if same and rng.random() < 0.6:
        return deepcopy(rng.choice(same))
    match value:
        case bool():
            return not value
        case int():
            return value + rng.choice((-1, 1, 2))
        case float():
            return value + rng.choice((-0.5, 0.25))
        case None:
            return rng.choice((True, 1, "forged"))
        case str():
            place = rng.randrange(len(value) + 1)
            return value[:place] + rng.choice("abUDLR79") + value[place + rng.randrange(2) :]
        case list():
            changed = deepcopy(value)
            if changed and rng.random() < 0.6:
                changed.pop(rng.randrange(len(changed)))
            else:
                changed.append(deepcopy(rng.choice(changed)) if changed else "forged")
            return changed
        case dict():
            fewer = dict(value)
            if fewer:
                fewer.pop(rng.choice([*fewer]))
            return fewer or {"forged": 1}
    return "forged"


def named(kind: str, path: tuple[Any, ...]) -> str:
    """A field by its name: places in lists are left out."""
    return ".".join([kind, *(part for part in path if isinstance(part, str))])


def value(lines: Trace, rng: Random, kinds: tuple[str, ...] = ()) -> str:
    """One value anywhere, or in lines of some types: each type of line and each field of it is as likely as another."""
    types = sorted({line["type"] for line in lines if not kinds or line["type"] in kinds})
    if not types:
        return ""
    line = rng.choice(of(lines, rng.choice(types)))
    fields: dict[str, list[tuple[Any, ...]]] = {}
    for path in _leaves(line):
        fields.setdefault(named(line["type"], path), []).append(path)
    if not fields:
        return ""
    name = rng.choice(sorted(fields))
    path = rng.choice(fields[name])
    others = []
    for other in lines:
        with suppress(KeyError, IndexError, TypeError):
            others.append(_at(other, path))
    held = _at(line, path)
    changed = _other(held, rng, others)
    if changed == held:
        return ""
    _at(line, path[:-1])[path[-1]] = changed
    gone = {*held} - {*changed} if isinstance(held, dict) and isinstance(changed, dict) else ()
    return ".".join([name, *map(str, gone)]) if len(gone) == 1 else name


def certificate(lines: Trace, rng: Random) -> str:
    """One value in a verdict."""
    return value(lines, rng, ("sdp_validated",))


def lines_changed(lines: Trace, rng: Random) -> str:
    """A line left out, repeated, moved, or the end cut off."""
    at = rng.randrange(1, len(lines))
    match rng.randrange(4):
        case 0:
            return f"left out: {lines.pop(at)['type']}"
        case 1:
            lines.insert(at, deepcopy(lines[at]))
            return f"twice: {lines[at]['type']}"
        case 2:
            to = rng.randrange(1, len(lines))
            if lines[at] == lines[to] or at == to:
                return ""
            lines.insert(to, lines.pop(at))
            return f"moved: {lines[to]['type']}"
        case _:
            del lines[at:]
            return "cut off"


def action(lines: Trace, rng: Random) -> str:
    """Another action, wherever it is recorded."""
    acted = of(lines, "acted")
    known = sorted({line["action"] for line in acted} | {"U", "D", "L", "R", "look"})
    if not acted:
        return ""
    number = rng.randrange(len(acted))
    was, now = acted[number]["action"], rng.choice(known)
    if was == now:
        return ""
    place = lines.index(acted[number])
    for line in lines[max(0, place - 2) : place]:
        if line["type"] == "ledger" and line["purpose"] == f"step:{was}":
            line["purpose"] = f"step:{now}"
    acted[number]["action"] = now
    for line in lines[place : place + 8]:
        if line["type"] == "sdp_validated" and line["action"] == was:
            line["action"] = now
            break
    [finished] = of(lines, "finished")
    finished["result"]["actions"][number] = now
    return "an action, wherever it is told"


def no_last_attempt(lines: Trace, rng: Random) -> str:
    """The last attempt taken out, with all that counts it."""
    del rng
    if not of(lines, "sdp_concluded"):
        return ""
    moves, [finished], [concluded] = of(lines, "sdp_validated"), of(lines, "finished"), of(lines, "sdp_concluded")
    acted = of(lines, "acted")
    if len(moves) < 2 or moves[-1]["action"] is None or not acted:
        return ""
    result = finished["result"]
    steps = [i for i, line in enumerate(lines) if line.get("purpose", "").startswith("step:")]
    first = steps[-2]
    cost = acted[-1]["cost"]
    del lines[first : lines.index(concluded)]
    _recount(lines, why="limit", goal_certified=False)
    result |= {"steps": result["steps"] - 1, "actions": result["actions"][:-1], "success": False}
    result |= {"end_state": "budget:steps"}
    for kind, count in cost.items():
        result["used"][kind] = result["used"].get(kind, 0) - (count or 0)
    return "the last attempt taken out"


def fact(lines: Trace, rng: Random) -> str:
    """A rejected attempt as certifying: fact, verdict and all counts."""
    moves = of(lines, "sdp_validated")
    tries = [i for i, m in enumerate(moves) if not m["k"] and m["checks"] and m["checks"][0]["facts"]]
    if not tries:
        return ""
    move = moves[rng.choice(tries)]
    check = move["checks"][0]
    check["facts"] = [[name, True] for name, _ in check["facts"]]
    check |= {"holds": True, "truth": True}
    move |= {"k": 1, "reason": "", "counts": True}
    _recount(lines)
    return "a rejected attempt as certifying"


WHOLE: tuple[Edit, ...] = (lines_changed, action, no_last_attempt, fact, *NAMED.values())
"""Edits of more than one field, or of whole lines."""


def forged(lines: Trace, rng: Random) -> tuple[Trace, str]:
    """A trace with one edit that really changes something, and the field, or what was done."""
    while True:
        copy = deepcopy(lines)
        edit = value if rng.random() < 0.85 else rng.choice(WHOLE)
        done = edit(copy, rng)
        if done and copy != lines:
            return copy, done if edit is value else f"{edit.__name__}: {done}"


def forged_record(record: Line, rng: Random) -> tuple[Line, str]:
    """An episode's record with one value changed, and the field."""
    while True:
        copy = deepcopy(record)
        path = rng.choice([*_leaves(copy)])
        held = _at(copy, path)
        changed = _other(held, rng, [])
        if changed != held:
            _at(copy, path[:-1])[path[-1]] = changed
            return copy, named("episode line", path)
