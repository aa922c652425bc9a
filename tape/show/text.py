"""Texts of models, tools and environments, made safe for a screen or a picture, and short."""

from __future__ import annotations

from collections.abc import Sequence


def plain(text: str) -> str:
    """A text whose lines hold nothing but characters to be seen, for pictures: blanks for all else.

    Where what is hidden should be shown, use :func:`tape.screen.printable`.
    """
    return "\n".join("".join(c if c.isprintable() else " " for c in line) for line in text.expandtabs(2).splitlines())


def one_line(text: str) -> str:
    """The same on one line."""
    return plain(text).replace("\n", " ")


def cut(text: str, most: int) -> str:
    """A text of no more than so many characters, an ellipsis for the rest."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def asked_about(action: str, longest: int | None = None) -> str:
    """An action that was to be approved, with every argument.

    Args:
        action: The action.
        longest: Characters of a value that is shown whole; of a longer one both ends are. None: all of all.
    """
    from tape.tools.shown import UnshowableError, escaped, shown_action

    try:
        return escaped(action) if longest is None else shown_action(action, longest)
    except UnshowableError:
        return escaped(action)


def listed_actions(actions: Sequence[str]) -> str:
    """Actions side by side; with semicolons where one of them has blanks of its own."""
    return ("; " if any(" " in action for action in actions) else " ").join(actions)
