"""Which arithmetic tools there are, what they cost and how good they are, and budgets for a number of operations."""

from __future__ import annotations

from dataclasses import dataclass

from envs.gsm_hard.arithmetic import KINDS
from envs.gsm_hard.errors import GsmHardError
from tape.budget import Budget, Resources
from tape.tools.tool import ToolVariant

TIGHTNESSES = ("tight", "loose")


@dataclass(frozen=True)
class Profile:
    """A table of tools; every kind has the same variants.

    Attributes:
        name: For instance ``priced``.
        kinds: The operations.
        variants: The variants of each, cheapest first. ``worst`` is what is declared, one step included.
        least_seconds_share: The actual seconds of a call are uniform between this share and all of the declared
            worst case. Actual dollars are the declared ones.
    """

    name: str
    kinds: tuple[str, ...]
    variants: tuple[ToolVariant, ...]
    least_seconds_share: float = 0.5


def _variant(name: str, quality: float, seconds: str, usd: str = "0") -> ToolVariant:
    return ToolVariant(name, Resources.of(steps=1, seconds=seconds, usd=usd), quality)


PROFILES: dict[str, Profile] = {
    # After TAPE appendix E.1, which has a fast and a slow tool of each kind but gives no numbers: these are ours.
    "paper": Profile(
        "paper",
        ("add", "subtract", "multiply", "divide"),
        (_variant("fast", 0.85, "0.2"), _variant("slow", 0.98, "1.0")),
    ),
    "priced": Profile(
        "priced",
        tuple(KINDS),
        (
            _variant("quick", 0.80, "0.1", "0.001"),
            _variant("standard", 0.93, "0.4", "0.005"),
            _variant("exact", 1.0, "1.0", "0.02"),
        ),
    ),
}
"""The profiles by name."""
DEFAULT = "priced"


def budget(profile: Profile, operations: int, tightness: str) -> Budget:
    """The budget for a problem of so many operations: caps on seconds, dollars where calls cost any, and steps.

    With n operations, in seconds and in dollars alike:

    - ``tight`` pays floor(n / 2) calls of the middle variant and the other calls of the cheapest;
    - ``loose`` pays ceil(0.7 n) calls of the dearest variant and the other calls of the middle one.

    Of two variants the dearer counts as the middle one at ``tight``, the cheaper at ``loose``, so that in both there
    is something to decide. Steps are 2 n + 3: an answer, and a second try at each call. The cheapest variant of
    every call fits in either.

    Raises:
        GsmHardError: Fewer than one operation, or an unknown tightness.
    """
    if operations < 1:
        raise GsmHardError(f"a budget is for at least one operation, got {operations}")
    if tightness not in TIGHTNESSES:
        raise GsmHardError(f"there is no budget {tightness!r}; there is: {', '.join(TIGHTNESSES)}")
    variants = profile.variants
    if tightness == "tight":
        better, worse, of_better = variants[len(variants) // 2], variants[0], operations // 2
    else:
        better, worse, of_better = variants[-1], variants[(len(variants) - 1) // 2], -(-7 * operations // 10)
    caps = {"steps": 2 * operations + 3}
    for kind in sorted({kind for variant in variants for kind in variant.worst} - {"steps"}):
        caps[kind] = of_better * (better.worst[kind] or 0) + (operations - of_better) * (worse.worst[kind] or 0)
    return Budget(caps)
