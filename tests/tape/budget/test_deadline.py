"""``wall_seconds``: whatever waits is cancelled, whatever computes is measured, and nothing is left behind."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

import solvers
from envs.sokoban.environment import SokobanEnvironment
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget, Resources
from tape.budget.deadline import Deadline, in_thread
from tape.lm.base import Completion, Request, TokenPrice
from tape.lm.batching import EpisodeBatch
from tape.lm.scripted import ScriptedLM
from tape.protocols import Observation
from tape.protocols.result import EpisodeResult
from tape.runner.summary import summarise, table
from tape.trace import ObservedEvent, TraceWriter
from tests.tape.deadlines import TimeUp
from tests.tape.helpers import CORRIDOR, SimulatedModel
from tests.tape.runner.test_runner import spec_for

SOON = Budget.of(wall_seconds="0.02")
PAID = TokenPrice(Decimal("1e-6"), Decimal("1e-6"))


class Clock:
    """A clock that only moves when a test sets it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    result = Clock()
    monkeypatch.setattr("tape.agents.base.Deadline", partial(Deadline, clock=result))
    return result


class Hanging(SimulatedModel):
    """Never answers."""

    cancelled = False

    def __init__(self, time_up: Callable[[], None], **options: Any) -> None:
        super().__init__(CORRIDOR, **options)
        self.time_up = time_up

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        return await hang(self)


async def hang(part: Any) -> Any:
    """Let the time pass, and never answer."""
    part.time_up()
    try:
        return await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        part.cancelled = True
        raise


def late(result: EpisodeResult) -> bool:
    return result.end_state == "budget:wall_seconds" and "s were allowed" in result.detail


def test_a_call_that_hangs_is_cancelled_and_booked(time_up: TimeUp) -> None:
    model = Hanging(time_up, price=PAID)
    result = TapeAgent(model).run(SokobanEnvironment(CORRIDOR, 4), budget=SOON | Budget.of(tokens=50_000))
    assert late(result)
    assert model.cancelled
    assert result.used["tokens"] > 0, "what it may have cost is booked"
    assert result.budget["wall_seconds"] == 20
    assert not result.budget_violations
    assert "wall_seconds" not in result.used


class Slow(SokobanEnvironment):
    """One of its methods waits until ``go`` is set."""

    def __init__(self, time_up: TimeUp, slow: str) -> None:
        super().__init__(CORRIDOR, 4)
        self.time_up, self.go, self.slow = time_up, threading.Event(), slow

    def wait(self, method: str) -> None:
        if method == self.slow:
            self.time_up()
            self.go.wait()

    def reset(self, seed: int) -> Observation:
        self.wait("reset")
        return super().reset(seed)

    def step(self, action: str) -> tuple[Observation, Resources]:
        self.wait("step")
        return super().step(action)


class SlowAsync(SokobanEnvironment):
    """A step never ends."""

    cancelled = False

    async def astep(self, action: str) -> tuple[Observation, Resources]:
        return await hang(self)


@pytest.mark.parametrize("method", ["reset", "step"])
def test_a_method_that_hangs_is_given_up(time_up: TimeUp, method: str) -> None:
    env = Slow(time_up, method)
    result = ReactAgent(SimulatedModel(CORRIDOR)).run(env, budget=SOON)
    assert late(result)
    assert result.used.get("steps", 0) == (method == "step"), "a step may have been taken"
    assert (result.steps, result.actions) == (0, [])
    assert bool(result.lm_calls) == (method == "step")
    env.go.set()
    for thread in threading.enumerate():
        if thread.name.startswith("environment"):
            thread.join()


def test_a_coroutine_step_that_hangs_is_cancelled(time_up: TimeUp) -> None:
    env = SlowAsync(CORRIDOR, 4)
    env.time_up = time_up  # type: ignore[attr-defined]
    result = ReactAgent(SimulatedModel(CORRIDOR)).run(env, budget=SOON)
    assert late(result)
    assert env.cancelled


@pytest.mark.parametrize("agent", [ReactAgent, TapeAgent])
def test_what_is_in_time_is_as_without_a_deadline(agent: type[TapeAgent], clock: Clock) -> None:
    runs = [
        agent(SimulatedModel(CORRIDOR)).run(SokobanEnvironment(CORRIDOR, 4), budget=budget)
        for budget in (None, Budget.of(wall_seconds=3))
    ]
    assert runs[0].success
    free, timed = (run.model_dump(exclude={"budget", "solver_seconds"}) for run in runs)
    assert free == timed


