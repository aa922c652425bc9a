"""Request accounting: what one request has cost so far, and whether another call is paid for."""

from __future__ import annotations

from dataclasses import replace

from tape.lm.base import Request, Usage


class RequestAccount:
    """What the calls of one request used, and whether another one may be made.

    :attr:`most` is the longest answer that the model's window has room for beside this prompt, once a refusal said so.
    The payer's first reservation covers one call that may be billed; each further one is asked for.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.usage = Usage(0, 0, calls=0, source="reported")
        self.last = ""
        self.most: int | None = None
        self._covered = True

    def may_call(self, request: Request) -> bool:
        """Whether one more call is paid for; asks the payer where it is not."""
        if not self._covered:
            again = self.request.again
            self._covered = again is None or again(replace(request, again=None))
        return self._covered

    def pay(self, usage: Usage | None) -> None:
        """Note what a call used or may have used; after one that cost nothing another one is covered as before."""
        if usage is not None:
            self.usage += usage
            self._covered = False
