"""One HTML file with everything inside, which takes nothing from elsewhere: ``tape view``, the page of a gateway."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable
from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"


def template(name: str) -> str:
    """A file of ``templates/``."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def script_of(scripts: Iterable[str]) -> str:
    """Scripts that share one scope."""
    own = "\n".join(scripts)
    return f'"use strict";\n(() => {{\n{own}\n}})();\n'


def policy_of(style: str, script: str, *more: str) -> str:
    """The content security policy of a page: it runs its own script, and no text becomes markup."""
    own = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return "; ".join((own, *more))


def html_of(title: str, style: str, script: str, policy: str, data: str = "", after: str = "") -> str:
    """The page.

    Args:
        title: In the browser's tab.
        style: Its style sheet.
        script: Draws it.
        policy: See :func:`policy_of`.
        data: Elements that the script finds when it begins.
        after: Elements that are read after the script has begun.
    """
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<link rel="icon" href="{_icon()}">\n<title>{html.escape(title.encode("utf-8", "replace").decode())}</title>\n'
        f"<style>{style}</style>\n</head>\n"
    )
    return f"{head}<body>\n{template('body.html')}{data}<script>{script}</script>\n{after}</body>\n</html>\n"


def _hash(text: str) -> str:
    """How a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def _icon() -> str:
    data = base64.b64encode(template("icon.svg").encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{data}"
