"""Plans in canonical order: the same values, equal calls once, the answer last."""

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tape.tools.calls import ANSWER, Call, answer, call
from tape.tools.plans import in_order
from tests.tape.tools.helpers import plans


def executed(calls: Sequence[Call], results: Sequence[Fraction] = ()) -> tuple[dict[str, Fraction], Fraction | None]:
    """What each distinct call is about, written out in full, with its value; and the answer."""
    values, final = list(results), None
    about = [f"r{k}" for k in range(1, len(values) + 1)]
    found: dict[str, Fraction] = {}
    for made in calls:
        args = made.values(values)
        if made.kind == ANSWER:
            final = args["value"]
            continue
        written = ["".join(about[int(v[1:]) - 1] if v.startswith("#") else v) for _, v in made.args]
        about.append(f"{made.kind}({','.join(written)})")
        a, b = args["a"], args["b"]
        values.append(Fraction(a) + b if made.kind == "add" else Fraction(a) * b)
        found[about[-1]] = values[-1]
    return found, final


@given(st.integers(0, 2).flatmap(lambda n: st.tuples(st.just(n), plans(n))), st.data())
def test_the_meaning_is_kept_and_the_order_is_canonical(given_: tuple[int, list[Call]], data: st.DataObject) -> None:
    obtained, calls = given_
    known = obtained + len(calls)
    asked = answer(f"#{data.draw(st.integers(1, known))}") if known else answer(1)
    results = [Fraction(k + 11, 7) for k in range(obtained)]
    there = [call("given", k=k) for k in range(obtained)]
    ordered = in_order([*calls, asked], there)
    assert executed(ordered, results) == executed([*calls, asked], results)
    assert ordered[-1].kind == ANSWER
    symbols = [made.symbol for made in ordered]
    assert len(set(symbols)) == len(symbols)
    assert in_order(ordered, there) == ordered


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
    assert [made.symbol for made in in_order(shuffled)] == [made.symbol for made in in_order(calls)]


def test_what_waits_for_a_twin_waits_no_longer_than_for_the_first() -> None:
    calls = [call("m", x=1), call("m", x=1), call("c", a="#1"), call("b", a="#2")]
    assert [made.text for made in in_order(calls)] == ["m(x=1)", "b(a=#1)", "c(a=#1)"]


def test_what_is_planned_after_the_answer_is_dropped() -> None:
    calls = [call("add", a=1, b=2), answer("#1"), call("add", a=5, b=5)]
    assert in_order(calls) == calls[:2]


def test_a_plan_with_dangling_placeholders_is_left_as_it_is() -> None:
    for calls in ([call("add", a="#2", b=1), call("add", a=1, b=1)], [call("add", a=1, b="#1")], [answer("#3")]):
        assert in_order(calls) == calls


@given(plans(most=4), st.integers(0, 4))
def test_a_plan_that_repeats_what_is_there_goes_on_from_there(calls: list[Call], done: int) -> None:
    whole = in_order([*calls, answer(f"#{len(calls)}" if calls else 1)])
    there = whole[: min(done, len(whole) - 1)]
    # The model writes everything once more, and its own numbers go on after the results that are there.
    repeated = [made.renumbered(lambda k: k + len(there)) for made in whole]
    assert in_order(repeated, there) == whole[len(there) :]


def test_what_is_planned_with_a_repeated_call_gets_the_result_that_is_there() -> None:
    there = [call("first", q="a")]
    repeated = [call("first", q="a"), call("second", "good", q="#2"), answer("#3")]
    assert [made.text for made in in_order(repeated, there)] == ["second.good(q=#1)", "answer(value=#2)"]
