"""A probe in words: the table of the roles, what calls and an episode take, and the settings that fit."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tape.analysis.probe.advice import Advice, verdict
from tape.analysis.probe.record import PricedEpisode, Probe, RoleRecord
from tape.budget import in_units

_HEAD = ("role", "n", "valid", "right", "95 % interval", "chance", "prompt", "answer", "s each", "verdict")
_TEXT = {0, 9}
"""Columns of the roles' table that hold words."""

ABOUT = {
    "plan": "reaches the goal",
    "act": "a good next action",
    "next": "outcome of an action",
    "rollout": "outcomes of a plan",
    "score": "class of a state",
    "project": "content of a text",
    "answer": "the right answer",
}
"""What is right in a role, in a few words."""


def report(probe: Probe, advice: Advice | None = None) -> str:
    """A whole probe, for a terminal."""
    return "\n".join(_report(probe, advice)) + "\n"


def _report(probe: Probe, advice: Advice | None) -> Iterator[str]:
    threads = "" if probe.threads is None else f", {probe.threads} thread{'' if probe.threads == 1 else 's'}"
    yield f"{probe.model} on {probe.environment}, prompt format {probe.prompts}, greedy, seed {probe.seed}{threads}"
    yield ""
    yield from _aligned([_HEAD, *(_row(record) for record in probe.roles.values())])
    yield ""
    yield from speed(probe)
    if probe.episode is not None:
        yield from _episode(probe.episode)
    yield f"spent on this: {_money(probe.usd)}"
    if probe.stopped:
        yield f"stopped early: {probe.stopped}; the same command goes on from here"
    for record in probe.roles.values():
        if record.failure:
            yield f"{record.role} failed: {record.failure}"
    if advice is not None:
        yield ""
        yield from _advice(probe, advice)


def _row(record: RoleRecord) -> tuple[str, ...]:
    n = record.n
    name = f"{record.role}: {ABOUT[record.role]}" if record.role in ABOUT else record.role
    if not n:
        return (name, "0", *("-",) * 7, "failed" if record.failure else "not measured")
    low, high = record.interval
    good = verdict(record).good
    return (
        name,
        str(n),
        f"{record.valid / n:.2f}",
        f"{record.right / n:.2f}",
        f"{low:.2f} to {high:.2f}",
        "-" if record.chance is None else f"{record.chance:.2f}",
        f"{record.prompt_tokens / n:.0f}",
        f"{record.completion_tokens / n:.0f}",
        f"{record.seconds / n:.2f}",
        {True: "good enough", False: "not good enough", None: "too few cases"}[good],
    )


