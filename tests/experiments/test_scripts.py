"""The demo and the scripts around the README run as documented."""

from pathlib import Path

import pytest

from experiments import demo
from experiments import tables as readme_table
from experiments.harness import cli
from experiments.studies.tape.catalogue import find
from experiments.training.chains import card as chains_model_card
from experiments.training.search import card as search_model_card
from experiments.training.sokoban import card as model_card
from experiments.training.tools import card as tool_model_card
from tape.lm.bundled import card, sizes, weights_folder


def test_the_readme_shows_the_committed_results() -> None:
    assert readme_table.main(["--check"]) == 0


def test_the_model_card_is_made_from_the_shipped_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    path = weights_folder() / "MODEL_CARD.md"
    held = path.read_text(encoding="utf-8")
    written: dict[str, str] = {}
    monkeypatch.setattr(Path, "write_text", lambda self, text, **_: written.update({self.name: text}))
    model_card.main()
    assert written["MODEL_CARD.md"] == held


def test_the_tool_model_card_is_made_from_the_shipped_card(monkeypatch: pytest.MonkeyPatch) -> None:
    path = weights_folder() / "MODEL_CARD_TOOLS.md"
    held = path.read_text(encoding="utf-8")
    written: dict[str, str] = {}
    monkeypatch.setattr(Path, "write_text", lambda self, text, **_: written.update({self.name: text}))
    tool_model_card.main()
    assert written["MODEL_CARD_TOOLS.md"] == held


def test_the_card_of_the_reader_of_requests_is_made_from_the_shipped_card() -> None:
    path = weights_folder() / "MODEL_CARD_CHAINS.md"
    assert path.read_text(encoding="utf-8") == chains_model_card.text(card("chains"))


def test_the_card_of_the_search_models_is_made_from_the_shipped_cards() -> None:
    path = weights_folder() / "MODEL_CARD_SEARCH.md"
    assert path.read_text(encoding="utf-8") == search_model_card.text({name: card(name) for name in sizes("search")})


@pytest.mark.slow
def test_the_demo_runs_draws_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--models", "bundled:nano", "--levels", "easy", "--repeats", "1", "--quiet", "--out", str(tmp_path / "d")]
    assert demo.main(args) == 0
    text = capsys.readouterr().out
    assert "TAPE beside" in text
    assert "open_loop" in text
    pictures = [line.strip() for line in text.splitlines() if line.strip().endswith((".svg", ".png"))]
    assert pictures
    assert all(Path(p).stat().st_size > 1000 for p in pictures)
    assert demo.main(args) == 0
    assert "[1/10]" not in capsys.readouterr().out, "a finished demo has nothing to run"
    assert demo.main(["--models", "nonsense", "--out", str(tmp_path / "e")]) == 2


@pytest.mark.slow
def test_an_experiment_stops_at_its_budget_and_goes_on_with_a_larger_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--limit", "1", "--seeds", "1", "--models", "bundled:nano", "--out", str(tmp_path / "run"), "--quiet"]
    assert cli.main(find("tradeoff"), [*arguments, "--run-budget", "calls=30"]) == 3
    assert "larger --run-budget" in capsys.readouterr().err
    assert cli.main(find("tradeoff"), [*arguments, "--run-budget", "calls=100000"]) == 0
