"""Gates against a reference by brute force over whole histories."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest

from tape.errors import ConfigError
from tape.methods.cgdp.gates import CONFIGURATIONS, GateConfiguration, Signalling, StagnationGate, jaccard, require_gate

Trace = Sequence[tuple[str, Sequence[str]]]

WORDS = ["mayor", "Tarn", "Ada", "born", "lake", "flute", "the", "of", "Weil"]
IDS = [f"p{i}" for i in range(8)]


def random_trace(rng: random.Random, rounds: int) -> Trace:
    """Queries that often repeat themselves, observations that often hold nothing new, some empty."""
    words, ids = rng.sample(WORDS, rng.randint(2, 9)), rng.sample(IDS, rng.randint(1, 8))
    return [
        (" ".join(rng.choices(words, k=rng.randint(1, 4))), rng.sample(ids, rng.randint(0, len(ids))))
        for _ in range(rounds)
    ]


def reference_signals(trace: Trace, i: int, recent: int = 3) -> tuple[float, float]:
    """J and UPR of round i, from the history up to it."""
    query, texts = trace[i]
    distinct = set(texts)
    if i == 0:
        return 0.0, 1.0 if distinct else 0.0
    own = set(re.findall(r"[a-z0-9]+", query.lower()))
    overlaps = []
    for earlier, _ in trace[max(0, i - recent) : i]:
        other = set(re.findall(r"[a-z0-9]+", earlier.lower()))
        overlaps.append(len(own & other) / len(own | other))
    seen = {identifier for _, ids in trace[:i] for identifier in ids}
    return max(overlaps), (len([name for name in distinct if name not in seen]) / len(distinct) if distinct else 0.0)


def reference_fires(trace: Trace, name: str) -> int | None:
    """The round, from 1, after which a configuration fires; None: it does not."""
    kind, tau_j, tau_u, p = re.fullmatch(r"([fs])_j([0-9.]+)_u([0-9.]+)_p(\d+)", name).groups()  # type: ignore[union-attr]
    averages: list[tuple[float, float]] = []
    for i in range(len(trace)):
        j, u = reference_signals(trace, i)
        if kind == "s" and averages:
            j, u = (0.5 * now + 0.5 * before for now, before in zip((j, u), averages[-1], strict=True))
        averages.append((j, u))
        last = averages[-int(p) :]
        if len(last) == int(p) and all(j >= float(tau_j) and u <= float(tau_u) for j, u in last):
            return i + 1
    return None


def fires(trace: Trace, configuration: GateConfiguration) -> int | None:
    signalling, gate = Signalling(), StagnationGate(configuration)
    for number, (query, texts) in enumerate(trace, 1):
        signals = signalling.after(query, texts)
        assert (signals.jaccard, signals.upr) == pytest.approx(reference_signals(trace, number - 1))
        if gate.fires(signals):
            return number
    return None


def compare(traces: int, seed: int) -> dict[str, int]:
    """Every configuration on so many random traces; how often each fired."""
    rng = random.Random(seed)
    fired = dict.fromkeys(CONFIGURATIONS, 0)
    for _ in range(traces):
        trace = random_trace(rng, rng.randint(1, 12))
        for name, configuration in CONFIGURATIONS.items():
            expected = reference_fires(trace, name)
            assert fires(trace, configuration) == expected, (name, trace)
            fired[name] += expected is not None
    return fired


@pytest.mark.parametrize("traces", [100, pytest.param(10_000, marks=pytest.mark.soak)])
def test_all_configurations_fire_where_the_definitions_say(traces: int) -> None:
    fired = compare(traces, seed=traces)
    assert all(0 < count < traces for count in fired.values()), fired


@pytest.mark.parametrize(("recent", "expected"), [(1, 0.0), (2, 1.0)])
def test_the_window_of_j_is_a_setting(recent: int, expected: float) -> None:
    signalling = Signalling(recent)
    assert [signalling.after(query, []).jaccard for query in ("a b", "c d", "a b")][-1] == expected
    assert jaccard((), ()) == 1.0


@pytest.mark.parametrize("wrong", ["f_j0.9", "fixed:0", "fixed:", "fixed:x", "lm", "", "F_j0.6_u0.3_p2"])
def test_an_unknown_gate_is_refused_with_those_there_are(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"there is no gate .*f_j0\.6_u0\.3_p2"):
        require_gate(wrong)


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"tau_j": 1.5}, "tau_j"), ({"tau_u": -0.1}, "tau_u"), ({"patience": 0}, "p = 0"), ({"decay": 0.0}, "decay")],
)
def test_a_configuration_out_of_range_is_refused(changed: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        GateConfiguration(**{"tau_j": 0.6, "tau_u": 0.3, "patience": 2, **changed})  # type: ignore[arg-type]
