"""`RcspProblem`: the resource-constrained shortest path problem, as arrays."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from solvers.errors import ProblemError
from solvers.problem import resource_names

LARGEST_AMOUNT = 2**60
"""No amount and no limit may be above this; as an upper limit in folded problems it means none."""

MOST = 2**31 - 2
"""Most nodes, and most edges."""

_FEWEST = 1024
"""Sums of this many of the greatest cost have to fit, however few nodes there are: a path may go round in circles."""

Numbers = npt.NDArray[Any]  # of int64 or float64
Indices = npt.NDArray[np.int32]
Amount = int | float


@dataclass(frozen=True, eq=False)
class RcspProblem:
    """Find the path of least cost from `source` to `target` whose use of each resource is within its limits.

    What a path costs and uses is the sum over its edges and over its nodes, source and target included, each as often
    as it is visited. Where source and target are the same node, the path without edges counts. Parallel edges and loops
    are allowed, and so are costs below zero; amounts are never below zero.

    Costs and amounts are integers, or decimals as floats (`solvers.rcsp.folded` says how those are counted). Arrays
    that are given as such are not copied: do not write to them afterwards.

    Attributes:
        n_nodes: n >= 1; the nodes are 0..n-1.
        tails: m nodes where edges begin.
        heads: m nodes where they end.
        cost: m costs of the edges.
        use: m x K amounts that the edges use (m amounts will do for K = 1); None for no resource.
        node_cost: n costs of visiting a node; None for none.
        node_use: n x K amounts that a visit uses; None for none.
        lower: K lower limits; None for none. One at or below 0 is none.
        upper: K upper limits; None for none, as is one that is None or infinite. One below 0 leaves no path.
        source: The node where paths begin.
        target: The node where they end; -1 for the last one.
        resources: K distinct names, for messages and answers; r0, r1, ... by default.

    Raises:
        ProblemError: If anything is malformed; it names the field, the index and the value.

    Examples:
        >>> from solvers import RcspProblem, shortest_path
        >>> problem = RcspProblem(
        ...     n_nodes=3, tails=[0, 1, 0], heads=[1, 2, 2], cost=[1, 1, 5], use=[[4], [4], [1]], upper=[9],
        ...     resources=["fuel"],
        ... )
        >>> shortest_path(problem).nodes, shortest_path(problem, limits={"fuel": 7}).nodes
        ((0, 1, 2), (0, 2))
    """

    n_nodes: int
    tails: Any
    heads: Any
    cost: Any
    use: Any = None
    node_cost: Any = None
    node_use: Any = None
    lower: Any = None
    upper: Any = None
    source: int = 0
    target: int = -1
    resources: Sequence[str] = ()

    def __post_init__(self) -> None:
        n = _integer("n_nodes", self.n_nodes, 1, MOST, "the number of nodes")
        tails = _indices("tails", self.tails, n)
        heads = _indices("heads", self.heads, n)
        m = len(tails)
        if len(heads) != m:
            raise ProblemError("heads", None, f"{len(heads)} values", f"expected one for each of the {m} tails")
        use = _rows("use", self.use, (m, "edges"))
        node_use = _rows("node_use", self.node_use, (n, "nodes"))
        given = [rows.shape[1] for rows in (use, node_use) if rows is not None]
        given += [len(upper) for upper in (self.lower, self.upper) if upper is not None]
        n_resources = given[0] if given else 0
        for name, rows in (("use", use), ("node_use", node_use)):
            if rows is not None and rows.shape[1] != n_resources:
                raise ProblemError(name, None, f"{rows.shape[1]} columns", f"expected {n_resources}, one a resource")
        node_cost = None if self.node_cost is None else _costs("node_cost", self.node_cost, (n, "nodes"), n)
        normal = {
            "n_nodes": n,
            "tails": tails,
            "heads": heads,
            "cost": _costs("cost", self.cost, (m, "edges"), n),
            "use": _nothing(m, n_resources) if use is None else use,
            "node_cost": _nothing(n) if node_cost is None else node_cost,
            "node_use": _nothing(n, n_resources) if node_use is None else node_use,
            "lower": tuple(0 if limit is None else limit for limit in _limits("lower", self.lower, n_resources)),
            "upper": _limits("upper", self.upper, n_resources),
            "source": _integer("source", self.source, 0, n - 1, "a node"),
            "target": _integer("target", self.target, -1, n - 1, "a node") % n,
            "resources": resource_names(self.resources, n_resources),
        }
        for name, value in normal.items():
            object.__setattr__(self, name, value)

    @property
    def n_edges(self) -> int:
        """The number of edges m."""
        return len(self.tails)

    def with_limits(self, lower: Sequence[Amount], upper: Sequence[Amount | None]) -> RcspProblem:
        """The same problem with other limits: K each."""
        return self.with_valid(
            lower=tuple(0 if limit is None else limit for limit in _limits("lower", lower, len(self.resources))),
            upper=_limits("upper", upper, len(self.resources)),
        )

    def between(self, source: int, target: int) -> RcspProblem:
        """The same problem with other ends."""
        return self.with_valid(
            source=_integer("source", source, 0, self.n_nodes - 1, "a node"),
            target=_integer("target", target, 0, self.n_nodes - 1, "a node"),
        )

    def with_valid(self, **changes: Any) -> RcspProblem:
        """As `dataclasses.replace`, for values that are known to be valid and in normal form: nothing is checked."""
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__, **changes)
        return changed


def _integer(name: str, value: Any, least: int, most: int, what: str) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ProblemError(name, None, value, f"expected {what} as an integer") from None
    if not least <= number <= most:
        raise ProblemError(name, None, value, f"expected {what}, from {least} to {most}")
    return number


def _array(name: str, values: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ProblemError(name, None, values, f"expected an array ({error})") from error


def _indices(name: str, values: Any, n: int) -> Indices:
    array = _array(name, values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ProblemError(name, None, values, "expected a sequence of nodes as integers")
    if len(array) > MOST:
        raise ProblemError(name, None, f"{len(array)} values", f"at most {MOST} edges")
    array = np.ascontiguousarray(array, dtype=np.int64 if array.dtype != np.int32 else None)
    if len(array) and array.view(f"u{array.dtype.itemsize}").max() >= n:  # a negative one is a large one there
        at = int(np.argmax((array < 0) | (array >= n)))
        raise ProblemError(name, at, int(array[at]), f"no such node; the nodes are 0..{n - 1}")
    return np.ascontiguousarray(array, dtype=np.int32)


def _numbers(name: str, values: Any) -> Numbers:
    """An array of finite numbers: int64 where they all are integers, else float64."""
    array = _array(name, values)
    if array.dtype.kind == "i" or not array.size:
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "u" and int(array.max()) <= LARGEST_AMOUNT:
        return array.astype(np.int64)
    if array.dtype.kind != "f":  # decimals, fractions and integers of any size; or something else, which is named
        flat = [_real(name, array.shape, i, value) for i, value in enumerate(array.ravel().tolist())]
        whole = all(isinstance(value, int) for value in flat)
        array = np.array(flat, dtype=np.int64 if whole else np.float64).reshape(array.shape)
        if whole:
            return array
    if not np.isfinite(array).all():
        _wrong(name, array, ~np.isfinite(array), "must be finite; leave out an edge that may not be used")
    return array.astype(np.float64, copy=False)


def _real(name: str, shape: tuple[int, ...], position: int, value: Any) -> Amount:
    """A number as an int or a float."""
    at = tuple(int(i) for i in np.unravel_index(position, shape)) or None
    if isinstance(value, bool) or not (isinstance(value, numbers.Real) or _is_decimal(value)):
        raise ProblemError(name, at, value, "expected a number")
    if isinstance(value, numbers.Integral):
        if abs(int(value)) > LARGEST_AMOUNT:
            raise ProblemError(name, at, value, "must be within 2**60; use a larger unit")
        return int(value)
    try:
        return float(value)
    except (OverflowError, ValueError) as error:
        raise ProblemError(name, at, value, f"expected a number ({error})") from error


def _is_decimal(value: Any) -> bool:
    from decimal import Decimal

    return isinstance(value, Decimal)


def _wrong(name: str, array: npt.NDArray[Any], where: npt.NDArray[np.bool_], message: str) -> None:
    """Raises ProblemError for the first value where something is wrong."""
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(where)), array.shape))
    raise ProblemError(name, at, array[at].item(), message)


def _costs(name: str, values: Any, expected: tuple[int, str], n: int) -> Numbers:
    array = _numbers(name, values)
    count, things = expected
    if array.shape != (count,):
        raise ProblemError(name, None, f"shape {array.shape}", f"expected one for each of the {count} {things}")
    if array.dtype.kind == "i" and count:
        most = LARGEST_AMOUNT // (2 * max(n, _FEWEST))
        if array.max() > most or array.min() < -most:
            _wrong(name, array, (array > most) | (array < -most), f"must be within {most}, for sums of them to fit")
    return np.ascontiguousarray(array)


def _rows(name: str, values: Any, expected: tuple[int, str]) -> Numbers | None:
    """A C-contiguous array of a row for each thing; None if none was given."""
    if values is None:
        return None
    array = _numbers(name, values)
    count, things = expected
    if array.ndim == 1:
        array = array.reshape(-1, 1) if len(array) else array.reshape(count, 0)
    if array.ndim != 2 or len(array) != count:
        raise ProblemError(name, None, f"shape {array.shape}", f"expected a row for each of the {count} {things}")
    array = np.ascontiguousarray(array)
    if array.size:
        whole = array.dtype == np.int64
        if (array.view(np.uint64) if whole else array).max() > LARGEST_AMOUNT or (not whole and array.min() < 0):
            if array.min() < 0:
                _wrong(name, array, array < 0, "must not be negative")
            _wrong(name, array, array > LARGEST_AMOUNT, "must be at most 2**60; use a larger unit")
    return array


@lru_cache(maxsize=64)
def _nothing(*shape: int) -> npt.NDArray[np.int64]:
    """Zeros that take no memory, and cannot be written to."""
    return np.broadcast_to(np.zeros((), dtype=np.int64), shape)


def is_nothing(array: npt.NDArray[Any]) -> bool:
    """Whether an array is known to hold zeros only, without a look at all of them."""
    return not array.size or (not any(array.strides) and not array.flat[0])


def _limits(name: str, values: Any, n_resources: int) -> tuple[Amount | None, ...]:
    """A limit for each resource; None for none."""
    if values is None:
        return (None,) * n_resources
    limits: list[Amount | None] = []
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    plain = [value for value in listed if type(value) is int and -LARGEST_AMOUNT < value < LARGEST_AMOUNT]
    if len(plain) + listed.count(None) == len(listed) == n_resources:
        return tuple(listed)
    for k, value in enumerate(listed):
        limit = None if value is None else _real(name, (len(listed),), k, value)
        if isinstance(limit, float):
            if math.isnan(limit):
                raise ProblemError(name, k, value, "expected a number, or None for no limit")
            if limit == (math.inf if name == "upper" else -math.inf):
                limit = None
        if limit is not None and not -LARGEST_AMOUNT < limit < LARGEST_AMOUNT:
            raise ProblemError(name, k, value, "must be within 2**60; None means no limit")
        limits.append(limit)
    if len(limits) != n_resources:
        raise ProblemError(name, None, f"{len(limits)} values", f"expected {n_resources}, one a resource")
    return tuple(limits)
