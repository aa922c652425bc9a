"""Everything in `tape` that reads a file from outside, each with a small valid one."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from pathlib import Path
from random import Random

from experiments.studies.sdp.revalidation import checked, revalidate
from experiments.studies.sdp.trajectory import CertifiedTrajectory
from tape.budget import Budget, Resources
from tape.choice.graph import PlanGraph
from tape.cli import main
from tape.lm import bundled
from tape.lm.base import OneOf, Request
from tape.lm.cache import CachedLM
from tape.lm.hf import trained_on
from tape.lm.price_table import PriceTable
from tape.lm.registry import open_backend
from tape.lm.scripted import ScriptedLM
from tape.runner.derived import write_derived
from tape.runner.directory import RunDirectory
from tape.runner.run_ledger import RunLedger
from tape.trace import read_trace
from tests.experiments.studies.sdp_synthetic import Synthetic
from tests.tape.loader_sweeps import Loader
from tests.tape.show.view_runs import episode, graph, write_run, write_trace


def command(*argv: object) -> int:
    """Run a command line in this process, whatever it prints."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main([str(word) for word in argv])
        except SystemExit as ended:
            code = int(ended.code or 0)
    assert code in (0, 1, 2, 3), f"exit code {code}"
    return code


# --- valid files --------------------------------------------------------------------------------


def _run(folder: Path) -> Path:
    return write_run(folder / "run", [episode(), episode(success=False)])


def _episodes(folder: Path) -> Path:
    return _run(folder) / "episodes.jsonl"


def _trace_of_run(folder: Path) -> Path:
    return RunDirectory(_run(folder)).trace_file("tape0000")


def _sdp_trace(folder: Path) -> Path:
    return Synthetic(Random(3), length=3, score=True).write(folder / "sdp.jsonl")


def _trajectory(folder: Path) -> Path:
    file = folder / "trajectory.json"
    CertifiedTrajectory.from_trace(_sdp_trace(folder)).save(file)
    return file


def _graph(folder: Path) -> Path:
    file, made = folder / "graph.json", graph()
    made.set_likelihood("answer", 0.5)
    made.set_edge_reward(0, 0.25)
    made.nx.edges[(*made._ends[0], 0)]["spread"] = {"usd": 500}
    made.save(file, start="start", walk=[0])
    return file


def _prices(folder: Path) -> Path:
    models = {"openai:a": {"prompt": "0.15", "completion": 0.6}, "hf:b": {"prompt": 1, "completion": "2"}}
    head = {"schema": 1, "date": "2026-01-31", "source": "somewhere", "per_tokens": 1000000}
    return _text(folder / "prices.json", json.dumps({**head, "models": models}))


def _script(folder: Path) -> Path:
    answers = ['{"thought": "right", "actions": ["right", "right", "right"]}', "two", "three"]
    return _text(folder / "script.json", json.dumps(answers))


def _ledger(folder: Path) -> Path:
    file = folder / "run-ledger.jsonl"
    payer = RunLedger(file, Budget({"tokens": 99}), Resources({"tokens": 3})).payer
    first = payer.reserve(Resources({"tokens": 5, "usd": None}))
    payer.reserve(Resources({"tokens": 7}))
    payer.settle(first, Resources({"tokens": 4}))
    payer.close()
    return file


def _bundled(folder: Path) -> Path:
    (folder / "weights" / "mini").mkdir(parents=True)
    shipped = bundled.weights_folder() / "mini" / "card.json"
    return _text(folder / "weights" / "mini" / "card.json", shipped.read_text(encoding="utf-8"))


def _recipe(folder: Path) -> Path:
    return _text(folder / "recipe.json", '{"prompt_format": "compact", "steps": 3}')


def _llama(folder: Path) -> Path:
    shipped = bundled.weights_folder() / "mini"
    (folder / "model.safetensors").symlink_to(shipped / "model.safetensors")
    return _text(folder / "config.json", (shipped / "config.json").read_text(encoding="utf-8"))


