"""``python -m experiments.effects simulate|kill|rivals``: see ``--help`` of each."""

import sys
from importlib import import_module

PARTS = ("simulate", "kill", "rivals")

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in PARTS:
        sys.exit(f"usage: python -m experiments.effects {{{','.join(PARTS)}}} [--help]")
    sys.exit(import_module(f"experiments.effects.{sys.argv[1]}").main(sys.argv[2:]))
