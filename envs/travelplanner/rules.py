"""Which offers a query's local constraints admit, and how ways of travelling go together."""

from __future__ import annotations

from typing import Literal

from envs.travelplanner.offers import SELF_DRIVING, Flight, Ground, Offer, Restaurant, Stay
from envs.travelplanner.query import TripQuery

Mode = Literal["", "car", "public"]
"""How a trip travels: by the travellers' own car, which excludes flights and taxis, or by these; at first neither."""

FORBIDS = {
    "smoking": "No smoking",
    "parties": "No parties",
    "children under 10": "No children under 10",
    "visitors": "No visitors",
    "pets": "No pets",
}
"""The house rule by which a stay forbids what a query wants allowed."""

_ROOMS = {"entire room": "Entire home/apt", "private room": "Private room", "shared room": "Shared room"}


def mode_of(offer: Offer) -> Mode:
    """The mode that an offer belongs to; nothing where it is no way of travelling."""
    if not isinstance(offer, Flight | Ground):
        return ""
    return "car" if offer.name == SELF_DRIVING else "public"


def violated(offer: Offer, query: TripQuery) -> str | None:
    """The local constraint, or the stay's own minimum, that an offer breaks, in words; None where it breaks none."""
    wanted = query.constraints
    if isinstance(offer, Flight) and wanted.transportation == "no flight":
        return "the travellers want no flight"
    if isinstance(offer, Ground) and offer.name == SELF_DRIVING and wanted.transportation == "no self-driving":
        return "the travellers want no self-driving"
    if isinstance(offer, Stay):
        if wanted.room_type == "not shared room" and offer.room_type == "Shared room":
            return "the travellers want no shared room"
        if wanted.room_type in _ROOMS and offer.room_type != _ROOMS[wanted.room_type]:
            return f"the travellers want {wanted.room_type}, it is {offer.room_type}"
        if wanted.house_rule is not None and FORBIDS[wanted.house_rule] in offer.house_rules:
            return f"the house rule {FORBIDS[wanted.house_rule]!r} does not allow {wanted.house_rule}"
        if offer.minimum_nights > query.nights:
            return f"it wants {offer.minimum_nights} nights at least, the travellers stay {query.nights}"
    return None


def cuisine_mask(offer: Offer, query: TripQuery) -> int:
    """The required cuisines that a restaurant serves, as bits in their order."""
    if not isinstance(offer, Restaurant):
        return 0
    return sum(1 << i for i, cuisine in enumerate(query.constraints.cuisines) if cuisine in offer.cuisines)
