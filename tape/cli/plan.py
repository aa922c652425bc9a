"""``tape plan FILE``: the best of some plans under a budget, what stood in the way, and the whole frontier."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tape.cli.numbers import real, whole

_KEYS = ("plans", "cost", "value", "variants", "budget", "rules", "at_least", "worst_at_least")


def main(argv: Sequence[str]) -> int:
    """Run the subcommand; exit code 0 with a plan, 1 without."""
    args = _parser().parse_args(argv)
    from tape import select, select_in
    from tape.choice.amounts import caps_of, written
    from tape.errors import ConfigError
    from tape.files import replace_file
    from tape.show.frontier import page, table

    if args.page is not None and not args.frontier:
        raise ConfigError("--page draws a frontier; name its criteria, for instance --frontier usd,value")
    plans, asked = _read(args)
    criteria = tuple(name.strip() for name in args.frontier.split(",")) if args.frontier else ()
    caps = caps_of(asked["budget"])
    choose = select_in if "start" in asked else select
    choice = choose(plans, **asked, frontier=criteria, epsilon=args.epsilon, proof=args.proof is not None)
    if choice.plan is not None:
        print(*choice.plan, sep="\n")
        takes = ", ".join(written(name, amount) for name, amount in choice.spent.items())
        print(f"worth {choice.value:.12g}; takes {takes or 'nothing'}")
    print(choice.why)
    if criteria:
        print(f"\n{table(choice, criteria, caps)}" if choice.frontier else "\nNo plan fits, whatever the criteria.")
    if args.page is not None:
        replace_file(args.page, page(choice, criteria, caps, args.file.name).encode("utf-8", "backslashreplace"))
        print(f"written: {args.page}")
    if args.proof is not None and choice.proof is not None:
        choice.proof.save(args.proof)
        print(f"written: {args.proof / 'problem.json'} and {args.proof / 'proof.json'}")
    if args.proof is not None and choice.frontier_proof is not None:
        choice.frontier_proof.save(args.proof / "frontier")
        print(f"written: the same of the frontier, to {args.proof / 'frontier'}")
    return 0 if choice else 1


def _read(args: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The plans, or a plan graph, and what else `select` is asked with."""
    from tape.choice.graph import PlanGraph
    from tape.errors import ConfigError
    from tape.reading import read_json, read_text
    from tape.toml_reading import parse_toml

    file: Path = args.file
    data = parse_toml(read_text(file), str(file)) if file.suffix == ".toml" else read_json(file, surrogates=True)
    if not isinstance(data, dict):
        raise ConfigError(f"{file}: expected an object with {', '.join(_KEYS)}, or a plan graph")
    if data.get("kind") == "plan_graph":
        given: dict[str, Any] = {"start": args.start or data.get("start"), "goals": args.goal, "horizon": args.horizon}
        return PlanGraph.load(file), given | {"budget": args.budget}
    if unknown := sorted(data.keys() - set(_KEYS)):
        raise ConfigError(f"{file}: there is no key {unknown[0]!r}; there is {', '.join(_KEYS)}")
    if "plans" not in data:
        raise ConfigError(f"{file}: it has no plans; give them as lists of steps: plans = [[...], [...]]")
    asked = {"cost": data.get("cost"), "value": data.get("value"), "variants": data.get("variants")}
    asked |= {"rules": data.get("rules", ()), **{name: data.get(name) for name in ("at_least", "worst_at_least")}}
    return data["plans"], asked | {"budget": args.budget or data.get("budget")}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tape plan",
        description="Pick the best of some plans under a budget, as tape.select does, and say what one more cent buys.",
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="TOML or JSON with plans, cost, value, variants, budget, rules; or a plan graph",
    )
    parser.add_argument("--budget", default="", help="hard caps, in the place of the file's: 'usd=$0.05,seconds=2 min'")
    parser.add_argument(
        "--frontier", metavar="CRITERIA", help="all plans that none beats in everything, for instance usd,value"
    )
    parser.add_argument(
        "--epsilon", type=real(), default=0.0, help="thin the frontier: 0.05 for plans within 5 %% of every other"
    )
    parser.add_argument("--page", type=Path, metavar="FILE.html", help="write the frontier as a page with its curve")
    parser.add_argument("--proof", type=Path, metavar="FOLDER", help="write a proof and the problem that it is of")
    parser.add_argument("--start", help="in a plan graph, the start node (default: the graph's own)")
    parser.add_argument("--goal", action="append", metavar="NODE", help="in a plan graph, a node where plans may end")
    parser.add_argument("--horizon", type=whole(), help="in a plan graph, the most steps (default: enough)")
    return parser
