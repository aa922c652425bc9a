"""Pictures of plan graphs, read back from the files."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tape.errors import GraphError
from tape.show.draw import draw
from tape.show.view.graphs import MOST_SHOWN

SVG = "{http://www.w3.org/2000/svg}"
Point = tuple[float, float]
HEAD = 8
"""Length of an arrow's head, where the line ends."""


def room(*plans: str, cost: int = 1) -> PlanGraph:
    """Plans of moves on a line, from 0: ``r`` adds 1, ``l`` takes 1 away, ``s`` stays; states are pictures."""
    graph = PlanGraph(render=lambda state: f"#####\n#{state:^3}#\n#####")
    for plan in plans:
        states = [0]
        for move in plan:
            states.append(states[-1] + {"r": 1, "l": -1, "s": 0, "R": 2}[move])
        graph.fold(states, list(plan))
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": cost}))
    return graph


def groups(file: Path, kind: str) -> dict[int, ElementTree.Element]:
    """The nodes or the edges of a picture, by their numbers."""
    elements = [group for group in ElementTree.parse(file).iter(f"{SVG}g") if group.get("id", "").startswith(kind)]
    return {int(group.attrib["id"].partition("-")[2]): group for group in elements}


def attribute(group: ElementTree.Element, tag: str, name: str) -> str:
    """An attribute of a part of a node or an edge."""
    return next(group.iter(f"{SVG}{tag}")).attrib[name]


