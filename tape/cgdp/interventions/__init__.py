"""What an orchestrator may do beside stopping (CGDP appendix B, which names these in a sentence or two each).

``resample``, ``filter``, ``parallel`` and ``gap_stop`` of :class:`tape.cgdp.settings.CgdpSettings`; the fifth one of
the appendix, alignment, is ``verify="aec"``. The paper gives neither rules nor numbers nor results, so whatever is more
definite here is ours. All are off by default.
"""

from __future__ import annotations

from tape.cgdp.gates import CONFIGURATIONS
from tape.cgdp.settings import CgdpSettings
from tape.errors import ConfigError

MOST_ENTRIES = 8
"""A harness's loop is entered, and further calls are made, so many times its own number of calls at most."""


def require_interventions(settings: CgdpSettings) -> None:
    """Refuse interventions that could not act.

    Args:
        settings: With ``memory`` decided.

    Raises:
        ConfigError: Names what each needs.
    """
    for name in ("filter", "parallel"):
        if settings.intervenes(name) and not settings.believes:
            raise ConfigError(
                f"interventions={name!r} acts on beliefs, which memory={settings.memory!r} has none of; take freeform "
                "or structured"
            )
    stagnates = settings.gate in CONFIGURATIONS
    if settings.intervenes("resample") and not (stagnates or settings.gate.startswith("lm_")):
        raise ConfigError(
            f"interventions='resample' waits for stagnation, which gate={settings.gate!r} does not look for; take a "
            "gate such as f_j0.6_u0.3_p2"
        )
    if settings.intervenes("parallel") and not (stagnates or settings.gate in ("none", "voi")):
        raise ConfigError(
            f"gate={settings.gate!r} looks at all rounds and interventions='parallel' at those of a trajectory; take "
            "none, voi, or a gate such as f_j0.6_u0.3_p2"
        )
