"""``tape models``: what can be used here, and why something cannot."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    argparse.ArgumentParser(prog="tape models", description="List the language models usable here.").parse_args(argv)
    from tape.errors import TapeError
    from tape.lm.bundled import describe
    from tape.lm.hosted.providers import Provider
    from tape.plugins import LOCAL, load, missing_extra, names

    reason = missing_extra("local", *LOCAL)
    local = f"not usable: {reason}" if reason else ""
    rows = [(name, text, local) for name, text in describe()]
    notes = {
        "hf": ("hf:PATH_OR_ID", "a local transformers checkpoint"),
        "scripted": ("scripted:FILE.json", "for tests"),
        "declared": ("declared:first|random", "no model: an option of a list, for trips"),
    }
    for backend in names("tape.models"):
        if backend == "bundled":
            continue
        name, text = notes.get(backend, (f"{backend}:...", "plugin"))
        try:
            opener = load("tape.models", backend)
        except TapeError as error:
            rows.append((name, text, f"not usable: {error}"))
            continue
        if isinstance(opener, Provider):
            missing = opener.missing()
            price = "; costs $0" if opener.free else ""
            name, text = f"{backend}:NAME[@URL]", f"{opener.about}; {opener.needs()}{price}"
            rows.append(
                (name, text, "ready; whether it answers is not tried" if missing is None else f"not usable: {missing}")
            )
        else:
            rows.append((name, text, local if backend == "hf" else ""))
    width = max(len(name) for name, _, _ in rows)
    for name, text, problem in rows:
        print(f"{name:<{width}}  {text}" + (f"   {problem}" if problem else ""))
    print(
        "Models on this machine (bundled:, hf:, a server at localhost or 127.x.x.x) cost $0 unless --prices FILE says "
        "otherwise.\nA proxy on this machine to a model that is paid for needs its price there, else a cap on usd does "
        "not count it."
    )
    return 0
