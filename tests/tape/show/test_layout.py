"""The geometry of drawn graphs: nothing on top of anything else, every line from border to border."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.show.layout import Arc, Item, arrange, ranks

sizes = st.builds(Item, st.floats(5, 60), st.floats(3, 30), st.floats(3, 30))


Graph = tuple[dict[str, Item], list[Arc], list[str], list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A graph with boxes, labels, and a simple path."""
    count = draw(st.integers(1, 12))
    names = [f"n{i}" for i in range(count)]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda pair: pair[0] != pair[1])
    ends = draw(st.lists(pairs, max_size=24)) if count > 1 else []
    path = names[: draw(st.integers(1, count))]
    ends = [*pairwise(path), *ends]
    arcs = [Arc(i, a, b, draw(sizes)) for i, (a, b) in enumerate(ends)]
    return {name: draw(sizes) for name in names}, arcs, path, list(range(len(path) - 1))


def overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[1] - 0.01 and b[0] < a[1] - 0.01 and a[2] < b[3] - 0.01 and b[2] < a[3] - 0.01


@given(graphs())
def test_nothing_lies_on_anything_else_and_lines_go_from_border_to_border(graph: Graph) -> None:
    boxes, arcs, path, _ = graph
    arranged = arrange(*graph)
    for pair, other in combinations(arranged.areas, 2):
        assert not overlap(pair, other)
    for begin, end, low, high in arranged.areas:
        assert begin >= 0
        assert low >= -0.01
        assert end <= arranged.length + 0.01
        assert high <= arranged.breadth + 0.01
    assert len({arranged.nodes[name][1] for name in path}) == 1, "the path is straight"
    places = {
        name: (along - item.along / 2, along + item.along / 2, across - item.before, across + item.after)
        for name, item in boxes.items()
        for along, across in [arranged.nodes[name]]
    }
    for arc in arcs:
        route = arranged.routes[arc.id]
        for name, point in ((arc.source, route.points[0]), (arc.target, route.points[-1])):
            along, across = arranged.nodes[name]
            assert abs(point[0] - along) == pytest.approx(boxes[name].along / 2)
            assert abs(point[1] - across) <= min(boxes[name].before, boxes[name].after)
        if route.turns is not None:
            continue
        label = arranged.labels[arc.id]
        assert any(b[1] == label[1] and a[1] == b[1] for a, b in pairwise(route.points)), "it goes through its label"
        others = [place for name, place in places.items() if name not in (arc.source, arc.target)]
        for (a, c), (b, d) in pairwise(route.points):
            span = (min(a, b), max(a, b), min(c, d), max(c, d))
            assert not any(overlap(span, other) for other in others), "it bends only where no box is"


def test_the_path_is_ranked_in_its_order_and_what_led_to_the_start_before_it() -> None:
    arcs = [("s", "a"), ("a", "b"), ("s", "b"), ("old", "s"), ("older", "old"), ("old", "b"), ("x", "y")]
    numbers = ranks(["s", "a", "b", "old", "older", "x", "y"], arcs, ["s", "a", "b"])
    assert [numbers[node] - numbers["s"] for node in ("older", "old", "s", "a", "b")] == [-2, -1, 0, 1, 2]
    assert numbers["y"] == numbers["x"] + 1
    assert min(numbers.values()) == 0
