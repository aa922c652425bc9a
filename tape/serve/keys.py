"""Who may ask: bearer keys with a budget each, a budget for each of their runs, and the right to approve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tape.budget import Budget
from tape.errors import ConfigError
from tape.gateway.tokens import holder_of, made_token, read_token, weakness_of
from tape.reading import read_text
from tape.redaction import hide
from tape.toml_reading import parse_toml

LOCAL, PEOPLE = "local", "people"
"""The keys where no file names others: of programs, and of people who approve."""


class KeySettings(BaseModel):
    """A key in the file of keys.

    Attributes:
        token_env: The environment variable that has the token. A key has a ``token_env`` or a ``token_file``.
        token_file: The file that has it. Only its owner may be able to read it.
        budget: The caps of all runs of this key together.
        run: The caps of each of its runs.
        approves: It may decide what runs of other keys ask; never what its own ask.
        watches: It may read ``/metrics``, which is about all keys.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    token_env: str | None = None
    token_file: str | None = None
    budget: Any = None
    run: Any = None
    approves: bool = False
    watches: bool = False


class KeyFile(BaseModel):
    """A file of keys: ``[keys.NAME]``."""

    model_config = ConfigDict(extra="forbid", strict=True)
    keys: dict[str, KeySettings]


@dataclass(frozen=True)
class Key:
    """Who asks.

    Attributes:
        name: Of the key.
        token: What it sends.
        budget: The caps of all its runs together.
        run: The caps of each of its runs.
        approves: It may decide what runs of other keys ask.
        watches: It may read the metrics.
    """

    name: str
    token: str
    budget: Budget = field(default_factory=Budget)
    run: Budget = field(default_factory=Budget)
    approves: bool = False
    watches: bool = False

    @property
    def scope(self) -> str:
        """What its runs pay from in the ledger."""
        return f"serve/{self.name}"


class Keys:
    """All keys.

    Args:
        keys: In any order; their names and tokens differ.
    """

    def __init__(self, keys: Sequence[Key]) -> None:
        self.all = {key.name: key for key in keys}
        for key in keys:
            hide(key.token, quietly=True)

    def of(self, authorization: str) -> Key | None:
        """The key that a request comes with; None where it has none that is known."""
        name = holder_of(authorization, {key.name: key.token for key in self.all.values()})
        return None if name is None else self.all[name]


def read_keys(file: Path) -> Keys:
    """The keys in a file.

    Raises:
        ConfigError: It is malformed, or a token is missing, weak, in a file that others can read, or there twice.
    """
    raw = parse_toml(read_text(file, error=ConfigError), str(file), error=ConfigError)
    try:
        settings = KeyFile.model_validate(raw).keys
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ConfigError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if not settings:
        raise ConfigError(f"{file}: there are no keys; add one by [keys.NAME]")
    keys = [_key(file, name, given) for name, given in settings.items()]
    by_token: dict[str, str] = {}
    for key in keys:
        if (other := by_token.setdefault(key.token, key.name)) != key.name:
            raise ConfigError(f"{file}: keys.{key.name} has the token of keys.{other}; give each its own")
    return Keys(keys)


def _key(file: Path, name: str, given: KeySettings) -> Key:
    where = f"{file}: keys.{name}"
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise ConfigError(f"{where}: names have letters, digits, - and _")
    if (given.token_env is None) == (given.token_file is None):
        raise ConfigError(f"{where}: give token_env or token_file")
    if given.token_env is not None:
        token = os.environ.get(given.token_env, "").strip()
        if not token:
            raise ConfigError(f"{where}: the environment variable {given.token_env} is not set; put the token there")
    else:
        assert given.token_file is not None
        token = read_token(file.parent / given.token_file)
    if problem := weakness_of(token):
        raise ConfigError(f"{where}: {problem}")
    try:
        budget, run = Budget.read(given.budget), Budget.read(given.run)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return Key(name, token, budget, run, given.approves, given.watches)


def made_keys(folder: Path) -> tuple[Keys, Mapping[str, Path]]:
    """Two keys in files of a folder, made where they are missing: one for programs, one for people who approve.

    Returns:
        The keys, and where the token of each is.

    Raises:
        ConfigError: A file cannot be written, or can be read by others.
    """
    files = {LOCAL: folder / "serve.token", PEOPLE: folder / "serve.people-token"}
    tokens = {name: made_token(file, "--keys") for name, file in files.items()}
    for name, token in tokens.items():
        if problem := weakness_of(token):
            raise ConfigError(f"{files[name]}: {problem}")
    people = Key(PEOPLE, tokens[PEOPLE], approves=True, watches=True)
    return Keys([Key(LOCAL, tokens[LOCAL]), people]), files
