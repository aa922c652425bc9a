"""Figure 3, its part on MuSiQue: five retrievers under tight and loose budgets.

``python -m experiments.studies.tools.musique`` plays it.
"""

from __future__ import annotations

import sys
from functools import partial

from experiments.harness import tightness
from experiments.harness.experiment import DROP, Experiment
from experiments.harness.measured import Measured
from experiments.harness.standard import against
from experiments.studies.tape.levels import BATCH
from tape.show.document import Section

ENVIRONMENT = "musique"
OWN = {"data": None, "questions": "test", "embeddings": None, "reader": "lm"}
"""The environment's options by default."""

OTHERS = {"": {}, ", scripted reader": {"reader": "scripted"}}
"""Once the model reads what was found, once a script does: then planning alone is compared."""


def sections(measured: Measured) -> list[Section]:
    return [
        tightness.bars(measured, ENVIRONMENT),
        tightness.spending(measured),
        tightness.by_category(measured, "By number of hops", lambda task: f"{task.facts['question'].operations} hops"),
    ]


EXPERIMENT = Experiment(
    name=ENVIRONMENT,
    module="experiments.studies.tools.musique",
    title="Retrievers on own multi-hop questions in the style of MuSiQue",
    source="figure 3 (its part on MuSiQue), appendix E.1",
    about=(
        "The questions are the project's own (80, on passages about invented people and places, in the style of "
        "MuSiQue; `--data FILE` reads the public set). Every hop can be looked up by five retrievers, from fast, cheap "
        "and poor to slow, dear and good; what was found is read by the model, and a look-up that did not find it can "
        "be made again by another one. The same questions, budgets in seconds and dollars, seeds and model for all "
        "agents. Success is an exact match."
    ),
    models=("bundled:tools",),
    configurations=partial(tightness.configurations, ENVIRONMENT, OWN, others=OTHERS),
    sections=sections,
    pairs=against(tightness.TAPE.label),
    paper=(DROP,),
    differs=(
        "Corpus and questions are the project's own, about invented people and places, so no model knows the answers; "
        "the public MuSiQue file (`--data FILE`) needs a general model, named by `--models`. The retrievers' numbers "
        "are the project's: the paper gives none.",
        "The bundled model misreads about every tenth look-up (see its model card), and with one wrong reading an "
        "episode is lost whoever plays it. So everything is also played with a **scripted reader**, which knows the "
        "wordings of our passages: these settings compare planning and budgets alone, and are no result of a model "
        "that reads.",
        "A retriever's noise depends on the query, the retriever, the task and the repeat alone, so the same look-up "
        "finds the same passages whichever agent makes it; making it again by the same retriever is useless.",
    ),
    batch=BATCH,
)

run = partial(tightness.run, EXPERIMENT, ENVIRONMENT, OWN, others=OTHERS)
"""The command line: the shared options and the environment's own."""

if __name__ == "__main__":
    sys.exit(run())
