"""Other labelling algorithms for resource-constrained shortest paths: cspy, pylgrim, and the C++ library Boost."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from experiments.benches.rcsp.competitors import INFEASIBLE, OPTIMAL, TIMEOUT, Answer, Competitor, Instance, within

_HERE = Path(__file__).resolve().parent


class Cspy(Competitor):
    """cspy's labelling in C++, given a networkx graph.

    Its resources are the instance's, all arcs but those into the source and out of the target are given, and paths need
    not be elementary: the set-up of its author's own benchmark. `forward` searches from the source; `both` from the two
    ends, for which it needs a resource that grows with every arc, so steps are counted. (With another resource for that
    it is faster at times, but returns paths that are not optimal. `bounds_pruning` changes nothing in 1.0.3. A circle
    that costs and uses nothing keeps `forward` busy until the time limit.)
    """

    name: ClassVar[str] = "cspy"
    package: ClassVar[str] = "cspy==1.0.3"
    module: ClassVar[str] = "cspy"
    method: ClassVar[str] = "labelling in C++, forward or bidirectional, whichever is faster; without lower limits"
    beside: ClassVar[str] = "graph"

    def unfit(self, instance: Instance) -> str | None:
        """Its dominance takes no notice of lower limits."""
        return "it does not solve problems with lower limits exactly" if any(instance.lower) else None

    def given(self, instance: Instance) -> Any:
        """The graph, upper limits, lower limits, and what the source costs."""
        import networkx

        steps = [1.0] if self.variant == "both" else []
        ends = {instance.problem.source: "Source", instance.problem.target: "Sink"}
        graph = networkx.DiGraph(directed=True, n_res=len(steps) + len(instance.upper))
        graph.add_nodes_from(ends.values())
        for index, (tail, head, cost, use) in enumerate(instance.useful_arcs):
            pair: tuple[Any, Any] = (ends.get(tail, tail), ends.get(head, head))
            if graph.has_edge(*pair):  # its graphs have no parallel arcs
                free = np.array([*steps, *[0.0] * len(use)])
                graph.add_edge(pair[0], ("parallel", index), weight=0.0, res_cost=free)
                pair = ("parallel", index), pair[1]
            graph.add_edge(*pair, weight=cost, res_cost=np.array([*steps, *use]))
        most = float(graph.number_of_nodes())  # steps of a simple path, or of any walk that a limit leaves
        if instance.circles_help:
            most *= 1_000
        upper = [most] * len(steps) + [min(limit, 1e15) for limit in instance.upper]
        return graph, upper, [0.0] * len(upper), instance.offset

    def answer(self, given: Any, limit: float) -> Answer:
        """As its documentation says: the object, `run`, then path and cost."""
        from cspy import BiDirectional

        graph, upper, lower, offset = given
        try:
            search = BiDirectional(graph, upper, lower, direction=self.variant, elementary=False, time_limit=limit)
        except Exception as error:  # it raises nothing narrower
            if "Disconnected Graph" in str(error):
                return Answer(INFEASIBLE, None, None)
            raise
        began = time.perf_counter()
        search.run()
        seconds = time.perf_counter() - began
        path = search.path
        if path is None or (path[0], path[-1]) != ("Source", "Sink"):
            return within(INFEASIBLE, None, seconds, limit)
        return within(OPTIMAL, search.total_cost + offset, seconds, limit)


class Pylgrim(Competitor):
    """pylgrim's labelling in plain Python, for elementary paths; it raises SystemExit where no path is feasible."""

    name: ClassVar[str] = "pylgrim"
    package: ClassVar[str] = "pylgrim==1.0.5"
    module: ClassVar[str] = "pylgrim"
    method: ClassVar[str] = "labelling in Python after preprocessing; elementary paths"
    beside: ClassVar[str] = "graph"

    def unfit(self, instance: Instance) -> str | None:
        """It has no lower limits, and no parallel arcs."""
        if any(instance.lower):
            return "it has no lower limits"
        pairs = {(tail, head) for tail, head, _, _ in instance.useful_arcs}
        if len(pairs) < len(instance.useful_arcs):
            return "its graphs have no parallel arcs"
        return super().unfit(instance)

    def given(self, instance: Instance) -> Any:
        """The graph without arcs into the source, its ends, the limits, and what the source costs."""
        import networkx

        graph = networkx.DiGraph(n_res=len(instance.upper))
        graph.add_nodes_from((instance.problem.source, instance.problem.target))
        for tail, head, cost, use in instance.useful_arcs:
            graph.add_edge(tail, head, weight=cost, res_cost=np.array(use))
        return graph, instance.problem.source, instance.problem.target, instance.upper, instance.offset

    def answer(self, given: Any, limit: float) -> Answer:  # noqa: ARG002 - it has no time limit, and is killed
        """Preprocessing, and the search."""
        from pylgrim import ESPPRC

        graph, source, target, upper, offset = given
        try:
            pruned, least = ESPPRC.preprocess(graph, source, target, upper)
            if source not in pruned or target not in pruned:
                return Answer(INFEASIBLE, None, None)
            began = time.perf_counter()
            _, label = ESPPRC.GSSA(pruned, source, target, upper, least)
        except SystemExit:
            return Answer(INFEASIBLE, None, None)
        except KeyError as error:  # it looks up the labels of the target, which has none
            if error.args != (target,):
                raise
            return Answer(INFEASIBLE, None, None)
        return Answer(OPTIMAL, float(label[0]) + offset, time.perf_counter() - began)