def _aligned(rows: Sequence[Sequence[str]], words: Collection[int] = _TEXT) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        parts = [
            text.ljust(width) if i in words else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(parts).rstrip()


def rates(probe: Probe) -> tuple[float | None, float | None]:
    """Tokens a second: written, of the roles that write; read and written, of all. None where nothing was measured."""
    writing = [r for r in probe.roles.values() if r.seconds and r.completion_tokens and r.role != "score"]
    wrote, took = sum(r.completion_tokens for r in writing), sum(r.seconds for r in writing)
    everything = sum(r.prompt_tokens + r.completion_tokens for r in probe.roles.values())
    seconds = sum(r.seconds for r in probe.roles.values())
    return (wrote / took if took else None, everything / seconds if seconds else None)


def speed(probe: Probe) -> Iterator[str]:
    """How fast the model was."""
    written, in_all = rates(probe)
    if in_all is not None:
        wrote = "" if written is None else f"{written:,.0f} tokens a second written, "
        yield f"speed: {wrote}{in_all:,.0f} read and written, in small batches"
    if (first := probe.first) is not None:
        again = "" if first.again is None else f", the same once more {first.again:.2f} s"
        yield f"first constrained call: {first.seconds:.2f} s ({first.role}){again}"


def _episode(played: PricedEpisode) -> Iterator[str]:
    steps = in_units("steps", played.steps)
    tokens = in_units("tokens", played.prompt_tokens + played.completion_tokens)
    cost = f"{in_units('calls', played.calls)}, {tokens}, {_money(played.usd)}, {played.seconds:.0f} s"
    how = ", ".join(f"{name}={value}" for name, value in played.settings.items()) or "default settings"
    more = ", and it was cut off: more than that" if played.cut else ""
    yield f"an episode ({played.task}; {how}): {played.end_state} after {steps}; {cost}{more} (n = 1)"
    if played.most_calls is not None:
        most = in_units("tokens", played.most_tokens or 0)
        yield (
            f"at the very worst such an episode takes {in_units('calls', played.most_calls)}; "
            f"if each is as large as the largest here, {most}, {_money(played.most_usd)}: "
            "far from what is usual; --budget caps it"
        )
    else:
        yield "no bound is known for an episode at its worst; --budget caps it"


def _money(count: int | None) -> str:
    return "an unknown amount of money" if count is None else in_units("usd", count)


def _advice(probe: Probe, advice: Advice) -> Iterator[str]:
    unsaid = [record.role for record in probe.roles.values() if verdict(record).good is None and record.chance != 1]
    if unsaid:
        yield f"too little was measured to judge {', '.join(unsaid)}; --minutes and --max-usd bound it"
    yield f"{word(advice)} for {probe.environment}, with the settings below; {advice.environment.why}"
    if not advice.settings:
        yield "advice: keep the default settings" if len(unsaid) < len(probe.roles) else "advice: none yet"
    else:
        yield "advice: give these roles to what the environment declares (`--auto-roles` does it)"
        for name, value in advice.settings.items():
            yield f"  {option(name)} {value}   {advice.reasons[name]}"
    for note in advice.notes:
        yield f"note: {note}"
    yield f"  {command(probe, advice.settings)}"


def word(advice: Advice) -> str:
    """The verdict on a model in an environment."""
    return {True: "good enough", False: "not good enough", None: "not judged"}[advice.environment.good]


def overview(probes: Sequence[tuple[Probe, Advice]]) -> str:
    """For which of several environments the model is good enough, and why."""
    rows = [(probe.environment, word(advice), advice.environment.why) for probe, advice in probes]
    return "\n" + "\n".join(_aligned([("environment", "the model is", "why"), *rows], range(3))) + "\n"


def option(name: str) -> str:
    """A switch as an option of the command line."""
    return "--" + name.replace("_", "-")


def command(probe: Probe, settings: Mapping[str, str]) -> str:
    """The command that plays with some settings."""
    options = [part for name, value in settings.items() for part in (option(name), value)]
    return shlex.join(["tape", "run", probe.environment, "--model", probe.model, *options])


def as_json(probe: Probe, advice: Advice | None) -> dict[str, Any]:
    """The same for programs: figures of every role, speed, episode and advice."""
    written, in_all = rates(probe)
    roles = {
        record.role: {
            "n": record.n,
            "valid": record.valid,
            "right": record.right,
            "interval95": list(record.interval),
            "chance": record.chance,
            "good_enough": verdict(record).good,
            "prompt_tokens": record.prompt_tokens,
            "completion_tokens": record.completion_tokens,
            "seconds": record.seconds,
            "failure": record.failure,
            "wrong": [answer.why for answer in record.answers if not answer.right],
        }
        for record in probe.roles.values()
    }
    model = probe.model_dump(mode="json", exclude={"roles"})
    model |= {"roles": roles, "tokens_per_second": {"written": written, "in_all": in_all}, "advice": None}
    if advice is not None:
        model["advice"] = {
            "settings": dict(advice.settings),
            "reasons": dict(advice.reasons),
            "notes": list(advice.notes),
            "environment": {"good_enough": advice.environment.good, "why": advice.environment.why},
            "command": command(probe, advice.settings),
        }
    return model
