"""Serves what watches a gateway: the page for people, and metrics.

The page's file is for everybody on this machine, what it shows and does for the token for people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tape.budget import LedgerError
from tape.errors import ConfigError
from tape.gateway.http_requests import HttpRoute, Requests, refuse
from tape.gateway.metrics import Metrics
from tape.gateway.page import GatewayPage
from tape.show.view.shell import html_of, policy_of, script_of, template

PEOPLE = ""
"""Who comes with the token for people, as no client is called."""
_TEMPLATES = Path(__file__).parent / "templates"
_SCRIPTS = ("dom", "budget", "theme")
"""Of ``tape view``."""
_LONGEST_WHY = 500


def routes_of(page: GatewayPage, token: str, metrics: Metrics, watching: Mapping[str, str]) -> dict[str, HttpRoute]:
    """The routes of the page and of the metrics.

    Args:
        page: What is shown.
        token: That for people.
        metrics: What ``/metrics`` says.
        watching: The tokens of clients that may read it too, by client.
    """
    people = {PEOPLE: token}
    return {
        "/": HttpRoute(_only("GET", page_file("tape gateway")), None),
        "/state": HttpRoute(_only("GET", Requests(_state(page))), people),
        "/act": HttpRoute(_only("POST", Requests(_act(page))), people),
        "/metrics": HttpRoute(_only("GET", Requests(_metrics(metrics))), {**watching, **people}),
    }


def _only(method: str, app: Any) -> Any:
    async def only(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == method:
            await app(scope, receive, send)
        else:
            await refuse(send, 405, f"only {method} is answered here")

    return only


def page_file(title: str) -> Response:
    """The page, which draws what ``/state`` says."""
    style = template("page.css") + (_TEMPLATES / "gateway.css").read_text(encoding="utf-8")
    own = (_TEMPLATES / "gateway.js").read_text(encoding="utf-8")
    script = script_of([*(template(f"js/{name}.js") for name in _SCRIPTS), own])
    policy = policy_of(style, script, "connect-src 'self'")
    headers = {
        "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(html_of(title, style, script, policy), headers=headers, media_type="text/html")


def _state(page: GatewayPage) -> Any:
    async def state(scope: Any, receive: Any, send: Any) -> None:
        id = Request(scope).query_params.get("question")
        question = await page.state() if id is None else page.question(id)
        if question is None:
            await refuse(send, 404, "this call does not wait any more")
        else:
            await JSONResponse(question, headers={"Cache-Control": "no-store"})(scope, receive, send)

    return state


def _metrics(metrics: Metrics) -> Any:
    async def text(scope: Any, receive: Any, send: Any) -> None:
        kind, said = await metrics.page()
        await Response(said, headers={"Content-Type": kind, "Cache-Control": "no-store"})(scope, receive, send)

    return text


def _act(page: GatewayPage) -> Any:
    async def act(scope: Any, receive: Any, send: Any) -> None:
        try:
            given = json.loads(await Request(scope, receive).body())
            if not isinstance(given, dict) or not all(isinstance(item, str) for item in given.values()):
                raise ConfigError("an act is an object of texts")
            done = await page.act(given.pop("act", ""), given, given.pop("why", "").strip()[:_LONGEST_WHY])
        except (ConfigError, LedgerError, ValueError, RecursionError) as error:
            await refuse(send, 409, str(error))
        else:
            await JSONResponse({"done": done})(scope, receive, send)

    return act
