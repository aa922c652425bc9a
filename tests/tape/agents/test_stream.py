"""The events of an episode while it is played, in a loop, in a running event loop, and in IPython."""

from __future__ import annotations

import asyncio

import pytest

from tape.agents.stream import EpisodeStream
from tape.errors import ConfigError
from tests.tape.agents.mailing import agent, env, made


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    made.clear()


def test_events_are_read_while_it_is_played() -> None:
    stream = agent().stream(env())
    assert isinstance(stream, EpisodeStream)
    with pytest.raises(ConfigError, match="no result yet"):
        _ = stream.result
    types = []
    for event in stream:
        types.append(event.type)
        if event.type == "walk_selected":
            assert event.reasons == (
                "labelling (OPTIMAL) selected a path with the objective 398.000, which takes at most "
                "3 steps of 9 steps, $0.03 of $0.10"
            )
        if event.type == "call_begun" and event.step == 0:
            assert made == []
        if event.type == "call_ended" and event.step == 1:
            assert made == ["look home", "send ann"]
    assert types[0] == "started"
    assert types[-1] == "finished"
    assert {"plans_sampled", "graph_folded", "walk_selected", "call_begun", "call_ended"} <= {*types}
    assert stream.result.success
    made.clear()
    for event in agent().stream(env()):
        if event.type == "generated":
            break
    assert made == []


def test_events_are_read_in_a_running_loop() -> None:
    asyncio.run(_read_in_a_loop())


async def _read_in_a_loop() -> None:
    stream = agent().stream(env())
    with pytest.raises(ConfigError, match="async for"):
        next(iter(stream))
    assert [event.type async for event in stream][-1] == "finished"
    assert stream.result.answer == "sent to ann"


def test_in_ipython_events_are_read_and_a_result_is_shown() -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell.instance()
    shell.user_ns |= {"agent": agent(), "env": env()}
    read = "stream = agent.stream(env)\n[event.type async for event in stream][-1]"
    cells = [read, "stream.result", "agent.run(env).answer"]
    outputs = [shell.run_cell(cell, store_history=False) for cell in cells]
    assert [output.error_in_exec for output in outputs] == [None] * 3
    assert (outputs[0].result, outputs[2].result) == ("finished", "sent to ann")
    assert "<svg" in outputs[1].result._repr_html_() or "<img" in outputs[1].result._repr_html_()
    shells.InteractiveShell.clear_instance()
