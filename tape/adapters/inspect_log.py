"""Inspect AI: a finished run as an ``.eval`` log, which ``inspect view`` shows and ``read_eval_log`` reads.

An episode is a sample: its messages are the task, the selected plans, the actions and what was observed; its events
are spans of agent and plans, requests to the model, tool calls and scores. Needs the extra ``inspect``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tape import __version__
from tape.adapters.inspect_sample import SCORER, SampleMaker, model_of, moment_of, result_of, usage_of
from tape.adapters.operations import ORDER, FinishedRun, configurations
from tape.errors import ConfigError
from tape.files import partial_file
from tape.plugins import require_extra
from tape.statistics import success_interval

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog


def export(run: FinishedRun, out: Path | None = None) -> Path:
    """Write the log of a finished run.

    Args:
        run: The run, of one configuration: a log of Inspect is of one task and one model.
        out: A file that ends in ``.eval``; None writes ``inspect.eval`` into the run, or beside the trace.

    Raises:
        MissingExtraError: Inspect AI is not installed.
        ConfigError: There are several configurations, or ``out`` can be no log.
    """
    require_extra("inspect", "inspect_ai", what="a log of Inspect AI")
    names = list(dict.fromkeys(str(entry.line["cell"]) for entry in run.entries if entry.line is not None))
    if len(names) > 1:
        raise ConfigError(
            f"{run.source.name} has {len(names)} configurations ({', '.join(names)}), and a log of Inspect AI holds "
            f"one; choose with --configuration, for instance --configuration {names[0]!r}"
        )
    out = out or _default_out(run, names)
    if out.suffix != ".eval":
        raise ConfigError(f"{out}: a log of Inspect AI ends in .eval; name it {out.with_suffix('.eval')}")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"the folder {out.parent} does not exist; make it first, or name another file with --out")
    if out.is_dir():
        raise ConfigError(f"{out} is a folder; name a file, for instance {out / 'run.eval'}")
    from inspect_ai.log import write_eval_log

    partial = partial_file(out)
    partial.unlink(missing_ok=True)
    write_eval_log(log_of(run), partial, format="eval")
    partial.replace(out)
    return out


def _default_out(run: FinishedRun, names: Sequence[str]) -> Path:
    trace = run.entries[0].trace
    assert trace is not None
    if not names:
        return trace.with_suffix(".eval")
    several = len(configurations(run.source)) > 1
    name = "-" + re.sub(r"[^\w.-]+", "-", names[0]) if several else ""
    return trace.parent.parent / f"inspect{name}.eval"


def log_of(run: FinishedRun) -> EvalLog:
    """The log, not written anywhere."""
    from inspect_ai import log as logs
    from inspect_ai.model import ModelUsage
    from inspect_ai.viewer import ViewerConfig

    episodes = list(run.episodes())
    samples = [SampleMaker(episode).sample() for episode in episodes]
    first = episodes[0]
    agent, model = str(first.started.config.get("agent") or "tape"), model_of(first)
    environment = str(first.line.get("environment") or "tape")
    done = [result for episode in episodes if (result := result_of(episode))]
    usage = sum((usage_of(result) for result in done), ModelUsage())
    scores = []
    if done:
        won = [bool(result.get("success")) for result in done]
        tasks = [str(episode.line.get("digest", episode.key)) for episode in episodes if result_of(episode)]
        low, high, method = success_interval(won, tasks)
        values = {"accuracy": sum(won) / len(won), "ci95_low": low, "ci95_high": high}
        metrics = {name: logs.EvalMetric(name=name, value=value) for name, value in values.items()}
        about = {"interval": method, "note": "docs/reference/runs.md says how intervals are made"}
        scores.append(
            logs.EvalScore(name=SCORER, scorer=SCORER, metrics=metrics, metadata=about, scored_samples=len(done))
        )
    for name in sorted({name for result in done for name in result.get("measures", {})}):
        known = [value for result in done if (value := result.get("measures", {}).get(name)) is not None]
        if known:
            metric = logs.EvalMetric(name="mean", value=sum(known) / len(known))
            scores.append(logs.EvalScore(name=name, scorer=name, metrics={"mean": metric}, scored_samples=len(known)))
    begun, ended = min(episode.times[0] for episode in episodes), max(episode.times[-1] for episode in episodes)
    ids = list(dict.fromkeys(episode.task for episode in episodes))
    level_sets = sorted({str(episode.line.get("level_set", "")) for episode in episodes})
    return logs.EvalLog(
        status="success" if len(done) == len(episodes) else "cancelled",
        eval=logs.EvalSpec(
            created=moment_of(begun),
            eval_id=f"tape-{first.key}",
            run_id=f"tape-{first.key}",
            task_id=f"tape-{environment}",
            task=environment,
            dataset=logs.EvalDataset(name=", ".join(level_sets) or None, samples=len(ids), sample_ids=ids),
            model=model,
            solver=agent,
            config=logs.EvalConfig(epochs=max(episode.line.get("repeat", 0) for episode in episodes) + 1),
            packages={"tape-planner": __version__, **{f"run: {name}": text for name, text in run.source.facts.items()}},
            metadata={"tape.time": ORDER, "tape.config": dict(first.started.config), "tape.run": run.source.name},
            # What models and tools wrote is shown as plain text: no markdown, no links, no pictures.
            viewer=ViewerConfig(trust_content=False),
        ),
        plan=logs.EvalPlan(name=agent, steps=[logs.EvalPlanStep(solver=agent)]),
        results=logs.EvalResults(total_samples=len(samples), completed_samples=len(done), scores=scores),
        stats=logs.EvalStats(started_at=moment_of(begun), completed_at=moment_of(ended), model_usage={model: usage}),
        samples=samples,
    )
