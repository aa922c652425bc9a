"""Who may reach a server."""

from __future__ import annotations

import pytest

from tape.errors import ConfigError
from tape.gateway.access import check_access

TOKEN = "a-token-that-nobody-guesses"


@pytest.mark.parametrize("host", ["0.0.0.0", "", "192.0.2.1", "::", "example.org", "127.0.0.1.evil.example"])
def test_others_are_served_only_with_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="a token must be set"):
        check_access(host, "")
    check_access(host, TOKEN)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_this_machine_is_served_without_one(host: str) -> None:
    check_access(host, "")


@pytest.mark.parametrize("token", ["short", "with spaces in the middle of it", "ümlaut" * 5, "line\nbreak" * 3])
def test_a_weak_token_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="at least 16"):
        check_access("127.0.0.1", token)
