"""Models by one string, ``BACKEND:ARGUMENT``, or one word."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from tape.errors import UnknownNameError
from tape.lm.base import LanguageModel
from tape.lm.price_table import Prices
from tape.lm.priced import priced
from tape.plugins import load, names

GROUP = "tape.models"

WORDS = ("smollm2",)
"""Models that are named by their backend alone."""


def open_model(name: str, prices: Prices | None = None) -> LanguageModel:
    """Open a model, for instance ``bundled:mini`` or ``hf:./folder``, at its listed price if it has one.

    Args:
        name: Its string, ``BACKEND:NAME``; ``tape models`` lists what is here.
        prices: Prices of your own, which go before listed ones: US dollars per million tokens of prompts and of
            completions, or a price file.

    Returns:
        The model. One that runs on this machine is free; a hosted one may have no price.

    Raises:
        ConfigError: The prices are malformed.
        UnknownNameError: No such backend, or no such model in it.
        ModelError: It exists but cannot be loaded.

    Examples:
        >>> from pathlib import Path
        >>> from tape import open_model
        >>> _ = Path("replies.json").write_text('["left", "right"]')
        >>> model = open_model("scripted:replies.json")
        >>> model.name, model.prompt_format
        ('scripted', 'chat')
        >>> open_model("nothing:mini")
        Traceback (most recent call last):
            ...
        tape.errors.UnknownNameError: ...
    """
    return priced(open_backend(name), name, prices)


def open_backend(name: str) -> LanguageModel:
    """Open a model as its backend has it; a hosted one may have no price.

    Raises:
        UnknownNameError: No such backend, or no such model in it.
        ModelError: It exists but cannot be loaded.
    """
    backend, colon, argument = name.partition(":")
    if backend not in names(GROUP) or not (colon or backend in WORDS):
        known = [b if b in WORDS else f"{b}:..." for b in names(GROUP)]
        hint = "A model is BACKEND:NAME or one of the words; `tape models` lists what is here."
        meant = _meant(name)
        raise UnknownNameError("model", name, known, f"Did you mean {meant!r}? {hint}" if meant else hint)
    opener = load(GROUP, backend)
    model: LanguageModel = opener(argument)
    return model


def _meant(name: str) -> str:
    """The model that an unknown name may mean: a file, a folder, or a similar word; empty for none."""
    if name.lower().endswith(".gguf"):
        return f"gguf:{name}"
    if Path(name).is_dir():
        return f"hf:{name}"
    from tape.lm.bundled import sizes

    shipped = {size: f"bundled:{size}" for size in sizes()} | {word: word for word in WORDS}
    near = get_close_matches(name, shipped, n=1)
    return shipped[near[0]] if near else ""
