"""Bearer tokens: where they are kept, what is too weak, and what of a request is looked at beside them."""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from tape.errors import ConfigError
from tape.reading import read_text

SHORTEST_TOKEN = 16


def holder_of(authorization: str, tokens: Mapping[str, str]) -> str | None:
    """Who sends a header ``Authorization: Bearer ...``; None where nobody has the token.

    Args:
        authorization: The header.
        tokens: By who has them.
    """
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer":
        return None
    given, holder = token.strip().encode("utf-8", "surrogatepass"), None
    for name, expected in tokens.items():  # all of them, so that the time reveals nothing
        if hmac.compare_digest(given, expected.encode()):
            holder = name
    return holder


def weakness_of(token: str) -> str:
    """Why a token is refused; empty if it is not."""
    if len(token) >= SHORTEST_TOKEN and token.isascii() and token.isprintable() and " " not in token:
        return ""
    return f"a token has at least {SHORTEST_TOKEN} ASCII characters and no spaces; make a random one"


def made_token(file: Path, option: str) -> str:
    """The token in a file, which is made, for its owner alone, where it is missing."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_token(file)
    except OSError as error:
        raise ConfigError(f"{file}: the token cannot be written: {error.strerror}; name another by {option}") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        token = secrets.token_urlsafe(32)
        stream.write(token + "\n")
    return token


def read_token(file: Path) -> str:
    """The token in a file.

    Raises:
        ConfigError: The file is empty, or others can read it.
    """
    token = read_text(file, error=ConfigError).strip()
    if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise ConfigError(f"{file}: others can read the token; chmod 600 {file}")
    if not token:
        raise ConfigError(f"{file} is empty; put a token into it, or delete it and one is made")
    return token


def is_here(host: str) -> bool:
    """Whether a ``Host`` header names this machine, as no site can make its own name do."""
    name, colon, port = host.strip().lower().rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        name = host.strip().lower()
    try:
        return ipaddress.ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return name == "localhost"
