"""Plans in canonical order: the same meaning, equal pure calls once, all others where they were, the answer last."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.tools.calls import ANSWER, Call, answer, call
from tape.tools.plans import in_order
from tests.tape.tools.helpers import every, plans


@given(plans(), st.randoms(use_true_random=False))
def test_plans_that_do_the_same_in_another_order_become_one(calls: list[Call], rng: object) -> None:
    # Any order in which every call stands after those that it needs.
    new: dict[int, int] = {}
    shuffled: list[Call] = []
    waiting = dict(enumerate(calls, 1))
    while waiting:
        ready = [k for k, made in waiting.items() if set(made.references) <= new.keys()]
        chosen = rng.choice(ready)  # type: ignore[attr-defined]
        shuffled.append(waiting.pop(chosen).renumbered(new.__getitem__))
        new[chosen] = len(shuffled)
    assert [made.symbol for made in in_order(shuffled, pure=every)] == [
        made.symbol for made in in_order(calls, pure=every)
    ]


def test_what_is_planned_after_the_answer_is_dropped() -> None:
    calls = [call("add", a=1, b=2), answer("#1"), call("add", a=5, b=5)]
    assert in_order(calls, pure=every) == calls[:2]


def test_a_plan_with_dangling_placeholders_is_left_as_it_is() -> None:
    for calls in ([call("add", a="#2", b=1), call("add", a=1, b=1)], [call("add", a=1, b="#1")], [answer("#3")]):
        assert in_order(calls, pure=every) == calls


@given(plans(most=4), st.integers(0, 4))
def test_a_plan_that_repeats_what_is_there_goes_on_from_there(calls: list[Call], done: int) -> None:
    whole = in_order([*calls, answer(f"#{len(calls)}" if calls else 1)], pure=every)
    there = whole[: min(done, len(whole) - 1)]
    # The model writes everything once more, and its own numbers go on after the results that are there.
    repeated = [made.renumbered(lambda k: k + len(there)) for made in whole]
    assert in_order(repeated, there, pure=every) == whole[len(there) :]


PURITY = st.sampled_from(["", "add", "multiply", "add multiply"]).map(
    lambda kinds: lambda made: made.kind in kinds.split()
)
Pure = Callable[[Call], bool]


def meaning(calls: Sequence[Call], pure: Pure, there: int = 0) -> list[object]:
    """What a plan does: its impure calls, and before, between and after them the sets of pure ones.

    A used result is named by the call that gave it: an impure one by its number, a pure one by its place as well.
    """
    terms: list[object] = [("there", k) for k in range(1, there + 1)]
    found: list[object] = [set()]
    for made in calls:
        args = tuple(terms[int(value[1:]) - 1] if value.startswith("#") else value for _, value in made.args)
        if made.kind != ANSWER:
            terms.append((made.kind, args, len(found)))
        if pure(made):
            here = found[-1]
            assert isinstance(here, set)
            here.add(terms[-1])
        else:
            found += [(made.kind, args), set()]
    return found


@given(st.integers(0, 2).flatmap(lambda n: st.tuples(st.just(n), plans(n))), PURITY, st.data())
def test_the_meaning_is_kept_and_the_order_is_canonical(
    given_: tuple[int, list[Call]], pure: Pure, data: st.DataObject
) -> None:
    obtained, calls = given_
    known = obtained + len(calls)
    whole = [*calls, answer(f"#{data.draw(st.integers(1, known))}" if known else 1)]
    ordered = in_order(whole, [call("given", k=k) for k in range(obtained)], pure=pure, outdated=obtained)
    assert meaning(ordered, pure, obtained) == meaning(whole, pure, obtained)
    symbols = [(made.symbol, sum(not pure(before) for before in ordered[:i])) for i, made in enumerate(ordered)]
    assert len({*symbols}) == len(symbols)  # equal pure calls once between two others
    assert in_order(ordered, [call("given", k=k) for k in range(obtained)], pure=pure, outdated=obtained) == ordered


READ, WRITE = call("read", x=1), call("write", x=1)


@pytest.mark.parametrize(
    ("there", "outdated", "plan", "left"),
    [
        ([], 0, [READ, READ, WRITE, READ], [READ, WRITE, READ]),
        ([READ], 0, [READ, WRITE, READ], [WRITE, READ]),
        ([READ, WRITE], 2, [READ, WRITE], [READ, WRITE]),
        ([WRITE, READ], 1, [READ, WRITE], [WRITE]),
        ([READ], 1, [READ], [READ]),  # a write has failed since, after whatever it may have done
        ([WRITE], 1, [WRITE, WRITE], [WRITE, WRITE]),
    ],
)
def test_what_is_read_after_a_write_is_not_what_was_read_before(
    there: list[Call], outdated: int, plan: list[Call], left: list[Call]
) -> None:
    assert in_order(plan, there, pure=lambda made: made.kind == "read", outdated=outdated) == left
