"""An object can be in two receptacles at once: then what is put beside it may be the object itself."""

from envs.alfworld.domain import HouseholdDomain
from envs.alfworld.game.goal import TWO, Goal
from envs.alfworld.game.house import House, Receptacle
from envs.alfworld.projector import all_seen
from tape.aec.facts import Evidence, GroundedStore
from tape.aec.verifier import Rulebook, Verifier

PLACES = tuple(
    Receptacle(name, openable=False, place=i) for i, name in enumerate(("countertop 1", "diningtable 1", "sinkbasin 1"))
)
PLAN = [
    "go to countertop 1",
    "take apple from countertop 1",
    "go to diningtable 1",
    "put apple in/on diningtable 1",
]


def verdict(*inside: tuple[str, str]) -> bool:
    state = all_seen(House(PLACES, inside, Goal(TWO, "apple", "diningtable")))
    domain = HouseholdDomain(state.layout)
    store = GroundedStore(domain, domain.key)
    store.observe(state, Evidence("observation", 0, "all of it"))
    return Verifier(domain, Rulebook(domain.rules())).verify(PLAN, [], store.snapshot(), {}).accepted


def test_one_beside_another_makes_two():
    assert verdict(("apple 1", "countertop 1"), ("apple 2", "diningtable 1"))


def test_an_object_beside_itself_makes_no_two():
    doubled = (("apple 1", "countertop 1"), ("apple 1", "diningtable 1"), ("apple 2", "sinkbasin 1"))
    assert not verdict(*doubled)
