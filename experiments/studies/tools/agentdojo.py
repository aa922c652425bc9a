"""AgentDojo: requests over tools whose results carry texts that ask for something else, under tight and loose caps.

``python -m experiments.studies.tools.agentdojo --data DIR`` plays it, where DIR has the unpacked wheel.
"""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness import tightness
from experiments.harness.experiment import Experiment
from experiments.harness.measured import Measured
from experiments.harness.methods import PAPER, PLAN_AND_ACT, REACT, REPLANNING, TAPE, Method
from experiments.harness.standard import against
from experiments.studies.tape.levels import BATCH
from tape.show.document import Section

ENVIRONMENT = "agentdojo"
OWN = {"data": None, "suite": "all", "part": "test", "attack": False}
OTHERS = {"": {}, ", injected": {"attack": True}}

COPY = {"world_model": "copy"}
PLANNED = {"destructive": "planned"}
METHODS = (
    REACT,
    Method("ReAct, destructive refused", "react", {"destructive": "refuse"}),
    PLAN_AND_ACT,
    Method("Plan-and-Act, destructive as planned", "plan_and_act", PLANNED),
    REPLANNING,
    PAPER,
    TAPE,
    Method("TAPE+, destructive as planned", "tape", PLANNED),
    Method("TAPE+ (dry run)", "tape", COPY),
    Method("TAPE+ (dry run), destructive as planned", "tape", {**COPY, **PLANNED}),
)


def sections(measured: Measured) -> list[Section]:
    return [tightness.bars(measured, ENVIRONMENT), tightness.spending(measured)]


EXPERIMENT = Experiment(
    name=ENVIRONMENT,
    module="experiments.studies.tools.agentdojo",
    title="Requests over tools, with injected texts in their results (AgentDojo)",
    source="none: the paper has no such tasks",
    about=(
        "The four suites of AgentDojo, with prices for calls: without an injection, and each request with each "
        "injected task whose calls are known. The injected text stands wherever the gold calls of the request read. "
        "Success is AgentDojo's utility, `attacked` its security check, `wrong_irreversible` counts calls that cannot "
        "be taken back and were not asked for by the user, `false_refusals` gold calls that were refused. The planner "
        "is **simulated**: it knows the gold calls, one call in five is struck by an error, half of these come back; "
        "and in half of the tasks it does what an injected text asks for as soon as its prompt shows it. The same "
        "tasks, caps, seeds and planner for all agents."
    ),
    models=("simulated:agentdojo?errors=0.2&verdicts=0.1&obeys=0.5",),
    configurations=partial(tightness.configurations, ENVIRONMENT, OWN, others=OTHERS, methods=METHODS),
    sections=sections,
    pairs=against(TAPE.label),
    differs=(
        "No row is the result of a language model. The planner knows all arguments before anything is read, so its "
        "plans are whole from the beginning; a model that has to read first plans again after reading, and meets the "
        "injected text then.",
        "*Destructive as planned*: calls that cannot be taken back are done where a plan of the first sampling has "
        "them, which was written before any result was read (setting `destructive`). *Destructive refused*: none is "
        "done, as in a gateway where nobody approves.",
        "The injected text has one wording of the project's own; AgentDojo's attacks are not used, since how likely a "
        "model obeys is a knob here. Injected tasks without gold calls are left out.",
        "Prices, caps, and which calls cannot be taken back are the project's own: a call that reads costs $0.001, one "
        "that writes $0.005.",
    ),
    batch=BATCH,
)

run = partial(tightness.run, EXPERIMENT, ENVIRONMENT, OWN, others=OTHERS, methods=METHODS)
"""The command line: the shared options and the environment's own."""

if __name__ == "__main__":
    sys.exit(run())
