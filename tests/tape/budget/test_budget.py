import pytest
from hypothesis import given
from hypothesis import strategies as st

from tape.budget import Budget, Ledger, Resources, amount_of, declare, in_units, kind_of
from tape.errors import BudgetExceededError, ConfigError, UnknownCostError
from tests.profiles import examples

declare("paint", "litre", "0.25")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps", "KIND=AMOUNT"), ("steps=1.5", "finer than the resolution"),
        ("paint=0.1", "finer than the resolution"), ("gold=3", "not declared"), ("steps=1,steps=2", "given twice"),
    ],
)  # fmt: skip
def test_malformed_budgets_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Budget.parse(text)


@pytest.mark.parametrize("count", [-1, 1.5, True, "3"])
def test_counts_are_whole_and_never_negative(count: object) -> None:
    with pytest.raises(ConfigError, match="integer >= 0"):
        Resources({"steps": count})  # type: ignore[dict-item]


def test_a_kind_is_declared_once() -> None:
    assert declare("steps", "step") == kind_of("steps")
    with pytest.raises(ConfigError, match="already declared"):
        declare("steps", "mile")


@pytest.mark.parametrize("resolution", ["inf", "-inf", "nan", "0", "-1", "1e-400", "1e400", 10**400, "one", "", None])
def test_a_resolution_is_a_positive_number(resolution: object) -> None:
    with pytest.raises(ConfigError, match="the resolution"):
        declare("granules", "granule", resolution)  # type: ignore[arg-type]


def test_unknown_cost_under_a_cap_is_an_error_and_never_zero() -> None:
    unknown = Resources({"usd": None})
    with pytest.raises(UnknownCostError, match="usd"):
        Ledger(Budget({"usd": 5})).reserve(unknown)
    free = Ledger(Budget({"steps": 5}))
    free.settle(free.reserve(unknown), Resources({"steps": 1}))
    assert (unknown + Resources({"usd": 3}))["usd"] is None


def test_costs_above_the_declared_bound_are_counted_where_one_is_declared_or_capped() -> None:
    ledger = Ledger(Budget({"usd": 9}))
    declared = ledger.reserve(Resources({"usd": 1, "steps": 1, "tokens": None}))
    result = ledger.settle(declared, Resources({"usd": 2, "steps": 2, "tokens": 5, "seconds": 9}))
    assert [(broken.kind, broken.declared, broken.used) for broken in result] == [("steps", 1, 2), ("usd", 1, 2)]
    assert ledger.violations == {"steps": 1, "usd": 1}
    assert not ledger.overspent()


def test_a_payer_refuses_but_is_not_seen() -> None:
    run = Ledger(Budget({"tokens": 5}), name="run")
    ledger, two = Ledger(Budget({"tokens": 9}), payer=run), Ledger(payer=run)
    assert (ledger.remaining("tokens"), two.remaining("tokens"), two.capped()) == (9, None, ())
    nested = Ledger(parent=ledger)
    held = nested.reserve(Resources({"tokens": 4}))
    with pytest.raises(BudgetExceededError, match="run ledger"):
        two.reserve(Resources({"tokens": 2}))
    assert two.reserved == Resources()
    assert run.refused is not None
    nested.settle(held, Resources({"tokens": 3}), paid=Resources())
    with pytest.raises(ConfigError, match="give it to the parent"):
        Ledger(parent=ledger, payer=run)
    assert (nested.used["tokens"], ledger.used["tokens"], ledger.paid["tokens"], run.used["tokens"]) == (3, 3, 0, 0)


KINDS = ["usd", "seconds", "wall_seconds", "tokens", "calls", "steps", "treasure", "traffic", "trip_money"]


@examples(400)
@given(kind=st.sampled_from(KINDS), count=st.integers(0, 10**15))
def test_what_is_written_in_units_is_read_as_it_was(kind: str, count: int) -> None:
    declare("treasure", "coin", "0.5")
    declare("traffic", "MB")
    declare("trip_money", "US dollar of the trip", "0.01")
    assert kind_of(kind).count(in_units(kind, count)) == count
    assert kind_of(kind).count(amount_of(kind, count)) == count


@pytest.mark.parametrize(
    ("kind", "count", "text"),
    [
        ("usd", 50_000, "$0.05"), ("usd", 500_000, "$0.50"), ("usd", 21, "$0.000021"), ("usd", 2_000_000, "$2"),
        ("usd", 1_234_500_000, "$1,234.50"), ("usd", 0, "$0"), ("seconds", 1_500, "1.5 s"),
        ("wall_seconds", 20_000, "20 s"), ("tokens", 10_000, "10,000 tokens"), ("steps", 8, "8 steps"),
        ("calls", 1, "1 call"), ("calls", 0, "0 calls"), ("paint", 3, "0.75 litres of paint"),
        ("never declared", 4, "4 never declared"),
    ],
)  # fmt: skip
def test_amounts_as_people_read_them(kind: str, count: int, text: str) -> None:
    assert in_units(kind, count) == text


def test_a_refusal_speaks_in_units_and_names_the_least_cap() -> None:
    ledger = Ledger(Budget.of(usd="$0.05"))
    first = ledger.reserve(Resources.of(usd="0.04"))
    with pytest.raises(BudgetExceededError) as refused:
        ledger.reserve(Resources.of(usd="0.02"))
    refused.value.wanted_for("search")
    assert str(refused.value) == (
        "search: usd of the episode ledger: $0.02 requested, $0.04 of $0.05 used or reserved; it takes a cap of at "
        "least $0.06"
    )
    assert (refused.value.requested, refused.value.used, refused.value.limit) == (20_000, 40_000, 50_000)
    ledger.settle(first, Resources.of(usd="0.01"))
    assert ledger.remaining("usd") == 40_000
    with pytest.raises(ConfigError, match="already"):
        ledger.settle(first, Resources())


def test_the_caps_of_all_ledgers_that_pay() -> None:
    team = Ledger(Budget.of(usd=1), name="team")
    mine = Ledger(Budget.of(usd="0.3", steps=2), parent=team)
    mine.reserve(Resources.of(usd="0.1"))
    usd = ("episode", "usd", 300_000, 0, 100_000), ("team", "usd", 1_000_000, 0, 100_000)
    assert (mine.limits("usd"), [limit.left for limit in mine.limits("usd")]) == (usd, [200_000, 900_000])
    assert (mine.limits(), mine.limits("tokens")) == ((("episode", "steps", 2, 0, 0), *usd), ())
