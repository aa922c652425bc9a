"""Typed tools in episodes: chains, refusals, failures, changed prices, tools and wishes, budgets."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from envs.tool_chains.typed import Change, TypedEnvironment
from envs.tool_chains.typed.planner import cheapest_chains
from envs.travelplanner.declared_lm import DeclaredLM
from tape.agents.open_loop import OpenLoopAgent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.approval import Approval, ApprovalRequest
from tape.budget import Budget
from tape.errors import ConfigError, UnknownNameError
from tape.lm.base import LanguageModel, Request
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool, ToolEnvironment, ToolError, ToolFailedError, tool
from tests.envs.tool_chains.typed.goods import HAVE, TOOLS, dearer, forge, foundry, haft, priced, smelt

EXACT = {"proposer": "declared", "scorer": "declared"}
ROOMY = Budget.of(usd=5, seconds=60, steps=20)


def exact() -> TapeAgent:
    """TAPE with the exact planner; its model is never asked."""

    def never(request: Request, number: int) -> str:
        raise AssertionError(f"asked for {request.role}")

    return TapeAgent(ScriptedLM(never), **EXACT)


def env(changes: Sequence[Change] = (), tools: Sequence[Tool] = tuple(TOOLS)) -> TypedEnvironment:
    return TypedEnvironment(tools, have=HAVE, want="axe", changes=changes)


def writes(*plans: Sequence[str]) -> LanguageModel:
    """A model that writes these plans in turn and finds every end right."""

    def answer(request: Request, number: int) -> str:
        if request.role == "plan":
            return json.dumps({"thought": "", "tools": list(plans[number % len(plans)])})
        return "right"

    return ScriptedLM(answer)


def test_the_cheapest_chain_is_called_and_values_go_by_their_types() -> None:
    result = exact().run(env(), budget=ROOMY)
    assert result.success
    assert result.actions == ["foundry()", "haft()", 'answer(value="axe")']
    assert result.answer == "cast blade of ore on ash"
    assert result.used["usd"] == 800_000
    assert not result.lm_calls


def test_where_time_is_short_a_dearer_chain_is_taken_and_where_none_fits_nothing_is_called() -> None:
    result = exact().run(env(), budget=Budget.of(usd=1, seconds=3))
    assert result.actions[:3] == ["smelt()", "forge()", "haft()"]
    short = exact().run(env(), budget=Budget.of(usd="0.50"))
    assert (short.end_state, short.steps, short.used.get("usd", 0)) == ("infeasible", 0, 0)
    assert "needs a cap of $0.80" in short.detail
    assert short.explanation is not None


def test_plans_of_a_model_are_folded_by_type_and_the_cheapest_mixture_is_taken() -> None:
    # One plan has the dear beginning and the cheap end, the other the cheap beginning and the dear end.
    tools = [
        priced("dear_start", ["a"], "b", 50), priced("cheap_start", ["a"], "m", 5), priced("on", ["m"], "b", 5),
        priced("cheap_end", ["b"], "c", 5), priced("longer", ["b"], "n", 40), priced("end", ["n"], "c", 40),
    ]  # fmt: skip
    model = writes(["dear_start", "cheap_end"], ["cheap_start", "on", "longer", "end"])
    mixed = TypedEnvironment(tools, have={"a": "a"}, want="c")
    result = TapeAgent(model, num_plans=2).run(mixed, budget=ROOMY)
    assert result.actions == ["cheap_start()", "on()", "cheap_end()", 'answer(value="c")']
    assert result.shared_nodes
    single = TapeAgent(model, num_plans=2, ablations={"selector": "experiments.ablations.selectors:PlanSelector"}).run(
        mixed, budget=ROOMY
    )
    assert single.success
    assert (single.used["usd"] or 0) > (result.used["usd"] or 0)


def test_a_call_that_is_refused_costs_a_step_and_is_planned_around() -> None:
    refusing = env([Change(1, refusing=("forge",))], [smelt, forge, dearer(foundry, 90), haft])
    result = exact().run(refusing, budget=ROOMY)
    assert result.success
    assert result.actions == ["smelt()", "forge()", "foundry()", "haft()", 'answer(value="axe")']
    assert refusing.called == ["smelt", "foundry", "haft"]
    assert result.used["usd"] == 400_000 + 900_000 + 200_000
    assert result.replans == 1


def test_a_tool_that_fails_is_paid_and_not_called_again_and_one_with_an_unfit_value_is_closed() -> None:
    @tool(takes="ore", gives="blade", usd="0.10")
    def lucky(ore: str) -> str:
        """Find a blade in the ore."""
        raise ToolFailedError("no blade in it")

    @tool(takes="ore", gives="blade", usd="0.10")
    def counts(ore: int) -> str:
        """Take a number of ores."""
        return "blade" * ore

    for item, paid in ((lucky, 100_000), (counts, 0)):
        result = exact().run(env(tools=[*TOOLS, item]), budget=ROOMY)
        assert (result.success, result.used["usd"]) == (True, paid + 800_000)
        assert ("lucky()" in result.actions[:1]) == (item is lucky)


def test_a_changed_price_a_new_or_lost_composite_and_a_changed_wish_are_planned_with_at_once() -> None:
    tools = [smelt, forge, haft, priced("cast", ["iron"], "blade", 50)]
    rise = Change(1, tools=(smelt, dearer(forge, 95), haft, tools[3]), note="The prices have changed.")
    result = exact().run(env([rise], tools), budget=ROOMY)
    assert result.actions[:2] == ["smelt()", "cast()"]
    assert result.used["usd"] == 400_000 + 500_000 + 200_000
    assert not result.budget_violations
    without = [smelt, forge, haft]
    with_it = [*without, priced("mount", ["iron", "wood"], "axe", 30)]
    comes, goes = (Change(1, tools=tuple(later)) for later in (with_it, without))
    assert exact().run(env([comes], without), budget=ROOMY).actions[:2] == ["smelt()", "mount()"]
    assert exact().run(env([goes], with_it), budget=ROOMY).actions[:3] == ["smelt()", "forge()", "haft()"]
    wish = Change(1, request="No, a bell!", want="bell")
    result = exact().run(env([wish], [*without, priced("ring", ["iron"], "bell", 10)]), budget=ROOMY)
    assert (result.success, result.actions) == (True, ["smelt()", "ring()", 'answer(value="bell")'])


def asked_for(wanted: dict[str, str]) -> ScriptedLM:
    """A model that reads these requests and is asked nothing else."""
    return ScriptedLM(lambda request, number: next(v for k, v in wanted.items() if k in str(request.prompt)))


@pytest.mark.parametrize("right", [True, False])
def test_a_request_is_read_by_the_model_and_the_true_wish_decides_success(right: bool) -> None:
    wish = Change(1, request="No, give me something to ring.", want="bell")
    tools = [smelt, forge, haft, priced("ring", ["iron"], "bell", 10)]
    played = TypedEnvironment(
        tools, have=HAVE, want="axe", request="Something for my trees.", goals=("axe", "bell"), changes=[wish]
    )
    model = asked_for({"something to ring": "bell" if right else "axe", "for my trees": "axe"})
    result = TapeAgent(model, **EXACT).run(played, budget=ROOMY)
    assert result.lm_calls == {"project": 2}
    assert result.success is right
    assert result.actions[-1] == ('answer(value="bell")' if right else 'answer(value="axe")')


def test_a_request_that_cannot_be_read_ends_without_a_call() -> None:
    played = TypedEnvironment(TOOLS, have=HAVE, want="axe", request="Hm.", goals=("axe", "blade"))
    result = TapeAgent(ScriptedLM(["a horse"]), **EXACT).run(played, budget=ROOMY)
    assert (result.steps, result.malformed, result.end_state) == (0, 1, "infeasible")


def test_what_a_person_refuses_is_planned_around() -> None:
    async def approve(request: ApprovalRequest) -> Approval:
        return Approval.REFUSE if request.action == "foundry()" else Approval.ALLOW

    result = exact().run(env(), budget=ROOMY, approve=approve, approve_when=lambda request: True)
    assert result.actions[:3] == ["smelt()", "forge()", "haft()"]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("forge()", "takes 'iron', which is not at hand"), ("smelt(ore=1)", "has no arguments; write smelt()"),
        ("paint()", "there is no tool paint"), ('answer(value="axe")', "'axe' is not at hand"),
        ("answer(value=3)", "names a type"), ("answer(axe=1)", "handed in by answer"), ("nonsense", ""),
    ],
)  # fmt: skip
def test_an_impossible_action_takes_a_step_and_gives_its_reason(action: str, message: str) -> None:
    played = env()
    before = played.domain.key(played.domain.project(played.reset(0)))
    observation, used = played.step(action)
    assert dict(used) == {"steps": 1}
    assert message in observation.text
    assert played.domain.key(observation.data) == before
    assert played.domain.outcome(observation.data, action).state is None


def test_what_was_there_from_the_start_is_never_used_up_and_the_rest_is() -> None:
    played = env()
    state = played.domain.project(played.reset(0))
    for action, at_hand in (("smelt()", ("iron",)), ("smelt()", ("iron", "iron")), ("forge()", ("blade", "iron"))):
        state = played.domain.project(played.step(action)[0])
        assert state.at_hand == at_hand


def test_a_new_episode_begins_with_the_first_list_and_the_first_wish() -> None:
    played = env([Change(1, tools=(smelt,), request="Iron will do.", want="iron")])
    started = played.reset(0)
    played.step("smelt()")
    assert played.domain.key(played.step("haft()")[0].data).endswith("list 1")
    again = played.reset(0)
    assert again.data == started.data
    assert len(played.domain.tools(again.data)) == len(TOOLS)


def test_what_cannot_be_played_is_refused_beforehand() -> None:
    @tool(usd="0.10")
    def untyped(ore: str) -> str:
        """No types."""
        return ore

    with pytest.raises(ToolError, match="untyped: it has no types"):
        env(tools=[*TOOLS, untyped])
    with pytest.raises(ToolError, match="none of the goals"):
        TypedEnvironment(TOOLS, have=HAVE, want="axe", request="An axe.", goals=("bell",))
    with pytest.raises(ToolError, match="give request"):
        TypedEnvironment(TOOLS, have=HAVE, want="axe", goals=("axe",))
    with pytest.raises(ToolError, match="after one successful call"):
        Change(0)
    with pytest.raises(ToolError, match="both a request"):
        Change(1, want="axe")
    with pytest.raises(UnknownNameError, match="prompt format of typed tools 'tools'"):
        env().prompt_format("tools")
    with pytest.raises(ConfigError, match="no search for plans of its own"):
        exact().run(ToolEnvironment("Smelt.", [smelt]))


@pytest.mark.parametrize("agent", [OpenLoopAgent, PlanAndActReplanAgent, ReactAgent, TapeAgent])
@pytest.mark.parametrize("policy", ["first", "random"])
def test_every_agent_plays_without_a_language_model(agent: type, policy: str) -> None:
    result = agent(DeclaredLM(policy)).run(env(), budget=ROOMY)
    assert result.success
    least = cheapest_chains(TOOLS, "axe", HAVE).best.cost["usd"] or 0
    assert (result.used["usd"] or 0) >= least
    if agent is ReactAgent and policy == "first":
        assert result.actions[:3] == ["smelt()", "forge()", "haft()"]  # greedy: forty cents look cheaper than sixty
