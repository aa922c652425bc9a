"""Pictures of plan graphs, read back from the files."""

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tape.budget import Resources, declare
from tape.engine.graph import PlanGraph
from tape.errors import GraphError
from tape.show.draw import draw
from tape.show.essence import MOST_NODES, essence

SVG = "{http://www.w3.org/2000/svg}"
Point = tuple[float, float]


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


def points(element: ElementTree.Element) -> list[Point]:
    """The corners and control points of the path in a group."""
    path = element.find(f".//{SVG}path")
    assert path is not None
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", path.attrib["d"])]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def groups(file: Path, pattern: str) -> dict[str, list[Point]]:
    found = ElementTree.parse(file).iter(f"{SVG}g")
    return {group.attrib["id"]: points(group) for group in found if re.fullmatch(pattern, group.attrib.get("id", ""))}


def box(corners: list[Point]) -> tuple[float, float, float, float]:
    xs, ys = zip(*corners, strict=True)
    return min(xs), max(xs), min(ys), max(ys)


def on_border(point: Point, frame: tuple[float, float, float, float]) -> bool:
    left, right, top, bottom = frame
    x, y = point
    inside = left - 0.6 <= x <= right + 0.6 and top - 0.6 <= y <= bottom + 0.6
    return inside and min(abs(x - left), abs(x - right), abs(y - top), abs(y - bottom)) < 0.6


def check(graph: PlanGraph, file: Path) -> None:
    """Every edge has a line and an arrowhead, from the border of its source to the border of its target."""
    boxes = {number: box(corners) for number, corners in groups(file, r"node-\d+").items()}
    lines, heads = groups(file, r"edge-\d+"), groups(file, r"edge-\d+-head")
    names = {node: f"node-{number}" for number, node in enumerate(graph.nodes)}
    edges = [edge for edge in graph.edges() if edge.source != edge.target]
    assert len(boxes) == len(graph.nodes)
    assert set(lines) == {f"edge-{edge.id}" for edge in edges}
    assert set(heads) == {f"edge-{edge.id}-head" for edge in edges}
    for edge in edges:
        line, head = lines[f"edge-{edge.id}"], heads[f"edge-{edge.id}-head"]
        assert on_border(line[0], boxes[names[edge.source]])
        tip = head[0]
        assert on_border(tip, boxes[names[edge.target]])
        assert 3 < max(abs(line[-1][0] - tip[0]), abs(line[-1][1] - tip[1])) < 8, "the line ends in the head"
    frames = list(boxes.values())
    for i, a in enumerate(frames):
        for b in frames[:i]:
            assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], "boxes overlap"


def texts(file: Path) -> list[str]:
    """What is written in a picture: matplotlib notes it beside the glyphs."""
    return re.findall(r"<!-- (.*?) -->", file.read_text(encoding="utf-8"))


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("rlsR", min_size=1, max_size=7), min_size=1, max_size=4))
def test_every_edge_of_an_svg_has_its_arrowhead_and_touches_its_boxes(tmp_path: Path, plans: list[str]) -> None:
    graph = room(*plans)
    draw(graph, tmp_path / "g.svg", start="0", path=graph.plans[0] if len(set(graph.plans[0])) == len(plans[0]) else ())
    check(graph, tmp_path / "g.svg")


def test_a_turned_and_a_broken_picture_too(tmp_path: Path) -> None:
    wide = PlanGraph(render=lambda state: f"{state} " + "a long line of what is known here")
    wide.fold([0, 1, 2, 3, 4, 5], [f"search(query='number {i}')" for i in range(5)])
    draw(wide, tmp_path / "turned.svg", start="0", path=wide.plans[0])
    check(wide, tmp_path / "turned.svg")
    heads = groups(tmp_path / "turned.svg", r"edge-\d+-head")
    assert all(abs(head[0][1] - head[1][1]) > 6 for head in heads.values()), "arrows point downwards"
    long = room("r" * 24, "rrs" + "r" * 20)
    draw(long, tmp_path / "long.svg", start="0", path=long.plans[0])
    check(long, tmp_path / "long.svg")
    assert "continues below" in texts(tmp_path / "long.svg")
    assert size(tmp_path / "long.svg")[0] < 1200


def size(file: Path) -> Point:
    """Width and height in points."""
    if file.suffix == ".png":
        wide, high = struct.unpack(">II", file.read_bytes()[16:24])
        return wide / 2, high / 2  # 144 dots an inch
    if file.suffix == ".pdf":
        found = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", file.read_bytes())
        assert found is not None
        return float(found[1]), float(found[2])
    root = ElementTree.parse(file).getroot()
    return float(root.attrib["width"].removesuffix("pt")), float(root.attrib["height"].removesuffix("pt"))


