"""Held-out accuracy of the bundled reader of requests: ``experiments.training.ship`` asks for it.

Requests are none that were trained on, in wordings that were. Everything is asked through the same prompts, constraints
and decoding loop as in a run, greedily: among the types of a problem, and among all.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path

from envs.tool_chains.compact import ReadingFormat
from envs.tool_chains.environment import ToolChainsEnvironment
from envs.tool_chains.generator import Settings, generate
from envs.tool_chains.words import all_specs, type_name
from experiments.training.chains.data import draw
from experiments.training.sokoban.evaluate import Tally
from tape.lm.base import LanguageModel
from tape.lm.bundled import load_folder
from tape.tools.typed.domain import as_typed

GOALS = 12
"""Types among which a problem's request names one."""


def report(folder: Path, count: int) -> dict[str, object]:
    """Evaluate one checkpoint on so many requests that were held out, and as many that were not."""
    lm = load_folder(folder, f"hf:{folder.name}", prompt_format="chains")
    return {part: asyncio.run(_read(lm, count, part == "held out")).report() for part in ("held out", "trained on")}


async def _read(lm: LanguageModel, count: int, held_out: bool) -> Tally:
    tally, rng = Tally(), random.Random(f"eval-chains-lm:{held_out}")
    every = sorted(type_name(spec, 1, 1) for spec in all_specs())
    env = ToolChainsEnvironment(generate("evaluation", 0, Settings()), "lm")
    asked = as_typed(env.reset(0).data)
    for _ in range(count):
        text, goal = draw(rng, held_out)
        others = rng.sample([one for one in every if one != goal], GOALS - 1)
        for name, goals in ((f"among {GOALS} types", sorted([goal, *others])), (f"among all {len(every)}", every)):
            form, state = ReadingFormat(env.domain, goals), replace(asked, unread=text)
            request = form.project_request(state)
            assert request is not None, "nobody has read it"
            [done] = await lm.generate([request])
            tally.add(name, form.read_project(state, done.texts[0]).wanted == goal)
    return tally
