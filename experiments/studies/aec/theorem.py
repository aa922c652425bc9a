"""Theorem 3.4 put to the test without a model: its bound, bounds that are too narrow, and verifiers that are broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from envs.alfworld.game.games import load_games
from experiments.harness.matrix import spread
from experiments.studies.aec.bound import LEVEL, BoundCheck, check_bound, tail
from experiments.studies.aec.injected import EVERY, Case, Injected, drawn_games, injected
from tape.show.document import Figure, Section, Table
from tape.show.plots import Panel, Plot, Series, Value

RATES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
"""Of simulated query errors; above them the bound allows everything."""

PLACES = "in"
"""The predicates of where things are: where they alone err, the bound counts them alone and is narrower."""

SOUND = (*(Case(rate) for rate in RATES), *(Case(rate, PLACES) for rate in RATES))
BROKEN = (Case(0.0, EVERY, 1.0), Case(0.0, EVERY, 0.1), Case(0.0, EVERY, 0.01), Case(0.005, PLACES, 0.1))
DRAWN, SEEDS = 60, 4
"""Fresh games beside the packaged ones, and episodes of each game in each case."""

ERRING = {EVERY: "every predicate", PLACES: f"`{PLACES}` alone"}
Found = Mapping[Case, Mapping[str, Injected]]


def play(games: str, count: int | None, file: Path) -> Found:
    """Play what is missing; the episodes by case.

    Args:
        games: A set of games; fresh ones are drawn beside the packaged ones.
        count: Only so many of it, of all types, once each; None: all, and the drawn ones.
        file: Where episodes are kept.
    """
    chosen = spread(load_games(games), count)
    if count is None and games == "packaged":
        chosen = (*chosen, *drawn_games(DRAWN))
    return injected(chosen, (*SOUND, *BROKEN), SEEDS if count is None else 1, file)


def rows_of(found: Found) -> list[dict[str, Any]]:
    """The episodes as rows, which are published."""
    return [
        {**case._asdict(), "game": name, **one._asdict()} for case, mine in found.items() for name, one in mine.items()
    ]


def found_in(rows: Sequence[Mapping[str, Any]]) -> Found:
    """The episodes that rows are about."""
    found: dict[Case, dict[str, Injected]] = {}
    for row in rows:
        case = Case(*(row[name] for name in Case._fields))
        found.setdefault(case, {})[row["game"]] = Injected(*(row[name] for name in Injected._fields))
    return found


def sections(found: Found) -> list[Section]:
    """What the experiment shows of the theorem, and what it can show at all."""
    episodes = {name for mine in found.values() for name in mine}
    games = len({name.rsplit("-", 1)[0] for name in episodes})
    seeds = len(episodes) // games
    about = (
        "**Simulated query errors.** No model: receptacles are looked into in a random order, and the first path that "
        "the verifier accepts on facts of which some are wrong is played on the engine. One commitment an episode, "
        f"{games} games, {seeds} times each with other errors and another order. `p`: how likely at least so many "
        "infeasible commitments are if no more than the bound allows is true (exact binomial, one-sided); refuted "
        f"where it is at most {LEVEL}. Detectable: the least true share that so many episodes refute with a power of "
        "0.8; where it is not below 1, the row cannot fail."
    )
    figure = Figure("aec_errors", "Infeasible commitments beside what the theorem allows; no model.", _plot(found))
    return [
        Section("The verifier alone", (about, _bound_table(found), figure), 3),
        Section("Can this experiment fail?", (_NARROW, _narrow_table(found), _broken_table(found)), 3),
        Section("The bound read run by run", (_RUN_BY_RUN, _quarter_table(found)), 3),
    ]


_NARROW = (
    "It refutes what is false. *A narrower bound* that counts only the facts that the committed path rests on is not a "
    "theorem: which path is committed to depends on the answers, and a false sighting is what ends a search. *Broken "
    "verifiers* leave out coverage in a share of their verdicts and then accept a path that supposes the objects to be "
    "in a place that nobody has looked into; the errors that this adds are not in Q."
)
_RUN_BY_RUN = (
    "The theorem's step from the query error model to a bound for the Q of one run takes Q as given. But Q is decided "
    "by the answers: a search ends where something seems to be found. The bound holds on average over runs, since "
    "whether a predicate is asked for is settled before its answer. It need not hold among the runs that ended early. "
    "These are the quarter of all commitments with the least Q; a row that is refuted says that `1 - sum of eps`, "
    "taken of such a run, promises too much."
)


def _checked(episodes: Sequence[Injected]) -> BoundCheck:
    return check_bound([(one.bound, one.feasible) for one in episodes if one.committed])


def columns(check: BoundCheck) -> tuple[str, ...]:
    """n, infeasible, allowed, detectable, p and the verdict."""
    if not check.n:
        return ("0", "-", "-", "-", "-", "-")
    least = f"{check.detects:.3f}" if check.detects < 1 else "none"
    seen = f"{check.frequency:.3f} ({check.low:.3f} to {check.high:.3f})"
    p = f"{check.p:.2g}" if check.p >= 1e-4 else "< 0.0001"
    return str(check.n), seen, f"{check.allowed:.3f}", least, p, "no" if check.holds else "**yes**"


HEAD = ("n committed", "infeasible", "allowed: mean of 1 - bound", "detectable", "p", "refuted")


def _bound_table(found: Found) -> Table:
    rows = [
        (ERRING[case.erring], f"{case.rate:g}", str(len(found[case])), *columns(_checked([*found[case].values()])))
        for case in SOUND
    ]
    note = (
        "What errs, and how often; Wilson's 95 % intervals. The bound counts every predicate that errs and was "
        f"grounded after the start. Of bounds that hold, one in {round(1 / LEVEL)} at most is refuted by chance."
    )
    return Table(("errs", "error rate", "episodes", *HEAD), tuple(rows), note)


def _narrow_table(found: Found) -> Table:
    rows = []
    for case in SOUND:
        if case.rate:
            check = check_bound([(one.rested, one.feasible) for one in found[case].values() if one.committed])
            rows.append((ERRING[case.erring], f"{case.rate:g}", *columns(check)))
    return Table(("errs", "error rate", *HEAD), tuple(rows), "The narrower bound, that is no theorem.")


def _broken_table(found: Found) -> Table:
    rows = []
    for case in BROKEN:
        episodes = [*found[case].values()]
        broken = (f"{case.leak:g}", ERRING[case.erring] if case.rate else "-", f"{case.rate:g}")
        rows.append((*broken, *columns(_checked(episodes)), _contradicted_from(episodes)))
    note = (
        "Verifiers that leave out coverage in this share of their verdicts. Refuted from: the number of episodes, in "
        "the order of play, from which on the test refutes."
    )
    return Table(("coverage left out", "errs", "error rate", *HEAD, "refuted from"), tuple(rows), note)


def _contradicted_from(episodes: Sequence[Injected]) -> str:
    """After how many episodes the test has refuted the bound for good."""
    first = len(episodes) + 1
    for n in range(len(episodes), 0, -1):
        made = [one for one in episodes[:n] if one.committed]
        allowed = fmean(1.0 - one.bound for one in made) if made else 1.0
        if tail(sum(not one.feasible for one in made), len(made), allowed) > LEVEL:
            break
        first = n
    return str(first) if first <= len(episodes) else "-"


def _quarter_table(found: Found) -> Table:
    rows = []
    for case in SOUND:
        if case.rate:
            committed = sorted((one for one in found[case].values() if one.committed), key=lambda one: -one.bound)
            early = committed[: len(committed) // 4]
            rows.append((ERRING[case.erring], f"{case.rate:g}", *columns(_checked(early))))
    return Table(("errs", "error rate", *HEAD), tuple(rows), "The quarter of the commitments with the least Q.")


def _plot(found: Found) -> Plot:
    panels = []
    for erring, title in ERRING.items():
        cases = [case for case in SOUND if case.erring == erring]
        checks = [_checked([*found[case].values()]) for case in cases]
        panels.append(Panel(f"the verifier alone; errors in {title.replace('`', '')}", series(checks)))
    return Plot("lines", tuple(panels), "share of commitments", "error rate", tuple(f"{rate:g}" for rate in RATES))


def series(checks: Sequence[BoundCheck]) -> tuple[Series, Series]:
    """What was seen and what is allowed, by the number of the rate."""
    at = tuple(float(number) for number, _ in enumerate(checks))
    seen = tuple(Value(c.frequency, c.low, c.high) if c.n else None for c in checks)
    allowed = tuple(Value(c.allowed, c.allowed, c.allowed) if c.n else None for c in checks)
    return (
        Series("infeasible, simulated errors", seen, "strong", at),
        Series("allowed by theorem 3.4", allowed, "plain", at),
    )
