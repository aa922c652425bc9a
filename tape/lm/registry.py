"""Models by one string, ``BACKEND:ARGUMENT``."""

from __future__ import annotations

from tape.errors import UnknownNameError
from tape.lm.base import LanguageModel
from tape.lm.price_table import priced
from tape.plugins import load, names

GROUP = "tape.models"


def open_model(name: str) -> LanguageModel:
    """Open a model, for instance ``bundled:mini`` or ``hf:./folder``, at its listed price if it has one.

    Raises:
        UnknownNameError: No such backend, or no such model in it.
        ModelError: It exists but cannot be loaded.
    """
    return priced(open_backend(name), name)


def open_backend(name: str) -> LanguageModel:
    """Open a model as its backend has it; a hosted one may have no price.

    Raises:
        UnknownNameError: No such backend, or no such model in it.
        ModelError: It exists but cannot be loaded.
    """
    backend, colon, argument = name.partition(":")
    if not colon or backend not in names(GROUP):
        known = [f"{b}:..." for b in names(GROUP)]
        raise UnknownNameError("model", name, known, "A model is BACKEND:NAME; `tape models` lists what is here.")
    opener = load(GROUP, backend)
    model: LanguageModel = opener(argument)
    return model
