"""Who counts: the mock model of agent-budget-semantics, and the paid tool."""

from __future__ import annotations

import importlib.util
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, files, version
from typing import Any

from experiments.benches.budget_scenarios.scenarios import (
    COMPLETION_TOKENS,
    MODEL_PRICE,
    PROMPT_TOKENS,
    TOOL_USD,
    Scenario,
)
from tape.errors import MissingExtraError

PACKAGE = "agent-budget-semantics"
SLOW_SECONDS = 4.0


class Judge:
    """Two servers on loopback, and what they have counted.

    Raises:
        MissingExtraError: The package of the mock model is not installed.
    """

    def __init__(self) -> None:
        self._mock = _mock()
        self.version = version(PACKAGE)
        self._scenario: Scenario | None = None
        self._tool_calls = 0
        self._lock = threading.Lock()

    def begin(self, scenario: Scenario, script: Sequence[Mapping[str, Any]]) -> None:
        """Forget what was counted, and have the model say this."""
        self._mock.reset()
        counted = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS, "stream_chunks": 3}
        self._mock.load_script([{**entry, **counted} for entry in script])
        self._scenario, self._tool_calls = scenario, 0

    def spent(self) -> dict[str, float]:
        """What was really used, by resource."""
        with self._mock.LEDGER_LOCK:
            calls = list(self._mock.LEDGER)
        prompt, completion = (float(price) / 1e6 for price in MODEL_PRICE)
        usd = sum(one["prompt_tokens"] * prompt + one["completion_tokens"] * completion for one in calls)
        return {
            "calls": len(calls),
            "tokens": sum(one["total_tokens"] for one in calls),
            "steps": self._tool_calls,
            "usd": round(usd + TOOL_USD * self._tool_calls, 6),
        }

    @contextmanager
    def listening(self) -> Iterator[tuple[str, str]]:
        """The URLs of the model and of the tool, while the block runs."""
        judge, mock = self, self._mock

        class Model(mock.Handler):  # type: ignore[misc,name-defined]  # loaded from the package's file
            """The package's mock, which keeps tokens to itself where the scenario wants it."""

            def _respond(self, code: int, body: dict[str, Any]) -> None:
                if judge._scenario is not None and not judge._scenario.usage:
                    body.pop("usage", None)
                super()._respond(code, body)

            def _respond_stream(self, *args: Any, **more: Any) -> None:
                super()._respond_stream(*args, **more)
                self.close_connection = True  # the mock gives no length, and some clients read on to the end

        class Tool(BaseHTTPRequestHandler):
            """The paid tool: what it is asked counts, whatever becomes of it."""

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                code, said = judge._tool()
                payload = json.dumps(said).encode()
                try:
                    self.send_response(code)
                    self.send_header("Content-Length", str(len(payload)))
                    self.end_headers()
                    self.wfile.write(payload)
                except OSError:  # whoever asked is gone
                    return

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for handler in (Model, Tool)]
        for server in servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
        model, tool = (f"http://127.0.0.1:{server.server_address[1]}" for server in servers)
        try:
            yield f"{model}/v1", tool
        finally:
            for server in servers:
                server.shutdown()
                server.server_close()

    def _tool(self) -> tuple[int, dict[str, Any]]:
        scenario = self._scenario
        assert scenario is not None
        with self._lock:
            self._tool_calls += 1
            number = self._tool_calls
        if scenario.tool == "slow":
            time.sleep(SLOW_SECONDS)
        if scenario.tool == "fails":
            return 500, {"text": ""}
        return 200, {"text": "There is nothing unusual.", "crash": number == scenario.crash_at}


def _mock() -> Any:
    """The package's server, which lies in a folder that is no Python package."""
    try:
        found = [file for file in files(PACKAGE) or () if str(file).endswith("mock-llm/server.py")]
    except PackageNotFoundError as error:
        raise MissingExtraError(f"the scenarios need the mock model of {PACKAGE}: pip install {PACKAGE}") from error
    spec = importlib.util.spec_from_file_location("agent_budget_semantics_mock", str(found[0].locate()))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
