"""`PathProblem`: the resource-constrained path selection problem, as data."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, Literal

from solvers.errors import ProblemError
from solvers.reading import parse_json
from solvers.risk import Risk

SCHEMA = "tape.path_problem/1"

# Written only where they are set, so that files without them keep the same form in every version.
_OPTIONAL = {"spreads", "risk", "objective", "edge_rewards"}

OBJECTIVES = ("stay", "visit")

LONGEST_HORIZON = 10**18
"""More steps than anything takes; a longer horizon is a mistake."""

LARGEST_AMOUNT = 10**1000
"""Costs, budgets and spreads are exact integers of any size up to this; more digits are a mistake."""


@dataclass(frozen=True)
class PathProblem:
    """Find the path of greatest reward that keeps every budget (TAPE eq. 6-11 and 15-16, generalised).

    A solution is a path from `start` of m <= `horizon` moves, each along an edge, that ends at a terminal. A terminal
    may also be passed through, and a start that is terminal makes the empty path valid. What a path is worth says
    `objective`:

    - `"visit"`: the sum over moves l = 1..m of `discount**(l-1) * (rewards[node arrived at] + edge_rewards[edge])`.
      Each node's and each edge's reward is earned once per visit; the start's own is not, unless a path comes back.
    - `"stay"`, the objective of TAPE: after its moves the path stays at the terminal where it is, and every stay is
      free and earns the node's reward again: the sum over steps l = 1..`horizon` of
      `discount**(l-1) * rewards[node at step l]`.

    Costs may be uncertain: then `costs` are means, `spreads` standard deviations, and `risk` says how likely a budget
    may be exceeded and what that rests on (`solvers.risk`). Without a risk the spreads are ignored; without spreads a
    risk asks for no more than the budgets do.

    Any sequences are accepted (lists, tuples, NumPy arrays) and stored as tuples of plain Python numbers.

    Attributes:
        n_nodes: n >= 1; the nodes are 0..n-1.
        edges: E pairs (tail, head); parallel edges and self-loops are allowed.
        rewards: n finite floats, earned on arriving at a node and, with `objective="stay"`, on staying there.
        costs: E rows of K non-negative ints, in the units of `budgets`. With K = 0 it may be left empty.
        budgets: K ints. A budget may be what is left of a larger one, so it may be negative; then no path is feasible,
            not even the empty one (0 exceeds it).
        start: The node at step 0; it earns nothing at step 0.
        terminals: The terminal nodes, stored sorted and without repeats. None at all is legal, and infeasible.
        horizon: L, the number of steps, 1 to 10**18. Steps that no best path needs cost nothing. With "visit" it may be
            left out: then there is no limit on moves (`enough_moves` says how many the best path needs at most).
        discount: In (0, 1].
        resources: K distinct names, for messages; r0, r1, ... by default.
        spreads: E rows of K non-negative ints, the standard deviations of `costs` in the same units; empty for none.
            A path's variance is the sum of their squares, once for each time an edge is taken.
        risk: The allowed probability of exceeding each budget; None for plain budgets on the costs as they are.
        objective: `"stay"` or `"visit"`, as above.
        edge_rewards: E finite floats, earned by a move along an edge, with `objective="visit"` only; empty for none.

    Raises:
        ProblemError: If anything is malformed; it names the field, the index and the value.

    Examples:
        >>> from solvers import PathProblem, solve
        >>> problem = PathProblem(
        ...     n_nodes=3, edges=[(0, 1), (1, 2), (0, 2)], rewards=[0, 2, 1], costs=[[2], [3], [4]], budgets=[5],
        ...     start=0, terminals=[2], horizon=4, resources=["usd"],
        ... )
        >>> solution = solve(problem)
        >>> solution.nodes, solution.objective, problem.named(solution.consumption)
        ((0, 1, 2), 5.0, {'usd': 5})
    """

    n_nodes: int
    edges: Sequence[tuple[int, int]]
    rewards: Sequence[float]
    costs: Sequence[Sequence[int]]
    budgets: Sequence[int]
    start: int
    terminals: Iterable[int]
    horizon: int | None = None
    discount: float = 1.0
    resources: Sequence[str] = ()
    spreads: Sequence[Sequence[int]] = ()
    risk: Risk | None = None
    objective: Literal["stay", "visit"] = "stay"
    edge_rewards: Sequence[float] = ()

    def __post_init__(self) -> None:
        n = _at_least_one("n_nodes", self.n_nodes)
        horizon = None if self.horizon is None else _at_least_one("horizon", self.horizon)
        most = LONGEST_HORIZON if horizon is None else horizon
        budgets = tuple(_amount("budgets", k, value) for k, value in enumerate(_listed("budgets", self.budgets)))
        edges, terminals = _edges(self.edges, n), enumerate(_listed("terminals", self.terminals))
        normal: dict[str, object] = {
            "n_nodes": n,
            "edges": edges,
            "rewards": _rewards("rewards", self.rewards, (n, "nodes"), most),
            "costs": _amounts("costs", self.costs, len(edges), len(budgets)),
            "spreads": _amounts("spreads", self.spreads, len(edges), len(budgets)),
            "risk": _risk(self.risk),
            "objective": _objective(self.objective),
            "edge_rewards": self._edge_rewards(len(edges), most),
            "budgets": budgets,
            "start": _node("start", None, self.start, n),
            "terminals": tuple(sorted({_node("terminals", i, v, n) for i, v in terminals})),
            "horizon": horizon,
            "discount": _discount(self.discount),
            "resources": resource_names(self.resources, len(budgets)),
        }
        if horizon is None and normal["objective"] == "stay":
            wrong = 'staying earns at every step, so set a horizon; only the objective "visit" needs none'
            raise ProblemError("horizon", None, None, wrong)
        for field, value in normal.items():
            object.__setattr__(self, field, value)

    @property
    def steps(self) -> int:
        """The horizon of a problem that has one; all that backends are given have."""
        if self.horizon is None:
            wrong = "this needs one; `enough_moves(problem)` gives one that is enough"
            raise ProblemError("horizon", None, None, wrong)
        return self.horizon

    def _edge_rewards(self, n_edges: int, horizon: int) -> tuple[float, ...]:
        values = _listed("edge_rewards", self.edge_rewards)
        if values and self.objective != "visit":
            raise ProblemError("edge_rewards", None, f"{len(values)} values", 'edges earn only with objective="visit"')
        return _rewards("edge_rewards", values, (n_edges, "edges"), horizon) if values else ()

    def named(self, amounts: Sequence[int]) -> dict[str, int]:
        """K amounts by the names of the resources, for instance a solution's `consumption`; empty for none."""
        return dict(zip(self.resources, amounts, strict=True)) if amounts else {}

    @property
    def is_risky(self) -> bool:
        """Whether the risk asks for more than the plain budgets do: there is one, and a spread that is not zero."""
        return self.risk is not None and any(any(row) for row in self.spreads)

    def with_valid(self, **changes: Any) -> PathProblem:
        """As `dataclasses.replace`, for values that are known to be valid and in normal form: nothing is checked."""
        changed = object.__new__(type(self))
        for field in fields(self):
            object.__setattr__(changed, field.name, changes.pop(field.name, getattr(self, field.name)))
        if changes:
            raise TypeError(f"there is no field {', '.join(changes)}")
        return changed

    def to_json(self) -> str:
        """Returns the problem as one JSON object with a `schema` field; optional fields only where set."""
        return json.dumps(self.to_dict())

    def to_dict(self) -> dict[str, object]:
        """What `to_json` writes; rows are tuples."""
        data: dict[str, object] = {"schema": SCHEMA}
        data |= {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _OPTIONAL}
        if self.horizon is None:
            del data["horizon"]
        if self.spreads:
            data["spreads"] = self.spreads
        if self.risk is not None:
            data["risk"] = self.risk.to_dict()
        if self.objective != "stay":
            data["objective"] = self.objective
        if self.edge_rewards:
            data["edge_rewards"] = self.edge_rewards
        return data

    @classmethod
    def from_json(cls, text: str | bytes, where: str = "json") -> PathProblem:
        """Reads what `to_json` wrote.

        Args:
            text: The JSON object.
            where: Where it is from, for messages.

        Raises:
            ProblemError: If it is not JSON, too large, has another schema, or misses, adds or malforms a field.
        """
        data = parse_json(text, where, lambda message: ProblemError(where, None, text[:40], message))
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            entry = data.get("schema") if isinstance(data, dict) else type(data).__name__
            raise ProblemError("schema", None, entry, f"expected an object with schema {SCHEMA!r}")
        names = {f.name for f in fields(cls)}
        given = set(data) - {"schema"}
        wrong = sorted((names - _OPTIONAL - {"horizon"} - given) | (given - names))
        if wrong:
            raise ProblemError("json", None, wrong, "these fields are missing or unknown")
        if data.get("risk") is not None:
            data["risk"] = Risk.from_dict(data["risk"])
        return cls(**{name: data[name] for name in given})


