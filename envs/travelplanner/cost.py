"""What an offer costs the travellers: the public evaluator's arithmetic, in whole cents (SDP appendix A.2)."""

from __future__ import annotations

from decimal import Decimal

from envs.travelplanner.errors import TravelError
from envs.travelplanner.offers import SELF_DRIVING, Attraction, Flight, Ground, Offer, Restaurant
from envs.travelplanner.query import TripQuery
from tape.budget import Resources, declare
from tape.reading import short

MONEY = "trip_usd"
"""The travellers' money. It is not the kind ``usd`` that calls of language models are paid from: a dollar of the trip
must not buy tokens, nor a token's price make a trip unaffordable."""

declare(MONEY, "US dollar of the trip", "0.01")

SEATS = {SELF_DRIVING: 5, "taxi": 4}
"""People in one car."""


MOST_CENTS = 10**12
"""Most that anything may cost: ten billion dollars."""


def cents(dollars: str | int | float | Decimal) -> int:
    """Dollars as whole cents.

    Raises:
        TravelError: It is negative, no number, finer than a cent, or more than :data:`MOST_CENTS`.
    """
    try:
        exact = Decimal(str(dollars)) * 100
    except ArithmeticError:
        raise TravelError(f"{short(dollars)} is no number of dollars") from None
    # Compared before it is made whole: a text of ten characters can stand for a number of a million digits.
    if not exact.is_finite() or not 0 <= exact <= MOST_CENTS or exact != exact.to_integral_value():
        raise TravelError(f"{short(dollars)} is no whole number of cents from 0 to {MOST_CENTS}")
    return int(exact)


def dollars(amount: int) -> str:
    """Cents in words."""
    return f"${amount // 100}" if amount % 100 == 0 else f"${amount // 100}.{amount % 100:02}"


def cost(offer: Offer, query: TripQuery) -> int:
    """Cents of booking an offer for all travellers, a stay for all its nights.

    Flights and meals are paid per person; a self-driven car takes 5, a taxi 4; a unit of a stay as many as its
    maximum occupancy.
    """
    match offer:
        case Flight() | Restaurant():
            return offer.price * query.people
        case Ground():
            return offer.price * -(-query.people // SEATS[offer.name])
        case Attraction():
            return 0
        case _:
            return offer.price * -(-query.people // offer.occupancy) * query.nights


def charge(amount: int) -> Resources:
    """A step that costs an amount."""
    return Resources({"steps": 1, MONEY: amount})
