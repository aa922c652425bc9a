"""What an orchestrator may do beside stopping (CGDP appendix B, which names these in a sentence or two each).

``resample``, ``filter``, ``parallel`` and ``gap_stop`` of :class:`tape.methods.cgdp.settings.CgdpSettings`; the fifth
one of the appendix, alignment, is ``verify="aec"``. The paper gives neither rules nor numbers nor results, so whatever
is more definite here is ours. All are off by default.
"""

from __future__ import annotations

from tape.errors import ConfigError
from tape.methods.cgdp.gates import CONFIGURATIONS
from tape.methods.cgdp.settings import CgdpSettings

MOST_ENTRIES = 8
"""A harness's loop is entered, and further calls are made, so many times its own number of calls at most."""


def require_interventions(settings: CgdpSettings) -> None:
    """Refuse interventions that could not act.

    Args:
        settings: With ``memory`` decided.

    Raises:
        ConfigError: Names what each needs.
    """
    gate, stagnates = settings.gate, settings.gate in CONFIGURATIONS
    apart = stagnates or gate in ("none", "voi")
    needs = {
        "filter": (settings.believes, "memory structured or freeform"),
        "parallel": (settings.believes and apart, "a belief, and a gate none, voi or such as f_j0.6_u0.3_p2"),
        "resample": (stagnates or gate.startswith("lm_"), "a gate that finds stagnation, such as f_j0.6_u0.3_p2"),
    }
    for name, (given, what) in needs.items():
        if settings.intervenes(name) and not given:
            raise ConfigError(f"interventions={name!r} needs {what}; got memory={settings.memory!r}, gate={gate!r}")
