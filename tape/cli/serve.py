"""``tape serve MODEL``: an OpenAI-compatible server on this machine."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

TOKEN = "TAPE_SERVE_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable that may hold the token."""


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(
        prog="tape serve",
        description="Serve a model at /v1/chat/completions, with enforced JSON schemas and choices. Without a token it "
        "serves only this machine.",
    )
    parser.add_argument("model", help="see `tape models`")
    parser.add_argument("--host", default="127.0.0.1", help="another address needs a token (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="0: any free one (default: 8000)")
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"serve only clients that send the token in FILE as their API key (or that in the variable {TOKEN})",
    )
    parser.add_argument(
        "--name", action="append", default=[], metavar="HOST", help="a name that clients reach this machine by"
    )
    args = parser.parse_args(argv)
    from tape.errors import ConfigError
    from tape.lm.registry import open_model
    from tape.lm.serve import check_access, make_server
    from tape.show.progress import loading

    if not 0 <= args.port < 65536:
        raise ConfigError(f"--port is from 0 to 65535, got {args.port}")
    token = _token(args.token_file)
    check_access(args.host, token)  # before a large model is loaded
    with loading(f"loading {args.model}"):
        model = open_model(args.model)
    # What `re` thinks of a client's pattern; others would write on this terminal by it.
    warnings.filterwarnings("ignore", category=FutureWarning, message="Possible ")
    try:
        listening = make_server(model, args.host, args.port, token, args.name)
    except OSError as error:
        raise ConfigError(
            f"cannot serve at port {args.port} of {args.host}: {error.strerror or error}; "
            "give another --port (0: any free one), or another --host"
        ) from error
    with listening as server:
        options = "" if model.prompt_format == "chat" else f"#format={model.prompt_format}"
        host = f"[{args.host}]" if ":" in args.host else args.host
        key = " with the token in OPENAI_API_KEY" if token else ""
        print(
            f"serving; use --model 'openai:{args.model}@http://{host}:{server.server_port}/v1{options}'{key}",
            flush=True,
        )
        server.serve_forever()
    return 0


def _token(file: Path | None) -> str:
    from tape.errors import ConfigError
    from tape.reading import read_text

    if file is None:
        return os.environ.get(TOKEN, "").strip()
    token = read_text(file).strip()
    if not token:
        raise ConfigError(f"{file} is empty; put a token into it")
    return token
