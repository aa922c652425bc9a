"""A client that starts a gateway, writes what it is given, and reads until it is killed; standard library only."""

import subprocess
import sys
from pathlib import Path


def main() -> None:
    """``SCRIPT COMMAND...``; the gateway's number is the first line that it prints."""
    gateway = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    print(gateway.pid, flush=True)
    assert gateway.stdin is not None
    assert gateway.stdout is not None
    gateway.stdin.write(Path(sys.argv[1]).read_bytes())
    gateway.stdin.flush()
    while gateway.stdout.readline():
        pass


if __name__ == "__main__":
    main()
