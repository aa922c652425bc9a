"""Errors of the gateway's channels and servers."""

from __future__ import annotations

NO_ANSWER = "no answer over HTTP"
"""In the place of the number of an error: it is the channel's, and what the server has done is unknown."""


class UnfitError(Exception):
    """A server's tool cannot be offered; the message is the reason."""