def _listed(field: str, values: Any) -> list[Any]:
    """A list of `values`; NumPy arrays become nested lists of Python numbers."""
    if isinstance(values, tuple | list):
        return list(values)
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ProblemError(field, None, values, "expected a sequence")
    return list(values)


def _integer(field: str, index: int | tuple[int, ...] | None, value: Any) -> int:
    if type(value) is int:
        return value
    try:
        if type(value).__name__ not in {"bool_", "bool"}:
            return operator.index(value)
    except TypeError:  # an array has the method, too
        pass
    raise ProblemError(field, index, value, "expected an integer (resources are integer counts)")


def _amount(field: str, index: int | tuple[int, ...] | None, value: Any) -> int:
    number = _integer(field, index, value)
    if not -LARGEST_AMOUNT <= number <= LARGEST_AMOUNT:
        raise ProblemError(field, index, value, "more than 1,000 digits")
    return number


def _at_least_one(field: str, value: Any) -> int:
    number = _integer(field, None, value)
    if not 1 <= number <= LONGEST_HORIZON:
        wrong = "must be at least 1" if number < 1 else f"must be at most {LONGEST_HORIZON}"
        raise ProblemError(field, None, value, wrong)
    return number


def _node(field: str, index: int | tuple[int, ...] | None, value: Any, n: int) -> int:
    node = _integer(field, index, value)
    if not 0 <= node < n:
        raise ProblemError(field, index, value, f"no such node; the nodes are 0..{n - 1}")
    return node


