"""One episode for the page, made from its events alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tape.budget import in_units, kind_of, kinds
from tape.choice.graph import PlanGraph
from tape.protocols.result import EpisodeResult
from tape.show.view.graphs import changes, graph_record, left_along, path_changes
from tape.show.view.spending import spending
from tape.show.view.timeline import Timeline
from tape.trace import Event, FinishedEvent, GraphFoldedEvent, ObservedEvent, StartedEvent, refused_actions

Why = Callable[[Sequence[Event]], tuple[list[dict[str, Any]], list[str]]]
"""Gives the planning rounds of an episode (``Round.to_dict`` of :mod:`tape.analysis.why`) and of the whole."""

_PATH = ("actions", "cost_text", "over_text", "score", "goal", "likelihood", "support", "partial")
"""What the page shows of a path."""

_ROUND = (
    "number",
    "kind",
    "step",
    "selector",
    "status",
    "partial",
    "told",
    "alike",
    "hypotheses",
    "refusal",
    "relaxed",
    "unreproduced",
)
"""What the page takes over of a round."""

UNFINISHED = "unfinished"
"""Stands for the end state of an episode whose trace is cut off."""

REASONS = {
    "mismatch": "what was observed is not what was predicted",
    "ended": "the path has come to its end",
    "stepped": "planning anew after every step",
    "probed": "an action of unknown outcome was tried",
    "contradicted": "an observation contradicts what the path rests on",
    "refused": "no path could be committed to",
    "prefix": "the program has come to its end without an answer",
    "at_limit": "a limit is reached, and the answer is asked for once more",
}
"""Why planning starts again, in words."""

_HIDDEN = {"agent", "model"}
"""Settings that stand elsewhere on the page."""


def episode_record(events: Sequence[Event], why: Why, problem: str = "") -> dict[str, Any]:
    """An episode for the page.

    Args:
        events: Its trace; may be cut off anywhere.
        why: Explains the planning rounds.
        problem: What is wrong with the trace, for people.
    """
    rounds, about = why(events)
    shown = [round_ for round_ in rounds if not _minor(round_)]
    graphs = _Graphs(events, rounds)
    openings: dict[int, list[int]] = {}
    for number, mapping in enumerate(shown):
        openings.setdefault(mapping["events"][0], []).append(number)
    timeline = Timeline(openings, graphs.labels())
    timeline.take(events)
    started = next((event for event in events if isinstance(event, StartedEvent)), None)
    record = {
        "task": started.task if started else "",
        "settings": _settings(started),
        "about": about,
        "problem": problem,
        "moments": timeline.moments,
        "rounds": [_round(item, shown[:i], graphs, events) for i, item in enumerate(shown)],
        "graphs": graphs.records(),
        "spending": spending(events),
        "calls": timeline.calls,
        "said": list(timeline.texts),
    }
    return record | _result(events)


def _minor(values: Mapping[str, Any]) -> bool:
    """A selection anew, on the way, that changed nothing."""
    return values["kind"] == "reselect" and (values["kept"] or not values["followed"])


def _settings(started: StartedEvent | None) -> list[list[str]]:
    """The agent's switches; of methods that are off nothing."""
    config = started.config if started else {}
    return [[name, _plain(value)] for name, value in config.items() if name not in _HIDDEN and value is not None]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(item)}" for name, item in value.items() if item is not None) or "none"
    return str(value)


def _result(events: Sequence[Event]) -> dict[str, Any]:
    """How the episode ended; nothing where it did not."""
    finished = next((event for event in reversed(events) if isinstance(event, FinishedEvent)), None)
    if finished is None:
        return {}
    return {"facts": facts(finished.result), **words_of(finished.result)}


def words_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """The words of a result: end state, detail, answer and explanation."""
    answer = result.get("answer")
    mapping = {
        "end_state": result.get("end_state", ""),
        "success": bool(result.get("success")),
        "detail": result.get("detail") or "",
        "answer": result.get("final_answer") if answer is None else answer,
        "explanation": _explained(result.get("explanation")),
    }
    return {name: value for name, value in mapping.items() if value is not None}


def _explained(explanation: Mapping[str, Any] | None) -> list[dict[str, Any]] | None:
    """Where no plan fits: each least set of caps that would do, in words, and the plan that it pays for."""
    if explanation is None:
        return None
    return [
        {"caps": [_cap(item) for item in option["caps"]], "plan": option["plan"], "proven": option["proven"]}
        for option in explanation.get("options", ())
    ]


def _cap(cap: Mapping[str, Any]) -> str:
    kind, amount = cap["resource"], cap["cap"]
    text = in_units(kind, kind_of(kind).count(amount)) if kind in kinds() else f"{amount:,} {kind}"
    return f"{text} for the {cap['ledger']}" if cap["ledger"] else text