class Boost(Competitor):
    """`r_c_shortest_paths` of the Boost Graph Library, as a C++ user calls it: compiled here, given plain arrays.

    Labels are taken in order of cost, so where no cost is negative the first one at the target is the best, and the
    search ends there, as the library's function for one path does.
    """

    name: ClassVar[str] = "boost"
    package: ClassVar[str] = "cmeel-boost"
    module: ClassVar[str] = "cmeel"
    method: ClassVar[str] = "labelling in C++, forward, ended at the first label that reaches the target"

    _search: Any = None

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """It needs its headers, which `cmeel-boost` brings (or `BOOST_INCLUDE` names), and a compiler."""
        if shutil.which("g++") is None:
            return "no g++ to compile it with"
        if _boost_headers() is None:
            return "no Boost headers; pip install cmeel-boost, or set BOOST_INCLUDE"
        return None

    @classmethod
    def version(cls) -> str:
        """As the headers say."""
        text = (_boost_headers() or Path()) / "boost" / "version.hpp"
        return text.read_text().split('BOOST_LIB_VERSION "')[-1].split('"')[0].replace("_", ".")

    def unfit(self, instance: Instance) -> str | None:  # noqa: ARG002
        """It solves all of them."""
        return None

    def given(self, instance: Instance) -> Any:
        """Arrays, as C++ has them."""
        if Boost._search is None:
            Boost._search = _compiled()
        arcs, n_resources = instance.arcs, len(instance.upper)
        return (
            instance.problem.n_nodes,
            n_resources,
            np.array([(arc[0], arc[1]) for arc in arcs], dtype=np.int32),
            np.array([arc[2] for arc in arcs], dtype=np.float64),
            np.array([arc[3] for arc in arcs], dtype=np.float64),
            np.array([instance.lower, instance.upper], dtype=np.float64),
            (instance.problem.source, instance.problem.target),
            instance.offset,
        )

    def answer(self, given: Any, limit: float) -> Answer:
        """Builds Boost's graph, and searches."""
        n, n_resources, ends, cost, use, limits, (source, target), offset = given
        found = np.zeros(2)
        early = ctypes.c_int(bool(len(cost) == 0 or cost.min() >= 0))
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (ends, cost, use, limits)]
        code = Boost._search(
            n, len(cost), n_resources, *pointers, source, target, early,
            ctypes.c_double(limit), found.ctypes.data_as(ctypes.c_void_p),
        )  # fmt: skip
        if code == 2:
            return Answer(TIMEOUT, None, float(found[1]))
        return Answer(OPTIMAL if code else INFEASIBLE, float(found[0]) + offset if code else None, float(found[1]))


def _boost_headers() -> Path | None:
    places = [Path(os.environ["BOOST_INCLUDE"])] if "BOOST_INCLUDE" in os.environ else []
    places += [Path(entry) / "cmeel.prefix" / "include" for entry in sys.path]
    places += [Path("/usr/include"), Path("/usr/local/include")]
    return next((place for place in places if (place / "boost/graph/r_c_shortest_paths.hpp").exists()), None)


def _compiled() -> Any:
    """The search as a function, compiled beside the results unless that was done."""
    source = _HERE / "boost_search.cpp"
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tape-bench-rcsp"
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"boost-{Boost.version()}-{source.stat().st_mtime_ns}.so"
    if not library.exists():
        made = library.with_suffix(f".{os.getpid()}")
        command = ["g++", "-O3", "-march=native", "-std=c++17", "-DNDEBUG", "-shared", "-fPIC"]
        subprocess.run([*command, f"-I{_boost_headers()}", str(source), "-o", str(made)], check=True)
        made.replace(library)
    return ctypes.CDLL(str(library)).search