def _plain(rows: list[Any], width: int, least: int, most: int) -> tuple[Any, ...] | None:
    """The rows as tuples if all are lists or tuples of `width` plain ints from `least` to `most`, else None.

    Only built-in functions go over the values here, several times as fast as a loop. After None they are looked at one
    by one, to convert them or to say which is wrong.
    """
    if set(map(type, rows)) <= {tuple, list} and set(map(len, rows)) <= {width}:
        values = list(chain.from_iterable(rows))
        if set(map(type, values)) <= {int} and (not values or (min(values) >= least and max(values) <= most)):
            return tuple(map(tuple, rows))
    return None


def _edges(values: Any, n: int) -> tuple[tuple[int, int], ...]:
    rows = _listed("edges", values)
    plain = _plain(rows, 2, 0, n - 1)
    if plain is not None:
        return plain
    edges = []
    for i, pair in enumerate(rows):
        ends = _listed("edges", pair) if not isinstance(pair, tuple | list) else pair
        if len(ends) != 2:
            raise ProblemError("edges", i, pair, "expected a pair (tail, head)")
        edges.append((_node("edges", (i, 0), ends[0], n), _node("edges", (i, 1), ends[1], n)))
    return tuple(edges)


def _rewards(field: str, values: Any, expected: tuple[int, str], horizon: int) -> tuple[float, ...]:
    rewards = _listed(field, values)
    if set(map(type, rewards)) == {float} and len(rewards) == expected[0]:
        largest = max(map(abs, rewards))
        if math.isfinite(4.0 * largest * horizon) and all(map(math.isfinite, rewards)):
            return tuple(rewards)
    for i, value in enumerate(rewards):
        reward = value if type(value) is float else _real(field, i, value)
        if not math.isfinite(reward):
            raise ProblemError(field, i, value, "must be finite")
        if not math.isfinite(4.0 * reward * horizon):  # so that sums and differences of such objectives are finite
            raise ProblemError(field, i, value, f"overflows a float when it is earned {horizon} times")
        rewards[i] = reward
    count, things = expected
    if len(rewards) != count:
        raise ProblemError(field, None, f"{len(rewards)} values", f"expected one for each of the {count} {things}")
    return tuple(rewards)


def _objective(value: Any) -> str:
    if not isinstance(value, str) or value not in OBJECTIVES:
        raise ProblemError("objective", None, value, f"expected one of {', '.join(map(repr, OBJECTIVES))}")
    return value


def _amounts(field: str, values: Any, n_edges: int, n_resources: int) -> tuple[tuple[int, ...], ...]:
    rows = _listed(field, values)
    if not rows and (field == "spreads" or not n_resources):
        return () if field == "spreads" else ((),) * n_edges
    if len(rows) != n_edges:
        raise ProblemError(field, None, f"{len(rows)} rows", f"expected one for each of the {n_edges} edges")
    plain = _plain(rows, n_resources, 0, LARGEST_AMOUNT)
    if plain is not None:
        return plain
    table = []
    for e, row in enumerate(rows):
        amounts = _listed(field, row)
        if len(amounts) != n_resources:
            raise ProblemError(field, e, row, f"expected {n_resources} amounts, one for each budget")
        for k, value in enumerate(amounts):
            amounts[k] = value if type(value) is int else _integer(field, (e, k), value)
            if not 0 <= amounts[k] <= LARGEST_AMOUNT:
                wrong = "must not be negative" if amounts[k] < 0 else "more than 1,000 digits"
                raise ProblemError(field, (e, k), value, wrong)
        table.append(tuple(amounts))
    return tuple(table)


def _risk(value: Any) -> Risk | None:
    if value is not None and not isinstance(value, Risk):
        raise ProblemError("risk", None, value, "expected a solvers.Risk or None")
    return value


def _real(field: str, index: int | None, value: Any) -> float:
    """A number as a float; what is too large for one becomes infinite."""
    if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__"):
        raise ProblemError(field, index, value, "expected a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError) as error:
        raise ProblemError(field, index, value, f"expected a number ({error})") from error


def _discount(value: Any) -> float:
    discount = _real("discount", None, value)
    if not 0 < discount <= 1:
        raise ProblemError("discount", None, value, "must be in (0, 1]")
    return discount


def resource_names(values: Any, n_resources: int) -> tuple[str, ...]:
    """The names of K resources; r0, r1, ... where none are given."""
    names = _listed("resources", values)
    if not names:
        return tuple(f"r{k}" for k in range(n_resources))
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name or name in names[:k]:
            raise ProblemError("resources", k, name, "expected distinct, non-empty names")
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise ProblemError("resources", k, name, "half a surrogate pair is no text")
    if len(names) != n_resources:
        raise ProblemError("resources", None, names, f"expected {n_resources}, one for each resource")
    return tuple(names)