def _text(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


# --- what reads them ----------------------------------------------------------------------------


def _read_run(file: Path) -> object:
    directory = RunDirectory(file.parent)
    return directory.configurations(), directory.title(), directory.versions(), directory.commit()


def _replay(file: Path) -> int:
    run = file.parent.parent
    return command("show", run, "1", "--no-pictures") + command("show", run, "--list")


def _why(file: Path) -> int:
    return command("why", file.parent.parent, "1") + command("why", file.parent.parent, "1", "--json")


def _view(file: Path) -> int:
    return command("view", file.parent.parent, "-o", file.parent.parent / "page.html")


def _commands(file: Path) -> int:
    """What reads ``config.json`` and ``episodes.jsonl``."""
    run = file.parent
    shown = max(command("show", run, "--list"), command("show", run, "2", "--no-pictures"))
    read = command("why", run, "1")
    return max(shown, read, command("view", run, "-o", run / "page.html"))


def _solve(file: Path) -> int:
    return max(
        command("solve", file, "--budget", "usd=$0.008,steps=6"),
        command("solve", file, "--budget", "usd=$0.008", "--objective", "stay", "--json", "--no-explain"),
        command("solve", file, "--budget", "usd=$0.008", "--risk", "0.1", "--horizon", "4"),
        command("plan", file, "--budget", "usd=$0.008", "--frontier", "usd,value"),
    )


def _trajectory_checked(file: Path) -> object:
    content = CertifiedTrajectory.load(file)
    return revalidate(content), checked(content)


def _played(file: Path) -> object:
    model = open_backend(f"scripted:{file}")
    return asyncio.run(model.generate([Request("a", 5, n=2)]))


def _card(file: Path) -> object:
    whole = bundled.weights_folder
    bundled.weights_folder = lambda: file.parent.parent
    try:
        return bundled.sizes(), bundled.describe(), bundled.card("mini")
    finally:
        bundled.weights_folder = whole


def _config_of_weights(file: Path) -> object:
    from tape.lm.llama import Llama

    return Llama(file.parent)


_REQUEST = Request("a prompt", 5, n=1)
_CHOICE = Request("a prompt", 5, n=1, constraint=OneOf(("yes", "no")))


def _cache(folder: Path) -> Path:
    """The entries of a cache, as one JSON file that is put into the cache before it is read."""
    model = CachedLM(ScriptedLM(["yes"]), folder / "cache.sqlite")
    asyncio.run(model.generate([_REQUEST]))
    asyncio.run(model.score_options([_CHOICE]))
    rows = model._db.execute("SELECT value FROM completions ORDER BY key").fetchall()
    model.close()
    file = folder / "entry.json"
    file.write_bytes(b"\n".join(bytes(row[0]) for row in rows))
    return file


def _cached(file: Path) -> None:
    model = CachedLM(ScriptedLM(["yes"]), file.parent / "cache.sqlite")
    entries = [*file.read_bytes().split(b"\n"), b"", b""]
    try:
        keys = [row[0] for row in model._db.execute("SELECT key FROM completions ORDER BY key").fetchall()]
        for key, entry in zip(keys, entries, strict=False):
            model._put(key, entry)
        asyncio.run(model.generate([_REQUEST]))
        asyncio.run(model.score_options([_CHOICE]))
    finally:
        model.close()


def _cache_opened(file: Path) -> None:
    model = CachedLM(ScriptedLM(["yes"]), file)
    try:
        asyncio.run(model.generate([_REQUEST]))
    finally:
        model.close()


LOADERS: dict[str, Loader] = {
    "trace": Loader(lambda folder: write_trace(folder / "trace.jsonl", episode()), lambda file: [*read_trace(file)]),
    "trace of sdp": Loader(_sdp_trace, CertifiedTrajectory.from_trace),
    "trajectory": Loader(_trajectory, _trajectory_checked),
    "config of a run": Loader(lambda folder: _run(folder) / "config.json", _read_run),
    "episodes of a run": Loader(_episodes, lambda file: write_derived(RunDirectory(file.parent)), share=0.1),
    "ledger of a run": Loader(_ledger, lambda file: RunLedger(file, Budget(), Resources()).payer.close()),
    "graph": Loader(_graph, PlanGraph.load),
    "prices": Loader(_prices, PriceTable.load),
    "script": Loader(_script, _played),
    "card of a model": Loader(_bundled, _card),
    "recipe of a model": Loader(_recipe, trained_on),
    "configuration of a model": Loader(_llama, _config_of_weights, share=0.1),
    "entry of a cache": Loader(_cache, _cached, share=0.1, names_file=False),
    "cache": Loader(lambda folder: _cache(folder).with_name("cache.sqlite"), _cache_opened, share=0.1),
    "show a trace": Loader(_trace_of_run, _replay, share=0.1, names_file=False),
    "why of a trace": Loader(_trace_of_run, _why, share=0.1, names_file=False),
    "view a trace": Loader(_trace_of_run, _view, share=0.1, names_file=False),
    "commands on a config": Loader(lambda folder: _run(folder) / "config.json", _commands, share=0.1, names_file=False),
    "commands on episodes": Loader(_episodes, _commands, share=0.1, names_file=False),
    "solve a graph": Loader(_graph, _solve, share=0.1, names_file=False),
}
