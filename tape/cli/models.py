"""``tape models``: what can be used here, and why something cannot; and what an endpoint takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(prog="tape models", description="List the language models usable here.")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="show what this endpoint is asked for, as declared")
    parser.add_argument("--ask", metavar="MODEL", help="the same after a short question, with what it refuses")
    args = parser.parse_args(argv)
    if args.ask or args.model:
        return _endpoint(args.ask or args.model, ask=bool(args.ask))
    from tape.errors import TapeError
    from tape.lm.bundled import describe
    from tape.lm.hosted.providers import Provider
    from tape.plugins import LOCAL, load, missing_extra, names

    local = _problem(missing_extra("local", *LOCAL))
    rows = [(name, text, local) for name, text in describe()]
    notes = {
        "hf": ("hf:PATH_OR_ID", "a local transformers checkpoint"),
        "gguf": ("gguf:PATH[#TOKENIZER]", "a GGUF file, by transformers; converted once into the user's cache"),
        "smollm2": ("smollm2", "SmolLM2-135M-Instruct, a general chat model, offline once installed"),
        "scripted": ("scripted:FILE.json", "for tests"),
        "declared": ("declared:first|random", "no model: an option of a list, for trips"),
    }
    problems = {"hf": local, **_problems_of_files()}
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
            rows.append((name, text, problems.get(backend, "")))
    width = max(len(name) for name, _, _ in rows)
    for name, text, problem in rows:
        print(f"{name:<{width}}  {text}" + (f"   {problem}" if problem else ""))
    print(
        "Models on this machine (bundled:, hf:, gguf:, smollm2, a server at localhost or 127.x.x.x) cost $0 "
        "unless --prices FILE declares another.\nA proxy on this machine to a model that is paid for needs its price "
        "there, else a cap on usd does not count it."
    )
    return 0


def _endpoint(name: str, *, ask: bool) -> int:
    """Show what an endpoint takes, perhaps after a short question."""
    from tape.budget import Budget, Ledger
    from tape.errors import ConfigError
    from tape.lm.accounting import AccountedLM
    from tape.lm.base import Message, OneOf, Request
    from tape.lm.hosted.model import HostedLM
    from tape.lm.registry import open_backend
    from tape.waiting import run_sync

    model, ledger = open_backend(name), Ledger(Budget({"calls": 20}))
    if not isinstance(model, HostedLM):
        raise ConfigError(f"{name} runs in this process: only endpoints refuse parts of a request")
    prompt = (Message("system", "Answer in one word."), Message("user", "Is snow white, yes or no?"))
    asked = Request(prompt, 64, OneOf(("yes", "no")), n=2, temperature=0.7, seed=1)
    try:
        if ask:
            run_sync(AccountedLM(model, ledger).generate([asked]))
    finally:
        for what, value in model.concessions.capabilities().items():
            print(f"{what:<12}  {value}")
    if ask:
        print(f"asked         {ledger.used['calls']} calls, {ledger.used['tokens']} tokens")
    return 0


def _problem(reason: str | None) -> str:
    return f"not usable: {reason}" if reason else ""


def _problems_of_files() -> dict[str, str]:
    """Why models in GGUF files cannot be used, by backend; empty where they can."""
    from tape.lm.gguf import READERS
    from tape.lm.smollm2 import missing
    from tape.plugins import missing_extra

    gguf = missing_extra("gguf", *READERS)
    return {"gguf": _problem(gguf), "smollm2": _problem(missing() or gguf)}
