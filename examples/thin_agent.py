"""The least that makes an agent: one tool, a budget, and a model that says what it was given; public names alone.

``python examples/thin_agent.py`` prints what it did, and below which modules of the project that took, by rooms.
"""

import sys
from collections import defaultdict

from tape import TapeAgent, ToolEnvironment
from tape.lm.scripted import ScriptedLM
from tape.tools import tool


@tool(pure=True, usd="0.002")
def population(city: str) -> int:
    """People who live in a city."""
    return {"Oslo": 717_710, "Bergen": 291_940}[city]


PROGRAM = """
oslo = population(city="Oslo")
bergen = population(city="Bergen")
answer(oslo + bergen)
"""
agent = TapeAgent(ScriptedLM([PROGRAM]), num_plans=1)
result = agent.run(ToolEnvironment("How many people live in Oslo and Bergen?", [population], budget="$0.01, 5 steps"))
print(result.answer, *result.actions, dict(result.used))

rooms = defaultdict(list)
for name in sorted(sys.modules):
    top, _, rest = name.partition(".")
    if top in ("tape", "solvers", "envs"):
        room, _, module = rest.partition(".") if top == "tape" else ("", "", rest)
        rooms[f"{top}.{room}" if room else top].append(module or "__init__")
for room, modules in sorted(rooms.items()):
    print(f"{room:16} {len(modules):3}  {' '.join(modules)}")
print(sum(map(len, rooms.values())), "modules")
