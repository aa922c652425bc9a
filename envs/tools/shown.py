"""How much of a text models are shown, and what stands for one that is not there yet when a worst case is computed.

Lengths are UTF-8 bytes: no model's tokens are shorter, and hosted models' prompts are bounded by their bytes.
"""

from __future__ import annotations

LONGEST_RESULT = 400
"""Of a result; what a tool really returned stays in the state."""

LONGEST_NOTE = 300
"""Of an error."""

LONGEST_TEXT = 6000
"""Of a result that is read."""

LONGEST_QUESTION = 500
"""Of what a result is read for."""

_ELLIPSIS = "…"


def cut(text: str, longest: int) -> str:
    """The beginning of a text, in no more than so many bytes; an ellipsis says that there is more."""
    # Lone surrogates are no text: no tokenizer takes them.
    written = text.encode("utf-8", "replace")
    if len(written) <= longest:
        return written.decode()
    return written[: longest - len(_ELLIPSIS.encode())].decode("utf-8", "ignore") + _ELLIPSIS


def filler(longest: int) -> str:
    """A text of so many bytes; as many words as such a text has at most, and of digits, which are tokens each."""
    return "1 " * (longest // 2)
