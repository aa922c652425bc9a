"""What the domain declares is what the environment does."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Resources
from tape.budget.chances import Uniform
from tape.budget.prices import Cost, Fixed
from tape.errors import UnknownNameError
from tape.tools import Tool, ToolEnvironment, ToolFailedError, tool
from tape.tools.calls import Call, call
from tape.tools.state import ToolState
from tests.tape.tools.helpers import TOOLS, actions, after, domain

STEP = Resources({"steps": 1})


@given(st.lists(actions(), max_size=8), st.integers(0, 5))
def test_what_is_possible_is_executed_and_all_else_changes_nothing_but_the_note(acts: list[str], seed: int) -> None:
    env = ToolEnvironment("compute", TOOLS)

    async def play() -> None:
        env.reset(seed)
        for action in acts:
            before = env._state
            predicted = env.domain.outcome(before, action).state
            observation, used = await env.astep(action)
            seen = env.domain.project(observation)
            worst = env.domain.cost(before, action)
            assert all((used[kind] or 0) <= (worst[kind] or 0) for kind in used)
            if predicted is None:
                assert (seen, used) == (before, STEP)
                assert seen.note
                assert seen.values() == before.values()
            elif seen.failed != before.failed:  # the tool said no
                assert (seen.got, seen.answer) == (before.got, before.answer)
                assert seen.note
            else:
                assert env.domain.key(seen) == env.domain.key(predicted)

    asyncio.run(play())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["read.near", "read.far", "write.near", "write.far"]), st.integers(0, 1), st.booleans()
        ),
        max_size=12,
    )
)
def test_whether_a_call_can_be_repeated_follows_from_all_calls_before(steps: list[tuple[str, int, bool]]) -> None:
    works = iter([worked for _, _, worked in steps])
    here: list[bool] = []

    def made(kind: str, variant: str) -> Tool:
        @tool(kind=kind, variant=variant, pure=kind == "read")
        def function(x: int) -> int:
            """Do it, or not."""
            if not here[-1]:
                raise ToolFailedError("no")
            return x

        return function

    env = ToolEnvironment("task", [made(kind, name) for kind in ("read", "write") for name in ("near", "far")])
    env.reset(0)
    history: list[tuple[Call, bool]] = []

    async def play() -> None:
        for name, x, _ in steps:
            asked = call(*name.split("."), x=x)
            here.append(next(works))
            since = [i for i, (made, worked) in enumerate(history) if worked and made.symbol == asked.symbol]
            known = asked.kind == "read" and since and all(made.kind == "read" for made, _ in history[since[-1] + 1 :])
            since = [i for i, (made, worked) in enumerate(history) if not worked and made == asked]
            in_vain = since and not any(made.kind == "write" and worked for made, worked in history[since[-1] + 1 :])
            possible = env.domain.outcome(env._state, asked.text).state is not None
            before = env._state
            await env.astep(asked.text)
            assert possible == (not known and not in_vain)
            assert possible == (env._state != before)
            if possible:
                history.append((asked, here[-1]))

    asyncio.run(play())


def test_destructive_actions_are_marked() -> None:
    @tool(kind="drop", variant="all", destructive=True)
    def drop(name: str) -> None:
        """Drop it."""

    @tool(kind="drop", variant="rows")
    def empty(name: str) -> None:
        """Empty it."""

    marks = domain([drop, empty, *TOOLS])
    assert marks.marks_destructive
    assert marks.destructive('drop.all(name="x")')
    for other in ('drop.rows(name="x")', "add(a=1, b=2)", "answer(value=1)", 'drop(name="x")', "no call at all", ""):
        assert not marks.destructive(other)


@pytest.mark.parametrize(
    ("state", "action", "message"),
    [
        (after(), "power(a=1)", "there is no tool power"),
        (after(), "add(a=1)", "needs the argument b"),
        (after(), 'add(a=1, b="x")', "add: b"),
        (after(), "add(a=1, b=#1)", "#1 is the result of no call"),
        (after(), "answer(it=1)", "an answer is answer"),
        (ToolState(answer="1"), "add(a=1, b=1)", "the answer has been given"),
        (after(call("add", a=1, b=1)), "add(a=1, b=1)", "#1 is the result of add"),
        (after(call("multiply", "quick", a=1, b=1)), "multiply.exact(a=1, b=1)", "#1 is the result of multiply"),
        (ToolState().with_failure(call("add", a=1, b=1), ""), "add(a=1, b=1)", "has failed already"),
        (ToolState().with_call(call("note", text="x"), '{"x": 1}'), "add(a=1, b=#1)", "add: b"),
    ],
)
def test_refusals_name_what_is_wrong(state: ToolState, action: str, message: str) -> None:
    env = ToolEnvironment("compute", TOOLS)
    env.reset(0)
    env.projected(state)
    observation, used = env.step(action)
    assert message in observation.data.note
    assert used == STEP
    assert env.domain.outcome(state, action).state is None


def test_costs_are_the_worst_case_and_a_refused_action_costs_its_step() -> None:
    here = domain()
    assert dict(here.cost(after(), "multiply.exact(a=1, b=1)")) == {"steps": 1, "usd": 20_000, "seconds": 1000}
    assert here.cost(after(), "answer(value=1)") == here.cost(after(), "nonsense") == STEP
    assert set(here.declared_costs()) == {"multiply.quick", "multiply.exact", "add", "divide", "note", "answer"}


@pytest.mark.parametrize("uncertain", ["none", "slow", "fast", "both"])
@pytest.mark.parametrize("named", ["slow", "fast"])
def test_the_dearest_variant_comes_first_where_costs_are_uncertain_else_the_cheapest(
    uncertain: str, named: str
) -> None:
    made = []
    for variant, seconds in (("fast", 1), ("slow", 4)):
        worst = Resources.of(seconds=seconds)
        cost: Cost = Uniform(worst, 0.5) if uncertain in (variant, "both") else Fixed(worst)

        @tool(kind="look", variant=variant, cost=cost)
        def look(at: str) -> str:
            """Look."""
            return at

        made.append(look)
    cheapest_first = ['look.fast(at="x")', 'look.slow(at="x")']
    variants = domain(made).variants(after(), f'look.{named}(at="x")')
    assert variants == cheapest_first[:: 1 if uncertain == "none" else -1]


def test_the_number_of_results_is_limited() -> None:
    state = after(*(call("add", a=k, b=1) for k in range(99)))
    assert domain().outcome(state, "add(a=1000, b=1)").state is None
    assert domain().outcome(state, "answer(value=#99)").state is not None


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match=r"there is: chat\. A bundled model reads only .* need a general model"):
        ToolEnvironment("compute", TOOLS).prompt_format("tools")


@pytest.mark.parametrize(
    "text", ["add(a=1, b=2)", "answer(value=1)", "power(a=1)", "add me(a=1)", "", "add(" + "a" * 5000 + "=1)"]
)
def test_what_has_no_variants_or_is_no_call_is_its_own(text: str) -> None:
    assert domain().variants(after(), text) == [text]
