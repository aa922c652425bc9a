"""The toy analysis: exact and sampled agents agree, proven bounds hold, the script repeats itself byte for byte."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.harness import places
from experiments.studies.toy import __main__ as toy
from experiments.studies.toy import exact, points
from experiments.studies.toy.bounds import plan_and_act_bound, react_bound, tape_bound
from experiments.studies.toy.exact import Setting
from experiments.studies.toy.world import KINDS, Chain, Sokoban, World, make
from tests.profiles import examples

RESULTS = places.RESULTS / "toy" / "toy.json"
share = st.floats(0.0, 1.0)
some_settings = st.builds(Setting, share, share, share, st.integers(1, 5), st.integers(0, 4))
EXACT = (exact.react, exact.plan_and_act, exact.tape_step)


def chains(every: int) -> st.SearchStrategy[Chain]:
    return st.builds(Chain, st.integers(1, 12), st.just(every))


@pytest.mark.parametrize("agent", list(points.AGENTS))
@pytest.mark.parametrize("kind", ["narrow", "open", "sokoban"])
def test_sampled_episodes_agree_with_the_exact_value(kind: str, agent: str) -> None:
    job = points.Job(kind, agent, 4, Setting(), (1, 2), 1000)
    point = points.measure(job)
    n, rate, value = point["sampled"]["n"], point["sampled"]["rate"], point["exact"]
    assert n == 2000
    if value is None:
        assert agent in {"tape_folded", "tape_once"}
        assert kind != "narrow"
        return
    assert abs(rate - value) <= 4.0 * (value * (1 - value) / n) ** 0.5 + 1 / n


@examples(60)
@given(chains(1), some_settings)
def test_proven_bounds_hold_where_the_assumptions_do(world: Chain, setting: Setting) -> None:
    horizon, rates = world.horizon, exact.best_rates(world, setting)
    assert exact.critical_steps(world, setting) == horizon
    assert exact.react(world, setting).success <= react_bound(horizon, rates) + 1e-9
    planned = exact.plan_and_act(world, setting)
    bound = plan_and_act_bound(horizon, rates, alpha=planned.alpha, p_follow=setting.p_follow)
    assert planned.success <= bound + 1e-9
    per_step = exact.tape_step(world, setting).success
    assert per_step == pytest.approx(tape_bound(horizon, setting.epsilon_p, setting.plans), abs=1e-9)
    once, again = (exact.tape_folded(horizon, setting, replan=replan) for replan in (False, True))
    assert once <= min(per_step, again) + 1e-9
    assert again <= tape_bound(horizon, setting.epsilon_p, 2 * setting.plans) + 1e-9
    assert once == pytest.approx(1 - (1 - (1 - setting.epsilon_p) ** horizon) ** setting.plans, abs=1e-9)


@examples(40)
@given(st.one_of(chains(1), chains(3), st.builds(lambda t: make("sokoban", t, 0), st.sampled_from([2, 4, 6]))),
       some_settings)  # fmt: skip
def test_no_proven_bound_is_exceeded_in_any_world(world: World, setting: Setting) -> None:
    kind = "sokoban" if isinstance(world, Sokoban) else "narrow" if world.every == 1 else "open"
    for agent, solve in zip(("react", "plan_and_act", "tape_step"), EXACT, strict=True):
        job = points.Job(kind, agent, world.horizon, setting, (0,), 1)
        value = solve(world, setting)
        assert 0.0 <= value.success <= 1.0
        for bound in points._bounds(job, world, value):
            assert bound.broken or value.success <= bound.value + 1e-9, (agent, bound)


@pytest.mark.soak
def test_the_script_twice_gives_the_same_bytes_and_names_the_simulation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--limit", "1", "--episodes", "3", "--seeds", "2"]
    assert toy.main([*args, "--out", str(tmp_path / "a")]) == 0
    assert toy.main([*args, "--workers", "2", "--out", str(tmp_path / "b")]) == 0
    for name in ("toy.json", "report.md", "plots/toy.png"):
        first = (tmp_path / "a" / name).read_bytes()
        assert first == (tmp_path / "b" / name).read_bytes(), name
    record = json.loads((tmp_path / "a" / "toy.json").read_text())
    assert record["simulation"] is True
    assert len(record["points"]) == len(KINDS) * len(points.AGENTS)
    headings = [line for line in (tmp_path / "a" / "report.md").read_text().splitlines() if line.startswith("#")]
    assert all("imulation" in line for line in headings)
    assert "EXCEEDED" in capsys.readouterr().out


def test_the_committed_results_are_those_of_this_code() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    setting = Setting(**{key: record["setting"][key] for key in Setting.__dataclass_fields__})
    seeds, episodes = record["setting"]["seeds"], record["setting"]["episodes"]
    short = [job for job in points.jobs(list(KINDS), None, setting, seeds, episodes) if job.horizon <= 2]
    held = {(point["kind"], point["agent"], point["T"]): point for point in record["points"]}
    assert [points.measure(job) for job in short] == [held[job.kind, job.agent, job.horizon] for job in short]
    assert not [b for point in record["points"] for b in point["bounds"] if b["exceeded"] and not b["broken"]]
