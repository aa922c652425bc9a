"""The compiled labelling algorithm; see `solvers/native/`."""

def solve(
    edges: tuple[tuple[int, int], ...],
    rewards: tuple[float, ...],
    costs: tuple[tuple[int, ...], ...],
    budgets: tuple[int, ...],
    start: int,
    terminals: tuple[int, ...],
    weights: tuple[float, ...],
    scale: float,
    chances: tuple[tuple[int, int, int, int], ...],
    wanted: int,
    time_limit: float,
    memory: object = None,
    /,
) -> tuple[int, list[tuple[int, ...]], int, bool, float, int, int, int]: ...
def memory() -> object: ...
