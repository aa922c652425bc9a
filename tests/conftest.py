"""What all tests share: time limits, Hypothesis profiles, garbage collection, and Ctrl-C as in a shell's foreground."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests import profiles

SLOW_SECONDS = 300
SOAK_SECONDS = 900

# A non-interactive shell starts `command &` with SIGINT ignored, which children inherit: those that wait for Ctrl-C
# would wait for ever. With a handler here they start with the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Importing all tests makes a million objects that stay. Looking through them for garbage again and again takes a third
# of the time of collecting the tests, and later a part of every test's.
gc.disable()

# Where Python may not write compiled files beside the sources, every process that a test starts compiles all that it
# imports. These keep them in a folder of their own, this process too.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    compiled = Path(tempfile.gettempdir()) / f"tape-compiled-{os.getuid()}"
    compiled.mkdir(mode=0o700, exist_ok=True)
    if compiled.stat().st_uid == os.getuid():
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(compiled))
        sys.pycache_prefix, sys.dont_write_bytecode = os.environ["PYTHONPYCACHEPREFIX"], False

profiles.register()
settings.load_profile("ci")  # pytest --hypothesis-profile=soak loads another one over it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives slow tests and sweeps more time; tests that name a limit of their own keep it."""
    all_examples = profiles.share() == 1
    for item in items:
        if item.get_closest_marker("timeout") is None:
            if all_examples or item.get_closest_marker("soak"):
                item.add_marker(pytest.mark.timeout(SOAK_SECONDS))
            elif item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


def pytest_collection_finish() -> None:
    """From here on garbage is looked for among what the tests make, and not among what was imported."""
    gc.freeze()
    gc.enable()
