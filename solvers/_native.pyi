"""The compiled search; see `solvers/native/`."""

FORM: int

def solve(
    edges: tuple[tuple[int, int], ...],
    rewards: tuple[float, ...],
    costs: tuple[tuple[int, ...], ...],
    budgets: tuple[int, ...],
    start: int,
    terminals: tuple[int, ...],
    moves: int,
    weights: tuple[float, ...],
    rest: tuple[int, ...],
    scale: float,
    chances: tuple[tuple[int, int, int, int], ...],
    wanted: int,
    time_limit: float,
    cap: float,
    /,
) -> tuple[int, list[tuple[int, ...]], int | None, bool, int, float, int, float]: ...
def shortest_path(
    nodes: int,
    tails: object,
    heads: object,
    cost: object,
    node_cost: object,
    use: object,
    node_use: object,
    lower: tuple[int, ...],
    upper: tuple[int | None, ...],
    source: int,
    target: int,
    wanted: int,
    simple: bool,
    threads: int,
    time_limit: float,
    cap: float,
    /,
) -> tuple[int, list[tuple[int, ...]], int | None, bool, int, float, int, float]: ...
def prove(
    nodes: int,
    edges: tuple[tuple[int, int], ...],
    gains: tuple[int, ...],
    uses: tuple[tuple[int, ...], ...],
    lower: tuple[int, ...],
    upper: tuple[int, ...],
    start: int,
    ends: tuple[tuple[int, int], ...],
    best: int | None,
    most: int,
    time_limit: float,
    /,
) -> tuple[int, list[list[int]], list[int]]: ...