def frame(node: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of a node's box."""
    x, y, width, height = (float(attribute(node, "rect", name)) for name in ("x", "y", "width", "height"))
    return x, x + width, y, y + height


def line(edge: ElementTree.Element) -> list[Point]:
    """The corners and control points of an edge's line."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", attribute(edge, "path", "d"))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def at_a_side(point: Point, box: tuple[float, float, float, float], off: float) -> bool:
    """Whether a point is so far off the left or the right side of a box."""
    left, right, top, bottom = box
    sides = min(abs(left - off - point[0]), abs(right + off - point[0]))
    return sides < 0.7 and top - 0.6 <= point[1] <= bottom + 0.6


def check(graph: PlanGraph, file: Path) -> list[tuple[str, str]]:
    """Every line goes from the side of a box to an arrowhead at that of another; the ends of all, for comparison."""
    boxes = {number: frame(node) for number, node in groups(file, "node").items()}
    keys = {number: node.findtext(f"{SVG}title") or "" for number, node in groups(file, "node").items()}
    ends = []
    for edge in groups(file, "edge").values():
        [source] = [number for number, box in boxes.items() if at_a_side(line(edge)[0], box, 0)]
        [target] = [number for number, box in boxes.items() if at_a_side(line(edge)[-1], box, HEAD)]
        ends.append((keys[source], keys[target]))
        assert attribute(edge, "path", "marker-end").startswith("url(#arrow-")
    assert set(keys.values()) <= set(graph.nodes)
    return sorted(ends)


def texts(file: Path) -> list[str]:
    """What is written in a picture."""
    return [text.text or "" for text in ElementTree.parse(file).iter(f"{SVG}text")]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("rlsR", min_size=1, max_size=7), min_size=1, max_size=4))
def test_every_edge_of_an_svg_has_its_arrowhead_and_touches_its_boxes(tmp_path: Path, plans: list[str]) -> None:
    graph = room(*plans)
    draw(graph, tmp_path / "g.svg", start="0", path=graph.plans[0] if len(set(graph.plans[0])) == len(plans[0]) else ())
    ends = check(graph, tmp_path / "g.svg")
    assert ends == sorted((edge.source, edge.target) for edge in graph.edges() if edge.source != edge.target)
    assert len(groups(tmp_path / "g.svg", "node")) == len(graph.nodes)


def test_costs_and_what_is_left_are_written_along_the_path_in_units(tmp_path: Path) -> None:
    graph = room("rr", "R")
    for edge in graph.edges():
        graph.set_cost(edge.id, Resources({"steps": 1, "usd": 20_000 if edge.action == "r" else 5_000}))
    graph.set_reward("2", 1.0, goal=True)
    left = {"steps": 3, "usd": 50_000}
    draw(graph, tmp_path / "g.svg", start="0", path=graph.plans[0], title="a, round 1", note="b", left=left)
    said = texts(tmp_path / "g.svg")
    assert said[0] == "a, round 1"
    assert "at worst the path needs 2 of 3 steps, $0.04 of $0.05" in said
    assert said.count("$0.02") == 2
    assert said.count("1 step") == 2
    assert [text for text in said if text.endswith("left")] == [
        "3 steps left", "$0.05 left", "2 steps left", "$0.03 left", "1 step left", "$0.01 left",
    ]  # fmt: skip
    titles = [title.text for title in ElementTree.parse(tmp_path / "g.svg").iter(f"{SVG}title")]
    assert "R; 1 step, $0.005" in titles, "the alternative, which costs something else, says so when it is pointed at"
    draw(graph, tmp_path / "h.svg", start="0", path=graph.plans[0])
    assert "$0.02" in texts(tmp_path / "h.svg"), "without caps all known costs are shown"
    assert not any(text.endswith("left") for text in texts(tmp_path / "h.svg"))


def test_a_graph_of_ones_own_has_rewards_on_edges_and_no_plans(tmp_path: Path) -> None:
    links = [
        {"source": "a", "target": "b", "key": 0, "action": "go", "cost": {"steps": 1}, "reward": 0.5},
        {"source": "a", "target": "b", "key": 1, "action": "run", "cost": {"steps": 2}, "reward": 0.25},
        {"source": "b", "target": "a", "key": 2, "action": "back", "cost": {"steps": 2}, "reward": -1.5},
    ]
    graph = PlanGraph.from_dict(
        {"schema": 1, "kind": "plan_graph", "nodes": [{"id": "a"}, {"id": "b"}], "links": links}
    )
    draw(graph, tmp_path / "g.svg", start="a", path=(0,), left={"steps": 3})
    said = texts(tmp_path / "g.svg")
    assert {"earns 0.5", "earns 0.25", "earns -1.5", "0.00"} <= set(said)
    assert not any("×" in text for text in said), "no plan passes there"


def test_an_unknown_cost_is_no_zero(tmp_path: Path) -> None:
    graph = room("rr")
    graph.set_cost(0, Resources({"tokens": None}))
    draw(graph, tmp_path / "g.svg", start="0", path=(0, 1), left={"tokens": 5})
    said = texts(tmp_path / "g.svg")
    assert "? tokens" in said
    assert said.count("? tokens left") == 2
    assert "at worst the path needs ? of 5 tokens" in said


def large() -> tuple[PlanGraph, tuple[int, ...]]:
    """A graph of 200 nodes; the path of six steps goes to the worst of three goals."""
    graph = room("r" * 6, "l" * 30, *("r" * i + "R" * 20 for i in range(1, 40)), "R" * 90)
    for node, reward in (("6", 0.5), ("180", 1.0), ("1000", 0.0)):
        if node in graph.nodes:
            graph.set_reward(node, reward, goal=True)
    return graph, graph.plans[0]


def test_of_a_large_graph_what_matters_is_drawn_and_the_rest_is_counted(tmp_path: Path) -> None:
    graph, path = large()
    assert len(graph.nodes) > 100
    draw(graph, tmp_path / "g.svg", start="0", path=path)
    ends, nodes = check(graph, tmp_path / "g.svg"), groups(tmp_path / "g.svg", "node")
    assert len(nodes) == MOST_SHOWN
    assert {(str(i), str(i + 1)) for i in range(6)} <= set(ends)
    said = texts(tmp_path / "g.svg")
    [left_out] = [text for text in said if text.startswith("not drawn")]
    edges = len(list(graph.edges()))
    assert left_out == (
        f"not drawn: {len(graph.nodes) - MOST_SHOWN} of {len(graph.nodes)} nodes and {edges - len(ends)} of {edges} "
        "edges, among them 1 goal with a score of 1.00"
    ), "it is 90 steps away"
    hidden = [int(text.partition("+")[2]) for text in said if re.search(r"\+\d+$", text)]
    assert 0 < sum(hidden) <= edges - len(ends)
    reached = {"0"}
    for _ in nodes:
        reached |= {end for pair in ends if reached & set(pair) for end in pair}
    assert len(reached) == len(nodes), "nothing hangs in the air"


@pytest.mark.parametrize("label", ["\x1b[31mred\x07", "tab\there", "", "日本語", "$x_{1}$ & <b>"])
def test_odd_texts_are_drawn(tmp_path: Path, label: str) -> None:
    graph = PlanGraph(render=lambda _: label)
    graph.fold([0, 0, 1], [label or " ", "b"])
    draw(graph, tmp_path / "g.svg", start="0", path=(1,), title=label, note=label)
    assert ElementTree.parse(tmp_path / "g.svg").getroot().tag == f"{SVG}svg"


def test_a_start_that_is_no_node_and_another_format_are_refused(tmp_path: Path) -> None:
    for name, start, text in (
        ("g.svg", "x", "there is no node 'x'"),
        ("g.png", "0", r"pictures of plan graphs are SVG; name it g\.svg"),
    ):
        with pytest.raises(GraphError, match=text):
            draw(room("r"), tmp_path / name, start=start)
    assert not list(tmp_path.iterdir())
