"""Edits of traces by somebody who means to pass them off, and a judge of his own for what an environment confirms.

The forger can write everything: he numbers the lines anew, chains them by their new hashes and corrects the episode's
record. The judge shares no code with :mod:`tape.analysis`: it reads the lines as plain JSON and plays the actions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tape.protocols import Environment
from tape.sdp.adapters import require_adapter
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


def of(lines: Trace, kind: str) -> list[Line]:
    """The lines of a type."""
    return [line for line in lines if line["type"] == kind]


# --- the three that once passed -----------------------------------------------------------------


def failed_as_completed(lines: Trace, rng: Random) -> str:
    """A failed run as a completed one: the last attempt certifies all that is left, by the environment's report."""
    del rng
    moves, [finished], [concluded] = of(lines, "sdp_validated"), of(lines, "finished"), of(lines, "sdp_concluded")
    if finished["result"]["success"] or not moves or moves[-1]["action"] is None:
        return ""
    last, chain = moves[-1], [line for line in of(lines, "sdp_chain") if line["seq"] < moves[-1]["seq"]][-1]
    del lines[lines.index(last) + 1 : lines.index(concluded)]
    later = [move for move in moves if move["seq"] > chain["seq"]]
    done = sum(move["k"] for move in later[:-1])
    left = chain["targets"][done:]
    sure = {"holds": True, "how": "completion", "evidence": "the environment reports the task as done", "facts": []}
    was, lost = last["k"], not last["k"] and last["counts"]
    last |= {"k": len(left), "checks": [{**sure, "truth": True} for _ in left]}
    last |= {"reason": "", "counts": True, "completed": True}
    total = sum(move["k"] for move in moves)
    result = finished["result"]
    concluded |= {"why": "goal", "certified": total, "planned": total, "goal_certified": True}
    concluded |= {"rejected": concluded["rejected"] - lost, "replans": len(of(lines, "sdp_chain")) - 1}
    result |= {"success": True, "end_state": "success", "detail": "", "certified": total, "chain_length": total}
    result |= {"goal_certified": True, "rejections": result["rejections"] - lost}
    result |= {"certifying": sum(m["k"] > 0 for m in moves), "cascades": sum(m["k"] > 1 for m in moves)}
    result |= {"replans": len(of(lines, "replanned"))}
    assert was != last["k"]
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
    for name in path:
        line = line[name]
    return line


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


def value(lines: Trace, rng: Random, kinds: tuple[str, ...] = ()) -> str:
    """One value anywhere, or in lines of some types."""
    line = rng.choice([one for one in lines if not kinds or one["type"] in kinds])
    paths = [*_leaves(line)]
    if not paths:
        return ""
    path = rng.choice(paths)
    others = []
    for other in lines:
        try:
            others.append(_at(other, path))
        except (KeyError, IndexError, TypeError):
            continue
    held = _at(line, path)
    changed = _other(held, rng, others)
    if changed == held:
        return ""
    _at(line, path[:-1])[path[-1]] = changed
    return f"{line['type']}.{'.'.join('*' if isinstance(part, int) else str(part) for part in path)}"


CLAIMS = ("started", "observed", "acted", "sdp_chain", "sdp_validated", "sdp_concluded", "finished", "mismatch")


def claim(lines: Trace, rng: Random) -> str:
    """One value in a line that tells of the environment or of a certificate."""
    return value(lines, rng, CLAIMS)


def certificate(lines: Trace, rng: Random) -> str:
    """One value in a verdict."""
    return value(lines, rng, ("sdp_validated",))


def lines_changed(lines: Trace, rng: Random) -> str:
    """A line left out, told twice, moved, or the end cut off."""
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
    """Another action, wherever it is told."""
    acted = of(lines, "acted")
    told = sorted({line["action"] for line in acted} | {"U", "D", "L", "R", "look"})
    if not acted:
        return ""
    number = rng.randrange(len(acted))
    was, now = acted[number]["action"], rng.choice(told)
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
    moves, [finished], [concluded] = of(lines, "sdp_validated"), of(lines, "finished"), of(lines, "sdp_concluded")
    acted = of(lines, "acted")
    if len(moves) < 2 or moves[-1]["action"] is None or not acted:
        return ""
    result = finished["result"]
    steps = [i for i, line in enumerate(lines) if line.get("purpose", "").startswith("step:")]
    first = steps[-2]
    cost = acted[-1]["cost"]
    del lines[first : lines.index(concluded)]
    chains = [line["targets"] for line in of(lines, "sdp_chain")]
    certified = sum(move["k"] for move in moves[:-1])
    held = [line["certified"] for line in of(lines, "sdp_chain")][-1]
    concluded |= {"certified": certified, "planned": held + len(chains[-1]), "why": "limit", "goal_certified": False}
    concluded |= {"rejected": sum(not m["k"] and m["counts"] for m in moves[:-1]), "replans": len(chains) - 1}
    result |= {"steps": result["steps"] - 1, "actions": result["actions"][:-1], "success": False}
    result |= {"end_state": "budget:steps", "certified": certified, "chain_length": concluded["planned"]}
    result |= {"goal_certified": False, "rejections": concluded["rejected"]}
    result |= {"certifying": sum(m["k"] > 0 for m in moves[:-1]), "cascades": sum(m["k"] > 1 for m in moves[:-1])}
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
    [finished], [concluded] = of(lines, "finished"), of(lines, "sdp_concluded")
    for told, rejections in ((concluded, "rejected"), (finished["result"], "rejections")):
        told |= {"certified": told["certified"] + 1, rejections: told[rejections] - 1}
    finished["result"]["certifying"] += 1
    return "a rejected attempt as certifying"


