"""Commands as a model might write them."""

import pytest

from envs.alfworld.commands import read_command
from envs.alfworld.game.games import load_games
from envs.alfworld.projector import layout_of
from envs.alfworld.resolve import resolved
from envs.alfworld.state import Knowledge

PUT = "put {o} in/on {r}"


@pytest.mark.parametrize(
    "text",
    [
        f"go to cabinet {'9' * 6000}",
        "go to cabinet \u0663",
        "take {r} from fridge 1",
        "put {o.__class__} in/on {r}",
        "\x00",
        "\ud800",
        "go to " * 50_000,
    ],
)
def test_what_is_no_command_is_passed_on_as_it_is(text: str) -> None:
    known = Knowledge.start(layout_of(load_games("packaged")[-1].house, full=False))
    assert read_command(text) is None
    assert resolved(known, text, PUT) == text


def test_a_command_for_putting_takes_names_as_they_are() -> None:
    known = Knowledge.start(layout_of(load_games("packaged")[-1].house, full=False))
    assert resolved(known, "put apple 1 in fridge 1", "move {o} to {r}") == "move apple 1 to fridge 1"