def test_a_computation_that_cannot_be_cancelled_is_measured(clock: Clock) -> None:
    class Forward(SimulatedModel):
        async def generate(self, requests: Sequence[Request]) -> list[Completion]:
            clock.now += 2
            return await super().generate(requests)

    trace = TraceWriter("test")
    result = ReactAgent(Forward(CORRIDOR)).run(
        SokobanEnvironment(CORRIDOR, 4), budget=Budget.of(wall_seconds=3), trace=trace
    )
    assert late(result)
    assert result.steps == 1, "the second answer came too late to be acted on"
    assert (result.wall_seconds, result.wall_overrun_seconds) == (4.0, 1.0)
    assert not result.budget_violations
    assert not result.broken_declarations
    left = [event.remaining["wall_seconds"] for event in trace.events if isinstance(event, ObservedEvent)]
    assert left == [3000, 1000]


def test_the_solver_gets_what_is_left(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []

    def solve(problem: Any, solver: str, time_limit: float | None = None) -> solvers.PathSolution:
        limits.append(time_limit)
        clock.now += 5
        return solvers.PathSolution(solvers.Status.TIMEOUT)

    monkeypatch.setattr(solvers, "solve", solve)
    clock.now = 0.0
    result = TapeAgent(SimulatedModel(CORRIDOR)).run(SokobanEnvironment(CORRIDOR, 4), budget=Budget.of(wall_seconds=3))
    assert late(result)
    assert limits == [3.0]
    assert result.wall_overrun_seconds == 2.0
    free = TapeAgent(SimulatedModel(CORRIDOR)).run(SokobanEnvironment(CORRIDOR, 4))
    assert free.end_state == "solver_timeout"
    assert limits[1:] == [None]


def test_a_thread_passes_on_what_happens_in_it() -> None:
    assert asyncio.run(in_thread(lambda: 3, "test")) == 3
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_thread(lambda: 1 // 0, "test"))


def test_an_episode_that_is_cancelled_from_outside_is_not_late() -> None:
    async def go() -> None:
        agent = ReactAgent(Hanging(lambda: None))
        task = asyncio.create_task(agent.arun(SokobanEnvironment(CORRIDOR, 4), budget=Budget.of(wall_seconds=99)))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(go())


# In a batch


class Held(ScriptedLM):
    """Answers when ``go`` is set."""

    def __init__(self) -> None:
        super().__init__(["yes"])
        self.asked, self.go = asyncio.Event(), asyncio.Event()
        self.cancelled = False

    async def generate(self, requests: Sequence[Request]) -> list[Completion]:
        self.asked.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return await super().generate(requests)


@pytest.mark.parametrize("all_end", [False, True])
def test_a_batch_is_cancelled_where_the_time_of_all_is_up(all_end: bool) -> None:
    async def go() -> None:
        model = Held()
        batch = EpisodeBatch(model, 2)
        tasks = [asyncio.create_task(batch.slot(i).generate([Request(str(i), 3)])) for i in range(2)]
        await model.asked.wait()
        tasks[1].cancel()
        if all_end:
            tasks[0].cancel()
            await asyncio.wait(tasks)
        else:
            await batch.leave()
            model.go.set()
            [completion] = await tasks[0]
            assert completion.texts == ("yes",)
            assert tasks[1].cancelled()
        await batch.close()
        assert model.cancelled == all_end

    asyncio.run(go())


def test_the_summary_counts_episodes_with_a_deadline() -> None:
    lines: list[dict[str, Any]] = []
    for over in (0.0, 0.25):
        kept: dict[str, Any] = {"end_state": "failure", "success": False, "budget": {"wall_seconds": 5}}
        result = EpisodeResult(**kept, wall_overrun_seconds=over).model_dump()
        lines.append({"cell": "tape", "level_set": "x", "digest": str(over), "result": result})
    [group] = summarise({"tape": spec_for(None)}, lines)  # type: ignore[arg-type]
    assert (group["under_deadline"], group["wall_overruns"], group["longest_wall_overrun_seconds"]) == (2, 1, 0.25)
    assert group["budget_violations"] == 0
    assert "2 episodes had a deadline on the real clock" in table([group])
    assert "1 ran over it, by 0.25 s at most" in table([group])
