"""Commands as a model might write them."""

from envs.alfworld.commands import read_command
from envs.alfworld.game.games import load_games
from envs.alfworld.projector import layout_of
from envs.alfworld.resolve import resolved
from envs.alfworld.state import Knowledge


def test_what_is_no_command_is_passed_on_as_it_is_and_names_too() -> None:
    known = Knowledge.start(layout_of(load_games("packaged")[-1].house, full=False))
    numbers = (f"go to cabinet {'9' * 6000}", "go to cabinet \u0663", "go to " * 50_000)
    for text in (*numbers, "take {r} from fridge 1", "put {o.__class__} in/on {r}", "\x00", "\ud800"):
        assert read_command(text) is None
        assert resolved(known, text, "put {o} in/on {r}") == text
    assert resolved(known, "put apple 1 in fridge 1", "move {o} to {r}") == "move apple 1 to fridge 1"
