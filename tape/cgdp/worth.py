"""What a further search may find: calibrated success, less where it was tried already."""

from __future__ import annotations

from tape.protocols.search import SearchOption


class Prospects:
    """The chance that a search brings what is looked for, given what was tried for it in vain.

    Two ways to find it are weighed and the better one counts. A new query is a new try, each worth less than the one
    before: success / (1 + tries in vain). And a deeper search holds what shallower ones had missed:
    (success - tried) / (1 - tried), where ``tried`` is the largest success of what was tried. This is ours; the
    paper has no such estimate.
    """

    def __init__(self) -> None:
        self._in_vain: list[SearchOption] = []

    def after(self, option: SearchOption, *, productive: bool) -> None:
        """Take note of a search; one that brought something new begins anew."""
        if productive:
            self._in_vain.clear()
        else:
            self._in_vain.append(option)

    def success(self, option: SearchOption) -> float:
        """The chance of an option now, in [0, 1]."""
        tried = max((one.success for one in self._in_vain), default=0.0)
        again = option.success / (1 + len(self._in_vain))
        deeper = (option.success - tried) / (1 - tried) if option.success > tried else 0.0
        return max(again, deeper)
