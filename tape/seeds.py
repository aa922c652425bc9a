"""Seeds derived by name from one root, the same in every process."""

from __future__ import annotations

import hashlib


def derive(root: int, *names: object) -> int:
    """Derive a 63-bit seed from a root seed and a path of names.

    The result depends on the texts of ``names`` alone: not on PYTHONHASHSEED, order of calls or
    anything drawn before.
    """
    path = "/".join([str(root), *(str(name) for name in names)])
    return int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], "big") >> 1
