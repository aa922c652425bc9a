"""The table of tool environments in docs/results.md, from the committed episodes."""

from __future__ import annotations

from experiments.harness import episodes, published
from experiments.harness.methods import TAPE_PLUS
from experiments.harness.places import RESULTS
from experiments.harness.standard import share
from tape.show.document import table

NAMES = {"gsm_hard": "own problems, as GSM-Hard", "musique": "own questions, as MuSiQue"}
"""What is played is the project's own; the public sets are read with ``--data``."""

OF = {"gsm_hard": "generated word problems", "musique": "questions on passages about invented people and places"}
"""What the tasks are, for the note."""

MODEL = "tools"


def tool_text() -> str:
    """Success by method, environment and budget."""
    held = {name: published.of(RESULTS / name / episodes.FILE)[1] for name in NAMES}
    columns = [(name, budget) for name, measured in held.items() for budget in measured.settings()]
    methods = dict.fromkeys(method for measured in held.values() for method in measured.methods())
    rows = [
        (method, *(share(held[name].success(budget, MODEL, method)) for name, budget in columns)) for method in methods
    ]
    groups = {name: [*measured.groups.values()] for name, measured in held.items()}
    sizes = [f"{found[0]['levels']} {OF[name]} ({NAMES[name]})" for name, found in groups.items()]
    over = sum(group["budget_violations"] for found in groups.values() for group in found)
    note = (
        f"Right answers within the budget, 95 % intervals over tasks. The tasks are the project's own, not the public "
        f"benchmarks': {' and '.join(sizes)}, an episode each. {TAPE_PLUS} "
        "`bundled:tools`, M = 4, temperature 0.3; the same tasks, budgets, model and seeds for all. Episodes over "
        f"budget: {over}. Made by `python -m experiments.studies.tools.gsm_hard` and "
        "`python -m experiments.studies.tools.musique`."
    )
    head = ("", *(f"{NAMES[name]}, {budget}" for name, budget in columns))
    return "\n".join([table(head, rows), "", note, ""])
