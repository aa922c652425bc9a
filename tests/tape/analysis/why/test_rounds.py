"""What explains each round, on episodes of scripted models and on traces that say too little."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.sokoban.state import State
from tape import trace
from tape.agents.best_of_n import BestOfNReactAgent
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAllStepAgent
from tape.analysis.why import Round, about, rounds
from tape.budget import Budget, Resources
from tape.choice.graph import PlanGraph
from tape.methods.sdp.agent import SdpAgent
from tape.trace import Event
from tests.places import ROOT
from tests.profiles import examples
from tests.tape.analysis.why.shop import WORTH, acted, episode, finished, folded, selection, shop
from tests.tape.helpers import CORRIDOR, SimulatedModel, play
from tests.tape.methods.aec.toy import BoxModel, BoxWorld
from tests.tape.methods.aec.toy import play as play_boxes

PAGE = (ROOT / "docs" / "reference" / "why.md").read_text(encoding="utf-8")
SHORT = {"usd": 1, "steps": 3}
WRONG = {(State(CORRIDOR.start.player + 1, CORRIDOR.start.boxes), "R"): " (2,3) (2,5)"}
BOXES = BoxModel(1, (False, False, False), plans=["open 0; take 0", "unlock 1; open 1; take 1"])


def taking(action: str = "ask cheap", **changes: Any) -> list[Event]:
    """An episode of one step."""
    return episode(folded(), selection(action, **changes), acted(action), finished())


def only(events: Sequence[Event]) -> Round:
    [round_] = rounds(events)
    json.dumps(round_.to_dict())
    return round_


# --- which budget decided -----------------------------------------------------------------------------------


def test_the_budget_that_decided_and_what_more_of_it_buys() -> None:
    round_ = only(taking())
    assert (round_.chosen.cost, round_.decided) == ({"steps": 1, "usd": 10_000}, [["usd"]])
    steps, usd = round_.budgets
    assert steps.more is None
    # "ask slow, check" needs 3 steps and $0.03; of the two the cheaper comes first.
    assert (usd.more.to, usd.more.path.actions) == ({"usd": 30_000}, ("ask slow", "check"))
    assert (usd.more.path.over, usd.more.gain) == ({"usd": 10_000}, "a score of 1 instead of 0.5")
    assert round_.alternatives[0].actions == ("ask free",)
    # Of equal worth over 5 steps, a proof now and a signed one a step later.
    assert {path.actions for path in round_.misfits} == {("ask slow", "check"), ("ask dear",)}
    assert round_.reasons == (
        "It is the best path of this graph that fits what was left. Proven.",
        "usd decided: with $0.03 ($0.01 more), a score of 1 instead of 0.5.",
    )
    assert round_.outcome == "After its only step the episode ended in success."


def test_budgets_that_decide_only_together() -> None:
    left = {"steps": 1, "usd": 5_000}
    graph = shop()
    for edge in graph.edges():
        if edge.action in ("ask cheap", "ask dear"):
            graph.set_cost(edge.id, Resources.of(usd="0.02", steps=2))
    # A proof takes $0.04; what is better than that takes 3 steps as well. With $0.01 there is an answer.
    alone, round_ = (
        only(episode(folded(on), selection("ask free", left=left), acted("ask free"), finished()))
        for on in (shop(), graph)
    )
    assert (alone.decided, round_.decided) == ([["usd"]], [["steps", "usd"]])
    [joint] = round_.together
    assert (joint.path.actions, joint.by) == (("ask dear",), {"steps": 1, "usd": 15_000})
    assert "steps and usd decided together: with 1 step and $0.015 more" in round_.reasons[-1]


def test_no_budget_decides_where_the_best_path_fits() -> None:
    best = selection("ask slow", "check", left={"steps": 9, "usd": 90_000})
    round_ = only(episode(folded(), best, acted("ask slow"), acted("check", 2), finished()))
    assert (round_.decided, round_.misfits) == ([], ())
    assert round_.reasons[-1].startswith("No budget decided")


def test_without_relaxation_no_budget_decides() -> None:
    events = taking()
    [round_] = rounds(events, relax=False)
    assert round_.alternatives == only(events).alternatives
    assert (round_.decided, round_.misfits, round_.relaxed) == ([], (), False)
    assert round_.reasons[-1] == "Which budget decided was not asked."
    assert [(line.left, line.used) for line in round_.budgets] == [(5, 1), (20_000, 10_000)]


def test_what_a_complete_path_needs_where_none_fits() -> None:
    graph = shop()
    for edge in graph.edges():
        graph.set_cost(edge.id, edge.cost + Resources.of(usd="0.05"))
    none = selection()
    events = episode(trace.PlansSampledEvent(start="start", plans=[["a"]], valid=[True]), folded(graph), none)
    round_ = only([*events, finished("infeasible")])
    assert (round_.chosen, round_.alternatives, round_.budgets) == (None, (), ())
    assert [(need.limit, need.least) for need in round_.needs.found.budgets] == [("steps", None), ("usd", 50_000)]
    assert round_.reasons[1] == "A complete path needs $0.05 where $0.02 is left."
    reported = trace.InfeasibleEvent(text="no plan fits into $0.02", explanation={})
    round_ = only([*events, reported, finished("infeasible", detail="no plan fits into $0.02")])
    assert round_.reasons[1] == "No plan fits into $0.02."
    assert round_.outcome == "The episode ended with that."


def test_a_partial_path_says_what_a_complete_one_would_need() -> None:
    graph = shop()
    for edge in graph.edges():
        if edge.target in WORTH:
            graph.set_cost(edge.id, Resources.of(usd="0.05", steps=1))
    graph.set_reward("middle", 0.1, goal=False)
    path = selection("ask slow", graph=graph, partial=True)
    round_ = only(episode(folded(graph), selection(), path, acted("ask slow"), finished("failure")))
    assert (round_.chosen.partial, round_.decided) == (True, [["usd"]])
    assert round_.needs.text == "A complete path needs $0.05 where $0.02 is left."
    assert round_.budgets[1].more.gain == "a complete path to a goal"
    assert not any("decided" in sentence for sentence in round_.reasons), "it is reported once"


# --- what cannot be rebuilt ---------------------------------------------------------------------------------


def changed(node: str, reward: float) -> PlanGraph:
    graph = shop()
    graph.set_reward(node, reward, goal=True)
    return graph


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([folded(changed("answer", 0.4)), selection("ask cheap")], "its objective is 2, and 2.5 was recorded"),
        ([folded(changed("rumour", 0.9)), selection("ask cheap")], "another path is the best"),
        ([folded(), selection("ask cheap", consumption={"usd": 1})], "was recorded"),
        ([folded(), selection("ask cheap", problem={})], "does not record under which budgets"),
        ([folded(), selection("ask cheap", problem={"budget": SHORT, "horizon": 4})], "a horizon of 4"),
        ([folded(), selection("ask cheap", nodes=["start", "elsewhere"])], "not in the graph"),
        ([folded(), selection()], "found no path where there is one"),
        ([selection("ask cheap")], "no plan graph"),
        ([trace.GraphFoldedEvent(graph={"kind": "other"}), selection("ask cheap")], "cannot be read"),
    ],
)
def test_what_is_not_as_recorded_is_not_explained(events: list[Event], reason: str) -> None:
    round_ = only(episode(*events, acted("ask cheap"), finished()))
    assert reason in round_.unreproduced
    assert (round_.alternatives, round_.budgets, round_.misfits) == ((), (), ())
    assert round_.reasons[0].startswith("The selection cannot be reproduced from this trace: ")


def test_a_choice_that_is_not_proven_is_not_called_so() -> None:
    round_ = only(taking("ask free", status="FEASIBLE"))
    assert (round_.unreproduced, round_.budgets, "not proven" in round_.reasons[0]) == (None, (), True)
    assert round_.alternatives[0].actions == ("ask cheap",), "what is better and fits is shown"


def test_every_key_of_a_round_is_documented() -> None:
    data = only(taking()).to_dict()
    table = PAGE.split("## JSON")[1]
    named = set(re.findall(r"`(\w+)`", "\n".join(row.split("|")[1] for row in re.findall(r"^\| .*", table, re.M))))
    assert named - {"key"} == set(data) - {"key"}
    listed = set(re.findall(r"`(\w+)`", table.split("Of a path:")[1]))
    assert listed == {key for key in data["chosen"] if not key.endswith("_text")}


# --- rounds and what came of them ---------------------------------------------------------------------------


def test_a_mismatch_ends_a_round() -> None:
    result, events = play(model=SimulatedModel(CORRIDOR, wrong=WRONG))
    assert result.success
    round_, two = rounds(events)
    end = round_.ended
    assert (round_.step, end.how, end.taken, end.of) == (0, "mismatch", 2, len(round_.chosen.actions))
    assert round_.ended.mismatch is not None
    assert round_.outcome.startswith("Step 2 of ")
    assert (two.step, two.reason) == (2, "mismatch")
    assert (two.graph["certified"], two.graph["contradicted"]) == (2, 1)
    assert (round_.last + 1, two.last) == (two.first, len(events) - 1)


def test_every_step_is_a_round_under_all_step_replanning() -> None:
    _, events = play(agent=TapeAllStepAgent)
    result = rounds(events)
    assert [round_.number for round_ in result] == [1, 2, 3]
    assert [round_.ended.how for round_ in result] == ["stepped", "stepped", "success"]
    assert "as this agent does after every step" in result[0].outcome


def test_a_probe_is_reported_as_one() -> None:
    _, events = play(model=SimulatedModel(CORRIDOR, wrong={(CORRIDOR.start, "R"): " invalid"}))
    result = rounds(events)
    assert (result[0].kind, result[0].chosen.actions) == ("probe", ("R",))
    assert "predicted to be impossible" in result[0].reasons[0]


@pytest.mark.parametrize(
    ("path", "rewards", "second"),
    [
        ("ask free", {}, "The solver would have taken another: a score of 0.5 instead of 0.2."),
        ("ask cheap", {}, "The solver would have taken the same."),
        ("ask free", {"rumour": 0.5}, "The solver would have taken the same."),
        ("ask cheap", {"rumour": 0.5}, "The solver would have taken another of the same value."),
        ("ask free", dict.fromkeys(WORTH, -1.0), "The solver would have found no path here."),
        ("ask slow; check", {}, "It needs $0.01 more than was left."),
    ],
)
def test_the_choice_of_a_model_is_beside_the_solvers(path: str, rewards: dict[str, float], second: str) -> None:
    graph = shop()
    for node, reward in rewards.items():
        graph.set_reward(node, reward, goal=reward > 0)
    changes: dict[str, Any] = {"status": "FEASIBLE", "objective": None, "consumption": {}}
    chosen = selection(*path.split("; "), graph=graph, selector="lm:x", **changes)
    round_ = only(episode(folded(graph), chosen, acted(chosen.actions[0]), finished()))
    assert round_.by_lm
    assert round_.reasons[0].endswith("(ablation).")
    assert round_.reasons[1] == second
    if not rewards:
        assert (round_.selected and round_.selected.actions) == (None if path == "ask cheap" else ("ask cheap",))
    assert round_.chosen.over == ({"usd": 10_000} if "slow" in path else {})
    assert round_.budgets == ()


def test_agents_without_plans_say_so() -> None:
    for agent in (ReactAgent, BestOfNReactAgent):
        _, events = play(agent=agent)
        assert (rounds(events), "makes no plans" in about(events)[-1]) == ([], True)
    for agent in (OpenLoopAgent, PlanAndActReplanAgent):
        first, *others = rounds(play(agent=agent)[1])
        assert {round_.kind for round_ in (first, *others)} == {"sampled"}
        assert first.chosen.actions == ("R", "R", "R")
        assert "neither budgets nor a solver" in first.reasons[0]
    _, events = play(agent=SdpAgent)
    assert [round_.kind for round_ in rounds(events)] == ["plan"]
    assert any("predicates certified" in sentence for sentence in about(events))
    _, events = play(steps=0)
    assert (rounds(events), "before anything was planned" in about(events)[-1]) == ([], True)


def test_verification_reports_what_was_refused_asked_and_committed_to() -> None:
    world = BoxWorld(1, (False, False, False))
    _, events = play_boxes(world, BOXES, num_plans=2, aec={"gate": "query_all"})
    round_ = only(events)
    assert round_.chosen.actions == tuple(events[round_.committed_at].actions)
    assert [hypothesis.accepted for hypothesis in round_.hypotheses] == [False, True]
    assert round_.hypotheses[0].why == "at step 1: gem_in(0) must be true; by the facts it is false"
    assert round_.reasons[0] == "AEC committed to this path: the verifier accepted it."
    assert "first asked" in round_.reasons[1]
    assert round_.ended.how == "success"


def test_a_refused_action_is_reported() -> None:
    asked = trace.ApprovalEvent(step=0, action="ask cheap", decision="refused", reason="destructive")
    again = [trace.ReplannedEvent(reason="refused", count=1), folded(), selection("ask cheap"), acted("ask cheap")]
    round_, two = rounds(episode(folded(), selection("ask cheap"), asked, *again, finished()))
    assert round_.outcome == "ask cheap was refused where it was to be approved, so it was planned anew without it."
    assert two.outcome == "After its only step the episode ended in success."
    stopped = asked.model_copy(update={"decision": "stopped"})
    [round_] = rounds(episode(folded(), selection("ask cheap"), stopped, finished("stopped")))
    assert round_.outcome == "The episode was stopped where ask cheap was to be approved."
    [round_] = rounds(episode(folded(), selection("ask cheap"), asked, acted("ask cheap"), finished()))
    assert round_.outcome.endswith("ended in success. ask cheap was refused where it was to be approved.")
    unplanned = about(episode(acted("look"), asked, finished("infeasible"), agent="react"))
    assert unplanned[-1] == "Refused where approval was asked for: ask cheap."


def test_the_last_selection_with_a_path_is_the_one_that_was_followed() -> None:
    # The graph grew, and no path was found on it: the path in hand was followed.
    grown = [folded(changed("answer", 0.4)), selection()]
    round_ = only(episode(folded(), selection("ask cheap"), *grown, acted("ask cheap"), finished()))
    assert (round_.graph_at, round_.selected_at) == (2, 3)
    assert round_.unreproduced is None


def test_the_rest_selected_anew() -> None:
    graph = shop()
    graph.fold(["middle", "answer"], ["settle"])
    graph.set_cost(graph.find("middle", "settle", "answer"), Resources.of(steps=1))
    graph.set_cost(graph.find("start", "ask cheap", "answer"), Resources.of(usd="0.06", steps=1))
    head = [folded(graph), selection("ask slow", "settle", graph=graph), acted("ask slow")]
    # The second step has brought $0.01 back, say: then the better path fits.
    for last, dollars, text in (("check", 30_000, "a better path fits"), ("settle", 20_000, "still the best")):
        anew = selection(last, graph=graph, start="middle", left={"steps": 4, "usd": dollars})
        round_, two = rounds(episode(*head, anew, acted(last, 2), finished()))
        assert (round_.number, two.number, two.kind, two.step) == (1, 1, "reselect", 1)
        assert two.before == ("settle",)
        assert two.kept == (last == "settle")
        assert text in two.reasons[0]
        assert round_.unreproduced is two.unreproduced is None
        if last == "check":
            assert round_.outcome == "After 1 of its 2 steps another path took its place, on the same graph."
            assert two.gained == "a score of 1 instead of 0.5"
        else:
            assert round_.outcome == "After all its steps the episode ended in success."


# --- whatever a trace holds ---------------------------------------------------------------------------------


REAL = [
    play(model=SimulatedModel(CORRIDOR, wrong=WRONG))[1],
    play(budget=Budget({"tokens": 5_000, "steps": 6}))[1],
    play(agent=SdpAgent, model=SimulatedModel(CORRIDOR, wrong=WRONG))[1],
    play_boxes(BoxWorld(1, (False, False, False)), BOXES, num_plans=2)[1],
]


@given(st.data())
@examples(100)
def test_no_trace_is_too_broken_to_be_explained(data: st.DataObject) -> None:
    events = data.draw(st.sampled_from(REAL))
    events = events[: data.draw(st.integers(0, len(events)))]
    left_out = data.draw(st.sets(st.integers(0, max(0, len(events) - 1)), max_size=6))
    events = [event for number, event in enumerate(events) if number not in left_out]
    for round_ in rounds(events):
        json.dumps(round_.to_dict())
        assert round_.reasons
        assert not re.search(r"None|\{|\}", " ".join([*round_.reasons, round_.outcome]))
    assert about(events)