def facts(result: Mapping[str, Any]) -> list[list[str]]:
    """An episode's counts by name, in human units; those that are 0 and mean nothing are left out."""
    all_texts = [["steps", f"{result.get('steps', '?')}"]]
    for name, label in (("replans", "replans"), ("mismatches", "mismatches"), ("malformed", "malformed answers")):
        if result.get(name):
            all_texts.append([label, f"{result[name]}"])
    counted = result.get("method", {}).items()
    all_texts += [[name.replace("_", " "), f"{value}"] for name, value in counted if value and isinstance(value, int)]
    calls = sum(result.get("lm_calls", {}).values())
    all_texts.append(["LM calls", f"{calls:,}"])
    tokens = sum(sum(result.get(name, {}).values()) for name in ("prompt_tokens", "completion_tokens"))
    all_texts.append(["tokens", f"{tokens:,}"])
    for kind, count in result.get("used", {}).items():
        if kind not in ("steps", "calls", "tokens"):
            all_texts.append([kind, "unknown" if count is None else in_units(kind, count)])
    all_texts += [
        [name.replace("_", " "), f"{value:.3g}"]
        for name, value in result.get("measures", {}).items()
        if value is not None
    ]
    if result.get("budget_violations"):
        all_texts.append(["over budget", ", ".join(result["budget_violations"])])
    all_texts.append(["solver", f"{1000 * result.get('solver_seconds', 0.0):.2f} ms"])
    all_texts.append(["wall time", f"{result.get('wall_seconds', 0.0):.1f} s"])
    return all_texts


class _Graphs:
    """The plan graphs that paths were selected on, each once.

    Args:
        events: The episode's events.
        rounds: All its planning rounds.
    """

    def __init__(self, events: Sequence[Event], rounds: Sequence[Mapping[str, Any]]) -> None:
        self.whole: dict[int, PlanGraph] = {}
        self._places: dict[int, dict[int, int]] = {}
        self._records: dict[int, dict[str, Any]] = {}
        self._folds = [index for index, event in enumerate(events) if isinstance(event, GraphFoldedEvent)]
        on: dict[int, list[Mapping[str, Any]]] = {}
        for round_ in rounds:
            at = self.at(round_)
            if at is not None:
                on.setdefault(at, []).append(round_)
        for at, mine in on.items():
            self._add(events[at], at, mine, refused_actions(events, at))

    def at(self, values: Mapping[str, Any]) -> int | None:
        """Index of the graph that a round's path is on; that of a commitment may be younger than the round's own."""
        committed: int | None = values["committed_at"]
        if committed is None:
            own: int | None = values["graph_at"]
            return own
        return max((index for index in self._folds if index < committed), default=None)

    def _add(self, event: Event, at: int, rounds: Sequence[Mapping[str, Any]], refused: frozenset[str]) -> None:
        assert isinstance(event, GraphFoldedEvent)
        graph = self.whole[at] = PlanGraph.from_dict(event.graph)
        followed = [round_["chosen"] for round_ in rounds if round_["chosen"] and not _minor(round_)]
        others = [path for round_ in rounds if round_["graph_at"] == at for path in _paths(round_)]
        picks = [round_["selected"] or round_["chosen"] for round_ in rounds]
        self._records[at], self._places[at] = graph_record(
            graph,
            str(event.graph.get("start", graph.nodes[0])),
            [_edges(graph, path) for path in [*followed, *others]],
            followed=len(followed),
            kinds=sorted({kind for round_ in rounds for kind in round_["left"]}),
            confidence=max((pick["confidence"] for pick in picks if pick), default=0.0),
            refused=refused,
        )

    def labels(self) -> dict[str, str]:
        """What the states of all graphs look like, by key."""
        return {node: str(graph.attributes(node)["label"]) for graph in self.whole.values() for node in graph.nodes}

    def records(self) -> list[dict[str, Any]]:
        """The graphs for the page, in order."""
        return list(self._records.values())

    def place(self, at: int) -> int:
        """Where a graph is in :meth:`records`."""
        return list(self._records).index(at)

    def path(self, path: Mapping[str, Any] | None, at: int | None) -> dict[str, Any] | None:
        """A path for the page; its edges by their places in the record of a graph."""
        if not path:
            return None
        record = {name: path[name] for name in _PATH if path.get(name) not in (None, {})}
        edges = _edges(self.whole[at], path) if at in self.whole else []
        return record | {"edges": [self._places[at][number] for number in edges] if at in self.whole else []}


def _edges(graph: PlanGraph, path: Mapping[str, Any]) -> list[int]:
    """The edges of a path on a graph; none where it is of another graph."""
    if any(not 0 <= number < graph.nx.number_of_edges() for number in path["edges"]):
        return []
    actions = [graph.edge(number).action for number in path["edges"]]
    return list(path["edges"]) if actions == path["actions"] else []


