"""Who may reach a server: this machine alone, or whoever knows a token that is hard to guess."""

from __future__ import annotations

import ipaddress

from tape.errors import ConfigError

SHORTEST_TOKEN = 16


def check_access(host: str, token: str) -> None:
    """Refuse to serve others than this machine without a token.

    Raises:
        ConfigError: Others could reach it and there is no token, or the token is too weak.
    """
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        raise ConfigError(f"a token has at least {SHORTEST_TOKEN} ASCII characters and no spaces; make a random one")
    if not token and not _is_loopback(host):
        raise ConfigError(f"others can reach {host or 'every address of this machine'}, so a token must be set")


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
