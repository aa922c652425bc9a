"""What accounts, amounts and words of a ledger may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from tape.budget.resources import require_kind_name
from tape.errors import ConfigError
from tape.reading import short

Amounts = Mapping[str, int]
"""Counts by resource."""

Labels = Mapping[str, str]

MOST = 10**15
"""The largest cap and the largest amount, in counts: a billion dollars. Sums of thousands of them fit into 64 bits."""

_NAME = re.compile(r"[A-Za-z0-9_.@:+-]{1,100}")
_DEEPEST = 8

assert 9000 * MOST < 2**63, "thousands of the largest amounts fit into 64 bits"
assert not any(_NAME.fullmatch(mark) for mark in " /#="), "what parts an account, or stands between two, is in no name"


def require_id(id: str) -> None:
    """Refuse what is no id of a hold."""
    if not (isinstance(id, str) and _NAME.fullmatch(id)):
        raise ConfigError(f"the id of a hold is 1 to 100 letters, digits and . _ - : @ +, not {short(id)}")


def require_seconds(what: str, seconds: int, least: int = 1) -> None:
    """Refuse what is no time that a ledger keeps."""
    if type(seconds) is not int or not least <= seconds <= 366 * 86400:
        raise ConfigError(f"{what} {least} second{'' if least == 1 else 's'} to 366 days, not {short(seconds)}")


def require_amounts(what: str, amounts: Mapping[str, int | None], *, unknown: bool = False) -> None:
    """Refuse what are no counts by resource.

    Raises:
        ConfigError: Names the amount.
    """
    for kind, count in amounts.items():
        try:
            require_kind_name(kind)
        except ConfigError as error:
            raise ConfigError(f"{what}: {error}") from None
        if not (unknown and count is None) and not (type(count) is int and 0 <= count <= MOST):
            raise ConfigError(f"{what}: {short(count)} of {kind} is no whole number from 0 to {MOST}")


def require_text(what: str, text: str) -> None:
    """Refuse what no store can keep.

    Raises:
        ConfigError: It is no text, too long, or has characters that cannot be written.
    """
    if (
        not isinstance(text, str)
        or len(text) > 1000
        or "\0" in text
        or text != text.encode("utf-8", "replace").decode()
    ):
        raise ConfigError(f"{what} is a text of at most 1,000 characters, not {short(text)}")


def require_by_hand(who: str, why: str) -> None:
    """Refuse a change by hand by what cannot be kept."""
    require_text("who makes a change", who)
    require_text("why a change is made", why)


def require_account(account: str) -> None:
    """Refuse what is no scope, and no scope with a label."""
    scope, mark, label = account.partition("#")
    if not mark:
        asked = accounts_of(scope, {})
        assert asked[0] == account, "a call of a scope asks the scope first"
        return
    name, equals, value = label.partition("=")
    if not equals:
        raise ConfigError(f"{short(account)}: a label is written NAME=VALUE, for instance {scope}#customer=42")
    asked = accounts_of(scope, {name: value})
    if "/" in scope:
        raise ConfigError(f"{short(account)}: a label belongs to the first part of a scope, {scope.partition('/')[0]}")
    assert asked == [account, scope], "a call with a label asks the account of the label first"


def accounts_of(scope: str, labels: Labels) -> list[str]:
    """The accounts of a call in the order in which they are asked: labels, then the scope from the leaf to the root.

    Raises:
        ConfigError: It is no scope, or a label is malformed.
    """
    if not isinstance(scope, str) or not isinstance(labels, Mapping):
        raise ConfigError(f"a scope is a text, and labels are a mapping, not {short(scope)} and {short(labels)}")
    path = _path(scope)
    if not labels:
        return [*path]
    for name, value in labels.items():
        if not (isinstance(name, str) and isinstance(value, str) and _NAME.fullmatch(name) and _NAME.fullmatch(value)):
            raise ConfigError(f"a label has a name and a value, such as customer=42, not {short(f'{name}={value}')}")
    return [*(f"{path[-1]}#{name}={labels[name]}" for name in sorted(labels)), *path]


@lru_cache(maxsize=1024)
def _path(scope: str) -> tuple[str, ...]:
    """A scope and all above it, the root last; a store asks for the same few again and again."""
    parts = scope.split("/")
    if not 1 <= len(parts) <= _DEEPEST or not all(_NAME.fullmatch(part) for part in parts):
        raise ConfigError(
            f"a scope is 1 to {_DEEPEST} names with / between them, such as org/team/agent, not {short(scope)}; a name "
            "has letters, digits and . _ - : @ +"
        )
    return tuple("/".join(parts[:depth]) for depth in range(len(parts), 0, -1))


def named(text: str) -> str:
    """A text as a name in a scope: what no name has is written as a number."""
    name = re.sub(r"[^A-Za-z0-9_.@:-]", lambda match: f"+{ord(match[0]):x}+", text)
    assert "/" not in name, "it is one name"
    assert (name == text) == ("+" not in name), "what has another name shows it"
    return name


PART = "part:"
"""How the last name of a scope begins that a sub-agent was given a part of the budget for."""

assert _NAME.fullmatch(PART + "x"), "a part is named as all scopes are"


def is_part(account: str) -> bool:
    """Whether an account is that of a part, whose amounts are held in the scope above it."""
    above, _, name = account.rpartition("/")
    return bool(above) and "#" not in account and name.startswith(PART)


def concerns(account: str, scope: str) -> bool:
    """Whether calls of a scope may count in an account: one of its path, or of a label, perhaps a part's."""
    root, mark, _ = account.partition("#")
    return root == scope.partition("/")[0] if mark else f"{scope}/".startswith(f"{account}/")


def require_part(part: str, scope: str) -> None:
    """Refuse what is no part of a scope.

    Raises:
        ConfigError: Its name does not begin as one, or it is too deep.
    """
    path = accounts_of(part, {})
    if not is_part(part) or part.rpartition("/")[0] != scope:
        raise ConfigError(f"a part of {scope} is named {scope}/{PART}NAME, not {short(part)}")
    assert path[1] == scope, "what a part is given is held in the scope right above it"
