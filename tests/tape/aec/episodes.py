"""An episode that has begun, for tests of single parts."""

from __future__ import annotations

import asyncio

from tape.budget import Budget, Ledger
from tape.engine.context import RoleContext
from tape.engine.episode import Episode
from tape.engine.settings import TapeConfig
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel
from tape.trace import TraceWriter
from tests.tape.aec.toy import BoxWorld


def begun(world: BoxWorld, model: LanguageModel, *, steps: int = 30) -> Episode:
    """Reset the world and observe."""
    ledger, trace = Ledger(Budget({"steps": steps})), TraceWriter("toy")
    lm = AccountedLM(model, ledger, trace)
    roles = RoleContext(lm, world.prompt_format(lm.prompt_format), world.domain, trace)
    config = TapeConfig.make(execution="forced", aec=True)
    episode = Episode(world, config, ledger, trace, roles, 0, None)
    asyncio.run(episode.reset(0))
    return episode
