"""A server's tool as it was offered: what is called later is what was priced and approved, or nothing is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tape.gateway.downstream import Downstream, NotCalledError
from tape.gateway.errors import UnfitError

_WORDS = ("description", "title")


class PinnedTool:
    """Calls a tool as long as its server lists it as it did at the start.

    A server lists its tools again when it was started again, and when it has announced that they changed. Words may
    differ: clients keep those of the start.

    Args:
        server: The server.
        tool: The tool's name there.
        entry: As the server listed it at the start.
        offer: Makes of a server's entry the one that clients see.
    """

    def __init__(
        self, server: Downstream, tool: str, entry: Mapping[str, Any], offer: Callable[[Any], Mapping[str, Any]]
    ) -> None:
        self._server, self._tool, self._offer = server, tool, offer
        self.listed = offer(entry)
        self._seen: Any = entry
        self._problem = ""

    async def ready(self) -> None:
        """See that it can be called, before it is.

        Raises:
            ToolFailedError: The server cannot be used, or the tool is not what it was.
        """
        await self._server.ready()
        self._require_same()

    async def call(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call it; see :meth:`~tape.gateway.downstream.Downstream.call`."""
        self._require_same()
        return await self._server.call(self._tool, arguments)

    def _require_same(self) -> None:
        now = self._server.entries.get(self._tool)
        if now is not self._seen:
            self._seen, self._problem = now, self._difference(now)
        if self._problem:
            raise NotCalledError(
                f"the MCP server {self._server.name} {self._problem}, so it is not called; restart the gateway to "
                "offer what the server has now"
            )

    def _difference(self, now: Any) -> str:
        if now is None:
            return f"does not list {self._tool} any more"
        try:
            offered = self._offer(now)
        except UnfitError as error:
            return f"lists {self._tool} in another way than at the start ({error})"
        fields = sorted(
            field
            for field in {*self.listed, *offered} - {*_WORDS}
            if _without_words(self.listed.get(field)) != _without_words(offered.get(field))
        )
        return f"lists {self._tool} with other {' and '.join(fields)} than at the start" if fields else ""


def _without_words(value: Any, *, names: bool = False) -> Any:
    """A part of an entry without its texts for people; with ``names`` the keys are names of properties."""
    if isinstance(value, list):
        return [_without_words(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: _without_words(held, names=not names and key in ("properties", "$defs", "definitions"))
        for key, held in value.items()
        if names or key not in _WORDS or not isinstance(held, str)
    }
