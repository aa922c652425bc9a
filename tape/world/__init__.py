"""Environments of your own: rules in words, state and actions as pydantic models, a step function, a goal, costs.

    world = World("courier", rules="...", deterministic=True)

    @world.action(coins=2)
    def walk(state: Round, action: Walk) -> Round: ...

    @world.goal
    def delivered(state: Round) -> bool: ...

    TapeAgent(model).run(world.environment(Round(), budget=Budget.of(steps=5, coins=2)))

From these come the prompts of every role for any general model, with JSON schemas of the models as constraints. The
world model is the LM: no agent sees a step function.
"""

from tape.world.environment import WorldEnvironment
from tape.world.errors import InvalidActionError, WorldError
from tape.world.state import Context
from tape.world.world import World

__all__ = ["Context", "InvalidActionError", "World", "WorldEnvironment", "WorldError"]