def _paths(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All paths that a round speaks of, beside the one that was followed."""
    result = [values["selected"], *values["alternatives"], *values["misfits"]]
    result += [budget["more"]["path"] for budget in values["budgets"] if budget["more"]]
    result += [more["path"] for more in values["together"]]
    return [path for path in result if path]


def _round(
    values: Mapping[str, Any], before: Sequence[Mapping[str, Any]], graphs: _Graphs, events: Sequence[Event]
) -> dict[str, Any]:
    """A planning round for the page."""
    at, chosen, own = graphs.at(values), values["chosen"], values["graph_at"]
    # Alternatives are on the graph that the solver selected on; where another one is drawn they are words alone.
    beside = own if own == at else None
    record: dict[str, Any] = {name: values[name] for name in _ROUND}
    record["reason"] = REASONS.get(values["reason"], values["reason"])
    if values["reason"] == "refused" and before and before[-1]["ended"]["refused"]:
        record["reason"] = "an action was refused where it was to be approved"
    record["path"] = graphs.path(chosen, at)
    record["alternatives"] = [graphs.path(path, beside) for path in values["alternatives"]]
    record["misfits"] = [graphs.path(path, beside) for path in values["misfits"]]
    record["selected"] = graphs.path(values["selected"], beside)
    record["budgets"] = [_budget(budget, graphs, beside) for budget in values["budgets"]]
    record["together"] = [
        {"by": more["by_text"], "gain": more["gain"], "path": graphs.path(more["path"], beside)}
        for more in values["together"]
    ]
    record["needs"] = values["needs"] and values["needs"]["text"]
    record["ended"] = values["ended"]["text"]
    record["certificate"] = _certificate(values, events)
    if at in graphs.whole:
        graph = graphs.whole[at]
        record["graph"] = graphs.place(at)
        edges = _edges(graph, chosen) if chosen else []
        if edges and values["kind"] != "probe":
            record["left"] = left_along(_left(values, events), [graph.edge(number) for number in edges])
    earlier = next((r for r in reversed(before) if r["chosen"]), None)
    if earlier is not None and chosen:
        rest = values["before"] or earlier["chosen"]["actions"][earlier["ended"]["taken"] :]
        record["path_changes"] = path_changes(rest, chosen["actions"])
    folded = next((graphs.at(r) for r in reversed(before) if graphs.at(r) in graphs.whole), None)
    if folded is not None and at in graphs.whole and folded != at:
        record["changes"] = changes(graphs.whole[folded], graphs.whole[at], refused_actions(events, at))
    return {name: value for name, value in record.items() if value not in (None, [], "")}


def _left(values: Mapping[str, Any], events: Sequence[Event]) -> Mapping[str, int]:
    """What the followed path could use: before a commitment steps may have been taken to find things out."""
    if values["committed_at"] is None:
        left: Mapping[str, int] = values["left"]
        return left
    seen = (event for event in reversed(events[: values["committed_at"]]) if isinstance(event, ObservedEvent))
    return {kind: count for kind, count in next(seen).remaining.items() if kind in values["left"]}


def _budget(budget: Mapping[str, Any], graphs: _Graphs, at: int | None) -> dict[str, Any]:
    """What a budget was for a round: left, used, and what a little more of it would buy."""
    record = {name: budget[name] for name in ("kind", "decided", "left_text", "used_text", "rest_text")}
    if budget["more"]:
        more = budget["more"]
        record["more"] = {"by": more["by_text"], "gain": more["gain"], "path": graphs.path(more["path"], at)}
    return record


def _certificate(values: Mapping[str, Any], events: Sequence[Event]) -> dict[str, Any] | None:
    """What a commitment rests on, where verification was on."""
    if values["committed_at"] is None:
        return None
    fields = events[values["committed_at"]].model_dump()
    if "evidence" not in fields:  # the selection that was committed to; the commitment follows it
        later = (event for event in events[values["committed_at"] :] if event.type == "committed")
        fields = next((event.model_dump() for event in later), {})
    if not fields:
        return None
    evidence = [[fact, text] for fact, text in fields["evidence"].items()]
    return {"certified": fields["certified"], "evidence": evidence, "later": fields["grounded_later"]}


def result_of(events: Sequence[Event], line: Mapping[str, Any] | None) -> dict[str, Any]:
    """The result of an episode: of its record, else of its trace, else one that has not ended."""
    if line is not None:
        values: dict[str, Any] = line["result"]
        return values
    finished = next((event for event in reversed(events) if isinstance(event, FinishedEvent)), None)
    nothing = EpisodeResult(end_state=UNFINISHED, success=False).model_dump()
    return nothing if finished is None else nothing | finished.result  # calls at once have fewer counts
