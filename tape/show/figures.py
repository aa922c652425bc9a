"""Pictures of matplotlib on disk: there as a whole or not at all, and never written through a link."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from tape.files import replace_file

STYLE = {
    "svg.hashsalt": "experiments",
    "svg.fonttype": "none",
    "hatch.linewidth": 0.6,
    "text.parse_math": False,  # names of configurations may hold dollars
}
"""For matplotlib's ``rc_context``; the same data give the same bytes."""


def save_figure(figure: Any, file: Path, **settings: Any) -> None:
    """Write a figure, its format by the file's suffix; the folder is made.

    Args:
        figure: A matplotlib figure.
        file: Where to.
        settings: Of its ``savefig``.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format=file.suffix.removeprefix("."), **settings)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, picture.getvalue())