RANDOM: tuple[tuple[Edit, int], ...] = (
    (claim, 5),
    (certificate, 5),
    (value, 3),
    (lines_changed, 3),
    (action, 2),
    (no_last_attempt, 1),
    (fact, 1),
    (failed_as_completed, 1),
    (false_fact, 1),
    (other_node, 2),
)
"""Edits, and how often each is drawn."""


def forged(lines: Trace, rng: Random) -> tuple[Trace, str]:
    """A trace with one edit that really changes something, and what was done."""
    edits, weights = zip(*RANDOM, strict=True)
    while True:
        copy = deepcopy(lines)
        edit = rng.choices(edits, weights)[0]
        done = edit(copy, rng)
        if done and copy != lines:
            return copy, f"{edit.__name__}: {done}"


# --- the judge ----------------------------------------------------------------------------------


@dataclass
class Judge:
    """Plays the actions of a trace, and says what of it the environment contradicts.

    Where a domain grounds no predicates (trips), it goes by the targets and not by the facts beside them.

    Attributes:
        make: Makes a fresh environment of the task.
        seed: What it is reset with.
    """

    make: Callable[[], Environment]
    seed: int

    def against(self, lines: Trace) -> str:
        """The first thing that is not so; nothing where all of it is."""
        env: Any = self.make()
        domain, adapter = env.domain, require_adapter(env)
        before = state = domain.project(env.reset(self.seed))
        seen, step, actions, tail = 0, 0, list[str](), list[Line]()
        spent: dict[str, int] = {}
        for line in lines:
            match line["type"]:
                case "started" if line["task"] != domain.task_text():
                    return "another task"
                case "acted":
                    try:
                        observation, cost = env.step(line["action"])
                    except Exception:
                        return "an action that there is not"
                    before, state = state, domain.project(observation)
                    step, actions = step + 1, [*actions, line["action"]]
                    for kind, count in cost.items():
                        spent[kind] = spent.get(kind, 0) + count
                    if line["cost"] != dict(cost) or line["step"] != step:
                        return "cost or number of a step"
                case "observed":
                    if seen != step:
                        return "what was observed is not what happened"
                    seen += 1
                    if (line["key"], line["picture"], line["step"]) != (domain.key(state), domain.render(state), step):
                        return "an observation"
                case "sdp_chain":
                    tail = line["targets"]
                case "sdp_validated":
                    was = before if line["action"] is not None else state
                    if line["action"] is not None and line["action"] != actions[-1]:
                        return "a verdict on what was not done"
                    fields = [json.loads(json.dumps(dict(adapter.fields(one)))) for one in (was, state)]
                    if [line["before"], line["after"]] != fields:
                        return "fields"
                    if line["nodes"] != [domain.key(was), domain.key(state)] or line["step"] != step:
                        return "nodes"
                    if line["completed"] and not env.success():
                        return "completed"
                    known = None
                    if hasattr(domain, "ground"):
                        known = {str(name): held for name, held in domain.ground(state).items()}
                    elif hasattr(domain, "toolbox"):
                        known = _obtained(state, line, tail)
                    for target, check in zip(tail, line["checks"], strict=False):
                        if check["truth"] is not None and check["truth"] != self._true(env, target, known):
                            return "the truth of a predicate"
                        if check["holds"] and check["how"] == "deterministic" and not self._true(env, target, known):
                            return "a certificate that is false"
                        if known is not None and any(known.get(name) is not held for name, held in check["facts"]):
                            return "a fact"
                    tail = tail[line["k"] :]
                case "finished":
                    result = line["result"]
                    told = (result["success"], result["actions"], result["steps"])
                    if told != (env.success(), actions, step):
                        return "success, or what was done"
                    if hasattr(env, "measures") and result["measures"] != dict(env.measures()):
                        return "the measures"
                    if any(result["used"].get(kind, 0) != count for kind, count in spent.items()):
                        return "what was used"
        return "" if lines and lines[-1]["type"] == "finished" and seen == step + 1 else "the end is missing"

    @staticmethod
    def _true(env: Any, target: Line, known: dict[str, bool] | None) -> bool:
        if target["goal"]:
            return bool(env.success())
        if known is not None and target["requires"]:
            return all(known.get(name) is held for name, held in target["requires"])
        from tape.sdp.events import TargetRecord

        return bool(env.truth(TargetRecord.model_validate(target).target()))


def _obtained(state: Any, line: Line, tail: Trace) -> dict[str, bool]:
    """What calls of tools have come to: all that is asked about, and so far as it is there."""
    asked = {name for check in line["checks"] for name, _ in check["facts"]}
    asked |= {name for target in tail for name, _ in target["requires"]}
    there = {f"result(#{number}, {found.call.symbol})" for number, found in enumerate(state.got, 1)}
    there |= set() if state.answer is None else {f"answered({state.answer})"}
    return {name: name in there for name in asked}
