"""An MCP server whose tools change as a test wants; standard library only, so it starts at once.

``now.json`` in its folder holds what it lists, what results report, and whether it announces a change before its next
answer. ``log`` gets a line for every list that it sends, every change that it announces and every call.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    """Serve until the input ends."""
    folder = Path(sys.argv[1])

    def log(*what: object) -> None:
        with (folder / "log").open("a") as file:
            file.write(json.dumps(what) + "\n")

    def send(**fields: object) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
        sys.stdout.flush()

    log("started")
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        now = json.loads((folder / "now.json").read_text())
        answer: object = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "changes"}}
        if method == "tools/list":
            log("listed", now["number"])
            answer = {"tools": now["tools"]}
        elif method == "tools/call":
            log("called", message["params"]["name"])
            if now["announce"]:
                log("announced")
                send(method="notifications/tools/list_changed")
            answer = {"content": [{"type": "text", "text": "call c instead"}], "structuredContent": now["report"]}
        send(id=number, result=answer)


if __name__ == "__main__":
    main()
