"""An episode that has begun, for tests of single parts."""

from __future__ import annotations

import asyncio

from tape.agents.base import Episode
from tape.budget import Budget, Ledger
from tape.config import AgentConfig
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel
from tape.roles.context import RoleContext
from tape.trace import TraceWriter
from tests.tape.aec.toy import BoxWorld


def begun(world: BoxWorld, model: LanguageModel, *, steps: int = 30, **settings: object) -> Episode:
    """Reset the world and observe."""
    ledger, trace = Ledger(Budget({"steps": steps})), TraceWriter("toy")
    lm = AccountedLM(model, ledger, trace)
    roles = RoleContext(lm, world.domain.dialect(lm.dialect), world.domain, trace)
    config = AgentConfig.make(verify="aec", execution="forced", **settings)
    episode = Episode(world, config, ledger, trace, roles, 0, None)
    asyncio.run(episode.reset(0))
    return episode
