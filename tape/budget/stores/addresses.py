"""Addresses of ledgers: read here alone, whoever takes one, and shown without what may be a secret."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from tape.errors import ConfigError
from tape.plugins import require_extra
from tape.redaction import hide

MEMORY = "memory:"
_FILE = re.compile(r"file://", re.IGNORECASE)
_DATABASE = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
_PAIR = r"(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*="
_PAIRS = re.compile(_PAIR)  # libpq knows them in small letters alone
_LIKE = re.compile(
    r"://|^\W*(?:jdbc:)?(?:postgres(?:ql)?(?:\+\w+)?\s*(?::|%3a|//|/.*:.*@)|file:)|^\W*[\w.+-]{2,}:.*@"
    rf"|^{MEMORY}$|^\W*(?:{_PAIR}|(?:server|hostname|database|username|uid)\s*=)|(?:^|\W)\w*(?:passw|passphrase|pwd)\w*\s*=",
    re.IGNORECASE | re.DOTALL,
)
_PATH = re.compile(r"[~.]{0,2}[/\\](?!/)")
_PLAIN = {
    **dict.fromkeys(("host", "hostaddr"), re.compile(r"@?[\w.:,%/\[\] -]*")),
    **dict.fromkeys(("user", "service"), re.compile(r"[^:;=/?&'\"]*")),
    "dbname": re.compile(r"[^:;=/?&'\"@]*"),
    "port": re.compile(r"[\d,]*"),
}
"""What may be shown. A password that is not escaped ends in one of these parts, and nobody can tell it from them."""
_REFUSED = (
    "this is no address of a ledger that can be read (it is not shown, for it may hold a password); write "
    "postgresql://user@host/database or file:///path/to/budget.ledger, and in a password %40 for @, %2F for / and so on"
)


@dataclass(frozen=True)
class Address:
    """Where a store is: a file, a database as libpq reads it, or else memory; as text without what may be a secret."""

    shown: str
    path: Path | None
    conninfo: str = field(default="", repr=False)
    has_password: bool = False

    def __str__(self) -> str:
        return self.shown


def is_address(text: object) -> bool:
    """Whether a text names a store by its address, or tries to, and so is no file's path."""
    return isinstance(text, str) and not _PATH.match(text) and _LIKE.search(text) is not None


def require_file(path: str) -> None:
    """Refuse to make a file of what was meant as an address, and may hold a password, with a ConfigError."""
    if is_address(path):
        raise ConfigError("an address stands where a file is named; a file of such a name is given by its whole path")


def read_address(text: str | Address) -> Address:
    """Read an address, if that is to be done yet; an error quotes nothing of it.

    Raises:
        ConfigError: It is none.
        MissingExtraError: It is of a database, and the extra ``postgres`` is not installed.
    """
    if isinstance(text, Address):
        return text
    text = text.lstrip()
    if text.rstrip() == MEMORY:
        return Address(MEMORY, None)
    if match := _FILE.match(text):
        # Whole: a reader of addresses cuts at `#` and `?`, and leaves line feeds out, which names another file.
        path = unquote(text[match.end() :], errors="surrogateescape")
        require_file(path)
        return Address(f"file://{path}", Path(path))
    text = text.rstrip()
    if match := _DATABASE.match(text):
        text = f"postgresql://{text[match.end() :]}"
        # libpq ends the password at the first of these, and takes what follows for the host or the database.
        before, at, after = text[13:].partition("?")[0].partition("@")
        if at and ("/" in before or "@" in after):
            raise ConfigError(_REFUSED)
    elif not _PAIRS.match(text):
        raise ConfigError(_REFUSED)
    require_extra("postgres", "psycopg", what="a ledger in PostgreSQL")
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(text).items()}
    except (Error, ValueError):
        raise ConfigError(_REFUSED) from None
    if not all(plain.fullmatch(parts.get(name, "")) for name, plain in _PLAIN.items()):
        raise ConfigError(_REFUSED)
    secrets = [parts[name] for name in ("password", "sslpassword", "oauth_client_secret") if parts.get(name)]
    for secret in secrets:
        hide(secret, quietly=True)
    host = parts.get("host") or parts.get("hostaddr") or parts.get("service", "")
    user, port, name = (parts.get(part, "") for part in ("user", "port", "dbname"))
    shown = f"postgresql://{user and user + '@'}{host}{port and ':' + port}{name and '/' + name}"
    assert not {*"='\""} & {*shown}, "what is shown is made of plain parts"
    return Address(shown, None, text, bool(secrets))
