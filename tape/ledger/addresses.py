"""Addresses of ledgers: read here alone, whoever takes one, and shown without what may be a secret."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from tape.errors import ConfigError, MissingExtraError
from tape.redaction import hide

_FILE = re.compile(r"file://", re.IGNORECASE)
_DATABASE = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
_PAIR = r"(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*="
_PAIRS = re.compile(_PAIR)  # libpq knows them in small letters alone
_LIKE = re.compile(
    r"://|^\W*(?:jdbc:)?(?:postgres(?:ql)?(?:\+\w+)?\s*(?::|%3a|//|/.*:.*@)|file:)|^\W*[\w.+-]{2,}:.*@"
    rf"|^\W*(?:{_PAIR}|(?:server|hostname|database|username|uid)\s*=)|(?:^|\W)\w*(?:passw|passphrase|pwd)\w*\s*=",
    re.IGNORECASE | re.DOTALL,
)
_PATH = re.compile(r"[~.]{0,2}[/\\](?!/)")
_PLAIN = {
    "host": re.compile(r"@?[\w.:,%/\[\] -]*"),
    "hostaddr": re.compile(r"[\w.:,%-]*"),
    "port": re.compile(r"[\d,]*"),
    "user": re.compile(r"[^:;=/?&'\"]*"),
    "dbname": re.compile(r"[^:;=/?&'\"@]*"),
    "service": re.compile(r"[\w.-]*"),
}
"""What may be shown. A password that is not escaped ends in one of these parts, and nobody can tell it from them."""
_FORMS = "write postgresql://user@host/database or file:///path/to/budget.ledger"


@dataclass(frozen=True)
class Address:
    """Where a store is; as text without what may be a secret.

    Attributes:
        shown: For people.
        path: Of a file; None for a database.
        conninfo: Of a database, for libpq.
        has_password: A secret stands in it.
    """

    shown: str
    path: Path | None = None
    conninfo: str = field(default="", repr=False)
    has_password: bool = False

    def __str__(self) -> str:
        return self.shown


def is_address(text: object) -> bool:
    """Whether a text names a store by its address, or tries to, and so is no file's path."""
    return isinstance(text, str) and not _PATH.match(text) and _LIKE.search(text) is not None


def refuse_address(path: str) -> None:
    """Never make a file of what was meant as an address, and may hold a password.

    Raises:
        ConfigError: It looks like an address.
    """
    if is_address(path):
        raise ConfigError(
            "the name of a file is expected, and what is given looks like an address; for a file of such a name, "
            "give its whole path, from /"
        )


def read_address(text: str) -> Address:
    """Read an address; an error quotes nothing of it.

    Raises:
        ConfigError: It is none.
        MissingExtraError: It is of a database, and the extra ``postgres`` is not installed.
    """
    text = text.strip()
    if found := _FILE.match(text):
        path = unquote(text[found.end() :])
        refuse_address(path)
        return Address(f"file://{path}", Path(path))
    if found := _DATABASE.match(text):
        rest = text[found.end() :]
        # libpq ends the password at the first of these, and takes what follows for the host or the database.
        before, at, after = rest.partition("?")[0].partition("@")
        if at and ("/" in before or "@" in after):
            raise ConfigError("the address of the ledger has an @ too many; in a password, write / as %2F and @ as %40")
        return _of_database(f"postgresql://{rest}")
    if _PAIRS.match(text):
        return _of_database(text)
    raise ConfigError(f"this is no address of a ledger (it is not shown, for it may hold a password); {_FORMS}")


def _of_database(conninfo: str) -> Address:
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingExtraError(
            "a ledger in PostgreSQL needs psycopg: pip install 'tape-planner[postgres]'"
        ) from None
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    except (psycopg.Error, ValueError):
        raise ConfigError(
            f"the address of the ledger cannot be read; in a password, write special characters as in %2F; {_FORMS}"
        ) from None
    for name, plain in _PLAIN.items():
        if not plain.fullmatch(parts.get(name, "")):
            raise ConfigError(
                f"the {name} in the address of the ledger has characters that it cannot have; in a password, write "
                "special characters as in %2F, or within '...' behind password="
            )
    secrets = [parts[name] for name in ("password", "sslpassword", "oauth_client_secret") if parts.get(name)]
    for secret in secrets:
        hide(secret, quietly=True)
    host, port = parts.get("host") or parts.get("hostaddr", ""), parts.get("port", "")
    host = f"[{host}]" if re.fullmatch(r"[\da-fA-F:]*:[\da-fA-F:.]*", host) else host
    user, database = parts.get("user", ""), parts.get("dbname", "")
    service = f"?service={parts['service']}" if "service" in parts else ""
    shown = f"postgresql://{user and user + '@'}{host}{port and ':' + port}{database and '/' + database}{service}"
    assert "?password" not in shown, "what is shown is made of plain parts"
    return Address(shown, None, conninfo, bool(secrets))
