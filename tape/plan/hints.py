"""What may help after a failure where the tool says nothing: what there is by the names that it speaks of [ours].

A failure such as ``no such column: title`` is of little use to a model that took the column from the wrong place. Where
a description, or a text that was found out, lists names in brackets (``books(id, title, year)``), the list that has the
name, or the one nearest to it, is shown again; beside it the list that the line took it from.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from tape.plan.values import NO_LIST
from tape.plan.vocabulary import Vocabulary

MOST_LISTS = 3
"""Lists that are shown."""
NEAR = 0.75
"""How much alike two names have to be (``difflib``)."""
MOST_TEXT = 20_000
"""Characters of all texts that are looked at."""

_LIST = re.compile(r"[^\W\d]\w*\([^()]{1,500}\)")
_NAME = re.compile(r"[^\W\d]\w*")


def hint(failure: str, line: str, words: Vocabulary, lines: str = "", results: str = "") -> str:
    """What may help after a failure of a line; empty for nothing."""
    tools = words.tools.values()
    if failure == NO_LIST:
        lists = [tool.name for tool in tools if tool.returns.startswith("list")]
        return f"a tool that gives a list is {' or '.join(lists)}" if lists else ""
    if texts := lists_with(failure, line, [*(tool.description for tool in tools), results]):
        return "; ".join(texts)
    looks = [
        tool.name for tool in tools if not tool.changes and not any(parameter.required for parameter in tool.parameters)
    ]
    new = [f"{name}()" for name in looks if f"{name}(" not in f"{lines}{line}"]
    return f"look first what there is: {' or '.join(new[:MOST_LISTS])}" if new else ""


def lists_with(failure: str, line: str, texts: Iterable[str]) -> list[str]:
    """The lists of names that have, or nearly have, a name of a failure that the failed line has too.

    Examples:
        >>> from tape.plan.hints import lists_with
        >>> said = "Rows of books(id, title, year), loans(id, book_id, fine)."
        >>> lists_with("no such table: fines", "rows = query(sql='SELECT fine FROM fines')", [said])
        ['fines is not there, but loans(id, book_id, fine)']
        >>> lists_with("no such column: fine", "rows = query(sql='SELECT fine FROM books')", [said])
        ['books(id, title, year) has no fine, but loans(id, book_id, fine) has; use both']
    """
    own = set(_NAME.findall(line))
    wanted = [name for name in dict.fromkeys(_NAME.findall(failure)) if name in own and len(name) > 1]
    lists = {text: _NAME.findall(text) for text in _LIST.findall("\n".join(texts)[:MOST_TEXT])}
    result: list[str] = []
    for name in wanted:
        exact = [item for item, names in lists.items() if name in names]
        used = [item for item, names in lists.items() if names[0] in own]
        near = [item for item, names in lists.items() if difflib.get_close_matches(name, names, 1, NEAR)]
        if exact and used and not set(exact) & set(used):
            result += [f"{used[0]} has no {name}, but {item} has; use both" for item in exact]
        else:
            result += [
                f"{name} is in {item}" if exact else f"{name} is not there, but {item}" for item in exact or near
            ]
    return result[:MOST_LISTS]
