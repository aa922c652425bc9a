"""``tape models``: what can be used here, and why something cannot."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    argparse.ArgumentParser(prog="tape models", description="List the language models usable here.").parse_args(argv)
    from tape.errors import TapeError
    from tape.lm.bundled import describe
    from tape.plugins import load, names

    rows = [(name, text, "") for name, text in describe()]
    notes = {
        "hf": ("hf:PATH_OR_ID", "a local transformers checkpoint"),
        "scripted": ("scripted:FILE.json", "for tests"),
    }
    for backend in names("tape.models"):
        if backend == "bundled":
            continue
        name, text = notes.get(backend, (f"{backend}:...", "plugin"))
        try:
            load("tape.models", backend)
            rows.append((name, text, ""))
        except TapeError as error:
            rows.append((name, text, f"not usable: {error}"))
    width = max(len(name) for name, _, _ in rows)
    for name, text, problem in rows:
        print(f"{name:<{width}}  {text}" + (f"   {problem}" if problem else ""))
    return 0
