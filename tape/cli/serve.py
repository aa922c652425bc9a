"""``tape serve MODEL``: an OpenAI-compatible server on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the subcommand."""
    parser = argparse.ArgumentParser(
        prog="tape serve",
        description="Serve a model at /v1/chat/completions, with enforced JSON schemas and choices. It asks for no "
        "key: keep it on this machine.",
    )
    parser.add_argument("model", help="see `tape models`")
    parser.add_argument("--host", default="127.0.0.1", help="(default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="0: any free one (default: 8000)")
    args = parser.parse_args(argv)
    from tape.lm.registry import open_model
    from tape.lm.serve import make_server

    model = open_model(args.model)
    with make_server(model, args.host, args.port) as server:
        options = "" if model.prompt_format == "chat" else f"#format={model.prompt_format}"
        print(
            f"serving; use --model 'openai:{args.model}@http://{args.host}:{server.server_port}/v1{options}'",
            flush=True,
        )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 130
    return 0