def test_all_formats_have_the_same_geometry_whatever_style_the_user_has(tmp_path: Path) -> None:
    graph = room("rrr", "rrl")
    for ending in ("svg", "png", "pdf"):
        draw(graph, tmp_path / f"g.{ending}", start="0", path=graph.plans[0])
    for ending in ("png", "pdf"):
        assert size(tmp_path / f"g.{ending}") == pytest.approx(size(tmp_path / "g.svg"), abs=1)
    dark = {"figure.facecolor": "black", "savefig.facecolor": "black", "figure.dpi": 300, "font.size": 40}
    with matplotlib.rc_context({**dark, "savefig.dpi": 20, "text.color": "red", "savefig.bbox": "tight"}):
        for ending in ("svg", "png"):
            draw(graph, tmp_path / f"again.{ending}", start="0", path=graph.plans[0])
            assert (tmp_path / f"again.{ending}").read_bytes() == (tmp_path / f"g.{ending}").read_bytes()
        assert matplotlib.rcParams["figure.facecolor"] == "black", "the user's style is left alone"


def test_an_svg_has_a_white_background_of_its_own(tmp_path: Path) -> None:
    draw(room("rr"), tmp_path / "g.svg", start="0")
    first = ElementTree.parse(tmp_path / "g.svg").find(f".//{SVG}path")
    assert first is not None
    assert "fill: #ffffff" in first.attrib["style"]
    assert box(points_of(first))[1] == pytest.approx(size(tmp_path / "g.svg")[0], abs=1)


def points_of(path: ElementTree.Element) -> list[Point]:
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", path.attrib["d"])]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_costs_and_what_is_left_are_written_along_the_path_in_units(tmp_path: Path) -> None:
    graph = room("rr", "R")
    declare("usd", "US dollar", "1e-6")
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
    assert "1 step, $0.005" in said, "the alternative, which costs something else"
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
    assert {"earns 0.5", "2 steps, earns 0.25", "earns -1.5", "0.00"} <= set(said)
    assert not any("×" in text for text in said)


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


def test_of_a_large_graph_what_matters_is_drawn_and_the_rest_is_told(tmp_path: Path) -> None:
    graph, path = large()
    assert len(graph.nodes) > 100
    shown = essence(graph, "0", path)
    assert len(shown.graph.nodes) <= MOST_NODES
    assert [shown.graph.edge(number).target for number in shown.path] == ["1", "2", "3", "4", "5", "6"]
    left_out = len(graph.nodes) - len(shown.graph.nodes)
    edges = len(list(graph.edges())) - len(list(shown.graph.edges()))
    draw(graph, tmp_path / "g.svg", start="0", path=path)
    check(shown.graph, tmp_path / "g.svg")
    said = " ".join(texts(tmp_path / "g.svg"))
    assert f"not drawn: {left_out} of {len(graph.nodes)} nodes and {edges} of" in said
    assert "among them 1 goal with a score of 1.00" in said, "it is 90 steps away"
    assert sum(shown.hidden.values()) <= edges
    assert f"+{max(shown.hidden.values())} not drawn" in said
    reached = {"0"}
    for _ in shown.graph.nodes:
        reached |= {e.target for e in shown.graph.edges() if e.source in reached}
        reached |= {e.source for e in shown.graph.edges() if e.target in reached}
    assert reached == set(shown.graph.nodes), "nothing hangs in the air"


def test_of_what_no_plan_does_the_alternatives_along_the_path_come_first() -> None:
    graph = PlanGraph()
    graph.fold([0, 1, 2], ["cheap", "cheap"])
    for before in range(3):
        for number in range(20):
            graph.add_variant(before, f"dear {number}", 100 * before + 10 + number)
    shown = essence(graph, "0", (0, 1))
    assert len(shown.graph.nodes) == MOST_NODES
    sources = {edge.source for edge in shown.graph.edges() if edge.action != "cheap"}
    assert sources == {"0", "1"}, "not those behind the path's end"


def test_small_graphs_are_drawn_whole() -> None:
    graph = room("rrr")
    assert essence(graph, "0", (0,)).graph is graph


@pytest.mark.parametrize("label", ["\x1b[31mred\x07", "tab\there", "", "日本語", "$x_{1}$ & <b>"])
def test_odd_texts_are_drawn(tmp_path: Path, label: str) -> None:
    graph = PlanGraph(render=lambda _: label)
    graph.fold([0, 0, 1], [label or " ", "b"])
    draw(graph, tmp_path / "g.svg", start="0", path=(1,), title=label, note=label)
    assert ElementTree.parse(tmp_path / "g.svg").getroot().tag == f"{SVG}svg"


def test_a_start_that_is_no_node_and_an_ending_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="there is no node 'x'"):
        draw(room("r"), tmp_path / "g.svg", start="x")
    with pytest.raises(GraphError, match=r"ends in \.svg, \.png or \.pdf"):
        draw(room("r"), tmp_path / "g.gif", start="0")
    assert not list(tmp_path.iterdir())
