"""An MCP server that counts what it is really asked to do, beside what the journal holds at that moment.

Standard library only, so it starts at once. ``look`` answers a long text, ``slow`` never answers, ``wipe`` is
destructive. Every call is a line of the log: the tool, and how many reservations the journal holds by now.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

LONG = 40_000
NOTHING = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "look", "inputSchema": NOTHING},
    {"name": "slow", "inputSchema": NOTHING},
    {"name": "wipe", "inputSchema": NOTHING, "annotations": {"destructiveHint": True}},
]


def append(path: Path, text: str) -> None:
    """Append a line as a whole."""
    with path.open("a") as file:
        file.write(text + "\n")


def main() -> None:
    """Serve until the input ends; ``linger`` goes on after that, and ignores SIGTERM."""
    journal, log, pids = (Path(text) for text in sys.argv[1:4])
    append(pids, str(os.getpid()))
    if "linger" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        answer: object = {}
        if method == "initialize":
            answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "counts"}}
        elif method == "tools/list":
            answer = {"tools": TOOLS}
        elif method == "tools/call":
            name = message["params"]["name"]
            append(log, json.dumps([name, journal.read_bytes().count(b'{"do": "hold"')]))
            if name == "slow":
                continue
            answer = {"content": [{"type": "text", "text": "x" * (LONG if name == "look" else 1)}]}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": answer}) + "\n")
        sys.stdout.flush()
    if "linger" in sys.argv:
        time.sleep(600)


if __name__ == "__main__":
    main()
