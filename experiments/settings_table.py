"""The tables of settings in the docs, made from where the settings are declared."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tape.engine.settings import TapeConfig
from tape.protocols.method import method


def settings_text(name: str = "") -> str:
    """The settings of a method, or of the engine, as a markdown table.

    Raises:
        UnknownNameError: There is no such method.
    """
    declared: type[BaseModel] = method(name).settings if name else TapeConfig
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for field, about in declared.model_fields.items():
        if about.description:
            default = _shown(about.get_default(call_default_factory=True))
            rows.append(f"| `{field}` | {default} | {about.description.replace('|', chr(92) + '|')} |")
    return "\n".join([*rows, ""])


def _shown(default: Any) -> str:
    if default in (None, "", {}):
        return "none"
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{default}`" if isinstance(default, str) else str(default)
